// stack: one thread pushes, the other pops, for ever, each step under a lock. Idea: SV-COMP's pthread/stack; the FMCAD 2013 paper on
// Impact for threads has both forms as stack_s and stack_u.
// Holds: no overflow and no underflow, whatever SIZE is. With -DBUG the popper trusts a flag that was set by the first push.
#include <assert.h>
#include <pthread.h>

#ifndef SIZE
#define SIZE 400
#endif

extern unsigned __VERIFIER_nondet_uint(void);

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
unsigned item[SIZE];
int top;
_Bool flag;

void push(unsigned x) {
    assert(top < SIZE);
    item[top] = x;
    top++;
}

unsigned pop(void) {
    assert(top > 0);
    top--;
    return item[top];
}

void *pusher(void *arg) {
    while (1) {
        unsigned x = __VERIFIER_nondet_uint();
        pthread_mutex_lock(&m); /* pusher */
        if (top < SIZE) { /* not full */
            push(x % SIZE);
            flag = 1;
        }
        pthread_mutex_unlock(&m); /* pusher */
    }
    return arg;
}

void *popper(void *arg) {
    while (1) {
        pthread_mutex_lock(&m);
#ifdef BUG
        if (flag)
#else
        if (top > 0) /* not empty */
#endif
            pop();
        pthread_mutex_unlock(&m);
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, pusher, 0);
    pthread_create(&b, 0, popper, 0);
    pthread_join(a, 0);
    return 0;
}
