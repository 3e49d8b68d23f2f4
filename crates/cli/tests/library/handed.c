/* Memory of the program that the C library keeps or finds through a structure, and numbers of its generators. Rows as in state.c. */
#define _GNU_SOURCE
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <mntent.h>
#include <pthread.h>
#include <pwd.h>
#include <search.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

typedef void *Body(void *);
static char text[16], state[256];
static int at, number, variable;
static void *write_text(void *x) { text[at] = 'z'; return 0; }
static void *write_variable(void *x) { variable = 5; return 0; }

static void beside(Body *body, Body *mine) {
    pthread_t t;
    pthread_create(&t, 0, body, 0);
    if (mine)
        mine(0);
    pthread_join(t, 0);
}

/* The environment. */
static void *get(void *x) { getenv("A"); return 0; }
static void *get_securely(void *x) { secure_getenv("A"); return 0; }
static void *set_other(void *x) { setenv("OTHER", "1", 1); return 0; }
static void *set_zone(void *x) { tzset(); return 0; }
static void *local(void *x) { time_t t = 0; struct tm tm; localtime_r(&t, &tm); return 0; }
static void put(const char *s, int i) { putenv(strcpy(text, s)); at = i; }
static void getenv_name(void) { put("A=x", 0); beside(get, write_text); }
static void getenv_other_name(void) { put("B=x", 0); beside(get, write_text); }
static void getenv_value(void) { put("A=x", 2); beside(get, write_text); }
static void getenv_behind(void) { put("BCD=x", 2); beside(get, write_text); }
static void getenv_ordered(void) { put("A=x", 0); beside(get, 0); write_text(0); assert(!getenv("A")); }
static void secure_name(void) { put("A=x", 0); beside(get_securely, write_text); }
static void setenv_name(void) { put("OTH=x", 1); beside(set_other, write_text); }
static void tzset_value(void) { put("TZ=UTC", 4); beside(set_zone, write_text); }
static void localtime_value(void) { put("TZ=UTC", 4); beside(local, write_text); }

static void *look(void *x) { number = text[2]; return 0; }
static void *set(void *x) { setenv("A", "y", 1); return 0; }
static void setenv_of_own(void) { put("A=x", 2); beside(set, look); }

/* Texts that the library reads or writes later. */
static struct passwd *user;
static void *other_user(void *x) { getpwnam("daemon"); return 0; }
static void *look_at_user(void *x) { number = user->pw_name[0]; return 0; }
static void user_text(void) { user = getpwnam("root"); assert(user); beside(other_user, look_at_user); }
static void *message(void *x) { syslog(LOG_DEBUG, "x"); return 0; }
static void identity(void) { setlogmask(LOG_MASK(LOG_ERR)); openlog(strcpy(text, "abc"), 0, LOG_USER); beside(message, write_text); }
static void identity_left(void) { openlog(strcpy(text, "abc"), 0, LOG_USER); closelog(); beside(message, write_text); }

