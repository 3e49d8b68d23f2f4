// verify: open, check: fails or caveats
#include <assert.h>
int n;
static int next(void) { return ++n; }
int main(void) { int v = next() * 10 + next(); assert(v == 12); return 0; }
