// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
#include <stdatomic.h>
int data;
atomic_int ready;
void *f(void *p) { data = 7; ready = 1; return 0; }
void *g(void *p) { if (ready) assert(data == 7); return 0; }
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, g, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
