// Producers and consumers on a bounded buffer; neither waits, both look whether they can.
// From: Metzler's thesis, figures 2.1, 4.2 and 4.12, with bounded loops.
// Holds: no overflow and no underflow (figure 2.1). With -DBUG=1 neither looks, and a consumer that comes first meets an empty
// buffer (figure 4.2). With -DBUG=2 they look before they take the lock and not again (figure 4.12).
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef PRODUCERS
#define PRODUCERS 1
#endif
#ifndef CONSUMERS
#define CONSUMERS 1
#endif
#ifndef ITEMS
#define ITEMS 2
#endif
#ifndef SIZE
#define SIZE 1
#endif
#ifndef BUG
#define BUG 0
#endif

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int buffer[SIZE];
static atomic_int count;

static void produce(int item) {
#if BUG == 2
    if (count >= SIZE)
        return;
#endif
    pthread_mutex_lock(&mutex);
#if BUG == 0
    if (count < SIZE) {
#else
    {
        assert(count < SIZE);
#endif
        int at = count;
        buffer[at] = item;
        count = at + 1;
    }
    pthread_mutex_unlock(&mutex);
}

static void consume(void) {
#if BUG == 2
    if (count == 0)
        return;
#endif
    pthread_mutex_lock(&mutex);
#if BUG == 0
    if (count > 0) {
#else
    {
        assert(count > 0);
#endif
        int at = count - 1;
        assert(buffer[at] != 0);
        buffer[at] = 0;
        count = at;
    }
    pthread_mutex_unlock(&mutex);
}

static void *producer(void *arg) {
    (void)arg;
    for (int k = 1; k <= ITEMS; k++)
        produce(k);
    return NULL;
}

static void *consumer(void *arg) {
    (void)arg;
    for (int k = 1; k <= ITEMS; k++)
        consume();
    return NULL;
}

int main(void) {
    pthread_t t[PRODUCERS + CONSUMERS];
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++)
        pthread_create(&t[i], NULL, i < PRODUCERS ? producer : consumer, NULL);
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++)
        pthread_join(t[i], NULL);
    return 0;
}
