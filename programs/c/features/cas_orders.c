// A compare-exchange that fails is a read, with the order that was given for that: acquire, so what was written before the flag can be
// read. With -DBUG it is relaxed, and acquire only where it succeeds: that orders nothing here.
// Holds: the data is there when the flag is found set; and nothing races.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifdef BUG
#define SUCCESS memory_order_acquire
#define FAILURE memory_order_relaxed
#else
#define SUCCESS memory_order_release
#define FAILURE memory_order_acquire
#endif

static atomic_int flag;
static int data;

static void *writer(void *arg) {
    data = 1;
    atomic_store_explicit(&flag, 1, memory_order_release);
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, writer, NULL);
    int expected = 0;
    if (!atomic_compare_exchange_strong_explicit(&flag, &expected, 2, SUCCESS, FAILURE))
        assert(data == 1);
    pthread_join(t, NULL);
    return 0;
}
