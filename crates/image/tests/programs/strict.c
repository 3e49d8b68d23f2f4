/* Between executions nothing of the C library is called that a front end may interpose: here all of it is. */
#define _GNU_SOURCE
#include "probe.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/types.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);

/* What was called first. Not among the globals, which are restored. */
static const char **called;
#define CALLED(name) do { if (called && !*called) *called = name; } while (0)

void *memcpy(void *restrict to, const void *restrict from, size_t len) {
    CALLED("memcpy");
    for (size_t i = 0; i < len; i++) ((volatile char *)to)[i] = ((const char *)from)[i];
    return to;
}
void *memmove(void *to, const void *from, size_t len) {
    CALLED("memmove");
    if ((uintptr_t)to <= (uintptr_t)from) return memcpy(to, from, len);
    while (len-- > 0) ((volatile char *)to)[len] = ((const char *)from)[len];
    return to;
}
void *memset(void *to, int byte, size_t len) {
    CALLED("memset");
    for (size_t i = 0; i < len; i++) ((volatile char *)to)[i] = (char)byte;
    return to;
}
void *malloc(size_t size) { CALLED("malloc"); return __libc_malloc(size); }
void *calloc(size_t count, size_t size) { CALLED("calloc"); return __libc_calloc(count, size); }
void *realloc(void *block, size_t size) { CALLED("realloc"); return __libc_realloc(block, size); }
void free(void *block) { CALLED("free"); __libc_free(block); }
int mprotect(void *start, size_t len, int protection) {
    CALLED("mprotect");
    return ((int (*)(void *, size_t, int))dlsym(RTLD_NEXT, "mprotect"))(start, len, protection);
}
int madvise(void *start, size_t len, int advice) {
    CALLED("madvise");
    return ((int (*)(void *, size_t, int))dlsym(RTLD_NEXT, "madvise"))(start, len, advice);
}
ssize_t write(int fd, const void *data, size_t len) {
    CALLED("write");
    return ((ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write"))(fd, data, len);
}
int ftruncate(int fd, off_t len) {
    CALLED("ftruncate");
    return ((int (*)(int, off_t))dlsym(RTLD_NEXT, "ftruncate"))(fd, len);
}

static int global = 3;
static char big[100000];
static __thread char local[700] = "text";

static void run(void *unused) {
    (void)unused;
    local[600] = 1;
    errno = ENOENT;
}

/* An execution with everything in it. What is restored at its end has been saved by then. */
static void execute(char *sealed) {
    global++;
    big[50000] = 1;
    probe_on(0, run, NULL);
    probe_on(1, run, NULL);
    char *block = probe_malloc(0, 3000);
    EXPECT(block[2999] == (char)0xbe);
    EXPECT(probe_malloc(1, 300000) != NULL);
    EXPECT(probe_state(block) == 1 && probe_state(block + 3000) == 3 && probe_probe(block, 3000) == 1);
    EXPECT(probe_free(1, block) == 0 && probe_free(1, sealed) == 0);
    probe_reset();
    probe_reset_tls(0);
    probe_reset_tls(1);
    probe_reset_main_tls();
    probe_clear();
    errno = 55;
    probe_restore();
    EXPECT(errno == 55);
}

int main(void) {
    alarm(60);
    probe_heap(2, 1 << 20);
    probe_donors(2);
    char *sealed = probe_malloc(-1, 2000);
    probe_seal();
    probe_capture();
    called = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(called != MAP_FAILED);
    probe_take(0);
    *called = NULL;
    /* The first execution has all the faults, the others none. */
    for (int i = 0; i < 3; i++) {
        execute(sealed);
        EXPECT(global == 3 && big[50000] == 0);
        if (*called) probe_fail(*called);
    }
    /* The check can fail. */
    char here[2];
    memset(here, 0, 2);
    EXPECT(*called != NULL);
    return 0;
}
