// Two semaphores hand a turn back and forth; one of them has a name.
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
static sem_t a, *b;
static int x;
static void *pong(void *p) {
  sem_wait(&a);
  assert(x == 1);
  x = 2;
  sem_post(b);
  return p;
}
int main(void) {
  pthread_t t;
  sem_init(&a, 0, 0);
  b = sem_open("/raddle-test", O_CREAT | O_EXCL, 0600, 0);
  assert(b != SEM_FAILED);
  assert(sem_open("/raddle-test", O_CREAT | O_EXCL, 0600, 0) == SEM_FAILED && errno == EEXIST);
  pthread_create(&t, 0, pong, 0);
  x = 1;
#ifndef STUCK
  sem_post(&a);
#endif
  sem_wait(b);
  assert(x == 2);
  assert(sem_trywait(b) == -1 && errno == EAGAIN);
  int value = 7;
  sem_getvalue(&a, &value);
  assert(value == 0);
  pthread_join(t, 0);
  sem_destroy(&a);
  sem_close(b);
  sem_unlink("/raddle-test");
  return 0;
}
