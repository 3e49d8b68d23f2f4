// verify: safe, check: verified
#include <stdlib.h>
extern void reach_error(void);
void __VERIFIER_assert(int cond) { if (!cond) { reach_error(); abort(); } }
int main(void) { int x = 1; __VERIFIER_assert(x == 1); return 0; }
