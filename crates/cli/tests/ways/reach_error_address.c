// verify: unsafe, check: fails
#include <pthread.h>
#include <assert.h>
void reach_error(void) { }
int main(void) { void (*p)(void) = reach_error; p(); return 0; }
