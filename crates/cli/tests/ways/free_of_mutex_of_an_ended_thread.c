// verify: unsafe, check: fails
#include <pthread.h>
#include <stdlib.h>
struct box { pthread_mutex_t m; int x; };
struct box *b;
void *f(void *p) { pthread_mutex_lock(&b->m); return 0; }
int main(void) {
  b = malloc(sizeof *b);
  pthread_mutex_init(&b->m, 0);
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  pthread_join(t, 0);
  free(b);
  return 0;
}