/* Options. */
static char *arguments[5] = {"p", text, "c", "-b", 0};
static struct option options[] = {{"abc", 0, &variable, 1}, {"abd", 1, 0, 2}, {text, 0, 0, 3}, {0, 0, 0, 0}};
static int shorts(void) { return getopt(4, arguments, "ab:"); }
static int longs(int *index) { opterr = 0; return getopt_long(4, arguments, "ab:", options, index); }
static void *parse(void *x) { shorts(); return 0; }
static void *parse_long(void *x) { longs(0); return 0; }
static void *parse_index(void *x) { longs(&variable); return 0; }
static void *parse_all(void *x) { while (shorts() != -1); return 0; }
static void *reorder(void *x) { number = arguments[3] != 0; return 0; }
static void *rename_option(void *x) { options[1].name = "x"; return 0; }
static void say(const char *s, int i) { strcpy(text, s), at = i; }
static void getopt_text(void) { say("-a", 1); beside(parse, write_text); }
static void getopt_not_yet(void) { say("-a", 0); arguments[1] = "-a", arguments[2] = text; beside(parse, write_text); }
static void getopt_order(void) { say("-a", 0); beside(parse_all, reorder); }
static void getopt_flag(void) { say("--abc", 0); beside(parse_long, write_variable); }
static void getopt_other_flag(void) { say("--abd=1", 0); beside(parse_long, write_variable); }
static void getopt_index(void) { say("--abd=1", 0); beside(parse_index, write_variable); }
static void getopt_name(void) { say("--ab", 0); beside(parse_long, rename_option); }
static void getopt_option_text(void) { say("--abc", 0); options[2].name = "x"; beside(parse_long, write_text); }
static void getopt_results(void) {
    static char *list[] = {"p", "x", "-ab1", "--abc", "-b", "2", "y", "--abd", "3", "--abx", "--", "-a", 0};
    int index = 7;
    opterr = 0, options[2].name = "third", options[0].flag = &variable;
#define NEXT getopt_long(12, list, "ab:", options, &index)
    assert(NEXT == 'a' && optind == 2 && NEXT == 'b' && !strcmp(optarg, "1") && optind == 3);
    assert(NEXT == 0 && variable == 1 && index == 0 && NEXT == 'b' && !strcmp(optarg, "2") && optind == 6);
    assert(NEXT == 2 && index == 1 && !strcmp(optarg, "3") && NEXT == '?' && optopt == 0 && NEXT == -1);
    assert(optind == 9 && !strcmp(list[9], "x") && !strcmp(list[10], "y") && !strcmp(list[11], "-a"));
    assert(!strcmp(list[8], "--") && !strcmp(list[1], "-ab1"));
    optind = 0;
    assert(getopt(12, list, "+a") == 'a' && getopt(12, list, "+a") == '?' && optopt == 'b');
    static char *one[] = {"p", "-third", "-ab", "-b", 0};
    optind = 0;
    assert(getopt_long_only(4, one, ":ab:", options, 0) == 3 && getopt_long_only(4, one, ":ab:", options, 0) == '?');
    assert(getopt_long_only(4, one, ":ab:", options, 0) == ':' && optopt == 'b');
    assert(getopt_long_only(4, one, ":ab:", options, 0) == -1 && optind == 4);
}
/* The second execution starts as the first one did: within no argument. */
static void *add(void *x) { __atomic_fetch_add(&number, 1, __ATOMIC_SEQ_CST); return 0; }
static void getopt_again(void) {
    static char *list[] = {"p", "-xyz", 0};
    assert(getopt(2, list, "xyz") == 'x');
    beside(add, add);
    assert(getopt(2, list, "xyz") == 'y');
}

/* Mount points and tables. */
static void *has_option(void *x) { struct mntent m = {.mnt_opts = text}; number = hasmntopt(&m, "ro") != 0; return 0; }
static void mount_options(void) { say("rw,ro", 3); beside(has_option, write_text); }
static void mount_ordered(void) { say("rw,ro", 3); beside(has_option, 0); write_text(0); assert(number); }
static struct hsearch_data table;
static void *search(void *x) { hsearch((ENTRY){"ab", 0}, FIND); return 0; }
static void *search_other(void *x) { hsearch((ENTRY){"xy", 0}, FIND); return 0; }
static void *search_in(void *x) { ENTRY *e; hsearch_r((ENTRY){"ab", 0}, FIND, &e, &table); return 0; }
static void enter(void) { say("ab", 1); assert(hcreate(10)); assert(hsearch((ENTRY){text, 0}, ENTER)); }
static void key(void) { enter(); beside(search, write_text); }
static void other_key(void) { enter(); beside(search_other, write_text); }
static void key_ordered(void) { enter(); beside(search, 0); write_text(0); assert(!hsearch((ENTRY){"ab", 0}, FIND)); }
static void key_in(void) {
    ENTRY *e;
    say("ab", 1), assert(hcreate_r(10, &table) && hsearch_r((ENTRY){text, 0}, ENTER, &e, &table));
    beside(search_in, write_text);
}
static void table_again(void) { beside(add, add); enter(); }
static void *open_semaphore(void *x) { sem_open(text, O_CREAT, 0600, 1); return 0; }
static void *unlink_semaphore(void *x) { sem_unlink(text); return 0; }
static void semaphore(void) { say("/abc", 1); beside(open_semaphore, write_text); }
static void semaphore_unlinked(void) { say("/abc", 1); beside(unlink_semaphore, write_text); }

