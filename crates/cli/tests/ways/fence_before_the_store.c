// verify: sc, check: -
#include <pthread.h>
#include <stdatomic.h>
int x;
atomic_int ready;
void *f(void *p) {
  x = 1;
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(&ready, 1, memory_order_relaxed);
  return 0;
}
void *g(void *p) {
  if (atomic_load_explicit(&ready, memory_order_relaxed)) {
    atomic_thread_fence(memory_order_acquire);
    x = 2;
  }
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
