// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
int n;
int main(void) { if (__builtin_expect(n == 0, (n++, 1))) assert(n == 1); return 0; }
