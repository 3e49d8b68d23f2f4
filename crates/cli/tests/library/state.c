/* State of the process and of the C library that threads share. Each row is one program: `state N` runs row N, and without an
   argument the rows are listed with their verdicts. */
#define _GNU_SOURCE
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef void *Body(void *);
static int r[2], ends[2][2], fd;
static FILE *f;
static DIR *dir;
static char buffer[64];
static pthread_key_t keys[2];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void beside(Body *body, void *a, Body *mine, void *b) {
    pthread_t t;
    pthread_create(&t, 0, body, a);
    if (mine)
        mine(b);
    pthread_join(t, 0);
}

static void both(Body *body) { beside(body, &r[0], body, &r[1]); }
static void in_turn(Body *body) { beside(body, &r[0], 0, 0), beside(body, &r[1], 0, 0); }

static void *go_away(void *x) { chdir("/usr"); return 0; }
static void *where(void *x) { getcwd(buffer, sizeof buffer); return 0; }
static void directory(void) { chdir("/"); beside(go_away, 0, where, 0); assert(!strcmp(buffer, "/")); }
static void directory_ordered(void) { chdir("/"); beside(go_away, 0, 0, 0); where(0); assert(!strcmp(buffer, "/usr")); }
static void *find(void *x) { r[0] = access("bin", F_OK); return 0; }
static void directory_relative(void) { chdir("/dev"); beside(go_away, 0, find, 0); assert(r[0] != 0); }
static void *find_absolute(void *x) { r[0] = access("/dev/null", F_OK); return 0; }
static void directory_absolute(void) { chdir("/dev"); beside(go_away, 0, find_absolute, 0); assert(r[0] == 0); }

static void *mask(void *x) { *(int *)x = umask(077); return 0; }
static void mask_order(void) { umask(022); both(mask); assert(r[1] == 022); }
static void mask_ordered(void) { umask(022); in_turn(mask); assert(r[0] == 022 && r[1] == 077); }

static void *open_one(void *x) { *(int *)x = open("/dev/null", O_WRONLY); return 0; }
static void open_order(void) { both(open_one); assert(r[0] < r[1]); }
static void open_other_order(void) { both(open_one); assert(r[0] > r[1]); }
static void open_ordered(void) { in_turn(open_one); assert(r[0] < r[1]); }
static void *open_locked(void *x) {
    pthread_mutex_lock(&m);
    open_one(x);
    pthread_mutex_unlock(&m);
    return 0;
}
static void open_under_mutex(void) { both(open_locked); assert(r[0] < r[1]); }
static void open_distinct(void) { both(open_one); assert(r[0] != r[1] && r[0] > 2 && r[1] > 2); }
static void *dup_one(void *x) { *(int *)x = dup(0); return 0; }
static void dup_order(void) { both(dup_one); assert(r[0] < r[1]); }
static void *dup_command(void *x) { *(int *)x = fcntl(0, F_DUPFD, 10); return 0; }
static void dup_command_order(void) { both(dup_command); assert(r[0] < r[1]); }
static void *pipe_one(void *x) { int p[2]; pipe(p); *(int *)x = p[0]; return 0; }
static void pipe_order(void) { both(pipe_one); assert(r[0] < r[1]); }
static void *event_one(void *x) { *(int *)x = eventfd(0, 0); return 0; }
static void event_order(void) { both(event_one); assert(r[0] < r[1]); }
static void *memory_one(void *x) { *(int *)x = memfd_create("m", 0); return 0; }
static void memory_order_of_files(void) { both(memory_one); assert(r[0] < r[1]); }
static void mixed_order(void) { beside(event_one, &r[0], open_one, &r[1]); assert(r[0] < r[1]); }
static void *stream_one(void *x) { *(int *)x = fileno(fopen("/dev/null", "r")); return 0; }
static void stream_order(void) { both(stream_one); assert(r[0] < r[1]); }

static void *close_it(void *x) { close(fd); return 0; }
static void close_and_open(void) { fd = dup(0); beside(close_it, 0, open_one, &r[0]); assert(r[0] != fd); }
static void close_and_open_kept(void) { fd = dup(0); beside(close_it, 0, open_one, &r[0]); assert(r[0] >= fd); }
static void *dup_end(void *x) { r[0] = dup(ends[0][1]); return 0; }
static void *write_closed(void *x) { close(fd); r[1] = write(fd, "x", 1); return 0; }
static void stale_write(void) { pipe(ends[0]); fd = dup(0); beside(dup_end, 0, write_closed, 0); assert(r[1] < 0); }
static void *seek_it(void *x) { r[1] = lseek(fd, 0, SEEK_CUR); return 0; }
static void close_while_used(void) { fd = open("/etc/passwd", O_RDONLY); beside(close_it, 0, seek_it, 0); assert(r[1] == 0); }
static void close_after_use(void) { fd = open("/etc/passwd", O_RDONLY); beside(seek_it, 0, 0, 0); close_it(0); assert(r[1] == 0); }

static void *key_one(void *x) { pthread_key_create(x, 0); return 0; }
static void key_order(void) { beside(key_one, &keys[0], key_one, &keys[1]); assert(keys[0] < keys[1]); }
static void key_distinct(void) { beside(key_one, &keys[0], key_one, &keys[1]); assert(keys[0] != keys[1]); }
static void key_again(void) {
    pthread_key_create(&keys[0], 0);
    pthread_setspecific(keys[0], &r);
    pthread_key_delete(keys[0]);
    pthread_key_create(&keys[1], 0);
    assert(keys[0] == keys[1] && !pthread_getspecific(keys[1]));
}

