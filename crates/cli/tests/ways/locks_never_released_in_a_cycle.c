// verify: unsafe, check: fails
#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
void *f(void *p) { pthread_mutex_lock(&m); pthread_mutex_lock(&n); return 0; }
void *g(void *p) { pthread_mutex_lock(&n); pthread_mutex_lock(&m); return 0; }
int main(void) { pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_create(&b, 0, g, 0); return 0; }
