// union_halves: a ticket lock in one word: who comes next, and whose turn it is, are its halves.
// Holds: one thread at a time. With -DBUG the turn is passed on by writing the whole word back.
#include <assert.h>
#include <pthread.h>

volatile union ticket {
    unsigned word;
    struct {
        unsigned short turn, next;
    } half;
} lock;

extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);

int inside;

static unsigned short take(void) {
    __VERIFIER_atomic_begin();
    unsigned short mine = lock.half.next;
    lock.half.next = mine + 1; /* next */
    __VERIFIER_atomic_end();
    return mine;
}

static void pass_on(void) {
#ifdef BUG
    lock.word = lock.word + 1;
#else
    lock.half.turn = lock.half.turn + 1;
#endif
}

void *work(void *arg) {
    unsigned short mine = take();
    while (lock.half.turn != mine) /* wait */
        ;
    inside++;
    assert(inside == 1);
    inside--;
    pass_on();
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(lock.half.next == 2 && lock.half.turn == 2);
    return 0;
}
