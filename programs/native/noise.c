// Shakes a program that was compiled with -fsanitize=thread: this file stands in for the sanitizer's runtime, and before each shared
// access it sleeps for a moment, now and then. smoke.sh --noise uses it to see that a bug has a schedule that shows it.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static void noise(void) {
    static _Thread_local uint64_t state;
    if (!state) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        state = ((uint64_t)now.tv_nsec << 20 ^ (uint64_t)(uintptr_t)&state) | 1;
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    // Mostly short, so that threads run side by side; sometimes long, so that the others can do all they have to do.
    long most = state % 16 == 1 ? 5000000 : state % 3 == 0 ? 400000 : 0;
    if (most) {
        struct timespec nap = {.tv_nsec = (long)(state >> 20) % most};
        nanosleep(&nap, NULL);
    }
}

void __tsan_init(void) {}
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void) {}
void __tsan_vptr_read(void **p) { (void)p, noise(); }
void __tsan_vptr_update(void **p, void *value) { (void)p, (void)value, noise(); }
void __tsan_read_range(void *p, unsigned long n) { (void)p, (void)n, noise(); }
void __tsan_write_range(void *p, unsigned long n) { (void)p, (void)n, noise(); }
void __tsan_atomic_thread_fence(int order) { (void)order, __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int order) { (void)order; }

#define PLAIN(n)                                                                                                               \
    void __tsan_read##n(void *p) { (void)p, noise(); }                                                                         \
    void __tsan_write##n(void *p) { (void)p, noise(); }                                                                        \
    void __tsan_unaligned_read##n(void *p) { (void)p, noise(); }                                                               \
    void __tsan_unaligned_write##n(void *p) { (void)p, noise(); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

#define FETCH(bits, name, call)                                                                                                \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *p, uint##bits##_t v, int order) {                     \
        (void)order, noise();                                                                                                  \
        return call(p, v, __ATOMIC_SEQ_CST);                                                                                   \
    }
#define EXCHANGE(bits, strength, weak)                                                                                         \
    bool __tsan_atomic##bits##_compare_exchange_##strength(volatile uint##bits##_t *p, uint##bits##_t *old, uint##bits##_t v,  \
                                                           int yes, int no) {                                                  \
        (void)yes, (void)no, noise();                                                                                          \
        return __atomic_compare_exchange_n(p, old, v, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                               \
    }
#define ATOMIC(bits)                                                                                                           \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *p, int order) {                                   \
        (void)order, noise();                                                                                                  \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                                           \
    }                                                                                                                          \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *p, uint##bits##_t v, int order) {                                \
        (void)order, noise();                                                                                                  \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                                              \
    }                                                                                                                          \
    FETCH(bits, exchange, __atomic_exchange_n)                                                                                 \
    FETCH(bits, fetch_add, __atomic_fetch_add)                                                                                 \
    FETCH(bits, fetch_sub, __atomic_fetch_sub)                                                                                 \
    FETCH(bits, fetch_and, __atomic_fetch_and)                                                                                 \
    FETCH(bits, fetch_or, __atomic_fetch_or)                                                                                   \
    FETCH(bits, fetch_xor, __atomic_fetch_xor)                                                                                 \
    EXCHANGE(bits, strong, false)                                                                                              \
    EXCHANGE(bits, weak, true)
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

// Calls that ld --wrap sends here.
#define WRAP(name, type)                                                                                                       \
    int __real_##name(type *p);                                                                                                \
    int __wrap_##name(type *p) {                                                                                               \
        noise();                                                                                                               \
        return __real_##name(p);                                                                                               \
    }
WRAP(pthread_mutex_lock, pthread_mutex_t)
WRAP(pthread_mutex_trylock, pthread_mutex_t)
WRAP(pthread_mutex_unlock, pthread_mutex_t)
WRAP(pthread_rwlock_rdlock, pthread_rwlock_t)
WRAP(pthread_rwlock_wrlock, pthread_rwlock_t)
WRAP(pthread_cond_signal, pthread_cond_t)
WRAP(pthread_barrier_wait, pthread_barrier_t)

void __real_free(void *p);
void __wrap_free(void *p) {
    noise();
    __real_free(p);
}
