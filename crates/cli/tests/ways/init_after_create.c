// verify: unsafe, check: fails
#include <pthread.h>
#include <assert.h>
pthread_mutex_t m;
void *f(void *p) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return 0; }
int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); pthread_mutex_init(&m, 0); pthread_join(a, 0); return 0; }
