// account: one deposits, one withdraws, one checks the balance once both are done, all under one lock.
// From: Sachinoglou's thesis, appendix; SV-COMP has it too. Written from the description.
// Holds: the balance adds up. 6 classes, 3! orders. With -DBUG the check forgets to look whether the withdrawal is done.
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { START = 1, IN = 2, OUT = 4 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int balance = START;
static bool deposited, withdrawn;

static void *check(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
#ifdef BUG
    bool done = deposited;
#else
    bool done = deposited && withdrawn;
#endif
    assert(!done || balance == START + IN - OUT);
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *deposit(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    balance += IN;
    deposited = true;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *withdraw(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    balance -= OUT;
    withdrawn = true;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], NULL, check, NULL);
    pthread_create(&t[1], NULL, deposit, NULL);
    pthread_create(&t[2], NULL, withdraw, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
