// verify: unsafe, check: fails
#include <pthread.h>
#include <stdatomic.h>
_Atomic int i;
int a[2];
void *f(void *p) { i++; return 0; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  int k = ++i;
  pthread_join(t, 0);
  a[k] = 1;
  return 0;
}
