// Spin locks of POSIX.
#include <assert.h>
#include <pthread.h>
static pthread_spinlock_t s;
static int x;
static void *add(void *p) {
  pthread_spin_lock(&s);
  x++;
  pthread_spin_unlock(&s);
  return p;
}
int main(void) {
  pthread_t t[2];
  pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE);
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, add, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  assert(x == 2);
#ifdef MISUSE
  pthread_spin_unlock(&s);
#endif
  pthread_spin_destroy(&s);
  return 0;
}
