// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
#include <time.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER; int go;
void *f(void *p) {
  struct timespec t = { 1, 0 };
  pthread_mutex_lock(&m); while (!go) pthread_cond_timedwait(&c, &m, &t); pthread_mutex_unlock(&m); return 0;
}
void *g(void *p) { pthread_mutex_lock(&m); go = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m); return 0; }
int main(void) { pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_create(&b, 0, g, 0); pthread_join(a, 0); pthread_join(b, 0); return 0; }
