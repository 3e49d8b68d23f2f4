// verify: unsafe, check: fails
#include <stdlib.h>
int main(void) { void (*end)(void) = abort; end(); return 0; }
