// A thread with a name, in a deadlock, so that the name is shown.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <string.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *worker(void *p) {
  char name[16];
  pthread_setname_np(pthread_self(), "worker bee");
  pthread_getname_np(pthread_self(), name, sizeof name);
  assert(strcmp(name, "worker bee") == 0);
  pthread_attr_t a;
  void *stack;
  size_t size;
  pthread_getattr_np(pthread_self(), &a);
  pthread_attr_getstack(&a, &stack, &size);
  assert((char *)stack < name && name < (char *)stack + size);
  pthread_mutex_lock(&m);
  pthread_mutex_lock(&m);
  return p;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  pthread_join(t, 0);
  return 0;
}
