// singleton: a thread makes one shared object and starts four threads that write a letter into it, under a lock.
// From: SV-COMP's pthread/singleton; written from the description.
// Holds: the object exists and has one of the two letters. With -DBUG the letter is said to be the X of the last thread started.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static char *object;

static void *write_x(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    object[0] = 'X';
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *write_y(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    object[0] = 'Y';
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *make(void *arg) {
    (void)arg;
    pthread_t t[4];
    object = calloc(1, 1);
    assert(object);
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, i < 3 ? write_y : write_x, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return NULL;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, make, NULL);
    pthread_join(t, NULL);
#ifdef BUG
    assert(object[0] == 'X');
#else
    assert(object[0] == 'X' || object[0] == 'Y');
#endif
    free(object);
    return 0;
}
