// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
#include <stdatomic.h>
pthread_mutex_t m; atomic_int ready; int x;
void *f(void *p) { if (ready) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); } return 0; }
int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); pthread_mutex_init(&m, 0); ready = 1; pthread_join(a, 0); return 0; }
