// seqlock: a writer makes a number odd while it writes two cells, a reader takes both again until the number stayed even and the same.
// The reader goes on for ever; the writer stops before the number, which has eight bits, comes round.
// Holds: what the reader keeps is of one write. With -DBUG it does not look whether the number is odd.
#include <assert.h>
#include <pthread.h>

#ifndef WRITES
#define WRITES 3
#endif

unsigned char seq;
int a, b;

void *writer(void *arg) {
    for (int i = 1; i <= WRITES; i++) {
        seq++; /* odd */
        a = i;
        b = i;
        seq++; /* even */
    }
    return arg;
}

void *reader(void *arg) {
    while (1) {
        unsigned char before = seq;
#ifndef BUG
        if (before & 1) /* being written */
            continue;
#endif
        int x = a, y = b;
        if (seq != before) /* changed */
            continue;
        assert(x == y);
    }
    return arg;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, writer, 0);
    pthread_create(&t, 0, reader, 0);
    return 0;
}
