// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
void reach_error(void) { }
int main(void) { void (*p)(void) = reach_error; assert(p != 0); return 0; }
