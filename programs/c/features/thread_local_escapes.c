// The address of a thread-local variable is used by another thread.
// Holds: its owner waits until that is over.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static _Thread_local int mine;
static int *_Atomic published;
static void *owner(void *a)
{
    mine = 5;
    published = &mine;
    while (published)
        ;
    return a;
}
static void *guest(void *a)
{
    int *p;
    while (!(p = published))
        ;
    assert(*p == 5);
    published = 0;
    return a;
}
int main(void)
{
    pthread_t s, t;
    pthread_create(&s, 0, owner, 0);
    pthread_create(&t, 0, guest, 0);
    pthread_join(s, 0);
    pthread_join(t, 0);
    return 0;
}
