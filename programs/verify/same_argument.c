// same_argument: threads are made in a loop, and each is given its number.
// Holds: each cell is set. With -DBUG all are given the address of the one counter of the loop, which goes on.
#include <assert.h>
#include <pthread.h>

int cell[4];

void *set(void *arg) {
#ifdef BUG
    cell[*(int *)arg] = 1;
#else
    cell[(long)arg] = 1; /* cell */
#endif
    return 0;
}

pthread_t t[3];

int main(void) {
    for (int i = 0; i < 3; i++)
#ifdef BUG
        pthread_create(&t[i], 0, set, &i);
#else
        pthread_create(&t[i], 0, set, (void *)(long)i);
#endif
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    for (int i = 0; i < 3; i++)
        assert(cell[i] == 1);
    return 0;
}
