// twostage: a value is made in two stages under two locks, a reader takes them one after the other. Idea: SV-COMP's pthread/twostage.
// Wrong: between its stages the reader sees the first and not the second. With -DFIXED the writer holds the first lock for both.
#include <assert.h>
#include <pthread.h>

pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
int one, two;

void *stages(void *arg) {
    pthread_mutex_lock(&first); /* stages */
    one = 1;
#ifndef FIXED
    pthread_mutex_unlock(&first);
#endif
    pthread_mutex_lock(&second);
    two = one + 1;
    pthread_mutex_unlock(&second);
#ifdef FIXED
    pthread_mutex_unlock(&first); /* stages */
#endif
    return arg;
}

void *read_both(void *arg) {
    int x, y;
    pthread_mutex_lock(&first);
    x = one;
    pthread_mutex_unlock(&first);
    if (x == 0)
        return arg;
    pthread_mutex_lock(&second);
    y = two;
    pthread_mutex_unlock(&second);
    assert(y == x + 1);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, stages, 0);
    pthread_create(&b, 0, read_both, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
