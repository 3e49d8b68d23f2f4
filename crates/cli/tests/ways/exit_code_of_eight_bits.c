// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
#include <stdlib.h>
int main(void) { exit(256); }
