// verify: unsafe, check: fails
#include <pthread.h>
#include <assert.h>
pthread_rwlock_t l;
void *f(void *p) { pthread_rwlock_rdlock(&l); pthread_rwlock_unlock(&l); return 0; }
int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); pthread_rwlock_init(&l, 0); pthread_join(a, 0); return 0; }
