// Atomics of 1, 2, 4 and 8 bytes with several operations, a flag and a fence. Two threads, so that each operation has somebody to
// meet.
// Holds: what can be said of any order. With -DBUG the first thread is said to win the flag.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static _Atomic uint8_t a8;
static _Atomic uint16_t a16;
static _Atomic uint32_t a32;
static _Atomic uint64_t a64;
static atomic_flag flag = ATOMIC_FLAG_INIT;
static _Atomic bool winner[2];

static void *operate(void *arg) {
    int me = (int)(intptr_t)arg;
    atomic_fetch_or(&a8, (uint8_t)(1 << me));
    atomic_fetch_xor(&a16, 0x101);
    atomic_fetch_sub(&a32, 1);
    uint64_t old = atomic_load_explicit(&a64, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&a64, &old, old + 2, memory_order_acq_rel, memory_order_relaxed))
        ;
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store(&winner[me], !atomic_flag_test_and_set(&flag));
    return NULL;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, operate, (void *)(intptr_t)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    assert(a8 == 3 && a16 == 0 && a32 == UINT32_MAX - 1 && a64 == 4);
    assert(winner[0] != winner[1]);
#ifdef BUG
    assert(winner[0]);
#endif
    return 0;
}
