// verify: unsafe, check: fails
#include <pthread.h>
#include <assert.h>
int x;
void *f(void *p) { x = 2; return 0; }
int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); pthread_join(a, 0); return x; }
