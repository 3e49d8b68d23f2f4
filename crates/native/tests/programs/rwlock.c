// Readers and a writer; CASE picks a broken version.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#ifndef CASE
#define CASE 0
#endif
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static int x;
static void *reader(void *p) {
  pthread_rwlock_rdlock(&l);
  int seen = x;
  assert(seen == 0 || seen == 2);
#if CASE == 1
  pthread_rwlock_wrlock(&l);
  pthread_rwlock_unlock(&l);
#endif
  pthread_rwlock_unlock(&l);
#if CASE == 2
  pthread_rwlock_unlock(&l);
#endif
  return p;
}
int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, reader, 0);
  pthread_rwlock_wrlock(&l);
  x++;
  assert(pthread_rwlock_rdlock(&l) == EDEADLK);
  assert(pthread_rwlock_tryrdlock(&l) == EBUSY);
  x++;
  pthread_rwlock_unlock(&l);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  pthread_rwlock_destroy(&l);
  return 0;
}
