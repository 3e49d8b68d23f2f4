// A hand-made hand-over that only the annotations explain.
#include <pthread.h>
#include <stdatomic.h>

void __tsan_acquire(void *);
void __tsan_release(void *);

static atomic_int ready;
static int data;

static void *gives(void *p) {
    data = 1;
#ifdef ANNOTATED
    __tsan_release(&ready);
#endif
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    return p;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, gives, 0);
    if (atomic_load_explicit(&ready, memory_order_relaxed)) {
#ifdef ANNOTATED
        __tsan_acquire(&ready);
#endif
        data = 2;
    }
    pthread_join(t, 0);
    return 0;
}
