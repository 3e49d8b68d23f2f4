/* What the probe library does for a program, and how a program says that something is not as it should be. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif
size_t probe_objects(void);
int probe_is_global(const void *);
void probe_take(int full);
void probe_take_ranges(const void *, size_t, const void *, size_t);
void probe_restore(void);
size_t probe_hot(void);
int probe_is_tracked(const void *);
void probe_prepare_write(void *, size_t);
void probe_heap(size_t threads, size_t limit);
void *probe_malloc(int thread, size_t);
int probe_free(int thread, void *);
int probe_state(const void *);
int probe_probe(const void *, size_t);
void probe_seal(void);
void probe_reset(void);
size_t probe_lost(void);
void probe_donors(size_t);
void probe_on(size_t donor, void (*)(void *), void *);
uintptr_t probe_fs(size_t donor);
void probe_reset_tls(size_t donor);
void probe_reset_main_tls(void);
uintptr_t probe_stack(size_t index, size_t size);
void probe_capture(void);
int probe_written(void);
void probe_clear(void);
void probe_show(void);
void probe_fail(const char *why);
#ifdef __cplusplus
}
#endif

/* Ends the process if something is not so. */
#define EXPECT(what) EXPECT_AT(what, __FILE__, __LINE__)
#define EXPECT_AT(what, file, line) EXPECT_TEXT(what, file, line)
#define EXPECT_TEXT(what, file, line)                                   \
    do {                                                                \
        if (!(what)) probe_fail(file ":" #line ": not so: " #what);     \
    } while (0)
