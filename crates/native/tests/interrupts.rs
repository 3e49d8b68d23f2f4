//! Signals and timers: handlers that interrupt threads, signals that are waited for, functions that timers call.

mod common;

use common::Right::{Caveat, Fails, Refused, Verified};
use common::run_table;

const LOCKS: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int n;
static void h(int s) { pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); }
static pthread_t first;
static void *w(void *u) {
#ifdef THREAD
    pthread_kill(first, SIGUSR1);
#else
    kill(getpid(), SIGUSR1);
#endif
    return 0;
}
int main(void) {
    pthread_t t;
    sigset_t set;
    first = pthread_self();
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    signal(SIGUSR1, h);
    pthread_create(&t, 0, w, 0);
    for (int i = 0; i < 2; i++) {
#ifdef BLOCK
        pthread_sigmask(SIG_BLOCK, &set, 0);
#endif
        pthread_mutex_lock(&m);
        n++;
        pthread_mutex_unlock(&m);
#ifdef BLOCK
        pthread_sigmask(SIG_UNBLOCK, &set, 0);
#endif
    }
    pthread_join(t, 0);
    return 0;
}
"#;

const MEMORY: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>
static volatile sig_atomic_t plain;
static atomic_int n, seen;
static pthread_t first;
static void h(int s) { plain = plain + 1; n++; seen = seen + 1; }
static void *w(void *u) { pthread_kill(first, SIGUSR1); return 0; }
int main(void) {
    pthread_t t;
    first = pthread_self();
    signal(SIGUSR1, h);
    pthread_create(&t, 0, w, 0);
#ifdef PLAIN
    plain = plain + 1;
#else
    n++;
#endif
    pthread_join(t, 0);
#ifdef PLAIN
    if (seen) assert(plain == 2);
#else
    if (seen) assert(n == 2);
#endif
    return 0;
}
"#;

const PAUSE: &str = r#"
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>
static volatile sig_atomic_t flag;
static void h(int s) { flag = 1; errno = 7; }
int main(void) {
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    signal(SIGALRM, h);
#if HOW == 1 /* the signal may come between the look and the wait */
    alarm(1);
    while (!flag) pause();
#elif HOW == 2
    sigprocmask(SIG_BLOCK, &set, &old);
    alarm(1);
    while (!flag) assert(sigsuspend(&old) == -1 && errno == EINTR);
#elif HOW == 3 /* stopped in time, or not */
    alarm(1);
    alarm(0);
    assert(!flag);
#elif HOW == 4
    errno = 0;
    raise(SIGALRM);
    assert(flag == 1 && errno == 7);
#elif HOW == 5 /* pending signals are one */
    int s;
    sigprocmask(SIG_BLOCK, &set, 0);
    raise(SIGALRM);
    raise(SIGALRM);
    assert(!flag);
    assert(sigwait(&set, &s) == 0 && s == SIGALRM);
    sigpending(&old);
    assert(!sigismember(&old, SIGALRM));
#elif HOW == 6
    signal(SIGTERM, SIG_IGN);
    kill(getpid(), SIGTERM);
    signal(SIGTERM, SIG_DFL);
    kill(getpid(), SIGTERM);
#elif HOW == 7
    union sigval v = {1};
    sigqueue(getpid(), SIGUSR1, v);
#elif HOW == 8 /* nobody sends it */
#elif HOW == 9 /* it comes from outside, if at all */
    pause();
    assert(flag);
#elif HOW == 10
    pause();
    assert(!flag);
#endif
    return 0;
}
"#;

const RECEIVER: &str = r#"
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static int data;
static void *w(void *u) {
    sigset_t set;
    int s;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigwait(&set, &s);
    assert(s == SIGUSR1 && data == 1);
    return 0;
}
int main(void) {
    pthread_t t;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_create(&t, 0, w, 0);
    data = 1;
#ifdef PROCESS
    kill(getpid(), SIGUSR1);
#else
    pthread_kill(t, SIGUSR1);
#endif
    pthread_join(t, 0);
    return 0;
}
"#;