static void *put(void *x) { fputs("x", f); return 0; }
static void *put_char(void *x) { fputc('x', f); return 0; }
static void *close_stream(void *x) { fclose(f); return 0; }
static void use_after_close(void) { f = tmpfile(); fclose(f); fputs("x", f); }
static void print_after_close(void) { f = tmpfile(); fclose(f); fprintf(f, "x%d", 1); }
static void close_twice(void) { f = tmpfile(); fclose(f); fclose(f); }
static void close_beside_use(void) { f = tmpfile(); beside(put, 0, close_stream, 0); }
static void close_beside_char(void) { f = tmpfile(); beside(close_stream, 0, put_char, 0); }
static void close_after_join(void) { f = tmpfile(); beside(put, 0, put, 0); fclose(f); }
static void open_again(void) { f = tmpfile(); fclose(f); f = tmpfile(); fputs("x", f); fclose(f); }
static void memory_again(void) { f = tmpfile(); fclose(f); f = fmemopen(buffer, 64, "w"); fputs("x", f); fclose(f); }
static void read_closed(void) { dir = opendir("/"); closedir(dir); readdir(dir); }
static void read_open(void) { dir = opendir("/"); readdir(dir); closedir(dir); }

static void *look(void *x) { r[0] = buffer[0]; return 0; }
static void buffer_race(void) { f = tmpfile(); setvbuf(f, buffer, _IOFBF, 64); beside(put, 0, look, 0); fclose(f); }
static void buffer_locked(void) { f = tmpfile(); setvbuf(f, buffer, _IOFBF, 64); beside(put, 0, put, 0); fclose(f); }
static void buffer_unused(void) { f = tmpfile(); setvbuf(f, buffer, _IONBF, 0); beside(put, 0, look, 0); fclose(f); }
static void memory_locked(void) { f = fmemopen(buffer, 64, "w"); beside(put, 0, put, 0); fclose(f); }
static void memory_race(void) { f = fmemopen(buffer, 64, "w"); setbuf(f, 0); beside(put, 0, look, 0); fclose(f); }

static void *draw(void *x) { drand48(); return 0; }
static void *draw_long(void *x) { lrand48(); return 0; }
static unsigned short own[2][3];
static void *draw_own(void *x) { nrand48(x); return 0; }
static void drand48_race(void) { beside(draw, 0, draw_long, 0); }
static void drand48_ordered(void) { beside(draw, 0, 0, 0); draw_long(0); }
static void drand48_own(void) { beside(draw_own, own[0], draw_own, own[1]); }

static void *name(void *x) { pthread_setname_np(pthread_self(), "new"); return 0; }
static void names(void) {
    pthread_t t;
    char b[16];
    pthread_create(&t, 0, name, 0);
    pthread_getname_np(t, b, 16);
    pthread_join(t, 0);
    assert(strcmp(b, "new"));
}

static void first(void) { assert(r[0] != 1); }
static void second(void) { r[0] = 1; }
static void *at_first(void *x) { atexit(first); return 0; }
static void *at_second(void *x) { atexit(second); return 0; }
static void exit_order(void) { beside(at_first, 0, at_second, 0); exit(0); }
static void exit_ordered(void) { at_second(0); beside(at_first, 0, 0, 0); exit(0); }

static pthread_t former;
static void *compare(void *x) { r[0] |= pthread_equal(pthread_self(), former); return 0; }
static void handle_again(void) {
    pthread_create(&former, 0, where, 0);
    pthread_join(former, 0);
    beside(compare, 0, 0, 0);
    assert(!r[0]);
}
static void handle_alive(void) {
    former = pthread_self();
    beside(compare, 0, 0, 0);
    assert(!r[0]);
}

static const struct { const char *name, *verdict; void (*run)(void); } rows[] = {
#define BAD(row) {#row, "failure assertion", row},
#define RACE(row) {#row, "failure data-race", row},
#define USE(row) {#row, "failure use-after-free", row},
#define GOOD(row) {#row, "verified", row},
    BAD(directory) GOOD(directory_ordered) BAD(directory_relative) GOOD(directory_absolute)
    BAD(mask_order) GOOD(mask_ordered)
    BAD(open_order) BAD(open_other_order) GOOD(open_ordered) BAD(open_under_mutex) GOOD(open_distinct)
    BAD(dup_order) BAD(dup_command_order) BAD(pipe_order) BAD(event_order) BAD(memory_order_of_files) BAD(mixed_order)
    BAD(stream_order) BAD(close_and_open) GOOD(close_and_open_kept) BAD(stale_write) BAD(close_while_used) GOOD(close_after_use)
    BAD(key_order) GOOD(key_distinct) GOOD(key_again)
    USE(use_after_close) USE(print_after_close) USE(close_twice) USE(close_beside_use) USE(close_beside_char)
    GOOD(close_after_join) GOOD(open_again) GOOD(memory_again) USE(read_closed) GOOD(read_open)
    RACE(buffer_race) GOOD(buffer_locked) GOOD(buffer_unused) GOOD(memory_locked) RACE(memory_race)
    RACE(drand48_race) GOOD(drand48_ordered) GOOD(drand48_own)
    {"handle_again", "no-failure-with-caveats reuse", handle_again}, GOOD(handle_alive)
    BAD(names) BAD(exit_order) GOOD(exit_ordered)
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
