// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
void *f(void *x) { *(int *)x = 1; return 0; }
int main(void) { pthread_t a; static int v; pthread_create(&a, 0, f, &v); pthread_exit(0); }
