// verify: unsafe, check: fails
#include <pthread.h>
pthread_t self;
void *g(void *p) { return 0; }
void *f(void *p) { pthread_join(self, 0); return 0; }
int main(void) {
  pthread_t t, u;
  self = pthread_self();
  pthread_create(&u, 0, g, 0);
  pthread_create(&t, 0, f, 0);
  pthread_join(u, 0);
  pthread_join(t, 0);
  return 0;
}
