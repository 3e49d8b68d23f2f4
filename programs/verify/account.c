// account: deposits and withdrawals of any amount under a lock, for ever. Idea: the bank account of Qadeer's lectures.
// Holds: the balance is never below zero. With -DBUG a withdrawal looks at the balance under one lock and takes under another.
#include <assert.h>
#include <pthread.h>

extern int __VERIFIER_nondet_int(void);

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int balance = 10;

void *deposit(void *arg) {
    while (1) {
        int amount = __VERIFIER_nondet_int();
        if (amount <= 0 || amount > 1000)
            continue;
        pthread_mutex_lock(&m); /* deposit */
        if (balance <= 1000000) /* room */
            balance += amount;
        pthread_mutex_unlock(&m); /* deposit */
    }
    return arg;
}

void *withdraw(void *arg) {
    while (1) {
        int amount = __VERIFIER_nondet_int();
        if (amount <= 0 || amount > 1000)
            continue;
        pthread_mutex_lock(&m);
        int enough = balance >= amount; /* look */
#ifdef BUG
        pthread_mutex_unlock(&m);
        pthread_mutex_lock(&m);
#endif
        if (enough) /* guard */
            balance -= amount;
        assert(balance >= 0);
        pthread_mutex_unlock(&m);
    }
    return arg;
}

int main(void) {
    pthread_t a, b, c;
    pthread_create(&a, 0, deposit, 0);
    pthread_create(&b, 0, withdraw, 0);
    pthread_create(&c, 0, withdraw, 0);
    return 0;
}
