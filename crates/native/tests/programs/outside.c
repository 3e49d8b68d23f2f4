// What would need somebody outside the program.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

static int child(void *p) {
    return p != 0;
}

int main(void) {
#if defined FORK
    fork();
#elif defined CLONE
    static char stack[4096];
    clone(child, stack + sizeof stack, CLONE_VM, 0);
#elif defined DLOPEN
    dlopen("libm.so.6", RTLD_NOW);
#else
    int ends[2];
    char c;
    if (pipe(ends) == 0)
        return (int)read(ends[0], &c, 1);
#endif
    (void)child;
    return 0;
}
