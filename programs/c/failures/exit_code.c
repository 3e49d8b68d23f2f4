// main returns 3 if the writer came first.
// Fails: `exit-code`, where asked for.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x;
static int code;

static void *writer(void *arg) {
    (void)arg;
    atomic_store(&x, 1);
    return NULL;
}

static void *reader(void *arg) {
    (void)arg;
    code = atomic_load(&x) ? 3 : 0;
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, reader, NULL);
    pthread_create(&t[1], NULL, writer, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return code;
}
