// A pool of threads that run functions from a queue, and its end.
// Holds. With -DBUG the end is told to one thread of two.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
typedef void (*job_fn)(void *);
struct job { job_fn run; void *arg; };
struct pool {
    pthread_mutex_t m;
    pthread_cond_t c;
    struct job jobs[4];
    int head, count, stop;
};
static struct pool pool = { .m = PTHREAD_MUTEX_INITIALIZER, .c = PTHREAD_COND_INITIALIZER };
static int results[2];
static void square(void *p) { int *x = p; *x = *x * *x; }
static void negate(void *p) { int *x = p; *x = -*x; }
static void submit(struct pool *p, job_fn f, void *arg)
{
    pthread_mutex_lock(&p->m);
    p->jobs[(p->head + p->count++) % 4] = (struct job){ f, arg };
    pthread_cond_signal(&p->c);
    pthread_mutex_unlock(&p->m);
}
static void *work(void *arg)
{
    struct pool *p = arg;
    for (;;) {
        pthread_mutex_lock(&p->m);
        while (p->count == 0 && !p->stop)
            pthread_cond_wait(&p->c, &p->m);
        if (p->count == 0) {
            pthread_mutex_unlock(&p->m);
            return NULL;
        }
        struct job j = p->jobs[p->head];
        p->head = (p->head + 1) % 4;
        p->count--;
        pthread_mutex_unlock(&p->m);
        j.run(j.arg);
    }
}
int main(void)
{
    pthread_t t[2];
    results[0] = 3;
    results[1] = 5;
    for (int i = 0; i < 2; i++)
        pthread_create(t + i, NULL, work, &pool);
    submit(&pool, square, &results[0]);
    submit(&pool, negate, results + 1);
    pthread_mutex_lock(&pool.m);
    pool.stop = 1;
#ifdef BUG
    pthread_cond_signal(&pool.c);
#else
    pthread_cond_broadcast(&pool.c);
#endif
    pthread_mutex_unlock(&pool.m);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    assert(results[0] == 9 && results[1] == -5);
    return 0;
}
