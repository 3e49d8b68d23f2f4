// verify: safe, check: verified
#include <assert.h>
int main(void) { int n = 0; for (unsigned char i = 0; i < 255; i++) n++; assert(n == 255); return 0; }