/* Streams that are closed. */
static FILE *f;
static DIR *d;
static void *close_stream(void *x) { fclose(f); return 0; }
static void *ask_number(void *x) { number = fileno(f); return 0; }
static void *ask_directory(void *x) { number = dirfd(d); return 0; }
static void *close_directory(void *x) { closedir(d); return 0; }
static void number_of_closed(void) { f = tmpfile(), fclose(f), fileno(f); }
static void number_beside_close(void) { f = tmpfile(); beside(close_stream, ask_number); }
static void number_before_close(void) { f = tmpfile(); beside(ask_number, 0); fclose(f); }
static void *print(void *x) { fputc('x', f); return 0; }
static void number_beside_output(void) { f = tmpfile(); beside(print, ask_number); fclose(f); }
static void directory_beside_close(void) { d = opendir("/"); beside(close_directory, ask_directory); }

/* Generators. */
static void numbers(void) {
    assert(rand() == 1804289383 && random() == 846930886);
    srand(1), assert(rand() == 1804289383);
    srandom(7), assert(random() == 1045618677);
    assert(lrand48() == 0 && mrand48() == 4232237);
    srand48(1), assert(lrand48() == 89400484);
    srand48(1), assert(drand48() == 0.041630344771878214);
    unsigned short x[3] = {1, 2, 3}, y[7] = {1, 2, 3, 5, 0, 0, 7}, *old;
    seed48(x), old = seed48(y), assert(old[0] == 1 && old[1] == 2 && old[2] == 3);
    lcong48(y), assert(nrand48(x) == 491525);
}
static void arrays(void) {
    char *old = initstate(1, state, 256);
    assert(old && random() == 510644794);
    memset(state + 4, 0, 252), assert(random() == 0);
    assert(setstate(old) == state && random() == 1804289383);
    assert(!initstate(1, state, 7) && errno == EINVAL);
    initstate(1, state, 8), assert(random() == 1103527590 && random() == 377401575);
}
static void *draw(void *x) { random(); return 0; }
static void *clear(void *x) { memset(state, 0, sizeof state); return 0; }
static void *start_again(void *x) { srandom(3); return 0; }
static void array_race(void) { initstate(1, state, 128); beside(draw, clear); }
static void array_of_others(void) { initstate(1, state, 128); beside(draw, draw); }
static void array_seeded(void) { initstate(1, state, 128); beside(start_again, clear); }
static void array_left(void) { setstate(initstate(1, state, 128)); beside(draw, clear); }
static struct random_data data;
static void *draw_own(void *x) { int n; random_r(&data, &n); return 0; }
static void array_of_data(void) { initstate_r(1, state, 128, &data); beside(draw_own, clear); }
static void numbers_again(void) { beside(add, add); assert(rand() == 1804289383 && lrand48() == 0); }

static const struct { const char *name, *verdict; void (*run)(void); } rows[] = {
#define BAD(row) {#row, "failure assertion", row},
#define RACE(row) {#row, "failure data-race", row},
#define USE(row) {#row, "failure use-after-free", row},
#define GOOD(row) {#row, "verified", row},
    RACE(getenv_name) RACE(getenv_other_name) GOOD(getenv_value) GOOD(getenv_behind) GOOD(getenv_ordered)
    RACE(secure_name) RACE(setenv_name) RACE(tzset_value) RACE(localtime_value)
    GOOD(setenv_of_own) RACE(user_text) RACE(identity) GOOD(identity_left)
    RACE(getopt_text) GOOD(getopt_not_yet) RACE(getopt_order) RACE(getopt_flag) GOOD(getopt_other_flag) RACE(getopt_index)
    RACE(getopt_name) RACE(getopt_option_text) GOOD(getopt_results) GOOD(getopt_again)
    RACE(mount_options) GOOD(mount_ordered) RACE(key) GOOD(other_key) GOOD(key_ordered) RACE(key_in) GOOD(table_again)
    RACE(semaphore) RACE(semaphore_unlinked)
    USE(number_of_closed) USE(number_beside_close) GOOD(number_before_close) GOOD(number_beside_output)
    USE(directory_beside_close)
    GOOD(numbers) GOOD(arrays) RACE(array_race) GOOD(array_of_others) RACE(array_seeded) GOOD(array_left) RACE(array_of_data)
    GOOD(numbers_again)
};

int main(int argc, char **argv) {
    if (argc < 2) {
        for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
            printf("%s\t%s\n", rows[i].name, rows[i].verdict);
        return 0;
    }
    rows[atoi(argv[1])].run();
    return 0;
}
