// verify: safe, check: -
#include <pthread.h>
#include <assert.h>
void *f(void *p) { for (;;) ; }
int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); return 0; }
