// verify: unsafe, check: fails
#include <pthread.h>
void *f(void *p) { *(int *)p = 1; return 0; }
int main(void) {
  int l[3] = { 0 };
  pthread_t t[3];
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, f, &l[i]);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
