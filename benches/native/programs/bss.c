// Four threads with three atomic increments each, beside SIZE bytes of data of which one is written.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef SIZE
#define SIZE 64
#endif

static char data[SIZE];
static atomic_int x;

static void *increment(void *arg) {
    (void)arg;
    for (int k = 0; k < 3; k++)
        atomic_fetch_add(&x, 1);
    return NULL;
}

int main(void) {
    pthread_t t[4];
    data[SIZE / 2]++;
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, increment, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    assert(atomic_load(&x) == 12 && data[SIZE / 2] == 1);
    return 0;
}
