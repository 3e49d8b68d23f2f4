// verify: safe, check: holds
#include <pthread.h>
#include <assert.h>
pthread_t self;
int x;
void *f(void *p) { int r = pthread_join(self, 0); assert(r == 0 && x == 1); return 0; }
int main(void) {
  pthread_t t;
  self = pthread_self();
  pthread_create(&t, 0, f, 0);
  x = 1;
  pthread_exit(0);
}
