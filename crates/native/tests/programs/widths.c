// Neighbours in one word, a word and its parts, and sixteen bytes at once.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static union {
    struct { int low, high; };
    long both;
} word;
#ifdef WIDE
static _Alignas(16) unsigned __int128 wide;
#endif

static void *first(void *p) {
#ifdef WIDE
    __atomic_fetch_add(&wide, ((unsigned __int128)1 << 64) | 1, __ATOMIC_SEQ_CST);
#else
    word.low = 1;
#endif
    return p;
}

static void *second(void *p) {
#if defined WIDE
    __atomic_fetch_add(&wide, ((unsigned __int128)1 << 64) | 1, __ATOMIC_SEQ_CST);
#elif defined TOGETHER
    long both = word.both;
    word.both = both;
    assert(both == 0 || word.low == 1);
#else
    word.high = 1;
#endif
    return p;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], 0, first, 0);
    pthread_create(&t[1], 0, second, 0);
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
#if defined WIDE
    unsigned __int128 seen = __atomic_load_n(&wide, __ATOMIC_SEQ_CST);
    assert((unsigned long)seen == 2 && (unsigned long)(seen >> 64) == 2);
#elif defined TOGETHER
    assert(word.low == 1 && "both");
#endif
    return 0;
}
