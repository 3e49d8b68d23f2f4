// verify: sc, check: -
#include <pthread.h>
#include <assert.h>
#include <stdatomic.h>
atomic_int x, y;
void *f(void *p) { atomic_store_explicit(&x, 1, memory_order_relaxed); atomic_store_explicit(&y, 1, memory_order_release); return 0; }
void *g(void *p) { if (atomic_load_explicit(&y, memory_order_acquire)) assert(atomic_load_explicit(&x, memory_order_relaxed)); return 0; }
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, g, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
