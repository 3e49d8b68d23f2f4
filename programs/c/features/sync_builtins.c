// The old __sync builtins.
// Holds. With -DBUG the lock is looked at and taken in two steps.
#include <assert.h>
#include <pthread.h>
static int lock_word, count;
static long long big;
static int claimed[2];
static void *run(void *arg)
{
    int me = (int)(long)arg;
#ifdef BUG
    while (lock_word) ;
    lock_word = 1;
#else
    while (__sync_lock_test_and_set(&lock_word, 1))
        ;
#endif
    count++;
    __sync_lock_release(&lock_word);
    __sync_fetch_and_add(&big, 3);
    __sync_synchronize();
    if (__sync_bool_compare_and_swap(&claimed[0], 0, me + 1))
        claimed[1] = me;
    long long seen = __sync_val_compare_and_swap(&big, -1, 0);
    assert(seen == 3 || seen == 6);
    return 0;
}
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, run, (void *)0);
    pthread_create(&b, 0, run, (void *)1);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(count == 2);
    assert(big == 6);
    assert(claimed[0] == claimed[1] + 1);
    return 0;
}
