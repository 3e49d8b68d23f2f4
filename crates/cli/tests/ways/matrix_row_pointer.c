// verify: safe, check: verified
#include <assert.h>
int a[3][2] = {{1, 2}, {3, 4}, {5, 6}};
int main(void) { int *p = a[1]; assert(p[-1] == 2 && p[2] == 5 && *(p + 3) == 6); return 0; }
