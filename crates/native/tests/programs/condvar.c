// A flag handed over with a condition variable; CASE picks a broken version.
#include <assert.h>
#include <pthread.h>
#ifndef CASE
#define CASE 0
#endif
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready;
static void *setter(void *p) {
  pthread_mutex_lock(&m);
#if CASE == 4
  pthread_cond_destroy(&c);
  pthread_mutex_unlock(&m);
  return p;
#endif
  ready = 1;
#if CASE != 1
  pthread_cond_signal(&c);
#endif
  pthread_mutex_unlock(&m);
  return p;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, setter, 0);
#if CASE == 2
  pthread_cond_wait(&c, &m);
#endif
  pthread_mutex_lock(&m);
#if CASE == 3
  if (!ready) pthread_cond_wait(&c, &m);
#else
  while (!ready) pthread_cond_wait(&c, &m);
#endif
  assert(ready);
  pthread_mutex_unlock(&m);
  pthread_join(t, 0);
  pthread_cond_destroy(&c);
  return 0;
}
