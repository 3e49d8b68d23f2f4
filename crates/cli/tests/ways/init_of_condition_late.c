// verify: race, check: fails
#include <pthread.h>
#include <assert.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c; int go;
void *f(void *p) { pthread_mutex_lock(&m); go = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m); return 0; }
int main(void) {
  pthread_t a; pthread_create(&a, 0, f, 0); pthread_cond_init(&c, 0);
  pthread_mutex_lock(&m); while (!go) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m);
  pthread_join(a, 0); return 0;
}
