// verify: race, check: fails
#include <pthread.h>
#include <stdatomic.h>
atomic_int x;
void *f(void *p) { atomic_fetch_add(&x, 1); return 0; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  atomic_init(&x, 3);
  pthread_join(t, 0);
  return 0;
}
