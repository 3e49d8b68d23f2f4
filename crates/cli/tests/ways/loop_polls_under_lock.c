// verify: endless, check: fails
#include <pthread.h>
#include <assert.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int go;
void *f(void *p) { for (;;) { pthread_mutex_lock(&m); int g = go; pthread_mutex_unlock(&m); if (g) break; } return 0; }
int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); pthread_join(a, 0); return 0; }
