// verify: unsafe, check: fails
#include <pthread.h>
#include <assert.h>
pthread_mutex_t *m; pthread_t a;
void *f(void *x) { pthread_mutex_lock(m); pthread_mutex_unlock(m); return 0; }
__attribute__((noinline)) void g(void) { pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER; m = &own; pthread_create(&a, 0, f, 0); }
int main(void) { g(); pthread_join(a, 0); return 0; }
