// A mutex is destroyed while another thread may still use it: in no schedule does it have to be held.
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *user(void *p) {
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
  return p;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, user, 0);
#ifdef JOIN
  pthread_join(t, 0);
#endif
  pthread_mutex_destroy(&m);
#ifndef JOIN
  pthread_join(t, 0);
#endif
  return 0;
}
