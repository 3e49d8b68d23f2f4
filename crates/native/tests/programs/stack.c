// A local variable of main that its threads get a pointer to.
#include <assert.h>
#include <pthread.h>

static void *add(void *p) {
    int *n = p;
    *n += 1;
    return 0;
}

int main(void) {
    int local = 0;
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, add, &local);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(local == 2);
    return 0;
}
