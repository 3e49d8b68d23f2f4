// duff: bytes are copied four at a time, and the loop is entered in its middle, while another thread does the same with the rest.
// Holds: all are copied. With -DBUG the cases are one too far.
#include <assert.h>
#include <pthread.h>

#define N 9

unsigned char from[N] = "abcdefgh", to[N];

void copy(int first, int n) {
    const unsigned char *f = from + first;
    unsigned char *t = to + first;
    int rounds = (n + 3) / 4;
#ifdef BUG
    switch ((n + 1) % 4) {
#else
    switch (n % 4) {
#endif
    case 0:
        do {
            *t++ = *f++;
        case 3:
            *t++ = *f++;
        case 2:
            *t++ = *f++; /* second */
        case 1:
            *t++ = *f++;
        } while (--rounds > 0);
    }
}

void *rest(void *arg) {
    copy(6, N - 6);
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, rest, 0);
    copy(0, 6);
    pthread_join(a, 0); /* rest */
    for (int i = 0; i < N; i++)
        assert(to[i] == from[i]);
    return 0;
}
