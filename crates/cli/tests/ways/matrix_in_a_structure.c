// verify: safe, check: verified
#include <assert.h>
struct { char c; int a[2][2]; } s;
int main(void) { int *p = s.a[0]; p[3] = 9; assert(s.a[1][1] == 9); return 0; }
