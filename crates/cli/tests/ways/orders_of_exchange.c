// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
#include <stdatomic.h>
atomic_int x;
int n;
int main(void) { int e = 0; atomic_compare_exchange_strong_explicit(&x, &e, 1, (n++, memory_order_seq_cst), (n++, memory_order_seq_cst)); assert(n == 2 && x == 1); return 0; }
