//! Files that threads share: names, contents, attributes, flags, locks, and the same by way of `syscall`.
//!
//! In most cases two threads do something unordered, and `got` tells in which order. Each case is run twice, once for each value that
//! the program takes for granted: both must fail.

mod common;

use common::Right::{self, Caveat, Fails, Refused, Verified};
use common::run_table;

const CASES: &str = r#"
#define _GNU_SOURCE
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#define TEXT(x) #x
#define NAME(x) "/tmp/raddle-shared-files-" TEXT(x)
#define P NAME(CASE)
#define Q P ".2"
static atomic_int got, count;
static int fd, fd2, p[2];
static char data[8];
static struct stat st;

static void *one(void *u);
static void *two(void *u);
#define FIRST(code) static void *one(void *u) { code; return 0; }
#define SECOND(code) static void *two(void *u) { code; return 0; }
#define MAKE fd = open(P, O_CREAT | O_TRUNC | O_RDWR, 0600)

#if CASE == 1 /* a test and a creation */
#define INIT unlink(P)
static void create(void) { if (access(P, F_OK)) { close(open(P, O_CREAT | O_WRONLY, 0600)); count++; } }
FIRST(create()) SECOND(create())
#define END got = count == 2
#elif CASE == 2
#define INIT unlink(P)
FIRST(close(creat(P, 0600))) SECOND(got = faccessat(AT_FDCWD, P, F_OK, 0) == 0)
#elif CASE == 3 /* another spelling of the same path */
#define INIT close(creat(P, 0600)); unlink(Q)
FIRST(rename(P, Q)) SECOND(got = access("/tmp/../tmp/." "/raddle-shared-files-3.2", F_OK) == 0)
#elif CASE == 4 /* a file in a directory that is made */
#define INIT unlink(P "/f"); rmdir(P)
FIRST(mkdir(P, 0700)) SECOND(int f = open(P "/f", O_CREAT | O_RDWR, 0600); got = f >= 0)
#define CLEAN unlink(P "/f"); rmdir(P)
#elif CASE == 5 /* by a link */
#define INIT close(creat(Q, 0600)); unlink(P)
FIRST(symlink(Q, P)) SECOND(got = access(P, F_OK) == 0)
#elif CASE == 6
#define INIT close(creat(P, 0600)); unlink(Q)
FIRST(link(P, Q)) SECOND(stat(P, &st); got = st.st_nlink == 2)
#elif CASE == 7
#define INIT close(creat(P, 0600))
FIRST(unlinkat(AT_FDCWD, P, 0)) SECOND(got = fstatat(AT_FDCWD, P, &st, 0) == 0)
#elif CASE == 8
#define INIT MAKE; write(fd, "abcd", 4)
FIRST(truncate(P, 1)) SECOND(char b[4]; got = pread(fd, b, 4, 0) == 1)
#elif CASE == 9 /* the size by the path, and a write by a descriptor */
#define INIT MAKE
FIRST(write(fd, "abc", 3)) SECOND(stat(P, &st); got = st.st_size == 3)
#elif CASE == 10
#define INIT mkdir(P, 0700); unlink(P "/f")
FIRST(mknod(P "/f", S_IFREG | 0600, 0)) SECOND(DIR *d = opendir(P); int n = 0; while (readdir(d)) n++; closedir(d); got = n == 3)
#define CLEAN unlink(P "/f"); rmdir(P)
#elif CASE == 11
#define INIT MAKE
FIRST(posix_fallocate(fd, 0, 100)) SECOND(fstat(fd, &st); got = st.st_size == 100)
#elif CASE == 12 /* a file in memory, which no path leads to */
#define INIT fd = memfd_create("x", 0); ftruncate(fd, 4)
FIRST(pwrite(fd, "a", 1, 0)) SECOND(char c; pread(fd, &c, 1, 0); got = c == 'a')
#elif CASE == 13 /* flags of an open file */
#define INIT MAKE
FIRST(fcntl(fd, F_SETFL, O_NONBLOCK)) SECOND(got = (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0)
#elif CASE == 14 /* flags that are read and written get lost */
#define INIT MAKE
FIRST(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK)) SECOND(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_APPEND))
#define END got = (fcntl(fd, F_GETFL) & (O_NONBLOCK | O_APPEND)) == (O_NONBLOCK | O_APPEND)
#elif CASE == 15 /* where a write goes */
#define INIT MAKE; write(fd, "ab", 2); lseek(fd, 0, SEEK_SET)
FIRST(fcntl(fd, F_SETFL, O_APPEND)) SECOND(write(fd, "c", 1))
#define END fstat(fd, &st); got = st.st_size == 3
#elif CASE == 16
#define INIT MAKE
FIRST(fcntl(fd, F_SETFD, FD_CLOEXEC)) SECOND(got = (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0)
#elif CASE == 17 /* whether a read of a pipe waits */
#define INIT pipe2(p, O_NONBLOCK)
FIRST(fcntl(p[0], F_SETFL, 0); write(p[1], "x", 1)) SECOND(char c; got = read(p[0], &c, 1) == 1)
#elif CASE == 18
#define INIT pipe(p)
FIRST(fcntl(p[0], F_SETFL, O_NONBLOCK)) SECOND(got = (fcntl(p[0], F_GETFL) & O_NONBLOCK) != 0)
#elif CASE == 19 /* a descriptor is replaced */
#define INIT MAKE; fd2 = open("/dev/null", O_WRONLY)
FIRST(dup2(fd2, fd)) SECOND(write(fd, "aa", 2))
#define END stat(P, &st); got = st.st_size == 2
#elif CASE == 20 /* system calls */
#define INIT MAKE
FIRST(syscall(SYS_write, fd, "aa", 2)) SECOND(syscall(SYS_write, fd, "bb", 2))
#define END pread(fd, data, 4, 0); got = !memcmp(data, "bbaa", 4)
#elif CASE == 21
#define INIT close(creat(P, 0600))
FIRST(syscall(SYS_unlink, P)) SECOND(got = syscall(SYS_open, P, O_RDONLY) >= 0)
#elif CASE == 22 /* a lock that is tried */
#define INIT MAKE
static void lock(void) { int f = open(P, O_RDWR); if (flock(f, LOCK_EX | LOCK_NB)) got = 1; else flock(f, LOCK_UN); }
FIRST(lock()) SECOND(lock())
#elif CASE == 23
#define INIT MAKE
static void lock(void) {
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int f = open(P, O_RDWR);
    if (fcntl(f, F_OFD_SETLK, &l)) got = 1;
    l.l_type = F_UNLCK;
    fcntl(f, F_OFD_SETLK, &l);
}
FIRST(lock()) SECOND(lock())
#elif CASE == 24
#define INIT MAKE
FIRST(chmod(P, 0640)) SECOND(stat(P, &st); got = (st.st_mode & 0777) == 0640)

/* One run each. */
#elif CASE == 40 /* a lock that is waited for excludes */
#define INIT MAKE
static int shared;
static void lock(void) { int f = open(P, O_RDWR); flock(f, LOCK_EX); shared++; close(f); }
FIRST(lock()) SECOND(lock())
#define END got = shared == 2
#elif CASE == 41 /* two locks, taken in opposite orders */
#define INIT close(creat(P, 0600)); close(creat(Q, 0600))
static void lock(const char *a, const char *b) { flock(open(a, O_RDWR), LOCK_EX); flock(open(b, O_RDWR), LOCK_EX); }
FIRST(lock(P, Q)) SECOND(lock(Q, P))
#elif CASE == 42 /* shared locks do not exclude */
#define INIT MAKE
static void lock(void) { int f = open(P, O_RDWR); if (flock(f, LOCK_SH | LOCK_NB)) got = 1; }
FIRST(lock()) SECOND(lock())
#elif CASE == 43 /* locks of the process exclude none of its threads */
#define INIT MAKE
static int shared;
static void lock(void) { lockf(fd, F_LOCK, 0); shared++; lockf(fd, F_ULOCK, 0); }
FIRST(lock()) SECOND(lock())
#elif CASE == 44 /* memory that a system call reads */
#define INIT MAKE
FIRST(syscall(SYS_write, fd, data, 2)) SECOND(data[0] = 1)
#elif CASE == 45 /* a pipe */
#define INIT pipe(p)
FIRST(syscall(SYS_write, p[1], "x", 1)) SECOND(char c; assert(read(p[0], &c, 1) == 1 && c == 'x'))
#elif CASE == 46
#define INIT
FIRST(syscall(SYS_getdents64, -1, 0, 0)) SECOND(count++)
#elif CASE == 47
#define INIT
FIRST(syscall(SYS_exit, 0)) SECOND(count++)
#elif CASE == 48 /* files of its own for each thread: nothing is shared */
#define INIT mkdir(P, 0700)
static void own(const char *name) {
    int f = open(name, O_CREAT | O_TRUNC | O_RDWR, 0600);
    for (int i = 0; i < 8; i++) assert(write(f, "x", 1) == 1);
    struct stat s;
    assert(stat(name, &s) == 0 && s.st_size == 8);
    unlink(name);
}
FIRST(own(P "/a")) SECOND(own(P "/b"))
#define CLEAN rmdir(P)
#elif CASE == 49 /* a file that is made in each execution has another number each time */
#undef P
#define P "/dev/shm/raddle-shared-files"
#define INIT unlink(P); MAKE
FIRST(write(fd, "abc", 3)) SECOND(fstat(fd, &st))
#elif CASE == 50 /* descriptors of all kinds are closed between executions */
#define INIT fd = memfd_create("x", 0); assert(fd >= 0 && fd < 100)
FIRST(for (int i = 0; i < 5; i++) count++) SECOND(for (int i = 0; i < 5; i++) count++)
#endif

#ifndef END
#define END
#endif
int main(void) {
    pthread_t a, b;
    INIT;
    pthread_create(&a, 0, one, 0);
    pthread_create(&b, 0, two, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    END;
    int found = got;
    unlink(P);
    unlink(Q);
#ifdef CLEAN
    CLEAN;
#endif
#ifdef WANT
    assert(found == WANT);
#else
    (void)found;
#endif
    return 0;
}
"#;

fn rows(cases: &[(&'static [&'static str], Right)]) {
    let table: Vec<_> = cases.iter().map(|(flags, right)| ("files.c", *flags, CASES, *right)).collect();
    run_table(&table);
}

macro_rules! both_orders {
    ($($case:literal)*) => {
        rows(&[$(
            (&[concat!("-DCASE=", $case), "-DWANT=0"], Fails("assertion")),
            (&[concat!("-DCASE=", $case), "-DWANT=1"], Fails("assertion")),
        )*]);
    };
}

#[test]
fn names_are_made_and_removed_in_any_order() {
    both_orders! { "1" "2" "3" "4" "5" "6" "7" "10" }
}

#[test]
fn contents_and_attributes_change_in_any_order() {
    both_orders! { "8" "9" "11" "12" "24" }
}

#[test]
fn flags_and_descriptors_change_in_any_order() {
    both_orders! { "13" "14" "15" "16" "17" "18" "19" }
}

#[test]
fn system_calls_are_calls_of_the_c_library() {
    both_orders! { "20" "21" }
    rows(&[
        (&["-DCASE=44"], Fails("data-race")),
        (&["-DCASE=45"], Verified),
        (&["-DCASE=46"], Caveat("library")),
        (&["-DCASE=47"], Refused("SYS_exit")),
    ]);
}

#[test]
fn locks_of_files_exclude() {
    both_orders! { "22" "23" }
    rows(&[
        (&["-DCASE=40", "-DWANT=1"], Verified),
        (&["-DCASE=41"], Fails("deadlock")),
        (&["-DCASE=42", "-DWANT=0"], Verified),
        (&["-DCASE=43"], Fails("data-race")),
    ]);
}

#[test]
fn a_file_that_is_not_shared_costs_nothing() {
    let ran = {
        let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("own-files.c");
        std::fs::write(&file, CASES).expect("the source is written");
        common::run(file.to_str().expect("a path"), &["-DCASE=48"])
    };
    // The numbers of the two descriptors are the only thing that the threads share.
    assert!(ran.executions() <= 8, "{}", ran.report);
    rows(&[(&["-DCASE=49"], Verified), (&["-DCASE=50"], Verified)]);
}
