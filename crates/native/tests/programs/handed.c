// Every execution is handed the same command line and environment, whatever earlier ones did to theirs.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int x;

static void *twice(void *arg) {
    x++;
    x++;
    return arg;
}

int main(int argc, char **argv) {
    assert(argc == 1 && argv[0] != NULL && argv[0][0] != '!' && argv[1] == NULL);
    argv[0][0] = '!';
    argv[0] = NULL;

    assert(getenv("HANDED") == NULL && getenv("PATH") != NULL && optind == 1);
    assert(setenv("HANDED", "1", 0) == 0 && strcmp(getenv("HANDED"), "1") == 0);
    assert(setenv("HANDED", "2", 0) == 0 && strcmp(getenv("HANDED"), "1") == 0);
    assert(setenv("HANDED", "3", 1) == 0 && strcmp(getenv("HANDED"), "3") == 0);
    assert(setenv("", "3", 1) == -1 && setenv("A=B", "3", 1) == -1);
    static char entry[] = "HANDED=4";
    assert(putenv(entry) == 0 && getenv("HANDED") == entry + 7);
    assert(unsetenv("HANDED") == 0 && getenv("HANDED") == NULL && getenv("PATH") != NULL);
    getenv("PATH")[0] = '!';
    assert(clearenv() == 0 && getenv("PATH") == NULL);
    assert(setenv("PATH", "5", 0) == 0 && strcmp(getenv("PATH"), "5") == 0);

    char *words[] = {"handed", "-a", "-b", NULL};
    assert(getopt(3, words, "ab") == 'a' && getopt(3, words, "ab") == 'b' && getopt(3, words, "ab") == -1);

    pthread_t t;
    pthread_create(&t, NULL, twice, NULL);
    twice(NULL);
    pthread_join(t, NULL);
    assert(x == 4);
    return 0;
}
