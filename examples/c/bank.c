/* Transfers between accounts. Each account has a lock, so no money is lost. But a transfer takes the lock of the account
 * it pays from, then that of the account it pays to: two transfers that go opposite ways can each hold what the other
 * needs.
 */
#include <assert.h>
#include <pthread.h>

struct account {
    pthread_mutex_t lock;
    long balance;
};

static struct account accounts[2] = {
    {PTHREAD_MUTEX_INITIALIZER, 100},
    {PTHREAD_MUTEX_INITIALIZER, 100},
};

static void transfer(struct account *from, struct account *to, long amount)
{
    pthread_mutex_lock(&from->lock);
    pthread_mutex_lock(&to->lock);
    from->balance -= amount;
    to->balance += amount;
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_unlock(&from->lock);
}

static void *rent(void *arg)
{
    transfer(&accounts[0], &accounts[1], 30);
    return arg;
}

static void *refund(void *arg)
{
    transfer(&accounts[1], &accounts[0], 10);
    return arg;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, rent, NULL);
    pthread_create(&b, NULL, refund, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(accounts[0].balance + accounts[1].balance == 200);
    return 0;
}