const TIMER: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
static int fired;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static void cb(union sigval v) {
    assert(v.sival_int == 5);
#ifndef RACE
    pthread_mutex_lock(&m);
#endif
    fired = 1;
    pthread_cond_signal(&c);
#ifndef RACE
    pthread_mutex_unlock(&m);
#endif
}
int main(void) {
    timer_t t;
    struct sigevent e;
    memset(&e, 0, sizeof e);
    e.sigev_notify = SIGEV_THREAD;
    e.sigev_notify_function = cb;
    e.sigev_value.sival_int = 5;
    timer_create(CLOCK_MONOTONIC, &e, &t);
    struct itimerspec s = {{0, 0}, {0, 1000}};
#ifndef UNSET
    timer_settime(t, 0, &s, 0);
#endif
#ifdef RACE
    fired++;
#else
    pthread_mutex_lock(&m);
    while (!fired) pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
#endif
    timer_delete(t);
    return 0;
}
"#;

const FLAG: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>
static atomic_int stop;
static void h(int s) { stop = 1; }
static void *w(void *u) { while (!stop) usleep(100); return 0; }
int main(void) {
    pthread_t t;
    signal(SIGALRM, h);
    alarm(1);
    pthread_create(&t, 0, w, 0);
    pthread_join(t, 0);
    return 0;
}
"#;

