// lazy: three threads under one lock; two add 1 and 2, the third looks at the sum.
// From: SV-COMP's pthread/lazy01, and the appendix of Sachinoglou's thesis; written from the description.
// Holds: the sum never exceeds 3. With -DBUG it is asserted to stay below 3, which fails when the third comes last.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int data;

static void *add_one(void *arg) {
    (void)arg;
    pthread_mutex_lock(&mutex);
    data++;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void *add_two(void *arg) {
    (void)arg;
    pthread_mutex_lock(&mutex);
    data += 2;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void *look(void *arg) {
    (void)arg;
    pthread_mutex_lock(&mutex);
#ifdef BUG
    assert(data < 3);
#else
    assert(data <= 3);
#endif
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], NULL, look, NULL);
    pthread_create(&t[1], NULL, add_one, NULL);
    pthread_create(&t[2], NULL, add_two, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
