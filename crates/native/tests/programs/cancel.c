// Cancelling is not modelled.
#include <pthread.h>
static void *nothing(void *p) { return p; }
int main(void) {
  pthread_t t;
  int old;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
  pthread_testcancel();
  pthread_create(&t, 0, nothing, 0);
  pthread_cancel(t);
  pthread_join(t, 0);
  return 0;
}
