// verify: unsafe, check: fails
#include <pthread.h>
#include <stdatomic.h>
int up(int a) { return a + 1; }
_Atomic(int (*)(int)) f = up;
void *t(void *a) { int (*g)(int) = f; int n = g(3); return (void *)(long)n; }
int main(void) {
  pthread_t h;
  pthread_create(&h, 0, t, 0);
  f = 0;
  f = up;
  pthread_join(h, 0);
  return 0;
}
