// A loop that waits for a variable that is not atomic.
#include <assert.h>
#include <pthread.h>

static KIND int flag;
static int data;

static void *sets(void *p) {
    data = 1;
    flag = 1;
    return p;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, sets, 0);
    while (!flag)
        ;
    assert(data == 1);
    pthread_join(t, 0);
    return 0;
}
