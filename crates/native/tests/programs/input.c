// Arguments, which main may change, standard input, and a file that is left open.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static atomic_int x;

static void *run(void *p) {
    atomic_fetch_add(&x, 1);
    return p;
}

int main(int argc, char **argv) {
    char line[32];
    assert(argc == 3 && strcmp(argv[1], "one") == 0 && strcmp(argv[2], "two") == 0);
    argv[1] = argv[2];
    argv[2][0] = 'x';
    assert(fgets(line, sizeof line, stdin) && strcmp(line, "a line\n") == 0);
    assert(!fgets(line, sizeof line, stdin));
    FILE *file = fopen("/dev/null", "r");
    assert(fileno(file) < 20);
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
