// work_queue: workers take the numbers of tasks from a counter under a lock until there are none left.
// Holds: each task is done once. With -DBUG the counter is read without the lock.
#include <assert.h>
#include <pthread.h>

#ifndef TASKS
#define TASKS 3
#endif
#define WORKERS 2

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int next_task;
int done[TASKS];

void *work(void *arg) {
    while (1) {
#ifdef BUG
        int task = next_task;
        pthread_mutex_lock(&m);
#else
        pthread_mutex_lock(&m); /* task */
        int task = next_task;
#endif
        next_task = task + 1;
        pthread_mutex_unlock(&m); /* task */
        if (task >= TASKS) /* none left */
            break;
        done[task]++;
    }
    return arg;
}

int main(void) {
    pthread_t t[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&t[i], 0, work, 0);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(t[i], 0);
    for (int i = 0; i < TASKS; i++)
        assert(done[i] == 1);
    return 0;
}
