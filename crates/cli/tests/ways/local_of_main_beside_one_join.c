// verify: unsafe, check: fails
#include <pthread.h>
void *f(void *p) { *(int *)p = 1; return 0; }
void *g(void *p) { return 0; }
int main(void) {
  int l = 0;
  pthread_t t, u;
  pthread_create(&t, 0, f, &l);
  pthread_create(&u, 0, g, 0);
  pthread_join(u, 0);
  return 0;
}
