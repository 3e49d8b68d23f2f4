// Two threads make an object if there is none; one may overwrite the other's, which nobody frees then.
// Fails: `leak`, where asked for. With -DFIXED a compare-exchange decides, and the loser frees its own.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(int *) object;

static void *make(void *arg) {
    (void)arg;
    if (!atomic_load(&object)) {
        int *mine = malloc(sizeof *mine);
#ifdef FIXED
        int *none = NULL;
        if (!atomic_compare_exchange_strong(&object, &none, mine))
            free(mine);
#else
        atomic_store(&object, mine);
#endif
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, make, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    free(atomic_load(&object));
    atomic_store(&object, NULL);
    return 0;
}
