//! Objects that library functions open and close, and files that are mapped.

mod common;

use common::Right::{Caveat, Fails, Verified};
use common::run_table;

const OBJECTS: &str = r#"
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <glob.h>
#include <iconv.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <wordexp.h>
#if KIND == 1
typedef locale_t Object;
static Object make(void) { return newlocale(LC_ALL_MASK, "C.UTF-8", 0); }
static void use(Object o) { volatile int order = strcoll_l("a", "b", o); (void)order; }
static void end(Object o) { freelocale(o); }
#elif KIND == 2 /* macros of the C library look into a locale */
typedef locale_t Object;
static Object make(void) { return newlocale(LC_CTYPE_MASK, "C.UTF-8", 0); }
static void use(Object o) { volatile int c = toupper_l('a', o); (void)c; }
static void end(Object o) { freelocale(o); }
#elif KIND == 3
typedef iconv_t Object;
static Object make(void) { return iconv_open("UTF-8", "ISO-8859-1"); }
static void use(Object o) {
    char in[] = "abc", out[8], *i = in, *to = out;
    size_t n = 3, m = 8;
    iconv(o, &i, &n, &to, &m);
}
static void end(Object o) { iconv_close(o); }
#elif KIND == 4
typedef struct { DIR *d; struct dirent *e; } Object;
static Object make(void) { DIR *d = opendir("/"); return (Object){ d, readdir(d) }; }
static void use(Object o) { volatile char c = o.e->d_name[0]; (void)c; }
static void end(Object o) { closedir(o.d); }
#elif KIND == 5
typedef struct { glob_t *g; char *word; } Object;
static glob_t g;
static Object make(void) { glob("/etc/*", 0, 0, &g); return (Object){ &g, g.gl_pathv[0] }; }
static void use(Object o) { volatile char c = o.word[0]; (void)c; }
static void end(Object o) { globfree(o.g); }
#elif KIND == 6
typedef struct { wordexp_t *g; char *word; } Object;
static wordexp_t g;
static Object make(void) { wordexp("one two", &g, 0); return (Object){ &g, g.we_wordv[1] }; }
static void use(Object o) { volatile char c = o.word[0]; (void)c; }
static void end(Object o) { wordfree(o.g); }
#elif KIND == 7
typedef locale_t Object;
static Object make(void) {
    locale_t l = newlocale(LC_ALL_MASK, "C.UTF-8", 0), d = duplocale(l);
    freelocale(l);
    return newlocale(LC_CTYPE_MASK, "C", d);
}
static void use(Object o) { char t[9]; locale_t old = uselocale(o); snprintf(t, 9, "%d", 1); uselocale(old); }
static void end(Object o) { freelocale(o); }
#endif
static Object shared;
static void *user(void *u) { use(shared); return 0; }
static void *whole(void *u) { Object o = make(); use(o); end(o); return 0; }
int main(void) {
    pthread_t t, v;
#if HOW == 1 /* after the end */
    shared = make(); end(shared); use(shared);
#elif HOW == 2 /* beside the end */
    shared = make(); pthread_create(&t, 0, user, 0); end(shared); pthread_join(t, 0);
#elif HOW == 3
    shared = make(); pthread_create(&t, 0, user, 0); pthread_join(t, 0); end(shared);
#elif HOW == 4 /* each thread has its own */
    pthread_create(&t, 0, whole, 0); pthread_create(&v, 0, whole, 0); pthread_join(t, 0); pthread_join(v, 0);
#elif HOW == 5 /* left open */
    shared = make(); use(shared);
#endif
    return 0;
}
"#;

#[test]
fn objects_of_the_library_are_not_used_after_their_end() {
    for kind in ["-DKIND=1", "-DKIND=2", "-DKIND=3", "-DKIND=4"] {
        run_table(&[
            ("objects.c", &[kind, "-DHOW=1"], OBJECTS, Fails("use-after-free")),
            ("objects.c", &[kind, "-DHOW=2"], OBJECTS, Fails("use-after-free")),
            ("objects.c", &[kind, "-DHOW=3"], OBJECTS, Verified),
            ("objects.c", &[kind, "-DHOW=4"], OBJECTS, Verified),
            ("objects.c", &[kind, "-DHOW=5"], OBJECTS, Verified),
        ]);
    }
    // The results of these are variables of the program.
    for kind in ["-DKIND=5", "-DKIND=6"] {
        run_table(&[
            ("objects.c", &[kind, "-DHOW=1"], OBJECTS, Fails("use-after-free")),
            ("objects.c", &[kind, "-DHOW=3"], OBJECTS, Verified),
            ("objects.c", &[kind, "-DHOW=5"], OBJECTS, Verified),
        ]);
    }
    run_table(&[
        ("objects.c", &["-DKIND=7", "-DHOW=3"], OBJECTS, Verified),
        ("objects.c", &["-DKIND=7", "-DHOW=4"], OBJECTS, Verified),
    ]);
}

const MAPPED: &str = r#"
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
static int fd, *p, seen = -1;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void call(void) {
    int x = 7;
#if CALL == 1
    pwrite(fd, &x, 4, 0);
#elif CALL == 2
    write(fd, &x, 4);
#elif CALL == 3
    pread(fd, &x, 4, 0); seen = x;
#elif CALL == 4
    read(fd, &x, 4); seen = x;
#elif CALL == 5
    ftruncate(fd, 2);
#elif CALL == 6
    pwrite(fd, &x, 4, 4);
#elif CALL == 7
    FILE *f = fdopen(fd, "w"); fwrite(&x, 4, 1, f); fflush(f);
#endif
}
static void *w(void *u) {
#ifdef LOCKED
    pthread_mutex_lock(&m);
#endif
    call();
#ifdef LOCKED
    pthread_mutex_unlock(&m);
#endif
    return 0;
}
int main(void) {
    pthread_t t;
    fd = memfd_create("x", 0);
    ftruncate(fd, 4096);
    p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    pthread_create(&t, 0, w, 0);
#ifdef LOCKED
    pthread_mutex_lock(&m);
#endif
    int before = p[0];
    p[0] = before + 1;
#ifdef LOCKED
    pthread_mutex_unlock(&m);
#endif
    pthread_join(t, 0);
#if LOCKED == 2
    assert(before == 0);
#elif LOCKED == 3
    assert(seen == 1);
#endif
    return 0;
}
"#;

#[test]
fn a_file_is_the_memory_that_it_is_mapped_to() {
    run_table(&[
        ("mapped.c", &["-DCALL=1"], MAPPED, Fails("data-race")),
        ("mapped.c", &["-DCALL=2"], MAPPED, Fails("data-race")),
        ("mapped.c", &["-DCALL=3"], MAPPED, Fails("data-race")),
        ("mapped.c", &["-DCALL=4"], MAPPED, Fails("data-race")),
        ("mapped.c", &["-DCALL=5"], MAPPED, Fails("data-race")),
        ("mapped.c", &["-DCALL=7"], MAPPED, Caveat("channel")),
        ("mapped.c", &["-DCALL=6"], MAPPED, Verified),
        ("mapped.c", &["-DCALL=1", "-DLOCKED=1"], MAPPED, Verified),
        ("mapped.c", &["-DCALL=3", "-DLOCKED=1"], MAPPED, Verified),
        ("mapped.c", &["-DCALL=1", "-DLOCKED=2"], MAPPED, Fails("assertion")),
        ("mapped.c", &["-DCALL=3", "-DLOCKED=3"], MAPPED, Fails("assertion")),
    ]);
}
