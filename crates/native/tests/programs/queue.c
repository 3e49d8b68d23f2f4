// A bounded queue between two producers and a consumer, on a mutex and two condition variables.
#include <assert.h>
#include <pthread.h>
#define ROOM 1
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static int items[ROOM], first, n;
static void put(int item) {
  pthread_mutex_lock(&m);
  while (n == ROOM) pthread_cond_wait(&not_full, &m);
  items[(first + n++) % ROOM] = item;
  pthread_cond_signal(&not_empty);
  pthread_mutex_unlock(&m);
}
static int get(void) {
  pthread_mutex_lock(&m);
  while (n == 0) pthread_cond_wait(&not_empty, &m);
  int item = items[first];
  first = (first + 1) % ROOM;
  n--;
  pthread_cond_signal(&not_full);
  pthread_mutex_unlock(&m);
  return item;
}
static void *producer(void *p) {
  put((int)(long)p);
  put((int)(long)p + 10);
  return 0;
}
int main(void) {
  pthread_t t[2];
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, producer, (void *)(i + 1));
  int sum = 0;
  for (int i = 0; i < 4; i++) sum += get();
  assert(sum == 1 + 11 + 2 + 12);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
