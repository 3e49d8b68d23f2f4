// verify: safe, check: verified
#include <assert.h>
int a[2][2][2];
int main(void) { int *p = &a[0][0][0]; for (int i = 0; i < 8; i++) p[i] = i; assert(a[1][0][1] == 5 && a[1][1][1] == 7); return 0; }
