// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
pthread_rwlock_t l[2];
int n;
int main(void) { pthread_rwlock_init(&l[n++], 0); assert(n == 1); return 0; }
