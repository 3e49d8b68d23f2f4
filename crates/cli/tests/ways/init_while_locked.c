// verify: unsafe, check: fails
#include <pthread.h>
#include <assert.h>
pthread_mutex_t m;
int main(void) { pthread_mutex_init(&m, 0); pthread_mutex_lock(&m); pthread_mutex_init(&m, 0); return 0; }
