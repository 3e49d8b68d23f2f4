// verify: safe, check: verified
#include <pthread.h>
int n;
void g(int deep) {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&m);
  n++;
  if (deep) g(deep - 1);
  pthread_mutex_unlock(&m);
}
int main(void) { g(2); return n - 3; }
