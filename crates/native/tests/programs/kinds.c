// Kinds of mutexes and what their functions return; CASE picks a broken rule.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#ifndef CASE
#define CASE 0
#endif
static pthread_mutex_t r = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t c = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t n = PTHREAD_MUTEX_INITIALIZER;
static void *other(void *p) {
  assert(pthread_mutex_unlock(&c) == EPERM);
  int got = pthread_mutex_trylock(&n);
  assert(got == 0 || got == EBUSY);
  if (got == 0) pthread_mutex_unlock(&n);
#if CASE == 1
  pthread_mutex_unlock(&n);
#endif
  return p;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, other, 0);
  pthread_mutex_lock(&r);
  pthread_mutex_lock(&r);
  assert(pthread_mutex_trylock(&r) == 0);
  for (int i = 0; i < 3; i++) assert(pthread_mutex_unlock(&r) == 0);
  assert(pthread_mutex_unlock(&r) == EPERM);
  pthread_mutex_lock(&c);
  assert(pthread_mutex_lock(&c) == EDEADLK);
  pthread_mutex_unlock(&c);
  struct timespec soon = {0, 0};
  pthread_mutex_lock(&n);
  assert(pthread_mutex_timedlock(&n, &soon) == ETIMEDOUT);
#if CASE == 2
  pthread_mutex_lock(&n);
#endif
#if CASE == 3
  pthread_mutex_destroy(&n);
#endif
  pthread_mutex_unlock(&n);
  pthread_join(t, 0);
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
  static pthread_mutex_t made, *d = &made;
  pthread_mutex_init(d, &a);
  pthread_mutex_lock(d);
  pthread_mutex_lock(d);
  pthread_mutex_unlock(d);
  pthread_mutex_unlock(d);
  pthread_mutex_destroy(d);
#if CASE == 5
  pthread_mutex_lock(&n);
  pthread_mutex_destroy(&n);
#endif
#if CASE == 4
  pthread_mutex_lock(d);
#endif
  return 0;
}
