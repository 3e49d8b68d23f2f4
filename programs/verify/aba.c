// aba: who takes the slot empties it if it is as it was seen; meanwhile somebody else may take it and put something new there.
// Holds: nobody empties a slot that was filled again since it was looked at. With -DBUG what was in it is given back at once, so that
// what is put there next may have the same address.
// From: the problem has its name from the manual of the IBM System/370.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

_Atomic(int *) slot;
atomic_int filled;

void *take(void *arg) {
    int *seen = atomic_load(&slot);
    int when = atomic_load(&filled);
    if (seen && atomic_compare_exchange_strong(&slot, &seen, 0))
        assert(atomic_load(&filled) == when);
    return 0;
}

int main(void) {
    pthread_t t;
    int *old = 0;
    atomic_store(&slot, malloc(sizeof(int)));
    pthread_create(&t, 0, take, 0);
    old = atomic_exchange(&slot, 0);
    if (old) {
#ifdef BUG
        free(old);
        old = 0;
#endif
        int *new = malloc(sizeof(int));
        atomic_fetch_add(&filled, 1);
        atomic_store(&slot, new);
    }
    pthread_join(t, 0);
    free(old);
    return 0;
}
