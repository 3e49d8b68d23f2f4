// verify: safe, check: verified
#include <pthread.h>
#include <stdlib.h>
struct box { pthread_mutex_t m; int x; };
int main(void) {
  struct box *b = malloc(sizeof *b);
  pthread_mutex_init(&b->m, 0);
  pthread_mutex_destroy(&b->m);
  free(b);
  return 0;
}
