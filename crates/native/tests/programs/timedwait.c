// A timed wait ends, whoever signals.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c;
int main(void) {
  pthread_cond_init(&c, 0);
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_sec += 5;
  pthread_mutex_lock(&m);
  int code = 0;
  while (code == 0) code = pthread_cond_timedwait(&c, &m, &t);
  assert(code == ETIMEDOUT);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  assert(now.tv_sec > t.tv_sec || (now.tv_sec == t.tv_sec && now.tv_nsec >= t.tv_nsec));
  pthread_mutex_unlock(&m);
  return 0;
}
