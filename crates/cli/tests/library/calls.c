/* Library functions that touch a caller's memory or hidden state, one row each. `program NUMBER racy` runs the call of a row
   beside another use of what it touches, `program NUMBER ordered` one after the other, `program` prints how many there are. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <error.h>
#include <err.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <iconv.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <libintl.h>
#include <pwd.h>
#include <regex.h>
#include <search.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>
#include <wchar.h>

static _Thread_local volatile long sink;
static void keep(void *p) {}
static char b[256] = "some words here", *p, *q;
static wchar_t wide[64] = L"some wide words", *wp;
static int x, y;
static long l;
static double d;
static size_t n;
static time_t now = 1000000;
static struct tm tm;
static struct timespec spec;
static struct timeval val;
static struct stat st;
static struct utsname names;
static struct rusage usage;
static mbstate_t state;
static sigset_t set;
static sem_t sem;
static pthread_attr_t attr;
static regex_t regex;
static regmatch_t matches[2];
static glob_t found;
static struct passwd user, *users;
static Dl_info about;
static char *variables[] = { "A=b", 0 };
int main(int, char **);
static void *root;
static iconv_t conversion;
static FILE *file;
static int fds[2];
static unsigned seed;

static int compare(const void *a, const void *c) { return *(const char *)a - *(const char *)c; }
static int scan(const char *s, const char *f, ...) {
    va_list list;
    va_start(list, f);
    int got = vsscanf(s, f, list);
    va_end(list);
    return got;
}
static int print(FILE *f, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int got = vfprintf(f, format, list);
    va_end(list);
    return got;
}

struct row {
    const char *name;
    void (*prepare)(void), (*call)(void), (*other)(void);
};
static void convert(char *from) {
    char *to = b;
    size_t left = 2, room = 99;
    iconv(conversion, &from, &left, &to, &room);
}

#define ROWS \
    ROW(memccpy, , memccpy(b, "abc", 'c', 9), sink = b[2]) \
    ROW(memccpy_read, , memccpy(wide, b, 0, 9), b[2] = 1) \
    ROW(rawmemchr, , sink = (long)rawmemchr(b, 'w'), b[5] = 'w') \
    ROW(memmem, , sink = (long)memmem(b, 8, "me", 2), b[3] = 1) \
    ROW(explicit_bzero, , explicit_bzero(b, 8), sink = b[7]) \
    ROW(stpncpy, , stpncpy(b, "a", 8), sink = b[7]) \
    ROW(strchrnul, , sink = (long)strchrnul(b, 'z'), b[1] = 'x') \
    ROW(strcoll, , sink = strcoll(b, "x"), b[0] = 'x') \
    ROW(strxfrm, , strxfrm(b, "abc", 100), sink = b[2]) \
    ROW(strcasestr, , sink = (long)strcasestr(b, "HERE"), b[2] = 'x') \
    ROW(strsep, p = b, strsep(&p, " "), sink = (long)p) \
    ROW(strsep_end, p = b, strsep(&p, " "), sink = b[4]) \
    ROW(strtok, strtok(b, " "), strtok(b, " "), strtok(0, " ")) \
    ROW(strtok_text, , strtok(b, " "), sink = b[4]) \
    ROW(strtok_r, , strtok_r(b, " ", &q), sink = (long)q) \
    ROW(index, , sink = (long)index(b, 'w'), b[0] = 1) \
    ROW(wcscpy, , wcscpy(wide, L"abc"), sink = wide[3]) \
    ROW(wcscat, , wcscat(wide, L"abc"), sink = wide[16]) \
    ROW(wcslen, , sink = wcslen(wide), wide[1] = 'x') \
    ROW(wcscmp, , sink = wcscmp(wide, L"x"), wide[0] = 'x') \
    ROW(wcschr, , sink = (long)wcschr(wide, 'w'), wide[2] = 'x') \
    ROW(wmemset, , wmemset(wide, 1, 4), sink = wide[3]) \
    ROW(wcstombs, , wcstombs(b, wide, 200), sink = b[3]) \
    ROW(mbstowcs, , mbstowcs(wide, "abc", 9), sink = wide[3]) \
    ROW(mbrtowc, , mbrtowc(wide, b, 4, &state), sink = wide[0]) \
    ROW(wcstol, wcscpy(wide, L"12"), sink = wcstol(wide, &wp, 10), sink = (long)wp) \
    ROW(swprintf, , swprintf(wide, 60, L"%d", 12), sink = wide[1]) \
    ROW(strtol_end, , strtol("12", &p, 10), sink = (long)p) \
    ROW(strtod_end, , strtod("12", &p), sink = (long)p) \
    ROW(strtof, , sink = strtof(b, &p), b[0] = '1') \
    ROW(atof, , sink = atof(b), b[0] = '1') \
    ROW(strtoimax, , strtoimax("12", &p, 10), sink = (long)p) \
    ROW(sscanf_number, , sscanf("12", "%d", &x), sink = x) \
    ROW(sscanf_second, , sscanf("12 z 13", "%*d %s %ld", b, &l), sink = l) \
    ROW(sscanf_set, , sscanf("abc", "%[a-z]", b), sink = b[3]) \
    ROW(sscanf_char, , sscanf("abc", "%2c", b), sink = b[1]) \
    ROW(sscanf_text, , sscanf(b, "%d", &x), b[0] = '1') \
    ROW(vsscanf, , scan("1.5", "%lf", &d), sink = d) \
    ROW(frexp, , frexp(3.5, &x), sink = x) \
    ROW(modf, , modf(3.5, &d), sink = d) \
    ROW(remquo, , remquo(3.5, 2, &x), sink = x) \
    ROW(fread, file = fopen("/dev/zero", "r"), fread(b, 1, 8, file), sink = b[7]) \
    ROW(fgets, file = fopen("/etc/passwd", "r"), fgets(b, 30, file), sink = b[3]) \
    ROW(getline, file = fopen("/etc/passwd", "r"), getline(&p, &n, file), sink = n) \
    ROW(getdelim, file = fopen("/etc/passwd", "r"), getdelim(&p, &n, ':', file), sink = (long)p) \
    ROW(fscanf, file = fopen("/etc/passwd", "r"), fscanf(file, "%10s", b), sink = b[0]) \
    ROW(fwrite, file = fopen("/dev/null", "w"), fwrite(b, 1, 8, file), b[7] = 1) \
    ROW(vfprintf, file = fopen("/dev/null", "w"), print(file, "%s", b), b[7] = 1) \
    ROW(dprintf, fds[0] = open("/dev/null", O_WRONLY), dprintf(fds[0], "%s", b), b[7] = 1) \
    ROW(putc_unlocked, , (putchar_unlocked)('x'), (putchar_unlocked)('y')) \
    ROW(fmemopen, file = fmemopen(b, 8, "w"), (fputc('x', file), fflush(file)), sink = b[0]) \
    ROW(open_memstream, file = open_memstream(&p, &n), (fputc('x', file), fflush(file)), sink = n) \
    ROW(read, fds[0] = open("/dev/zero", O_RDONLY), sink = read(fds[0], b, 8), sink = b[7]) \
    ROW(pread, fds[0] = open("/etc/passwd", O_RDONLY), sink = pread(fds[0], b, 8, 0), sink = b[7]) \
    ROW(readv, fds[0] = open("/dev/zero", O_RDONLY), sink = readv(fds[0], &(struct iovec){ b, 8 }, 1), sink = b[7]) \
    ROW(write, fds[0] = open("/dev/null", O_WRONLY), sink = write(fds[0], b, 8), b[7] = 1) \
    ROW(pwrite, fds[0] = open("/dev/null", O_WRONLY), sink = pwrite(fds[0], b, 8, 0), b[7] = 1) \
    ROW(writev, fds[0] = open("/dev/null", O_WRONLY), sink = writev(fds[0], &(struct iovec){ b, 8 }, 1), b[7] = 1) \
    ROW(stat, , stat("/etc/passwd", &st), sink = st.st_size) \
    ROW(fstat, , fstat(0, &st), sink = st.st_mode) \
    ROW(lstat, , lstat("/etc/passwd", &st), sink = st.st_size) \
    ROW(stat_path, strcpy(b, "/etc"), stat(b, &st), b[1] = 'f') \
    ROW(readlink, , sink = readlink("/proc/self/exe", b, 200), sink = b[0]) \
    ROW(realpath, , sink = (long)realpath("/", b), sink = b[0]) \
    ROW(getcwd, , sink = (long)getcwd(b, 200), sink = b[0]) \
    ROW(qsort, , qsort(b, 8, 1, compare), sink = b[7]) \
    ROW(lsearch, n = 2, lsearch("Z", b, &n, 1, compare), sink = n) \
    ROW(tsearch, , tsearch("x", &root, compare), sink = (long)root) \
    ROW(time, , time(&now), sink = now) \
    ROW(gettimeofday, , gettimeofday(&val, 0), sink = val.tv_sec) \
    ROW(clock_gettime, , clock_gettime(CLOCK_MONOTONIC, &spec), sink = spec.tv_nsec) \
    ROW(clock_getres, , clock_getres(CLOCK_MONOTONIC, &spec), sink = spec.tv_nsec) \
    ROW(gmtime_r, , gmtime_r(&now, &tm), sink = tm.tm_year) \
    ROW(localtime_r, , localtime_r(&now, &tm), sink = tm.tm_year) \
    ROW(localtime, , localtime(&now), gmtime(&now)) \
    ROW(asctime, , asctime(&tm), asctime(&(struct tm){ 0 })) \
    ROW(mktime, , mktime(&tm), sink = tm.tm_yday) \
    ROW(strftime, , strftime(b, 99, "%Y", &tm), sink = b[0]) \
    ROW(strptime, , strptime("1999", "%Y", &tm), sink = tm.tm_year) \
    ROW(getenv, , setenv("FOO", "1", 1), sink = (long)getenv("FOO")) \
    ROW(putenv, , putenv("FOO=1"), unsetenv("BAR")) \
    ROW(getpwuid_r, , getpwuid_r(0, &user, b, 200, &users), sink = (long)users) \
    ROW(getpwuid, , getpwuid(0), getpwuid(0)) \
    ROW(uname, , uname(&names), sink = names.sysname[0]) \
    ROW(getrusage, , getrusage(RUSAGE_SELF, &usage), sink = usage.ru_maxrss) \
    ROW(gethostname, , gethostname(b, 99), sink = b[0]) \
    ROW(rand_r, , rand_r(&seed), sink = seed) \
    ROW(getrandom, , sink = getrandom(b, 8, 0), sink = b[7]) \
    ROW(getentropy, , sink = getentropy(b, 8), sink = b[7]) \
    ROW(strerror_r, , sink = (long)strerror_r(2, b, 99), sink = b[0]) \
    ROW(setlocale, , setlocale(LC_ALL, "C"), setlocale(LC_NUMERIC, "C")) \
    ROW(sem_getvalue, sem_init(&sem, 0, 1), sem_getvalue(&sem, &x), sink = x) \
    ROW(getname, , pthread_getname_np(pthread_self(), b, 16), sink = b[0]) \
    ROW(sigmask, , pthread_sigmask(SIG_BLOCK, 0, &set), sink = ((char *)&set)[0]) \
    ROW(sigaddset, sigemptyset(&set), sigaddset(&set, 3), sink = sigismember(&set, 4)) \
    ROW(attribute, pthread_attr_init(&attr), pthread_attr_getstacksize(&attr, &n), sink = n) \
    ROW(posix_memalign, , sink = posix_memalign((void **)&p, 16, 8), sink = (long)p) \
    ROW(regexec, regcomp(&regex, "(w)", REG_EXTENDED), regexec(&regex, "w", 2, matches, 0), sink = matches[0].rm_so) \
    ROW(regexec_text, regcomp(&regex, "w", 0), regexec(&regex, b, 0, 0, 0), b[0] = 'w') \
    ROW(glob, , glob("/etc/passwd", 0, 0, &found), sink = found.gl_pathc) \
    ROW(fnmatch, , sink = fnmatch("s*", b, 0), b[0] = 's') \
    ROW(inet_ntop, , inet_ntop(AF_INET, &y, b, 99), sink = b[0]) \
    ROW(inet_pton, , inet_pton(AF_INET, "1.2.3.4", &x), sink = x) \
    ROW(printf_position, , printf("%2$s %1$d\n", 1, b), b[2] = 'x') \
    ROW(printf_position_width, , printf("%3$*2$d %1$s\n", b, 9, 5), b[2] = 'x') \
    ROW(printf_n, , printf("ab%n\n", &x), sink = x) \
    ROW(snprintf_n, , snprintf(b, 99, "ab%ln", &l), sink = l) \
    ROW(printf_wide, , printf("%ls\n", wide), wide[1] = 'x') \
    ROW(snprintf_wide, , snprintf(b, 99, "%S", wide), wide[1] = 'x') \
    ROW(wprintf_wide, , wprintf(L"%ls\n", wide), wide[1] = 'x') \
    ROW(wprintf_narrow, , wprintf(L"%d %s\n", 1, b), b[1] = 'x') \
    ROW(fwprintf_format, , fwprintf(stderr, wide), wide[1] = 'x') \
    ROW(swprintf_argument, , swprintf(wide, 60, L"%s", b), b[1] = 'x') \
    ROW(sscanf_position, , sscanf("1 2", "%2$d %1$d", &y, &x), sink = x) \
    ROW(sscanf_n_at_end, , sscanf("", "%n%d", &x, &y), sink = x) \
    ROW(swscanf, , swscanf(L"12", L"%d", &x), sink = x) \
    ROW(swscanf_text, , sink = swscanf(wide, L"%d", &x), wide[1] = 'x') \
    ROW(swscanf_string, , swscanf(L"ab", L"%ls", wide), sink = wide[0]) \
    ROW(warnx, , warnx("%s", b), b[1] = 'x') \
    ROW(warn, , warn("%s", b), b[1] = 'x') \
    ROW(syslog, , syslog(LOG_DEBUG, "%s", b), b[1] = 'x') \
    ROW(dladdr, , dladdr((void *)main, &about), sink = (long)about.dli_fname) \
    ROW(tdestroy, tsearch("x", &root, compare), sink = (long)tfind("x", &root, compare), tdestroy(root, keep)) \
    ROW(getutent, , getutent(), endutent()) \
    ROW(qfcvt, , sink = (long)qfcvt(1.5L, 2, &x, &y), qecvt(1.5L, 2, &x, &y)) \
    ROW(timezone, , tzset(), sink = timezone) \
    ROW(daylight, , mktime(&tm), sink = daylight) \
    ROW(tzname, , localtime(&now), sink = (long)tzname[0]) \
    ROW(stdout_printf, , printf("x"), stdout = stderr) \
    ROW(stdout_putchar, , putchar('x'), stdout = stderr) \
    ROW(environ, , sink = (long)getenv("A"), environ = variables) \
    ROW(environ_element, , sink = (long)getenv("A"), environ[0] = "A=b") \
    ROW(opterr, , getopt(1, variables, "a"), opterr = 0) \
    ROW(textdomain, , textdomain("x"), sink = (long)gettext("y")) \
    ROW(sigorset, , sigorset(&set, &set, &set), sigemptyset(&set)) \
    ROW(iconv_output, conversion = iconv_open("UTF-8", "LATIN1"), convert("ab"), sink = b[1]) \
    ROW(iconv_input, conversion = iconv_open("UTF-8", "LATIN1"), convert((char *)wide), wide[0] = 'x') \
    ROW(iconv_descriptor, conversion = iconv_open("UTF-8", "LATIN1"), iconv(conversion, 0, 0, 0, 0), iconv_close(conversion))

#define ROW(name, prepare, call, other) \
    static void prepare_##name(void) { prepare; } \
    static void call_##name(void) { call; } \
    static void other_##name(void) { other; }
ROWS
#undef ROW
#define ROW(name, prepare, call, other) { #name, prepare_##name, call_##name, other_##name },
static const struct row rows[] = { ROWS };

static void *run(void *row) {
    ((const struct row *)row)->call();
    return 0;
}

int main(int argc, char **argv) {
    int count = sizeof rows / sizeof *rows;
    if (argc < 3) {
        for (int i = 0; i < count; i++)
            puts(rows[i].name);
        return 0;
    }
    const struct row *row = &rows[atoi(argv[1])];
    row->prepare();
    pthread_t t;
    pthread_create(&t, 0, run, (void *)row);
    if (strcmp(argv[2], "racy") == 0) {
        row->other();
        pthread_join(t, 0);
    } else {
        pthread_join(t, 0);
        row->other();
    }
    return 0;
}
