// sigma: main counts up and makes a thread each time, which marks the cell of that number. Idea: SV-COMP's pthread/sigma.
// Wrong: a thread that comes late reads the number of the next one, and its own cell stays empty. With -DFIXED each is told its number.
#include <assert.h>
#include <pthread.h>

#ifndef N
#define N 3
#endif

int cell[N];
int index_ = -1;

void *mark(void *arg) {
#ifdef FIXED
    cell[(long)arg] = 1;
#else
    (void)arg;
    cell[index_] = 1;
#endif
    return 0;
}

int main(void) {
    pthread_t t[N];
    for (long i = 0; i < N; i++) {
        index_++;
        pthread_create(&t[i], 0, mark, (void *)i);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(t[i], 0); /* wait */
    }
    int sum = 0;
    for (int i = 0; i < N; i++)
        sum += cell[i];
    assert(sum == N);
    return 0;
}
