// verify: unsafe, check: fails
#include <pthread.h>
int *q;
void *g(void *p) { *q = 1; return 0; }
void *f(void *p) { pthread_t t; q = p; pthread_create(&t, 0, g, 0); return 0; }
int main(void) {
  int l = 0;
  pthread_t t;
  pthread_create(&t, 0, f, &l);
  pthread_join(t, 0);
  return 0;
}
