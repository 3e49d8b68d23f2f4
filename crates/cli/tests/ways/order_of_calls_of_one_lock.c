// verify: safe, check: holds
// The calls take and release the same lock, which changes nothing for each other; nor does the address of what is only read.
#include <pthread.h>
#include <assert.h>
struct queue { pthread_mutex_t m; int n, k; } q = { PTHREAD_MUTEX_INITIALIZER, 2, 3 };
static int count(void) { pthread_mutex_lock(&q.m); int v = q.n; pthread_mutex_unlock(&q.m); return v; }
static int room(struct queue *p) { pthread_mutex_lock(&p->m); int v = p->k; pthread_mutex_unlock(&p->m); return v; }
int main(void) { assert(count() + room(&q) == 5); assert(room(&q) - room(&q) == 0); return 0; }
