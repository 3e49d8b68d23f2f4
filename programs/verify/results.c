// results: threads are made and joined through a pointer into an array, and return what they were asked for.
// Holds: the results are all there. With -DBUG the first place is asked for twice.
#include <assert.h>
#include <pthread.h>

struct job {
    int in, out;
};

struct job jobs[2] = {{3, 0}, {4, 0}};
pthread_t threads[2];
void *done[2];

void *square(void *arg) {
    struct job *j = arg;
    j->out = j->in * j->in; /* square */
    return j;
}

int main(void) {
    pthread_t *t = threads;
    for (int i = 0; i < 2; i++)
        pthread_create(t + i, 0, square, jobs + i);
    for (int i = 0; i < 2; i++)
#ifdef BUG
        pthread_join(t[i], done + i / 2);
#else
        pthread_join(t[i], done + i);
#endif
    assert(done[1] == &jobs[1]);
    assert(((struct job *)done[0])->out + ((struct job *)done[1])->out == 25);
    return 0;
}
