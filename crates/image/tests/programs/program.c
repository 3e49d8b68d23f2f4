/* One scenario a run: the first argument says which. */
#define _GNU_SOURCE
#include "probe.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <wchar.h>

extern int library_global;
extern int library_zero[3000];
extern __thread int library_local;
int *library_static_address(void);
#ifdef HUGE_LOCAL
__thread char huge_local[HUGE_LOCAL];
#endif

static int initialised = 7;
static int zero;
static const char *const constant_pointer = "read-only after relocation";
static char big[1 << 20];
static __thread int local = 5;
static __thread int local_zero;
static __thread const char *local_pointer = "start";
static char *kept;

static void segments(void) {
    int on_stack;
    EXPECT(probe_objects() == 2);
    EXPECT(probe_is_global(&initialised) == 1);
    EXPECT(probe_is_global(&zero) == 1);
    EXPECT(probe_is_global(big) == 1 && probe_is_global(big + sizeof big - 1) == 1);
    EXPECT(probe_is_global(library_zero) != 0 && probe_is_global(&library_zero[2999]) != 0);
    EXPECT(probe_is_global(&library_global) != 0);
    EXPECT(probe_is_global(library_static_address()) == 2);
    EXPECT(probe_is_global(&constant_pointer) == 0);
    EXPECT(probe_is_global(constant_pointer) == 0);
    EXPECT(probe_is_global(&on_stack) == 0);
    EXPECT(probe_is_global(stdout) == 0);
    EXPECT(probe_is_global((void *)(uintptr_t)&segments) == 0);
}

static void globals(int full) {
    initialised = 8;
    big[5000] = 1;
    library_global = 30;
    probe_take(full);
    size_t start = probe_hot();
    EXPECT(full ? start > 256 : start == 0);
    for (int round = 0; round < 3; round++) {
        EXPECT(initialised == 8 && zero == 0 && big[5000] == 1 && big[900000] == 0);
        EXPECT(library_global == 30 && library_zero[2500] == 0);
        initialised = 100 + round;
        zero++;
        big[5000]++;
        big[900000] = 9;
        library_global = 0;
        library_zero[2500] = 1;
        probe_restore();
        size_t hot = probe_hot();
        EXPECT(full ? hot == start : (hot >= 4 && hot <= 8));
    }
    EXPECT(probe_is_tracked(&zero) && probe_is_tracked(&library_zero[5]));
    EXPECT(!probe_is_tracked(constant_pointer) && !probe_is_tracked(stdout));
}

/* What a restore costs goes by the pages that are written. */
static void one_int(void) {
    probe_take(0);
    for (int round = 0; round < 3; round++) {
        EXPECT(*(int *)(big + 500000) == 0);
        *(int *)(big + 500000) = 1;
        probe_restore();
        EXPECT(probe_hot() == 1);
    }
}

/* Writes by the kernel into cold pages. */
static void kernel_writes(void) {
    int ends[2];
    EXPECT(pipe(ends) == 0);
    EXPECT(write(ends[1], "0123456789", 10) == 10);
    probe_take(0);
    EXPECT(read(ends[0], big + 8190, 4) == -1 && errno == EFAULT);
    probe_prepare_write(big + 8190, 4);
    EXPECT(read(ends[0], big + 8190, 4) == 4);
    EXPECT(memcmp(big + 8190, "0123", 4) == 0);
    probe_prepare_write(NULL, 0);
    probe_prepare_write((void *)-16, 100);
    probe_restore();
    EXPECT(big[8190] == 0 && big[8193] == 0);
}

/* Two regions that share a page, and bytes of that page that belong to none. */
static void shared_page(void) {
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(page != MAP_FAILED);
    memset(page, 1, 8192);
    probe_take_ranges(page + 100, 200, page + 1000, 4000);
    for (int round = 0; round < 2; round++) {
        memset(page, 2, 8192);
        probe_restore();
        for (int i = 0; i < 8192; i++) {
            int tracked = (i >= 100 && i < 300) || (i >= 1000 && i < 5000);
            EXPECT(page[i] == (tracked ? 1 : 2));
            EXPECT(probe_is_tracked(page + i) == tracked);
        }
    }
    EXPECT(probe_hot() == 3);
    /* The next snapshot replaces this one. */
    probe_take_ranges(page, 50, page + 4096, 50);
    EXPECT(probe_hot() == 0);
    page[4100] = 3;
    EXPECT(probe_hot() == 1);
    probe_restore();
    EXPECT(page[4100] == 1 && page[200] == 1 && page[300] == 2);
}

