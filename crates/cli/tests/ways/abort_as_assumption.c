// verify: safe, check: verified
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int n;
void assume_abort_if_not(int cond) { if (!cond) abort(); }
void *f(void *p) { pthread_mutex_lock(&m); n = 1; pthread_mutex_unlock(&m); return 0; }
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, f, 0);
  pthread_mutex_lock(&m);
  int v = n;
  pthread_mutex_unlock(&m);
  assume_abort_if_not(v == 1);
  assert(v);
  return 0;
}
