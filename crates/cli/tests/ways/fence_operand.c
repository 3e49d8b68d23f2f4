// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
#include <stdatomic.h>
int n;
int main(void) { atomic_thread_fence((n++, memory_order_seq_cst)); assert(n == 1); return 0; }