/* More cold and hot stretches by turns than the kernel allows a process to have. */
static void many_stretches(void) {
    size_t pages = 80000;
    char *memory = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT(memory != MAP_FAILED);
    memory[4096 * 79999] = 6;
    probe_take_ranges(memory, pages * 4096, memory, 0);
    for (size_t i = 0; i < pages; i += 2) memory[4096 * i] = 1;
    memory[4096 * 79999] = 7;
    memory[4096 * 3] = 7;
    probe_restore();
    for (size_t i = 0; i < pages - 1; i++) EXPECT(memory[4096 * i] == 0);
    EXPECT(memory[4096 * 79999] == 6);
}

/* A fault that is not ours stays one. */
static void wild_write(void) {
    probe_take(0);
    zero = 1;
    *(volatile char *)constant_pointer = 1;
}

static void after_fork(void) {
    probe_take(0);
    zero = 4;
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            EXPECT(zero == 4);
            probe_restore();
            EXPECT(zero == 0);
            zero = 5;
            big[70000] = 5;
            probe_restore();
            EXPECT(zero == 0 && big[70000] == 0);
            _exit(0);
        }
        int status;
        EXPECT(waitpid(child, &status, 0) == child && status == 0);
    }
    EXPECT(zero == 4 && big[70000] == 0);
    probe_restore();
    EXPECT(zero == 0);
}

static void sealed_heap(void) {
    probe_heap(2, 1 << 20);
    kept = probe_malloc(-1, 5000);
    memset(kept, 3, 5000);
    probe_seal();
    probe_take(0);
    for (int round = 0; round < 3; round++) {
        EXPECT(kept[0] == 3 && kept[4999] == 3 && probe_state(kept) == 1);
        kept[10] = 4;
        char *mine = probe_malloc(0, 100);
        EXPECT((uintptr_t)mine == 0x201000000000 + 64);
        kept[11] = 5;
        kept = mine;
        EXPECT(probe_lost() == 0);
        kept = NULL;
        EXPECT(probe_lost() == 1);
        probe_restore();
        EXPECT(probe_free(1, kept) == 0 && probe_free(1, kept) == 1 && probe_free(0, &zero) == 2);
        EXPECT(probe_state(kept) == 2 && (unsigned char)kept[0] == 0xdf && (unsigned char)kept[4999] == 0xdf);
        EXPECT(probe_probe(mine, 100) == 1 && probe_probe(mine, 101) == 2 && probe_probe(&zero, 1) == 0);
        probe_restore();
        probe_reset();
        EXPECT(probe_state(mine) == 3);
    }
}

static void *where_local, *where_errno;
static void touch_locals(void *expected) {
    EXPECT(local == 5 && local_zero == 0 && library_local == 22 && strcmp(local_pointer, "start") == 0);
    EXPECT(errno == 0);
    EXPECT((void *)pthread_self() == expected);
    where_local = &local;
    where_errno = &errno;
    local = 50;
    local_zero = 51;
    library_local = 52;
    local_pointer = "changed";
#ifdef HUGE_LOCAL
    EXPECT(huge_local[0] == 0 && huge_local[HUGE_LOCAL - 1] == 0);
    huge_local[0] = huge_local[HUGE_LOCAL - 1] = 1;
#endif
    EXPECT(close(-1) == -1 && errno == EBADF);
}
static void dirty_locals(void *unused) {
    (void)unused;
    EXPECT(local == 50 && local_zero == 51 && library_local == 52 && errno == EBADF);
}

