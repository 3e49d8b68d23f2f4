/* Calls with invalid arguments, and numbers that follow from a seed: without raddle the program prints the results, and with it compares them. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timerfd.h>
#include <sys/resource.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/ioctl.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <limits.h>
#include <string.h>
#include <stdint.h>
static int junk[2], sp[2], pi[2], ev, tf, ep, reg, dg[2];
static char buf[64], state[128];
static struct timespec bad = {0, 2000000000}, neg = {-1, 0}, negn = {0, -1}, zero = {0, 0}, past = {1, 0};
static struct itimerspec ibad = {{0, 0}, {0, 2000000000}}, ineg = {{-1, 0}, {0, 1}}, izero, ione = {{0, 0}, {1, 0}}, ibadi = {{0, 2000000000}, {1, 0}}, iget;
static struct itimerval vbad = {{0, 0}, {0, 2000000}}, vneg = {{0, 0}, {-1, 0}}, vzero, vget;
static struct timeval tbad = {0, 2000000}, tneg = {-1, 0}, tzero = {0, 0};
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t er = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, rec = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t ba;
static sem_t se;
static pthread_attr_t at; static pthread_mutexattr_t ma; static pthread_condattr_t ca; static pthread_rwlockattr_t ra; static pthread_barrierattr_t baa;
static struct sigaction sa; static sigset_t ss;
static struct epoll_event ee;
static struct sched_param spar;
static timer_t ti; static struct sigevent sev;
static stack_t st;
static int out;
static void *same(void *a) { return a; }
static pthread_key_t key;
static struct timespec ts; 
static struct rlimit rl;
static struct iovec iov[2] = {{buf, 4}, {buf + 4, 4}};
static fd_set fs;
static socklen_t sl;
static struct stat sb;
static char altstack[65536];
static void handler(int s) {}
static thrd_t tt;
static mtx_t mm;
static pthread_t self_t;
static cpu_set_t cpus;
#define LIST \
T(shutdown(sp[0], 99)) \
T(shutdown(sp[0], -1)) \
T(epoll_create1(1)) \
T(epoll_create1(-1)) \
T(epoll_create1(O_NONBLOCK)) \
T(epoll_ctl(pi[0], EPOLL_CTL_ADD, 999, &ee)) \
T(epoll_ctl(reg, EPOLL_CTL_ADD, pi[0], &ee)) \
T(epoll_wait(ep, &ee, INT_MAX, 0)) \
T(epoll_wait(reg, &ee, 1, 0)) \
T(epoll_pwait2(ep, &ee, 1, &bad, 0)) \
T(epoll_pwait2(ep, &ee, 1, &neg, 0)) \
T(timerfd_settime(tf, 0, &ibad, 0)) \
T(timerfd_settime(tf, 0, &ineg, 0)) \
T(timerfd_settime(tf, 0, &ibadi, 0)) \
T(timerfd_settime(tf, 99, &izero, 0)) \
T(timerfd_settime(tf, 4, &izero, 0)) \
T(timerfd_settime(tf, 0, 0, 0)) \
T(timerfd_settime(pi[1], 0, &izero, 0)) \
T(socketpair(AF_UNIX, SOCK_STREAM, 77, junk)) \
T(socketpair(AF_UNIX, SOCK_RDM, 0, junk)) \
T(socketpair(AF_UNIX, 0, 0, junk)) \
T(read(ep, buf, 8)) \
T(read(pi[0], buf, -1L)) \
T(recv(sp[0], buf, 0, MSG_DONTWAIT)) \
T(recv(dg[0], buf, 0, MSG_DONTWAIT)) \
T(lseek(pi[0], 0, 99)) \
T(lseek(ep, 0, 99)) \
T(lseek(ev, 0, 99)) \
T(readv(pi[1], iov, -1)) \
T(isatty(pi[0])) \
T(isatty(ev)) \
T(fcntl(pi[0], F_DUPFD, -1)) \
T(fcntl(pi[0], F_DUPFD, 1 << 30)) \
T(fcntl(ev, F_GETPIPE_SZ)) \
T(fcntl(sp[0], F_GETPIPE_SZ)) \
T(fcntl(tf, F_GETFL)) \
T(fcntl(ep, F_GETFL)) \
T(dup3(999, 999, 0)) \
T(ioctl(ev, FIONREAD, &out)) \
T(ioctl(tf, FIONREAD, &out)) \
T(ppoll(0, 0, &bad, 0)) \
T(ppoll(0, 0, &neg, 0)) \
T(ppoll(0, 0, &negn, 0)) \
T(select(0, 0, 0, 0, &tneg)) \
T(pselect(0, 0, 0, 0, &bad, 0)) \
T(pselect(0, 0, 0, 0, &neg, 0)) \
T(pselect(-1, 0, 0, 0, &zero, 0)) \
T(select(0, 0, 0, 0, &(struct timeval){0, -1})) \
T(clock_nanosleep(CLOCK_MONOTONIC_RAW, 0, &zero, 0)) \
T(clock_nanosleep(CLOCK_MONOTONIC_COARSE, 0, &zero, 0)) \
T(thrd_sleep(&bad, 0)) \
T(thrd_sleep(&neg, 0)) \
T(timer_create(CLOCK_MONOTONIC, (sev.sigev_notify = SIGEV_SIGNAL, sev.sigev_signo = 0, &sev), &ti)) \
T(timer_create(CLOCK_MONOTONIC_RAW, 0, &ti)) \
T(timer_create(CLOCK_MONOTONIC_COARSE, 0, &ti)) \
T((sev.sigev_notify = SIGEV_NONE, timer_create(CLOCK_MONOTONIC, &sev, &ti), timer_settime(ti, 0, 0, 0))) \
T(sigaction(32, &sa, 0)) \
T(sigaction(33, 0, &sa)) \
T(signal(SIGUSR1, SIG_ERR) == SIG_ERR) \
T((sigemptyset(&ss), sigtimedwait(&ss, 0, &neg))) \
T(sigaltstack((st.ss_flags = 99, &st), 0)) \
T(sigaltstack((st = (stack_t){altstack, 0, 100}, &st), 0)) \
T((st = (stack_t){altstack, 0, sizeof altstack}, sigaltstack(&st, 0), sigaltstack(0, &st), st.ss_sp == altstack && st.ss_size == sizeof altstack && st.ss_flags == 0)) \
T((pthread_mutex_lock(&m), out = pthread_mutex_timedlock(&m, &neg), pthread_mutex_unlock(&m), out)) \
T(sem_open("/a/b", O_CREAT, 0600, 0) == SEM_FAILED) \
T(sem_open("/nope-raddle", O_CREAT, 0600, 1u << 31) == SEM_FAILED) \
T(sem_open("", O_CREAT, 0600, 0) == SEM_FAILED) \
T(pthread_getaffinity_np(pthread_self(), 1, &cpus)) \
T((fstat(pi[0], &sb), S_ISFIFO(sb.st_mode))) \
T((fstat(sp[0], &sb), S_ISSOCK(sb.st_mode))) \
T(accept(pi[0], 0, 0)) \
T(accept(sp[0], 0, 0)) \
T(accept4(sp[0], 0, 0, 1)) \
T((fstat(pi[0], &sb), S_ISFIFO(sb.st_mode))) \
T((sl = sizeof out, getsockopt(sp[0], SOL_SOCKET, SO_TYPE, &out, &sl), out)) \
T((sl = sizeof out, getsockopt(pi[0], SOL_SOCKET, SO_TYPE, &out, &sl))) \
T((sl = 64, getsockname(sp[0], (void *)buf, &sl)) + sl) \
T((sl = 64, recvfrom(sp[0], buf, 4, MSG_DONTWAIT, (void *)buf, &sl))) \
T((fstat(sp[0], &sb), S_ISSOCK(sb.st_mode))) \
T((long)mmap(0, 4096, PROT_READ, MAP_PRIVATE, pi[0], 0)) \
T(rand()) \
T(random()) \
T((srand(7), rand() + rand())) \
T(lrand48()) \
T((srand48(1), lrand48())) \
T(mrand48()) \
T(drand48() * 1e9) \
T((initstate(1, state, 64), random())) \
T((initstate(5, state, 8), random(), random())) \
T((setstate(state), rand())) \
T((memset(state + 4, 0, 4), rand()))

#define T(e) #e,
static const char *texts[] = {LIST};
#undef T
enum { COUNT = sizeof texts / sizeof *texts };
static const long expected[COUNT + 1][2] = {
#ifdef EXPECTED
#include EXPECTED
#endif
};
static int next;
static void one(long result, int number)
{
#ifdef EXPECTED
    if (result != expected[next][0] || result == -1 && number != expected[next][1]) {
        char text[600];
        snprintf(text, sizeof text, "%s is %ld with error %d, and %ld with error %d without raddle", texts[next], result, number,
                 expected[next][0], expected[next][1]);
        __assert_fail(text, "invalid.c", 1, "one");
    }
#else
    printf("{%ld, %d},\n", result, number);
#endif
    next++;
}
int main(void)
{
    pipe(pi);
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sp);
    socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, dg);
    fcntl(pi[0], F_SETFL, O_NONBLOCK);
    ev = eventfd(0, EFD_NONBLOCK);
    tf = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    ep = epoll_create1(0);
    char name[] = "/tmp/raddle-invalid-XXXXXX";
    reg = mkstemp(name);
    unlink(name);
#define T(e) do { errno = 0; long r = (long)(e); one(r, errno); } while (0);
    LIST
    return 0;
}
