// A structure is assigned while another thread reads it.
#include <pthread.h>

struct three { long a, b, c; };
static struct three pair, ones = {1, 1, 1};
static long sum;

static void *writes(void *p) {
    pair = ones;
    return p;
}

static void *reads(void *p) {
    struct three copy = pair;
    sum = copy.a + copy.b + copy.c;
    return p;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], 0, writes, 0);
    pthread_create(&t[1], 0, reads, 0);
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    return 0;
}
