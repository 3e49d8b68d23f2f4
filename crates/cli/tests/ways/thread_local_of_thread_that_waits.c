// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
#include <semaphore.h>
_Thread_local int v; int *p; sem_t s, d;
void *f(void *x) { v = 3; p = &v; sem_post(&s); sem_wait(&d); return 0; }
int main(void) {
  pthread_t a; sem_init(&s, 0, 0); sem_init(&d, 0, 0); pthread_create(&a, 0, f, 0);
  sem_wait(&s); assert(*p == 3); sem_post(&d); pthread_join(a, 0); return 0;
}
