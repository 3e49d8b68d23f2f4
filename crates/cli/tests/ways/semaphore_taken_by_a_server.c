// verify: unsafe, check: -
#include <pthread.h>
#include <assert.h>
#include <semaphore.h>
sem_t s;
int x;
void *f(void *p) { sem_wait(&s); return 0; }
void *g(void *p) { for (;;) x = sem_trywait(&s); }
int main(void) { pthread_t a, b; sem_init(&s, 0, 0); pthread_create(&a, 0, f, 0); pthread_create(&b, 0, g, 0); pthread_join(a, 0); return 0; }
