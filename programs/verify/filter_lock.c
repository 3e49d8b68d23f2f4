// The filter lock: who comes last to a level waits.
// Safe: one at a time. With BUG nobody is the last.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#ifndef N
#define N 2
#endif
static atomic_int level[N], victim[N];
static int in;
static void lock(int me)
{
    for (int l = 1; l < N; l++) {
        level[me] = l;
#ifndef BUG
        victim[l] = me;
#endif
        for (int k = 0; k < N; k++)
            while (k != me && level[k] >= l && victim[l] == me)
                ;
    }
}
static void unlock(int me) { level[me] = 0; }
static void *run(void *arg)
{
    int me = (int)(long)arg;
    lock(me);
    in++;
    assert(in == 1);
    in--;
    unlock(me);
    return 0;
}
int main(void)
{
    pthread_t t[N];
    for (long i = 0; i < N; i++) pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < N; i++) pthread_join(t[i], 0);
    return 0;
}
