// jobs: a queue of jobs, each a function and its argument; two workers take them, and the results are added up.
// Holds: each job is done once. With -DBUG the place in the queue is read without the lock.
#include <assert.h>
#include <pthread.h>

struct job {
    int (*run)(int);
    int argument;
};

static int square(int x) {
    return x * x;
}

static int negative(int x) {
    return -x;
}

static const struct job jobs[] = {{square, 3}, {negative, 4}, {.argument = 5, .run = square}};
enum { JOBS = sizeof jobs / sizeof jobs[0] };

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int taken, sum;

static int take(struct job *to) {
    int there = 0;
#ifdef BUG
    int at = taken;
    pthread_mutex_lock(&m);
#else
    pthread_mutex_lock(&m); /* take */
    int at = taken;
#endif
    if (at < JOBS) { /* left */
        *to = jobs[at];
        taken = at + 1;
        there = 1;
    }
    pthread_mutex_unlock(&m); /* take */
    return there;
}

void *work(void *arg) {
    struct job job = {0, 0};
    while (take(&job)) {
        int result = job.run(job.argument);
        pthread_mutex_lock(&m); /* add */
        sum += result;
        pthread_mutex_unlock(&m); /* add */
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(sum == 30);
    return 0;
}
