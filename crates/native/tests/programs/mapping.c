// Memory that each execution maps anew, and a handler of the program for a signal that is a failure here.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

static atomic_int *x;

static void ignore(int signal) {
    (void)signal;
}

static void *run(void *p) {
    if (atomic_fetch_add(x, 1) == 1 && p)
        *(volatile int *)0 = 1;
    return 0;
}

int main(void) {
    struct sigaction action = {.sa_handler = ignore};
    sigaction(SIGSEGV, &action, 0);
    x = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(atomic_load(x) == 0);
    pthread_t t[2];
    pthread_create(&t[0], 0, run, 0);
#ifdef FAULTS
    pthread_create(&t[1], 0, run, x);
#else
    pthread_create(&t[1], 0, run, 0);
#endif
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    return 0;
}
