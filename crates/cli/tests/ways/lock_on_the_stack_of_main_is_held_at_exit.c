// verify: safe, check: verified
#include <pthread.h>
#include <stdlib.h>
int main(void) {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&m);
  exit(0);
}
