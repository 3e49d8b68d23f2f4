// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
int sum(int n, int *up) { int v = n; if (up) v += *up; return n == 0 ? v : sum(n - 1, &v); }
int main(void) { assert(sum(3, 0) == 6); return 0; }
