// A bank account with deposit, read and withdraw, each of which takes the lock.
// From: Qadeer's slides on reduction: `withdraw` in one critical section is atomic; calling `read` and then locking again is not.
// Holds: the balance is what came in less what went out. With -DBUG withdraw is the second version, and a deposit that comes
// between its two critical sections is lost. No data race in either.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static int balance;

static int read_balance(void) {
    pthread_mutex_lock(&l);
    int r = balance;
    pthread_mutex_unlock(&l);
    return r;
}

static void *deposit(void *arg) {
    (void)arg;
    pthread_mutex_lock(&l);
    balance += 10;
    pthread_mutex_unlock(&l);
    return NULL;
}

static void *withdraw(void *arg) {
    (void)arg;
#ifdef BUG
    int r = read_balance();
    pthread_mutex_lock(&l);
    balance = r - 3;
    pthread_mutex_unlock(&l);
#else
    pthread_mutex_lock(&l);
    balance -= 3;
    pthread_mutex_unlock(&l);
#endif
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, deposit, NULL);
    pthread_create(&t[1], NULL, withdraw, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(read_balance() == 7);
    return 0;
}