static void locals(void) {
    local = 500; /* As a constructor would have done. */
    errno = 0;
    probe_donors(3);
    void *seen[3], *seen_errno[3];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 3; i++) {
            probe_on(i, touch_locals, (void *)probe_fs(i));
            seen[i] = where_local;
            seen_errno[i] = where_errno;
            EXPECT(local == 500 && library_local == 22);
        }
        EXPECT(seen[0] != seen[1] && seen[1] != seen[2] && seen[0] != seen[2] && seen[0] != (void *)&local);
        EXPECT(seen_errno[0] != seen_errno[1] && seen_errno[0] != (void *)&errno);
        local = 1;
        local_zero = 2;
        library_local = 3;
        errno = 4;
        for (size_t i = 0; i < 3; i++) {
            probe_on(i, dirty_locals, NULL);
            probe_reset_tls(i);
        }
        EXPECT(local == 1);
        probe_reset_main_tls();
        EXPECT(local == 500 && local_zero == 0 && library_local == 22 && errno == 0);
    }
    pid_t child = fork();
    if (child == 0) {
        for (size_t i = 0; i < 3; i++) {
            probe_on(i, touch_locals, (void *)probe_fs(i));
            probe_reset_tls(i);
            probe_on(i, touch_locals, (void *)probe_fs(i));
        }
        _exit(0);
    }
    int status;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    /* For the comparison of two processes. */
    printf("%p %p %p %#lx\n", seen[0], seen[1], seen[2], (unsigned long)probe_stack(5, 65536));
}

static volatile sig_atomic_t caught_by;
static void on_alarm(int signal) {
    (void)signal;
    caught_by = gettid() == getpid() ? 1 : 2;
}
static void signals(void) {
    probe_donors(8);
    signal(SIGALRM, on_alarm);
    for (int i = 0; i < 50; i++) {
        caught_by = 0;
        kill(getpid(), SIGALRM);
        EXPECT(caught_by == 1);
    }
    /* The C library asks every thread to follow. */
    signal(SIGALRM, SIG_DFL);
    EXPECT(setuid(getuid()) == 0);
}


static void output(void) {
    printf("before ");
    probe_capture();
    EXPECT(!probe_written());
    probe_clear();
    printf("buffered");
    EXPECT(probe_written());
    probe_clear();
    EXPECT(!probe_written());
    printf("one");
    EXPECT(write(1, "direct", 6) == 6);
    fputs("bad", stderr);
    EXPECT(probe_written());
    probe_show(); /* out=directone err=bad */
    EXPECT(!probe_written());
    puts("flushed");
    fflush(stdout);
    EXPECT(probe_written());
    probe_show(); /* flushed\n */
    for (int i = 0; i < 30000; i++) putchar('x');
    EXPECT(probe_written());
    probe_clear();
    EXPECT(!probe_written());
    dprintf(2, "e");
    EXPECT(probe_written());
    probe_show(); /* err=e */
    probe_show(); /* nothing */
    /* A lock that a thread left behind. */
    probe_donors(1);
    probe_on(0, (void (*)(void *))flockfile, stdout);
    probe_clear();
    printf("not stuck");
    probe_show();
    /* The file anew, truncated. */
    FILE *again = fopen("/dev/stdout", "w");
    EXPECT(again != NULL);
    fputs("anew", again);
    fclose(again);
    EXPECT(probe_written());
    probe_show();
    EXPECT(!probe_written());
    printf("as before");
    probe_show();
    EXPECT(!probe_written());
}

static void wide_output(void) {
    probe_capture();
    wprintf(L"thrown away");
    EXPECT(probe_written());
    probe_clear();
    EXPECT(!probe_written());
    wprintf(L"wide %d", 5);
    probe_show();
    EXPECT(!probe_written());
}

static void crash(void) {
    probe_capture();
    printf("last ");
    fflush(stdout);
    printf("words");
    fprintf(stderr, "and errors");
    stdout = NULL;
    *(volatile char *)constant_pointer = 1;
}


int main(int count, char **arguments) {
    EXPECT(count == 2);
    alarm(30); /* A test that is stuck fails. */
    const char *name = arguments[1];
#define SCENARIO(which, call) if (strcmp(name, which) == 0) { call; return 0; }
    SCENARIO("segments", segments())
    SCENARIO("globals", globals(0))
    SCENARIO("globals-full", globals(1))
    SCENARIO("one-int", one_int())
    SCENARIO("kernel-writes", kernel_writes())
    SCENARIO("shared-page", shared_page())
    SCENARIO("many-stretches", many_stretches())
    SCENARIO("wild-write", wild_write())
    SCENARIO("after-fork", after_fork())
    SCENARIO("sealed-heap", sealed_heap())
    SCENARIO("locals", locals())
    SCENARIO("signals", signals())
    SCENARIO("output", output())
    SCENARIO("wide-output", wide_output())
    SCENARIO("crash", crash())
    dprintf(2, "no scenario %s\n", name);
    return 2;
}
