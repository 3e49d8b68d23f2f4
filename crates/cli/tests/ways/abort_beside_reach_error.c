// verify: aborts, check: fails
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
extern void reach_error(void);
_Atomic int x;
void *f(void *p) { x = 1; return 0; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  if (x) abort();
  pthread_join(t, 0);
  if (x != 1) reach_error();
  return 0;
}
