// verify: unsafe, check: fails
#include <pthread.h>
#include <assert.h>
pthread_mutex_t l[3];
void *f(void *p) { long i = (long)p; pthread_mutex_lock(&l[i]); pthread_mutex_lock(&l[(i + 1) % 3]); pthread_mutex_unlock(&l[(i + 1) % 3]); pthread_mutex_unlock(&l[i]); return 0; }
int main(void) { pthread_t t[3]; for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, f, (void *)i); for (int i = 0; i < 3; i++) pthread_join(t[i], 0); return 0; }
