// message: a message is a number or a letter, as its kind says; one thread writes it, another reads it, under a lock, for ever.
// Holds: a letter is a letter. With -DBUG the kind is written without the lock.
#include <assert.h>
#include <pthread.h>

extern _Bool __VERIFIER_nondet_bool(void);
extern unsigned short __VERIFIER_nondet_ushort(void);

struct message {
    _Bool letter;
    union {
        unsigned char letter;
        unsigned short number;
    } as;
} box;

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

void *write_(void *arg) {
    while (1) {
        _Bool letter = __VERIFIER_nondet_bool();
#ifdef BUG
        box.letter = letter;
        pthread_mutex_lock(&m);
#else
        pthread_mutex_lock(&m); /* write */
        box.letter = letter; /* kind */
#endif
        if (letter)
            box.as.letter = 'a';
        else
            box.as.number = __VERIFIER_nondet_ushort();
        pthread_mutex_unlock(&m); /* write */
    }
    return arg;
}

void *read_(void *arg) {
    while (1) {
        pthread_mutex_lock(&m);
        if (box.letter) /* kind of what is read */
            assert(box.as.letter == 'a');
        pthread_mutex_unlock(&m);
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, write_, 0);
    pthread_create(&b, 0, read_, 0);
    return 0;
}