const USERS: &str = r#"
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile sig_atomic_t stop;
static int plain, data;
static volatile long wide;
static atomic_int n, done;
static sem_t sem;
static sigjmp_buf buffer;
static pthread_t first;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static void on_stop(int s) { stop = 1; }
static void on_post(int s) { sem_post(&sem); }
static void on_add(int s) { n++; }
static void on_plain(int s) { plain++; }
static void on_wide(int s) { wide++; }
static void on_jump(int s) { siglongjmp(buffer, 1); }
static void on_recursive(int s) { pthread_mutex_lock(&recursive); n++; pthread_mutex_unlock(&recursive); }
static void *kills(void *u) { pthread_kill(first, SIGUSR1); return 0; }
static void *kills_process(void *u) { kill(getpid(), SIGUSR1); return 0; }
static void *kills_twice(void *u) { pthread_kill(first, SIGUSR1); pthread_kill(first, SIGUSR1); return 0; }
static void *idle(void *u) { n += 2; return 0; }
static void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = handler;
    a.sa_flags = flags;
    sigaction(signal, &a, 0);
}
int main(void) {
    pthread_t t, t2;
    sigset_t set, old;
    struct timespec ts = {1, 0};
    int fds[2], code = 0, i = 0;
    char byte;
    first = pthread_self();
    sem_init(&sem, 0, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
#if HOW == 1 /* a flag in a loop that sleeps */
    handle(SIGUSR1, on_stop, 0);
    pthread_create(&t, 0, kills, 0);
    while (!stop) usleep(1000);
    pthread_join(t, 0);
#elif HOW == 2 /* a flag in a loop that does nothing */
    handle(SIGUSR1, on_stop, 0);
    pthread_create(&t, 0, kills, 0);
    while (!stop);
    pthread_join(t, 0);
#elif HOW == 3 /* a plain flag */
    handle(SIGUSR1, on_plain, 0);
    pthread_create(&t, 0, kills, 0);
    while (!plain) usleep(1000);
    pthread_join(t, 0);
#elif HOW == 4 /* what is larger than a `sig_atomic_t` */
    handle(SIGUSR1, on_wide, 0);
    pthread_create(&t, 0, kills, 0);
    wide = 7;
    pthread_join(t, 0);
#elif HOW == 5 /* plain data, while the signal is blocked */
    handle(SIGUSR1, on_plain, 0);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    pthread_create(&t, 0, kills, 0);
    plain = 7;
    pthread_sigmask(SIG_SETMASK, &old, 0);
    pthread_join(t, 0);
#elif HOW == 6 /* the same, and then while it is not */
    handle(SIGUSR1, on_plain, 0);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    pthread_create(&t, 0, kills, 0);
    plain = 7;
    pthread_sigmask(SIG_SETMASK, &old, 0);
    plain = 8;
    pthread_join(t, 0);
#elif HOW == 7 /* the handler runs at the latest when the signal is not blocked any more */
    handle(SIGUSR1, on_add, 0);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    pthread_create(&t, 0, kills_twice, 0);
    pthread_join(t, 0);
    assert(n == 0);
    pthread_sigmask(SIG_SETMASK, &old, 0);
    assert(n == 1);
#elif HOW == 8 /* two signals are one or two */
    handle(SIGUSR1, on_add, 0);
    pthread_create(&t, 0, kills_twice, 0);
    pthread_join(t, 0);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    assert(n <= 2);
#elif HOW == 9
    handle(SIGUSR1, on_add, 0);
    pthread_create(&t, 0, kills_twice, 0);
    pthread_join(t, 0);
    assert(n != 1);
#elif HOW == 10 /* sem_wait fails */
    handle(SIGUSR1, on_post, 0);
    pthread_create(&t, 0, kills, 0);
    assert(sem_wait(&sem) == 0);
    pthread_join(t, 0);
#elif HOW == 11 /* and is made again */
    handle(SIGUSR1, on_post, 0);
    pthread_create(&t, 0, kills, 0);
    while (sem_wait(&sem) != 0) assert(errno == EINTR);
    pthread_join(t, 0);
#elif HOW == 12
    handle(SIGUSR1, on_post, SA_RESTART);
    pthread_create(&t, 0, kills, 0);
    assert(sem_wait(&sem) == 0);
    pthread_join(t, 0);
#elif HOW == 13 /* a semaphore that is free does not wait */
    handle(SIGUSR1, on_add, 0);
    sem_post(&sem);
    pthread_create(&t, 0, kills, 0);
    assert(sem_wait(&sem) == 0);
    pthread_join(t, 0);
#elif HOW == 14 /* read fails */
    handle(SIGUSR1, on_add, 0);
    pipe(fds);
    pthread_create(&t, 0, kills, 0);
    pthread_create(&t2, 0, idle, 0);
    write(fds[1], "x", 1);
    assert(read(fds[0], &byte, 1) == 1);
    pthread_join(t, 0);
    pthread_join(t2, 0);
#elif HOW == 15
    handle(SIGUSR1, on_add, 0);
    pipe(fds);
    pthread_create(&t, 0, kills, 0);
    code = read(fds[0], &byte, 1);
    assert(code == -1 && errno == EINTR && n == 1);
#elif HOW == 16
    handle(SIGUSR1, on_add, SA_RESTART);
    pipe(fds);
    pthread_create(&t, 0, kills, 0);
    code = read(fds[0], &byte, 1);
#elif HOW == 17 /* poll fails in any case */
    struct pollfd one = {0, POLLIN, 0};
    handle(SIGUSR1, on_add, SA_RESTART);
    pipe(fds);
    one.fd = fds[0];
    pthread_create(&t, 0, kills, 0);
    code = poll(&one, 1, -1);
    assert(code == -1 && errno == EINTR);
#elif HOW == 18 /* a sleep that is not finished */
    handle(SIGUSR1, on_add, SA_RESTART);
    pthread_create(&t, 0, kills, 0);
    assert(nanosleep(&ts, 0) == 0);
    pthread_join(t, 0);
#elif HOW == 19
    handle(SIGUSR1, on_jump, 0);
    if (sigsetjmp(buffer, 1)) return 0;
    pthread_create(&t, 0, kills, 0);
    pthread_join(t, 0);
#elif HOW == 20 /* the thread may hold the lock already */
    handle(SIGUSR1, on_recursive, 0);
    pthread_create(&t, 0, kills, 0);
    pthread_mutex_lock(&recursive);
    n++;
    pthread_mutex_unlock(&recursive);
    pthread_join(t, 0);
#elif HOW == 21 /* any thread takes a signal to the process */
    handle(SIGUSR1, on_add, 0);
    pthread_create(&t2, 0, idle, 0);
    pthread_create(&t, 0, kills_process, 0);
    pthread_join(t, 0);
    assert(n <= 3);
    pthread_join(t2, 0);
#elif HOW == 22 /* no other thread may take it, so it is there */
    handle(SIGUSR1, on_add, 0);
    pthread_create(&t, 0, idle, 0);
    pthread_join(t, 0);
    kill(getpid(), SIGUSR1);
    assert(n == 3);
#elif HOW == 23 /* one may */
    handle(SIGUSR1, on_add, 0);
    pthread_create(&t, 0, idle, 0);
    kill(getpid(), SIGUSR1);
    assert(n & 1);
    pthread_join(t, 0);
#elif HOW == 24 /* threads have the mask of those that make them */
    handle(SIGUSR1, on_add, 0);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    pthread_create(&t, 0, idle, 0);
    pthread_sigmask(SIG_SETMASK, &old, 0);
    kill(getpid(), SIGUSR1);
    assert(n & 1);
    pthread_join(t, 0);
#elif HOW == 25 /* a timer that counts */
    struct itimerval iv = {{0, 0}, {0, 1000}};
    handle(SIGALRM, on_add, SA_RESTART);
    setitimer(ITIMER_REAL, &iv, 0);
    while (!n) usleep(1000);
    assert(n == 1);
#elif HOW == 26
    struct itimerval iv = {{0, 1000}, {0, 1000}};
    handle(SIGALRM, on_add, SA_RESTART);
    setitimer(ITIMER_REAL, &iv, 0);
    while (!n) usleep(1000);
    assert(n == 1);
#elif HOW == 27 /* a receive with a limit */
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_create(&t, 0, kills, 0);
    code = sigtimedwait(&set, 0, &ts);
    assert(code == SIGUSR1 || code == -1 && errno == EAGAIN);
    pthread_join(t, 0);
#elif HOW == 28
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_create(&t, 0, kills, 0);
    code = sigtimedwait(&set, 0, &ts);
    assert(code == SIGUSR1);
    pthread_join(t, 0);
#elif HOW == 29
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_create(&t, 0, kills, 0);
    pthread_join(t, 0);
    code = sigtimedwait(&set, 0, &ts);
    assert(code == SIGUSR1);
#elif HOW == 30 /* a flag, and nobody is told */
    handle(SIGUSR1, on_stop, 0);
    pthread_mutex_lock(&m);
    pthread_create(&t, 0, kills, 0);
    while (!stop) pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    pthread_join(t, 0);
#elif HOW == 31 /* plain data before the handler is set */
    plain = 5;
    handle(SIGUSR1, on_plain, 0);
    pthread_create(&t, 0, kills, 0);
    pthread_join(t, 0);
#elif HOW == 32 /* the signal comes from outside */
    handle(SIGINT, on_stop, 0);
    while (!stop) usleep(1000);
#elif HOW == 33
    handle(SIGINT, on_post, SA_RESTART);
    sem_wait(&sem);
    assert(n);
#elif HOW == 34 /* but that is no way out of a deadlock */
    handle(SIGINT, on_stop, 0);
    pthread_mutex_lock(&m);
    pthread_mutex_lock(&m);
#elif HOW == 35 /* in the middle of an addition that is not atomic */
    handle(SIGUSR1, on_add, 0);
    pthread_create(&t, 0, kills, 0);
    int v = n;
    n = v + 1;
    pthread_sigmask(SIG_BLOCK, &set, 0);
    if (n == 1) done = 1;
    pthread_join(t, 0);
    sigpending(&old);
    assert(!done || sigismember(&old, SIGUSR1));
#elif HOW == 36
    handle(SIGUSR1, on_add, SA_NODEFER);
    raise(SIGUSR1);
    signal(SIGUSR1, SIG_IGN);
    raise(SIGUSR1);
    assert(n == 1);
#elif HOW == 37
    handle(SIGUSR1, on_add, SA_RESETHAND);
    raise(SIGUSR1);
    assert(n == 1);
    raise(SIGUSR1);
#elif HOW == 38
    kill(getppid(), SIGUSR1);
#elif HOW == 39
    handle(SIGCHLD, on_add, 0);
    kill(getpid(), SIGCHLD);
#elif HOW == 40
    kill(getpid(), SIGSTOP);
#elif HOW == 41
    handle(SIGCHLD, on_add, 0);
#elif HOW == 42
    handle(SIGRTMIN + 1, on_add, 0);
    raise(SIGRTMIN + 1);
#elif HOW == 43 /* nobody sends it one, and no handler waits for one from outside */
    for (;;) pause();
#endif
    return 0;
}
"#;

#[test]
fn a_handler_interrupts_its_thread_anywhere() {
    run_table(&[
        ("locks.c", &[], LOCKS, Fails("deadlock")),
        ("locks.c", &["-DTHREAD"], LOCKS, Fails("deadlock")),
        ("locks.c", &["-DTHREAD", "-DBLOCK"], LOCKS, Verified),
        ("memory.c", &[], MEMORY, Verified),
        ("memory.c", &["-DPLAIN"], MEMORY, Fails("assertion")),
        ("flag.c", &[], FLAG, Verified),
        ("users.c", &["-DHOW=35"], USERS, Fails("assertion")),
    ]);
}

const ERRNO: &str = r#"
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
static volatile sig_atomic_t n;
static void h(int s) {
#ifdef SAVED
    int saved = errno;
#endif
    n++;
#ifdef ASSIGNED
    errno = 0;
#else
    close(-1);
#endif
#ifdef SAVED
    errno = saved;
#endif
}
int main(void) {
    signal(SIGALRM, h);
    alarm(1);
    int f = open("/nonexistent", O_RDONLY);
    assert(f == -1 && errno == ENOENT);
    return 0;
}
"#;

const TOLD: &str = r#"
#define _GNU_SOURCE
#include <assert.h>
#include <signal.h>
#include <unistd.h>
static volatile sig_atomic_t n, sender, code;
static void h(int s, siginfo_t *info, void *u) { n++; sender = info->si_pid; code = info->si_code; }
int main(void) {
    struct sigaction a = { 0 };
    sigset_t set;
    a.sa_sigaction = h;
    a.sa_flags = SA_SIGINFO;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaction(SIGUSR1, &a, 0);
#ifdef IGNORED
    sigprocmask(SIG_BLOCK, &set, 0);
    raise(SIGUSR1);
    signal(SIGUSR1, SIG_IGN);
    sigset_t pending;
    sigpending(&pending);
    assert(!sigismember(&pending, SIGUSR1));
    sigaction(SIGUSR1, &a, 0);
    sigprocmask(SIG_UNBLOCK, &set, 0);
    assert(n == 0);
#else
    kill(getpid(), SIGUSR1);
    assert(sender == getpid() && code == SI_USER);
    raise(SIGUSR1);
    assert(sender == getpid() && code == SI_TKILL);
#endif
    return 0;
}
"#;

#[test]
fn handlers_are_told_who_sends_and_may_change_errno() {
    run_table(&[
        ("errno.c", &[], ERRNO, Fails("assertion")),
        ("errno.c", &["-DASSIGNED"], ERRNO, Fails("assertion")),
        ("errno.c", &["-DSAVED"], ERRNO, Verified),
        ("errno.c", &["-DSAVED", "-DASSIGNED"], ERRNO, Verified),
        ("told.c", &[], TOLD, Verified),
        ("told.c", &["-DIGNORED"], TOLD, Verified),
    ]);
}

const JUMPS: &str = r#"
#include <assert.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
static sigjmp_buf place;
static void handler(int signal) { (void)signal; abort(); }
int main(void) {
    sigset_t set, now;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    signal(SIGUSR1, handler);
    if (sigsetjmp(place, SAVES) == 0) {
        sigprocmask(SIG_BLOCK, &set, 0);
        siglongjmp(place, 1);
    }
#ifdef RAISE
    raise(SIGUSR1);
#endif
    sigprocmask(SIG_BLOCK, 0, &now);
    assert(sigismember(&now, SIGUSR1) == !SAVES);
    return 0;
}
"#;

#[test]
fn a_jump_puts_back_the_signals_that_were_blocked_where_it_was_asked_to() {
    run_table(&[
        ("jumps.c", &["-DSAVES=1"], JUMPS, Caveat("signal")),
        ("jumps.c", &["-DSAVES=0"], JUMPS, Caveat("signal")),
        ("jumps.c", &["-DSAVES=1", "-DRAISE"], JUMPS, Fails("abort")),
        ("jumps.c", &["-DSAVES=0", "-DRAISE"], JUMPS, Verified),
    ]);
}

#[test]
fn signals_are_waited_for_blocked_and_merged() {
    run_table(&[
        ("pause.c", &["-DHOW=1"], PAUSE, Fails("deadlock")),
        ("pause.c", &["-DHOW=2"], PAUSE, Verified),
        ("pause.c", &["-DHOW=3"], PAUSE, Fails("assertion")),
        ("pause.c", &["-DHOW=4"], PAUSE, Verified),
        ("pause.c", &["-DHOW=5"], PAUSE, Verified),
        ("pause.c", &["-DHOW=6"], PAUSE, Fails("signal")),
        ("pause.c", &["-DHOW=7"], PAUSE, Refused("sigqueue")),
        ("pause.c", &["-DHOW=8"], PAUSE, Caveat("signal")),
        ("pause.c", &["-DHOW=9"], PAUSE, Caveat("signal")),
        ("pause.c", &["-DHOW=10"], PAUSE, Fails("assertion")),
        ("receiver.c", &[], RECEIVER, Verified),
        ("receiver.c", &["-DPROCESS"], RECEIVER, Verified),
        ("users.c", &["-DHOW=7"], USERS, Verified),
        ("users.c", &["-DHOW=8"], USERS, Verified),
        ("users.c", &["-DHOW=9"], USERS, Fails("assertion")),
        ("users.c", &["-DHOW=27"], USERS, Verified),
        ("users.c", &["-DHOW=28"], USERS, Fails("assertion")),
        ("users.c", &["-DHOW=29"], USERS, Verified),
        ("users.c", &["-DHOW=36"], USERS, Verified),
        ("users.c", &["-DHOW=37"], USERS, Fails("signal")),
    ]);
}

#[test]
fn memory_that_a_handler_shares_with_its_thread_is_atomic() {
    run_table(&[
        ("users.c", &["-DHOW=1"], USERS, Verified),
        ("users.c", &["-DHOW=2"], USERS, Verified),
        ("users.c", &["-DHOW=3"], USERS, Fails("data-race")),
        ("users.c", &["-DHOW=4"], USERS, Fails("data-race")),
        ("users.c", &["-DHOW=5"], USERS, Verified),
        ("users.c", &["-DHOW=6"], USERS, Fails("data-race")),
        ("users.c", &["-DHOW=20"], USERS, Caveat("signal")),
        ("users.c", &["-DHOW=31"], USERS, Verified),
    ]);
}

#[test]
fn calls_that_wait_are_interrupted() {
    run_table(&[
        ("users.c", &["-DHOW=10"], USERS, Fails("assertion")),
        ("users.c", &["-DHOW=11"], USERS, Verified),
        ("users.c", &["-DHOW=12"], USERS, Verified),
        ("users.c", &["-DHOW=13"], USERS, Verified),
        ("users.c", &["-DHOW=14"], USERS, Verified),
        // The signal may come before the call.
        ("users.c", &["-DHOW=15"], USERS, Fails("deadlock")),
        ("users.c", &["-DHOW=16"], USERS, Fails("deadlock")),
        ("users.c", &["-DHOW=17"], USERS, Fails("deadlock")),
        ("users.c", &["-DHOW=18"], USERS, Fails("assertion")),
        ("users.c", &["-DHOW=30"], USERS, Fails("deadlock")),
    ]);
}

#[test]
fn a_signal_to_the_process_is_taken_by_any_thread() {
    run_table(&[
        ("users.c", &["-DHOW=21"], USERS, Verified),
        ("users.c", &["-DHOW=22"], USERS, Verified),
        ("users.c", &["-DHOW=23"], USERS, Fails("assertion")),
        ("users.c", &["-DHOW=24"], USERS, Verified),
    ]);
}

#[test]
fn timers_are_threads() {
    run_table(&[
        ("callback.c", &[], TIMER, Verified),
        ("callback.c", &["-DRACE"], TIMER, Fails("data-race")),
        ("callback.c", &["-DUNSET"], TIMER, Fails("deadlock")),
        ("users.c", &["-DHOW=25"], USERS, Verified),
        ("users.c", &["-DHOW=26"], USERS, Fails("assertion")),
    ]);
}

const BLOCKED: &str = r#"
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static sigset_t set;
static void *receive(void *u) { int n; sigwait(&set, &n); assert(n == SIGALRM); return 0; }
static void block(void) { pthread_sigmask(SIG_BLOCK, &set, 0); }
int main(void) {
    pthread_t t;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
#if HOW == 1
    block(); alarm(1); receive(0);
#elif HOW == 2
    alarm(1); block(); receive(0);
#elif HOW == 3
    block(); alarm(1); pthread_sigmask(SIG_UNBLOCK, &set, 0);
#elif HOW == 4
    block(); pthread_create(&t, 0, receive, 0); alarm(1); pthread_join(t, 0);
#elif HOW == 5
    pthread_create(&t, 0, receive, 0); block(); alarm(1); pthread_join(t, 0);
#elif HOW == 6
    struct itimerval in = { { 0, 0 }, { 1, 0 } };
    block(); setitimer(ITIMER_REAL, &in, 0); receive(0);
#elif HOW == 7
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
    struct itimerspec in = { { 0, 0 }, { 1, 0 } };
    timer_t timer;
    block(); timer_create(CLOCK_MONOTONIC, &event, &timer); timer_settime(timer, 0, &in, 0); receive(0);
#endif
    return 0;
}
"#;

#[test]
fn a_signal_of_a_timer_that_all_threads_block_is_waited_for() {
    run_table(&[
        ("blocked.c", &["-DHOW=1"], BLOCKED, Verified),
        ("blocked.c", &["-DHOW=2"], BLOCKED, Fails("signal")),
        ("blocked.c", &["-DHOW=3"], BLOCKED, Fails("signal")),
        ("blocked.c", &["-DHOW=4"], BLOCKED, Verified),
        ("blocked.c", &["-DHOW=5"], BLOCKED, Fails("signal")),
        ("blocked.c", &["-DHOW=6"], BLOCKED, Verified),
        ("blocked.c", &["-DHOW=7"], BLOCKED, Verified),
    ]);
}

#[test]
fn signals_from_outside_are_explored_where_nothing_else_helps() {
    run_table(&[
        ("users.c", &["-DHOW=32"], USERS, Caveat("signal")),
        ("users.c", &["-DHOW=33"], USERS, Fails("assertion")),
        ("users.c", &["-DHOW=34"], USERS, Fails("deadlock")),
        ("users.c", &["-DHOW=43"], USERS, Fails("deadlock")),
    ]);
}

#[test]
fn what_is_not_modelled_is_refused() {
    run_table(&[
        ("users.c", &["-DHOW=19"], USERS, Refused("siglongjmp")),
        ("users.c", &["-DHOW=38"], USERS, Refused("another process")),
        ("users.c", &["-DHOW=39"], USERS, Refused("SIGCHLD")),
        ("users.c", &["-DHOW=40"], USERS, Refused("SIGSTOP")),
        ("users.c", &["-DHOW=41"], USERS, Verified),
        ("users.c", &["-DHOW=42"], USERS, Refused("real-time")),
    ]);
}

const HANDLERS: &str = r#"
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static void h(int s) { _exit(0); }
static char stack[1 << 16];
int main(void) {
#if HOW == 1 /* as runtimes of languages do */
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = h, .sa_flags = SA_ONSTACK};
    int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigaltstack(&other, 0);
    for (int i = 0; i < 7; i++) sigaction(faults[i], &action, 0);
    signal(SIGPIPE, SIG_IGN);
#elif HOW == 2 /* a fault is a failure, whatever its handler does */
    signal(SIGSEGV, h);
    *(volatile int *)8 = 1;
#elif HOW == 3
    signal(SIGPIPE, h);
#elif HOW == 4
    signal(SIGTERM, h);
#elif HOW == 5
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_DFL);
#endif
    return 0;
}
"#;

