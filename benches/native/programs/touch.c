// The only thread writes and reads 1 MiB byte by byte.

#include <assert.h>
#include <stdlib.h>

#define SIZE (1 << 20)

int main(void) {
    unsigned char *p = malloc(SIZE);
    unsigned sum = 0;
    for (int i = 0; i < SIZE; i++) p[i] = (unsigned char)(i | 1);
    for (int i = 0; i < SIZE; i++) sum += p[i];
    assert(sum > SIZE);
    free(p);
}
