// verify: safe, check: holds
#include <pthread.h>
#include <assert.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int x, y;
static int get(int *p) { pthread_mutex_lock(&m); int v = *p; pthread_mutex_unlock(&m); return v; }
static void set(int *p) { pthread_mutex_lock(&m); *p = 1; pthread_mutex_unlock(&m); }
void *f(void *p) { set(&x); set(&y); return 0; }
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, f, 0);
  pthread_join(a, 0);
  assert(get(&y) + get(&x) == 2);
  return 0;
}