#[test]
fn handlers_of_faults_are_no_caveat() {
    run_table(&[
        ("handlers.c", &["-DHOW=1"], HANDLERS, Verified),
        ("handlers.c", &["-DHOW=2"], HANDLERS, Fails("signal")),
        ("handlers.c", &["-DHOW=3"], HANDLERS, Verified),
        ("handlers.c", &["-DHOW=4"], HANDLERS, Caveat("signal")),
        ("handlers.c", &["-DHOW=5"], HANDLERS, Verified),
    ]);
}

const SAFETY: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static pthread_t first;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static sem_t s;
static atomic_int a;
static volatile sig_atomic_t flag;
static char text[8], *block;
static void h(int signal) {
#if CALLS == 1
    free(malloc(1));
#elif CALLS == 2
    printf("%d\n", signal);
#elif CALLS == 3
    exit(0);
#elif CALLS == 4
    write(1, "x", 1); a++; sem_post(&s); flag = 1; memcpy(text, "abc", 4); raise(0); getpid();
#elif CALLS == 5
    pthread_mutex_lock(&n); pthread_mutex_unlock(&n);
#elif CALLS == 6
    rand();
#elif CALLS == 7
    time_t t = 0; localtime(&t);
#elif CALLS == 8
    fputs("x", stderr);
#elif CALLS == 9
    _exit(0);
#elif CALLS == 10
    free(block); block = 0;
#endif
}
static void *w(void *u) { pthread_kill(first, SIGUSR1); return 0; }
int main(void) {
    pthread_t t;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    first = pthread_self();
    sem_init(&s, 0, 0);
    block = malloc(4);
    signal(SIGUSR1, h);
    pthread_sigmask(SIG_BLOCK, &set, 0);
#ifdef RAISED
    pthread_sigmask(SIG_UNBLOCK, &set, 0);
    raise(SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    free(malloc(1));
    return 0;
#endif
    pthread_create(&t, 0, w, 0);
#if INSIDE
    pthread_sigmask(SIG_UNBLOCK, &set, 0);
#endif
#if INSIDE == 1
    char *p = malloc(3);
#elif INSIDE == 2
    printf("y\n");
#elif INSIDE == 3
    pthread_mutex_lock(&m); pthread_mutex_unlock(&m);
#elif INSIDE == 4
    srand(1);
#elif INSIDE == 5
    time_t now = 0; localtime(&now);
#elif INSIDE == 6
    write(1, "y", 1);
#endif
#if INSIDE
    pthread_sigmask(SIG_BLOCK, &set, 0);
#else
    sigset_t none;
    sigemptyset(&none);
    sigsuspend(&none);
    free(malloc(1));
#endif
    pthread_join(t, 0);
    return 0;
}
"#;

#[test]
fn handlers_call_only_functions_that_are_safe_there() {
    run_table(&[
        ("safety.c", &["-DCALLS=1", "-DINSIDE=1"], SAFETY, Fails("signal")),
        ("safety.c", &["-DCALLS=10", "-DINSIDE=1"], SAFETY, Fails("signal")),
        ("safety.c", &["-DCALLS=2", "-DINSIDE=2"], SAFETY, Fails("signal")),
        ("safety.c", &["-DCALLS=8", "-DINSIDE=2"], SAFETY, Fails("signal")),
        ("safety.c", &["-DCALLS=3", "-DINSIDE=2"], SAFETY, Fails("signal")),
        ("safety.c", &["-DCALLS=6", "-DINSIDE=4"], SAFETY, Fails("signal")),
        ("safety.c", &["-DCALLS=7", "-DINSIDE=5"], SAFETY, Fails("signal")),
        ("safety.c", &["-DCALLS=2", "-DINSIDE=1"], SAFETY, Caveat("signal")),
        ("safety.c", &["-DCALLS=1", "-DINSIDE=3"], SAFETY, Caveat("signal")),
        ("safety.c", &["-DCALLS=5", "-DINSIDE=3"], SAFETY, Caveat("signal")),
        ("safety.c", &["-DCALLS=4", "-DINSIDE=1"], SAFETY, Verified),
        ("safety.c", &["-DCALLS=4", "-DINSIDE=2"], SAFETY, Verified),
        ("safety.c", &["-DCALLS=9", "-DINSIDE=2"], SAFETY, Verified),
        ("safety.c", &["-DCALLS=1", "-DINSIDE=6"], SAFETY, Verified),
        ("safety.c", &["-DCALLS=2", "-DINSIDE=6"], SAFETY, Verified),
        // A handler that runs in `sigsuspend` or in `raise` interrupts nothing else.
        ("safety.c", &["-DCALLS=1", "-DINSIDE=0"], SAFETY, Verified),
        ("safety.c", &["-DCALLS=2", "-DINSIDE=0"], SAFETY, Verified),
        ("safety.c", &["-DCALLS=1", "-DRAISED"], SAFETY, Verified),
    ]);
}
