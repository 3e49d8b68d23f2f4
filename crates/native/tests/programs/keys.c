// Values of keys, and the order in which a thread that ends early cleans up.
#include <assert.h>
#include <pthread.h>
#include <string.h>
static pthread_key_t k;
static char order[16];
static int n;
static void destroy(void *v) {
  order[n++] = *(char *)v;
  static char again[] = "R";
  if (*(char *)v == 'K') pthread_setspecific(k, again);
}
static void handler(void *v) { order[n++] = *(char *)v; }
static void deep(void) {
  pthread_cleanup_push(handler, "2");
  pthread_exit("result");
  pthread_cleanup_pop(0);
}
static void *worker(void *p) {
  assert(pthread_getspecific(k) == 0);
  pthread_setspecific(k, "K");
  pthread_cleanup_push(handler, "1");
  pthread_cleanup_push(handler, "x");
  pthread_cleanup_pop(0);
  deep();
  pthread_cleanup_pop(0);
  return p;
}
int main(void) {
  pthread_t t;
  pthread_key_create(&k, destroy);
  pthread_setspecific(k, "M");
  pthread_create(&t, 0, worker, 0);
  void *result;
  pthread_join(t, &result);
  assert(strcmp(result, "result") == 0);
  assert(memcmp(order, "21KR", 5) == 0);
  assert(*(char *)pthread_getspecific(k) == 'M');
  pthread_key_delete(k);
  return 0;
}
