// prodcons_error: a producer and a consumer that take a full or an empty buffer for an error. Idea: Metzler 2020, figure 4.2.
// Wrong: the consumer may come first. Under a scheduler that takes turns it would be safe. With -DFIXED they take turns themselves.
#include <assert.h>
#include <pthread.h>

#ifndef SIZE
#define SIZE 5
#endif

extern void __VERIFIER_assume(int);

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int count, turn;

void *produce(void *arg) {
    while (1) {
#ifdef FIXED
        while (turn != 0) /* producer's turn */
            ;
#endif
        pthread_mutex_lock(&m);
        assert(count < SIZE);
        count++;
        pthread_mutex_unlock(&m);
        turn = 1;
    }
    return arg;
}

void *consume(void *arg) {
    while (1) {
#ifdef FIXED
        while (turn != 1) /* consumer's turn */
            ;
#endif
        pthread_mutex_lock(&m);
        assert(count > 0);
        count--;
        pthread_mutex_unlock(&m);
        turn = 0;
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, produce, 0);
    pthread_create(&b, 0, consume, 0);
    pthread_join(a, 0);
    return 0;
}
