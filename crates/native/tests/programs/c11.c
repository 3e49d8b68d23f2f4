// threads.h
#include <assert.h>
#include <stddef.h>
#include <threads.h>
#include <time.h>
static mtx_t m;
static cnd_t c;
static once_flag o = ONCE_FLAG_INIT;
static tss_t k;
static int made, turn;
static void make(void) { made++; }
static int worker(void *p) {
  call_once(&o, make);
  tss_set(k, &made);
  mtx_lock(&m);
  turn = 1;
  cnd_signal(&c);
  mtx_unlock(&m);
  assert(tss_get(k) == &made);
  thrd_yield();
  return 42;
}
int main(void) {
  thrd_t t;
  assert(mtx_init(&m, mtx_plain) == thrd_success);
  cnd_init(&c);
  tss_create(&k, NULL);
  thrd_create(&t, worker, NULL);
  call_once(&o, make);
  mtx_lock(&m);
  while (!turn) cnd_wait(&c, &m);
  assert(mtx_trylock(&m) == thrd_busy);
  mtx_unlock(&m);
  int code = 0;
  assert(thrd_join(t, &code) == thrd_success && code == 42);
  assert(made == 1 && tss_get(k) == NULL);
  struct timespec nap = {1, 0};
  thrd_sleep(&nap, NULL);
  cnd_destroy(&c);
  mtx_destroy(&m);
  return 0;
}
