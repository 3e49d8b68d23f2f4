// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
pthread_mutex_t l[3];
int n;
static pthread_mutex_t *next(void) { return &l[n++]; }
int main(void) { pthread_mutex_init(next(), 0); pthread_mutex_init(next(), 0); assert(n == 2); return 0; }
