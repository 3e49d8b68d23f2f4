// verify: open, check: fails or caveats
#include <assert.h>
int x;
static int inc(int *p) { return ++*p; }
int main(void) { int v = inc(&x) * 10 + x; assert(v == 11); return 0; }
