// The C library calls the program back, which counts in shared memory.
// Holds. With -DBUG the counter is not atomic.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#ifdef BUG
static int calls;
#else
static atomic_int calls;
#endif
static int cmp(const void *a, const void *b) { calls++; return *(const int *)a - *(const int *)b; }
static void *sort(void *p) { qsort(p, 2, sizeof(int), cmp); return p; }
int main(void)
{
    static int x[2] = { 2, 1 }, y[2] = { 4, 3 };
    pthread_t a, b;
    pthread_create(&a, 0, sort, x);
    pthread_create(&b, 0, sort, y);
    pthread_join(a, 0);
    pthread_join(b, 0);
    int key = 3;
    int *found = bsearch(&key, y, 2, sizeof(int), cmp);
    assert(found == y && x[0] == 1 && calls == 4);
    return 0;
}
