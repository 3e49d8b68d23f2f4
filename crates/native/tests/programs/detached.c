// Joins that cannot be, of threads whose handles are valid.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
static sem_t s;
static void *waits(void *p) {
  sem_wait(&s);
  return p;
}
int main(void) {
  pthread_t t, u;
  pthread_attr_t a;
  sem_init(&s, 0, 0);
  pthread_attr_init(&a);
  pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
  pthread_create(&t, &a, waits, 0);
  assert(pthread_join(t, 0) == EINVAL);
  assert(pthread_detach(t) == EINVAL);
  pthread_create(&u, 0, waits, (void *)5);
  assert(pthread_join(pthread_self(), 0) == EDEADLK);
  assert(pthread_equal(t, t) && !pthread_equal(t, u));
  sem_post(&s);
  sem_post(&s);
  void *r;
  assert(pthread_join(u, &r) == 0 && r == (void *)5);
  return 0;
}
