// verify: unsafe, check: fails
#include <pthread.h>
#include <assert.h>
#include <stdatomic.h>
pthread_mutex_t m; atomic_int done; int x;
void *f(void *p) { if (!done) { pthread_mutex_init(&m, 0); done = 1; } pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); return 0; }
void *g(void *p) { return f(p); }
int main(void) { pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_create(&b, 0, g, 0); pthread_join(a, 0); pthread_join(b, 0); return 0; }
