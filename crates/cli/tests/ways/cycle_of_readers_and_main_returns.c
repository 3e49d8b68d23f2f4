// verify: unsafe, check: fails
#include <pthread.h>
pthread_rwlock_t r = PTHREAD_RWLOCK_INITIALIZER, s = PTHREAD_RWLOCK_INITIALIZER;
void *f(void *p) { pthread_rwlock_rdlock(&r); pthread_rwlock_wrlock(&s); return 0; }
void *g(void *p) { pthread_rwlock_rdlock(&s); pthread_rwlock_wrlock(&r); return 0; }
int main(void) { pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_create(&b, 0, g, 0); return 0; }
