// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
pthread_cond_t c;
int k;
int main(void) { pthread_cond_init(&c, (k++, (void *)0)); assert(k == 1); return 0; }
