// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
#include <stdatomic.h>
atomic_int x;
int n;
int main(void) { int v = atomic_load_explicit(&x, (n++, memory_order_seq_cst)); assert(n == 1 && v == 0); return 0; }
