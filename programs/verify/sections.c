// Locks of atomic blocks whose conditions are waited for in a loop: one writer, one reader.
// Safe: what the reader reads twice is the same. With BUG it does not lock.
extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
#include <assert.h>
#include <pthread.h>
void reach_error(void) { assert(0); }
static int r, w, x, y;
static void *writer(void *a)
{
    __VERIFIER_atomic_begin();
    while (w != 0 || r != 0) { __VERIFIER_atomic_end(); __VERIFIER_atomic_begin(); }
    w = 1;
    __VERIFIER_atomic_end();
    __VERIFIER_atomic_begin();
    x = 3;
    __VERIFIER_atomic_end();
    __VERIFIER_atomic_begin();
    w = 0;
    __VERIFIER_atomic_end();
    return a;
}
static void *reader(void *a)
{
    int l;
#ifndef BUG
    __VERIFIER_atomic_begin();
    while (w != 0) { __VERIFIER_atomic_end(); __VERIFIER_atomic_begin(); }
    r = r + 1;
    __VERIFIER_atomic_end();
#endif
    __VERIFIER_atomic_begin();
    l = x;
    __VERIFIER_atomic_end();
    y = l;
    __VERIFIER_atomic_begin();
    int now = x;
    __VERIFIER_atomic_end();
    if (y != now) reach_error();
    __VERIFIER_atomic_begin();
    r = r - 1;
    __VERIFIER_atomic_end();
    return a;
}
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, writer, 0);
    pthread_create(&b, 0, reader, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
