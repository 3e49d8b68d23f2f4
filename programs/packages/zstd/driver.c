// Drives zstd's thread pool (lib/common/pool.c) through its interface: jobs that count themselves, a queue that is full, resizing
// while jobs run, joinJobs, and the end with jobs still in the queue. Which test is chosen by -DTEST=n.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include "pool.h"

#ifndef TEST
#define TEST 1
#endif

static atomic_int running; // jobs at this moment
static int ran[4];         // plain on purpose: whoever looks at it must be ordered after the job

static void job(void *arg) {
    int *mark = arg;
    int now = atomic_fetch_add(&running, 1) + 1;
    assert(now <= 2);
    ++*mark;
    atomic_fetch_sub(&running, 1);
}

#if TEST == 1 // more jobs than the queue holds, then joinJobs: all are done, and seen to be done
int main(void) {
    POOL_ctx *pool = POOL_create(2, 1);
    assert(pool);
    for (int i = 0; i < 3; i++)
        POOL_add(pool, job, &ran[i]);
    POOL_joinJobs(pool);
    assert(ran[0] == 1 && ran[1] == 1 && ran[2] == 1);
    POOL_free(pool);
    return 0;
}

#elif TEST == 2 // no queue at all: a job is taken only when a thread is free; freeing the pool finishes what was taken
int main(void) {
    POOL_ctx *pool = POOL_create(1, 0);
    assert(pool);
    POOL_add(pool, job, &ran[0]);
    int second = POOL_tryAdd(pool, job, &ran[1]);
    POOL_free(pool);
    assert(ran[0] == 1 && ran[1] == second);
    return 0;
}

#elif TEST == 3 // the pool grows, then shrinks, with jobs under way
int main(void) {
    POOL_ctx *pool = POOL_create(1, 1);
    assert(pool);
    POOL_add(pool, job, &ran[0]);
    assert(!POOL_resize(pool, 2));
    POOL_add(pool, job, &ran[1]);
    assert(!POOL_resize(pool, 1));
    POOL_add(pool, job, &ran[2]);
    POOL_free(pool);
    assert(ran[0] == 1 && ran[1] == 1 && ran[2] == 1);
    return 0;
}

#elif TEST == 4 // two threads add to the same pool of one thread
static POOL_ctx *pool;
static void *adder(void *mark) {
    POOL_add(pool, job, mark);
    return NULL;
}
int main(void) {
    pool = POOL_create(1, 1);
    assert(pool);
    pthread_t other;
    pthread_create(&other, NULL, adder, &ran[0]);
    POOL_add(pool, job, &ran[1]);
    pthread_join(other, NULL);
    POOL_joinJobs(pool);
    assert(ran[0] == 1 && ran[1] == 1);
    POOL_free(pool);
    return 0;
}

#elif TEST == 5 // one thread adds while another waits for all jobs. Both wait on the same condition, and one of them is woken
static POOL_ctx *pool;
static void *adder(void *mark) {
    (void)mark;
    for (int i = 0; i < 3; i++)
        POOL_add(pool, job, &ran[i]);
    return NULL;
}
int main(void) {
    pool = POOL_create(1, 1);
    assert(pool);
    pthread_t other;
    pthread_create(&other, NULL, adder, NULL);
    POOL_joinJobs(pool); // of what was added up to now
    pthread_join(other, NULL);
    POOL_free(pool);
    assert(ran[0] == 1 && ran[1] == 1 && ran[2] == 1);
    return 0;
}
#endif
