// verify: unsafe, check: fails
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
_Atomic int i;
int a[2] = {1, 2};
void *f(void *p) { i = 1; return 0; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  int j = i, k = i;
  int s = a[j] + a[k];
  assert(s != 3);
  pthread_join(t, 0);
  return 0;
}
