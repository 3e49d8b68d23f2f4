// verify: unsafe, check: fails
#include <pthread.h>
#include <stdlib.h>
struct box { pthread_rwlock_t l; int x; };
int main(void) {
  struct box *b = malloc(sizeof *b);
  pthread_rwlock_init(&b->l, 0);
  pthread_rwlock_rdlock(&b->l);
  free(b);
  return 0;
}
