// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
pthread_spinlock_t l;
int n;
int main(void) { pthread_spin_init(&l, n++); assert(n == 1); return 0; }
