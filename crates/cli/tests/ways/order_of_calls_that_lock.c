// verify: open, check: fails or caveats
#include <pthread.h>
#include <assert.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int x, y;
static int get(int *p) { pthread_mutex_lock(&m); int v = *p; pthread_mutex_unlock(&m); return v; }
static void set(int *p) { pthread_mutex_lock(&m); *p = 1; pthread_mutex_unlock(&m); }
void *f(void *p) { set(&x); set(&y); return 0; }
void *g(void *p) { assert(get(&y) <= get(&x)); return 0; }
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, g, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
