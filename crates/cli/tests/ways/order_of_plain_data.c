// verify: safe, check: holds
// Plain accesses without a race: in whichever order they are, nothing comes in between.
#include <pthread.h>
#include <assert.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int ready, x, y;
void *f(void *p) { pthread_mutex_lock(&m); x = 3; y = 4; ready = 1; pthread_mutex_unlock(&m); return 0; }
void *g(void *p) {
  pthread_mutex_lock(&m);
  int r = ready;
  pthread_mutex_unlock(&m);
  if (r) assert(x + y == 7);
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, g, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
