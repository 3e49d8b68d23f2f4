// verify: unsafe, check: -
#include <pthread.h>
#include <assert.h>
#include <stdatomic.h>
pthread_t a, b;
atomic_int go;
void *f(void *p) { while (!go) ; pthread_join(b, 0); return 0; }
void *g(void *p) { while (!go) ; pthread_join(a, 0); return 0; }
int main(void) { pthread_create(&a, 0, f, 0); pthread_create(&b, 0, g, 0); go = 1; pthread_exit(0); }
