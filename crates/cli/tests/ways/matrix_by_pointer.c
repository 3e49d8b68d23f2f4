// verify: safe, check: verified
#include <assert.h>
int a[2][3];
int main(void) { int *p = &a[0][0]; p[4] = 7; assert(a[1][1] == 7); return 0; }
