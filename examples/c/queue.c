/* A bounded job queue, as in many thread pools: two producers hand jobs to two workers.
 *
 * One condition variable serves both those who wait for room and those who wait for work, and `pthread_cond_signal`
 * wakes one of them. Now and then that is the wrong one: it goes back to sleep, and the wake-up is lost. Tests pass for
 * weeks, then the pool stands still. With `pthread_cond_broadcast`, or one condition variable for each reason to wait,
 * it is right.
 */
#include <assert.h>
#include <pthread.h>

#define ROOM 1
#define PAIRS 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int jobs[ROOM];
static int used;

static void put(int job)
{
    pthread_mutex_lock(&lock);
    while (used == ROOM)
        pthread_cond_wait(&changed, &lock);
    jobs[used++] = job;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static int take(void)
{
    pthread_mutex_lock(&lock);
    while (used == 0)
        pthread_cond_wait(&changed, &lock);
    int job = jobs[--used];
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return job;
}

static void *producer(void *arg)
{
    put(*(int *)arg);
    return NULL;
}

static void *worker(void *arg)
{
    *(int *)arg = take();
    return NULL;
}

int main(void)
{
    pthread_t threads[2 * PAIRS];
    int given[PAIRS] = {1, 2}, done[PAIRS];

    for (int i = 0; i < PAIRS; i++) {
        pthread_create(&threads[i], NULL, worker, &done[i]);
        pthread_create(&threads[PAIRS + i], NULL, producer, &given[i]);
    }
    for (int i = 0; i < 2 * PAIRS; i++)
        pthread_join(threads[i], NULL);
    assert(done[0] + done[1] == 3);
    return 0;
}
