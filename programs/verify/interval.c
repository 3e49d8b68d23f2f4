// interval: two threads move a number up and down between two limits under a lock, for ever; a third looks without the lock.
// Holds: it stays between them, whoever looks. With -DBUG the one who goes up looks before it takes the lock.
#include <assert.h>
#include <pthread.h>

#ifndef HIGH
#define HIGH 1000
#endif
#define LOW (-HIGH)

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int level;

void *up(void *arg) {
    while (1) {
#ifdef BUG
        int room = level < HIGH;
        pthread_mutex_lock(&m);
        if (room)
#else
        pthread_mutex_lock(&m); /* up */
        if (level < HIGH) /* room */
#endif
            level++;
        pthread_mutex_unlock(&m); /* up */
    }
    return arg;
}

void *down(void *arg) {
    while (1) {
        pthread_mutex_lock(&m); /* down */
        if (level > LOW) /* above */
            level--;
        pthread_mutex_unlock(&m); /* down */
    }
    return arg;
}

void *look(void *arg) {
    while (1) {
        int now = level;
        assert(LOW <= now && now <= HIGH);
    }
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, up, 0);
#ifdef BUG
    pthread_create(&t, 0, up, 0);
#endif
    pthread_create(&t, 0, down, 0);
    pthread_create(&t, 0, look, 0);
    return 0;
}
