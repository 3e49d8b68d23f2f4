// verify: safe, check: holds
#include <pthread.h>
#include <semaphore.h>
#include <assert.h>
sem_t s;
void *f(void *p) { *(int *)p = 1; sem_post(&s); return 0; }
int main(void) {
  int l = 0;
  pthread_t t;
  sem_init(&s, 0, 0);
  pthread_create(&t, 0, f, &l);
  pthread_detach(t);
  sem_wait(&s);
  assert(l == 1);
  return 0;
}
