// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
#include <stdlib.h>
struct q { pthread_mutex_t m; int n; };
void *f(void *p) { struct q *q = p; pthread_mutex_lock(&q->m); q->n++; pthread_mutex_unlock(&q->m); return 0; }
int main(void) {
  pthread_t a; struct q *q = malloc(sizeof *q); pthread_mutex_init(&q->m, 0); q->n = 0;
  pthread_create(&a, 0, f, q); f(q); pthread_join(a, 0); assert(q->n == 2);
  pthread_mutex_destroy(&q->m); free(q); return 0;
}
