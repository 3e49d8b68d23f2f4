// greeting: a text is made of parts of others, and printed, under a lock.
// Holds: what is printed ends where it should. With -DBUG the end is written too late, when the lock is given back.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static const char *const words[] = {"hi", "a\n"};
char buffer[4] = "...";
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

void *write_(void *arg) {
    const char *word = words[(long)arg];
    pthread_mutex_lock(&m);
    int i = 0;
    for (; word[i]; i++)
        buffer[i] = word[i];
#ifdef BUG
    buffer[2] = '.';
    buffer[3] = '.';
    pthread_mutex_unlock(&m);
    pthread_mutex_lock(&m);
#endif
    buffer[i] = 0; /* end */
#ifdef BUG
    buffer[3] = 0;
#endif
    pthread_mutex_unlock(&m);
    return 0;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, write_, (void *)1);
    pthread_mutex_lock(&m); /* print */
    printf("%s", buffer);
    assert(buffer[0] == '.' || buffer[1] == '\n');
    assert(buffer[3] == 0);
    pthread_mutex_unlock(&m); /* print */
    pthread_join(a, 0);
    return 0;
}
