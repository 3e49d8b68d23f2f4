// The first thread leaves; the process goes on until the other one has ended.
#include <pthread.h>
#include <stdatomic.h>
static pthread_t first;
static atomic_int x;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *other(void *p) {
  pthread_join(first, 0);
#ifdef STUCK
  pthread_mutex_lock(&m);
  pthread_mutex_lock(&m);
#endif
  atomic_fetch_add(&x, 1);
  return p;
}
int main(void) {
  pthread_t t;
  first = pthread_self();
  pthread_create(&t, 0, other, 0);
  pthread_detach(t);
  atomic_fetch_add(&x, 1);
  pthread_exit(0);
}
