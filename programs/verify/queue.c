// queue: one thread fills a queue, another empties it, each step under a lock. Idea: SV-COMP's pthread/queue.
// Holds: what comes out is what went in, in order. With -DBUG the reader does not ask whether there is anything.
#include <assert.h>
#include <pthread.h>

#ifndef N
#define N 3
#endif

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

struct queue {
    int cell[N];
    int head, tail, amount;
} q;

void enqueue(struct queue *to, int x) {
    assert(to->amount < N);
    to->cell[to->tail] = x;
    to->tail = to->tail == N - 1 ? 0 : to->tail + 1;
    to->amount++;
}

int dequeue(struct queue *from) {
    int x = from->cell[from->head];
    from->head = from->head == N - 1 ? 0 : from->head + 1;
    from->amount--;
    assert(from->amount >= 0);
    return x;
}

void *writer(void *arg) {
    for (int i = 0; i < N; i++) {
        pthread_mutex_lock(&m); /* writer */
        enqueue(&q, 10 + i);
        pthread_mutex_unlock(&m); /* writer */
    }
    return arg;
}

void *reader(void *arg) {
    int next = 10;
    while (next < 10 + N) {
        pthread_mutex_lock(&m);
#ifndef BUG
        if (q.amount > 0) /* guard */
#endif
        {
            int x = dequeue(&q);
            assert(x == next);
            next++;
        }
        pthread_mutex_unlock(&m);
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, writer, 0);
    pthread_create(&b, 0, reader, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
