// verify: open, check: fails or caveats
#include <assert.h>
#include <stdatomic.h>
atomic_int x;
static int inc(atomic_int *p) { return atomic_fetch_add(p, 1) + 1; }
int main(void) { int v = inc(&x) * 10 + x; assert(v == 11); return 0; }
