// A loop that looks at a flag under a lock.
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int done, data;
static void *setter(void *p) {
  data = 1;
  pthread_mutex_lock(&m);
#ifndef NEVER
  done = 1;
#endif
  pthread_mutex_unlock(&m);
  return p;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, setter, 0);
  for (;;) {
    pthread_mutex_lock(&m);
    if (done) break;
    pthread_mutex_unlock(&m);
  }
  assert(data == 1);
  pthread_mutex_unlock(&m);
  pthread_join(t, 0);
  return 0;
}
