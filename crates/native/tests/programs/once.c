// Whoever comes through has seen the routine done, once.
#include <assert.h>
#include <pthread.h>
static pthread_once_t o = PTHREAD_ONCE_INIT;
static int made;
static void make(void) { made++; }
static void *use(void *p) {
  pthread_once(&o, make);
  assert(made == 1);
  return p;
}
int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, use, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
