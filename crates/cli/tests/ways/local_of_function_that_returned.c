// verify: unsafe, check: fails
#include <pthread.h>
#include <assert.h>
pthread_t a;
void *f(void *x) { *(int *)x = 1; return 0; }
__attribute__((noinline)) void g(void) { int v = 3; pthread_create(&a, 0, f, &v); }
int main(void) { g(); pthread_join(a, 0); return 0; }
