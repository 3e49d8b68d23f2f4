// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
#include <stdatomic.h>
atomic_int go;
void *f(void *p) { while (!go) ; return 0; }
int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); return 0; }
