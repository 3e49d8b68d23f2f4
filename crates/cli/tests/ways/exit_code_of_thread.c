// verify: unsafe, check: fails
#include <pthread.h>
#include <assert.h>
#include <stdlib.h>
void *f(void *p) { exit(3); }
int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); pthread_join(a, 0); return 0; }
