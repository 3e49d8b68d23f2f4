/* Calls with a limit of five seconds, beside a thread that certainly comes. With STUCK it does not come. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t r = PTHREAD_RWLOCK_INITIALIZER;
static mtx_t c11;
static pthread_barrier_t b;
static sem_t s;
static int p[2];
static void *w(void *u) {
#if HOW == 1 || HOW == 2
    pthread_mutex_lock(&m); pthread_barrier_wait(&b);
#ifndef STUCK
    pthread_mutex_unlock(&m);
#endif
#elif HOW == 3 || HOW == 4
    pthread_rwlock_wrlock(&r); pthread_barrier_wait(&b);
#ifndef STUCK
    pthread_rwlock_unlock(&r);
#endif
#elif HOW == 12
    mtx_lock(&c11); pthread_barrier_wait(&b);
#ifndef STUCK
    mtx_unlock(&c11);
#endif
#elif !defined STUCK
#if HOW == 5 || HOW == 6
    sem_post(&s);
#elif HOW >= 7 && HOW <= 10
    write(p[1], "x", 1);
#elif HOW == 13
    kill(getpid(), SIGUSR1);
#endif
#endif
    return 0;
}
int main(void) {
    pthread_t t;
    sigset_t set;
    int code = 0;
    sem_init(&s, 0, 0);
    pipe(p);
    pthread_barrier_init(&b, 0, 2);
    mtx_init(&c11, mtx_timed);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    if (HOW == 13) pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_create(&t, 0, w, 0);
    if (HOW <= 4 || HOW == 12) pthread_barrier_wait(&b);
    struct timespec limit, five = { 5, 0 };
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 5;
#if HOW == 1
    code = pthread_mutex_timedlock(&m, &limit);
#elif HOW == 2
    code = pthread_mutex_clocklock(&m, CLOCK_REALTIME, &limit);
#elif HOW == 3
    code = pthread_rwlock_timedrdlock(&r, &limit);
#elif HOW == 4
    code = pthread_rwlock_timedwrlock(&r, &limit);
#elif HOW == 5
    code = sem_timedwait(&s, &limit);
#elif HOW == 6
    code = sem_clockwait(&s, CLOCK_REALTIME, &limit);
#elif HOW == 7
    struct pollfd one = { p[0], POLLIN, 0 };
    code = poll(&one, 1, 5000) != 1;
#elif HOW == 8
    struct pollfd one = { p[0], POLLIN, 0 };
    code = ppoll(&one, 1, &five, 0) != 1;
#elif HOW == 9
    fd_set fds;
    struct timeval tv = { 5, 0 };
    FD_ZERO(&fds);
    FD_SET(p[0], &fds);
    code = select(p[0] + 1, &fds, 0, 0, &tv) != 1;
#elif HOW == 10
    int list = epoll_create1(0);
    struct epoll_event in = { EPOLLIN }, out;
    epoll_ctl(list, EPOLL_CTL_ADD, p[0], &in);
    code = epoll_wait(list, &out, 1, 5000) != 1;
#elif HOW == 11
    code = pthread_timedjoin_np(t, 0, &limit);
#elif HOW == 12
    code = mtx_timedlock(&c11, &limit) != thrd_success;
#elif HOW == 13
    code = sigtimedwait(&set, 0, &five) != SIGUSR1;
#endif
    assert(code == 0);
    if (HOW != 11) pthread_join(t, 0);
    return 0;
}
