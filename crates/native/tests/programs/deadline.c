// A loop that gives up at a deadline which it keeps nowhere on its stack; and one that polls a semaphore.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>
static atomic_int flag;
static time_t end;
static sem_t s;
static void *setter(void *p) {
#ifndef LATE
  atomic_store(&flag, 1);
#endif
  sem_post(&s);
  return p;
}
int main(void) {
  pthread_t t;
  sem_init(&s, 0, 0);
  end = time(0) + 1;
  pthread_create(&t, 0, setter, 0);
  int late = 0;
  while (!atomic_load(&flag)) {
    if (time(0) > end) {
      late = 1;
      break;
    }
    struct timespec nap = {0, 300000000};
    nanosleep(&nap, 0);
  }
#ifdef LATE
  assert(late);
#endif
#ifdef NEVER_LATE
  assert(!late);
#endif
  while (sem_trywait(&s) != 0) sched_yield();
  pthread_join(t, 0);
  return 0;
}
