// bigshot: one thread allocates a buffer, the other copies a word into it if it is there, under a lock.
// From: SV-COMP's pthread/bigshot; written from the description.
// Holds: if main starts the second only when the first has ended, the word is there. With -DBUG both run at once: the second may
// find no buffer and leave it empty.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static char *word;

static void *allocate(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    word = calloc(8, 1);
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *fill(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    if (word)
        strcpy(word, "Bigshot");
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, allocate, NULL);
#ifndef BUG
    pthread_join(t[0], NULL);
#endif
    pthread_create(&t[1], NULL, fill, NULL);
#ifdef BUG
    pthread_join(t[0], NULL);
#endif
    pthread_join(t[1], NULL);
    assert(word && word[0] == 'B');
    free(word);
    return 0;
}
