// reference_count: an object is given back by the last one who uses it.
// Holds: nobody uses it after that. With -DBUG the count is read again after it was lowered.
#include <assert.h>
#include <pthread.h>

#ifndef USERS
#define USERS 3
#endif

int count = USERS;
_Bool gone;
int frees;

void *use(void *arg) {
    assert(!gone);
#ifdef BUG
    __sync_fetch_and_sub(&count, 1);
    if (count == 0) {
#else
    if (__sync_sub_and_fetch(&count, 1) == 0) { /* last */
#endif
        gone = 1;
        frees++;
    }
    return arg;
}

int main(void) {
    pthread_t t[USERS];
    for (int i = 0; i < USERS; i++)
        pthread_create(&t[i], 0, use, 0);
    for (int i = 0; i < USERS; i++)
        pthread_join(t[i], 0);
    assert(frees == 1);
    return 0;
}
