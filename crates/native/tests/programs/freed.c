// Memory with a mutex in it is freed while another thread may still use it.
#include <pthread.h>
#include <stdlib.h>
struct S {
  pthread_mutex_t m;
  int x;
};
static void *user(void *p) {
  struct S *s = p;
  pthread_mutex_lock(&s->m);
  s->x++;
  pthread_mutex_unlock(&s->m);
  return 0;
}
int main(void) {
  pthread_t t;
  struct S *s = calloc(1, sizeof *s);
  pthread_mutex_init(&s->m, 0);
  pthread_create(&t, 0, user, s);
  pthread_mutex_lock(&s->m);
  s->x++;
  pthread_mutex_unlock(&s->m);
#ifdef JOIN
  pthread_join(t, 0);
#endif
  free(s);
#ifndef JOIN
  pthread_join(t, 0);
#endif
  return 0;
}
