// Loops that wait by sleeping or yielding, until another thread has set a flag.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>
static atomic_int flag;
static void *setter(void *p) {
  usleep(1000);
  atomic_store(&flag, 1);
  return p;
}
int main(void) {
  struct timespec before, after;
  pthread_t t;
  clock_gettime(CLOCK_MONOTONIC, &before);
  pthread_create(&t, 0, setter, 0);
  while (!atomic_load(&flag)) sched_yield();
  while (!atomic_load(&flag)) usleep(10);
  pthread_join(t, 0);
  sleep(3);
  clock_gettime(CLOCK_MONOTONIC, &after);
  assert(after.tv_sec >= before.tv_sec + 3);
  time_t now = time(0);
  assert(now > 1000000000);
  return 0;
}
