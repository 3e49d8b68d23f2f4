// verify: safe, check: verified
#include <assert.h>
int main(int argc, char **argv) { (void)argv; assert(argc >= 1); return 0; }
