// verify: unsafe, check: fails
#include <pthread.h>
#include <stdlib.h>
struct box { pthread_mutex_t m; int x; };
int main(void) {
  struct box *b = malloc(sizeof *b);
  pthread_mutex_init(&b->m, 0);
  pthread_mutex_lock(&b->m);
  b->x = 1;
  free(b);
  return 0;
}
