// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
#include <semaphore.h>
sem_t s[2];
int n, k;
int main(void) { sem_init(&s[n++], k++, 1); sem_wait(&s[0]); assert(n == 1 && k == 1); return 0; }
