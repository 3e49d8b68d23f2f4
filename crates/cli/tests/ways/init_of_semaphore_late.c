// verify: race, check: fails
#include <pthread.h>
#include <assert.h>
#include <semaphore.h>
sem_t s;
void *f(void *p) { sem_post(&s); return 0; }
int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); sem_init(&s, 0, 0); pthread_join(a, 0); return 0; }
