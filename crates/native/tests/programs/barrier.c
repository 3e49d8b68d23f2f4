// Three threads meet twice; one of them is told to be the last, each time.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static pthread_barrier_t b;
static atomic_int serial;
static int slot[3];
static void *meet(void *p) {
  int me = (int)(long)p;
  slot[me] = me + 1;
  if (pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD) atomic_fetch_add(&serial, 1);
  assert(slot[0] + slot[1] + slot[2] == 6);
  return 0;
}
int main(void) {
  pthread_t t[2];
  assert(pthread_barrier_init(&b, 0, 0) != 0);
  pthread_barrier_init(&b, 0, 3);
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, meet, (void *)i);
  meet((void *)2);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  assert(atomic_load(&serial) == 1);
  pthread_barrier_destroy(&b);
  return 0;
}
