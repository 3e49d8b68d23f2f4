// Prints as it goes. Only what the failing execution printed is to be shown: each of the three lines at most once.
// Fails: `assertion`, when the second writer comes first; the output then has "second", "first", "sum 21".
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void *first(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    printf("first\n");
    sum = sum * 10 + 1;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *second(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    puts("second");
    sum = sum * 10 + 2;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    printf("sum %d\n", sum);
    assert(sum == 12);
    return 0;
}
