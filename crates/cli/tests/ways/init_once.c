// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
pthread_mutex_t m; pthread_once_t o = PTHREAD_ONCE_INIT; int x;
void i(void) { pthread_mutex_init(&m, 0); }
void *f(void *p) { pthread_once(&o, i); pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); return 0; }
void *g(void *p) { return f(p); }
int main(void) { pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_create(&b, 0, g, 0); pthread_join(a, 0); pthread_join(b, 0); return 0; }
