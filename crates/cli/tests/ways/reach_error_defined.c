// verify: unsafe, check: fails
#include <pthread.h>
#include <assert.h>
void reach_error(void) { }
int x;
void *f(void *p) { x = 1; return 0; }
int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); pthread_join(a, 0); if (x) reach_error(); return 0; }
