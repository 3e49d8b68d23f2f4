// verify: unsafe, check: -
#include <pthread.h>
#include <assert.h>
void *f(void *x) { *(int *)x = 1; return 0; }
int main(void) { pthread_t a; int v = 0; pthread_create(&a, 0, f, &v); pthread_exit(0); }
