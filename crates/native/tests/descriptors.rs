//! Descriptors between threads of the program: pipes, socket pairs, eventfd, timerfd, and waits for several of them.

mod common;

use common::Right::{Fails, Refused, Verified};
use common::run_table;

const PIPE: &str = r#"
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static int p[2], data, more;
static void *writer(void *u) {
    data = 1;
    char c = 'x';
#if HOW == 1 /* in order: data is published by the byte */
    assert(write(p[1], &c, 1) == 1);
#elif HOW == 2 /* written too late */
    assert(write(p[1], &c, 1) == 1);
    data = 2;
#elif HOW == 4 /* closed: the reader sees the end */
    close(p[1]);
#elif HOW == 5 /* nobody writes: a deadlock */
#elif HOW == 6 /* more than a pipe holds */
    static char big[70000];
    assert(write(p[1], big, sizeof big) == sizeof big);
#elif HOW == 8 || HOW == 9 /* two writes: one read gets one or both */
    assert(write(p[1], &c, 1) == 1);
    assert(write(p[1], &c, 1) == 1);
#elif HOW == 10
    assert(write(p[1], &c, 1) == 1);
#endif
    return 0;
}
int main(void) {
    pthread_t t;
    char b[8], big[70000];
    assert(pipe2(p, 0) == 0);
#if HOW == 7 /* a pipe that nobody reads */
    close(p[0]);
    signal(SIGPIPE, SIG_IGN);
    assert(write(p[1], "x", 1) == -1 && errno == EPIPE);
    return 0;
#elif HOW == 11
    close(p[0]);
    write(p[1], "x", 1);
    return 0;
#elif HOW == 12 /* as much as it holds fits */
    for (int i = 0; i < 16; i++) assert(write(p[1], big, 4096) == 4096);
    fcntl(p[1], F_SETFL, O_NONBLOCK);
    assert(write(p[1], "x", 1) == -1 && errno == EAGAIN);
    assert(read(p[0], big, sizeof big) == 65536);
    return 0;
#elif HOW == 13 /* full, and nobody reads */
    write(p[1], big, sizeof big);
    return 0;
#elif HOW == 14 /* copies keep it open */
    int q = dup(p[1]);
    close(p[1]);
    assert(write(q, "x", 1) == 1);
    close(q);
    assert(read(p[0], b, 8) == 1 && read(p[0], b, 8) == 0);
    return 0;
#endif
    pthread_create(&t, 0, writer, 0);
#if HOW == 1 || HOW == 2
    assert(read(p[0], b, 8) == 1);
    assert(data == 1);
#elif HOW == 3
    fcntl(p[0], F_SETFL, O_NONBLOCK);
    assert(read(p[0], b, 8) == -1 && errno == EAGAIN);
#elif HOW == 4
    assert(read(p[0], b, 8) == 0);
    assert(data == 1);
#elif HOW == 5
    read(p[0], b, 8);
#elif HOW == 6
    int all = 0;
    while (all < 70000) all += read(p[0], big, sizeof big);
#elif HOW == 8
    assert(read(p[0], b, 8) == 1);
#elif HOW == 9
    int n = read(p[0], b, 8);
    if (n == 1) n += read(p[0], b, 8);
    assert(n == 2);
#elif HOW == 10 /* waits for its turn by looking */
    fcntl(p[0], F_SETFL, O_NONBLOCK);
    while (read(p[0], b, 1) != 1) ;
    assert(data == 1);
#endif
    pthread_join(t, 0);
    return 0;
}
"#;

#[test]
fn a_pipe_holds_bytes_and_orders_who_writes_and_reads_them() {
    run_table(&[
        ("pipe.c", &["-DHOW=1"], PIPE, Verified),
        ("pipe.c", &["-DHOW=2"], PIPE, Fails("data-race")),
        ("pipe.c", &["-DHOW=3"], PIPE, Verified),
        ("pipe.c", &["-DHOW=4"], PIPE, Verified),
        ("pipe.c", &["-DHOW=5"], PIPE, Fails("deadlock")),
        ("pipe.c", &["-DHOW=6"], PIPE, Verified),
        ("pipe.c", &["-DHOW=7"], PIPE, Verified),
        ("pipe.c", &["-DHOW=8"], PIPE, Fails("assertion")),
        ("pipe.c", &["-DHOW=9"], PIPE, Verified),
        ("pipe.c", &["-DHOW=10"], PIPE, Verified),
        ("pipe.c", &["-DHOW=11"], PIPE, Fails("signal")),
        ("pipe.c", &["-DHOW=12"], PIPE, Verified),
        ("pipe.c", &["-DHOW=13"], PIPE, Fails("deadlock")),
        ("pipe.c", &["-DHOW=14"], PIPE, Verified),
        ("pipe.c", &["-DHOW=1", "RADDLE_ISOLATE=1"], PIPE, Verified),
    ]);
}

const CLOSE: &str = r#"
#include <pthread.h>
#include <unistd.h>
static int p[2];
static void *reader(void *u) { char c; read(p[0], &c, 1); return 0; }
int main(void) {
    pthread_t t;
    pipe(p);
    pthread_create(&t, 0, reader, 0);
    write(p[1], "x", 1);
#ifdef JOIN
    pthread_join(t, 0);
#endif
    close(p[0]);
#ifndef JOIN
    pthread_join(t, 0);
#endif
    return 0;
}
"#;

const SOCKETS: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>
static int s[2];
static void *echo(void *u) {
    char b[8];
    int n;
    while ((n = read(s[1], b, 8)) > 0) send(s[1], b, n, 0);
    close(s[1]);
    return 0;
}
int main(void) {
    pthread_t t;
    char b[8];
    socketpair(AF_UNIX, KIND, 0, s);
    pthread_create(&t, 0, echo, 0);
    write(s[0], "ab", 2);
#ifdef TWO
    write(s[0], "c", 1);
#endif
    assert(recv(s[0], b, 8, 0) == WANT);
#ifdef TWO
    assert(recv(s[0], b, 8, 0) == 1);
#endif
    shutdown(s[0], SHUT_WR);
    assert(read(s[0], b, 8) == 0);
    pthread_join(t, 0);
    close(s[0]);
    return 0;
}
"#;

const EVENT: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>
static int e, n;
static void *add(void *u) {
    uint64_t one = 1;
    __atomic_fetch_add(&n, 1, __ATOMIC_SEQ_CST);
    write(e, &one, 8);
    return 0;
}
int main(void) {
    pthread_t a, b;
    uint64_t v, all = 0;
    e = eventfd(0, FLAGS);
    pthread_create(&a, 0, add, 0);
    pthread_create(&b, 0, add, 0);
    read(e, &v, 8);
    all += v;
#ifdef ALL
    if (all < 2) { eventfd_read(e, &v); all += v; }
    assert(all == 2 && n == 2);
#else
    assert(v == 1);
#endif
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
"#;

const PAGES: &str = r#"
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>
static int p[2];
static char big[80000];
static void *reader(void *u) {
    char b[3000];
    for (int i = 0; i < 18; i++) assert(read(p[0], b, 3000) == 3000);
    return 0;
}
static int fill(int n) {
    int count = 0;
    fcntl(p[1], F_SETFL, O_NONBLOCK);
    while (write(p[1], big, n) == n) count++;
    assert(errno == EAGAIN || n > 4096);
    return count;
}
static int writable(void) {
    struct pollfd q = {p[1], POLLOUT, 0};
    return poll(&q, 1, 0);
}
int main(void) {
    pipe(p);
#if HOW == 1 /* writes that do not fit into the last page begin new ones: 16 fill it */
    assert(fill(3000) == 16);
#elif HOW == 2 /* a blocking writer waits for a reader that is started later */
    for (int i = 0; i < 20; i++) assert(write(p[1], big, 3000) == 3000);
    pthread_t t;
    pthread_create(&t, 0, reader, 0);
    pthread_join(t, 0);
#elif HOW == 3
    pthread_t t;
    for (int i = 0; i < 16; i++) assert(write(p[1], big, 3000) == 3000);
    pthread_create(&t, 0, reader, 0);
    for (int i = 0; i < 2; i++) assert(write(p[1], big, 3000) == 3000);
    pthread_join(t, 0);
#elif HOW == 4 /* small writes share pages */
    assert(fill(1024) == 64 && !writable());
    assert(read(p[0], big, 4095) == 4095 && !writable() && write(p[1], "x", 1) == -1);
    assert(read(p[0], big, 1) == 1 && writable() && write(p[1], "x", 1) == 1);
#elif HOW == 5 /* what was read of a page is not free */
    assert(write(p[1], big, 4000) == 4000 && read(p[0], big, 3999) == 3999);
    assert(fill(4096) == 15 && write(p[1], "x", 1) == -1);
#elif HOW == 6 /* the part that does not fill a page comes first */
    assert(write(p[1], big, 100) == 100 && fill(4096 + 3996) == 8);
    assert(read(p[0], big, 80000) == 100 + 8 * 8092);
#elif HOW == 7 /* several parts are one write */
    struct iovec v[2] = {{big, 2000}, {big, 2000}};
    for (int i = 0; i < 16; i++) assert(writev(p[1], v, 2) == 4000);
    fcntl(p[1], F_SETFL, O_NONBLOCK);
    assert(write(p[1], "x", 97) == -1 && write(p[1], big, 96) == 96 && write(p[1], "x", 1) == -1);
#endif
    return 0;
}
"#;

#[test]
fn a_pipe_is_a_list_of_pages() {
    run_table(&[
        ("pages.c", &["-DHOW=1"], PAGES, Verified),
        ("pages.c", &["-DHOW=2"], PAGES, Fails("deadlock")),
        ("pages.c", &["-DHOW=3"], PAGES, Verified),
        ("pages.c", &["-DHOW=4"], PAGES, Verified),
        ("pages.c", &["-DHOW=5"], PAGES, Verified),
        ("pages.c", &["-DHOW=6"], PAGES, Verified),
        ("pages.c", &["-DHOW=7"], PAGES, Verified),
    ]);
}

const KERNEL: &str = r#"
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
static int s[2], p[2];
static int option(int name) {
    int v = -1;
    socklen_t l = sizeof v;
    assert(getsockopt(s[0], SOL_SOCKET, name, &v, &l) == 0 && l == sizeof v);
    return v;
}
static int events(int asked) {
    struct pollfd q = {s[0], asked, 0};
    poll(&q, 1, 0);
    return q.revents;
}
int main(void) {
    struct sockaddr_un a;
    socklen_t l = sizeof a;
    struct stat st, other;
    char b[8];
    socketpair(AF_UNIX, KIND, 0, s);
    pipe(p);
    signal(SIGPIPE, SIG_IGN);
#if HOW == 1
    assert(option(SO_TYPE) == KIND && option(SO_DOMAIN) == AF_UNIX && option(SO_ERROR) == 0);
    assert(getsockopt(p[0], SOL_SOCKET, SO_TYPE, b, &l) == -1 && errno == ENOTSOCK);
#elif HOW == 2
    assert(getsockname(s[0], (void *)&a, &l) == 0 && l == 2 && a.sun_family == AF_UNIX);
    l = sizeof a;
    assert(getpeername(s[0], (void *)&a, &l) == 0 && l == 2 && a.sun_family == AF_UNIX);
    assert(getpeername(p[0], (void *)&a, &l) == -1 && errno == ENOTSOCK);
    l = 1, a.sun_family = 0x5555;
    assert(getsockname(s[0], (void *)&a, &l) == 0 && l == 2 && a.sun_family == 0x5501);
#elif HOW == 3
    assert(write(s[1], "abcd", 4) == 4 && recvfrom(s[0], b, 4, 0, (void *)&a, &l) == 4 && l == 0);
    l = 7;
    assert(recvfrom(s[0], b, 4, MSG_DONTWAIT, (void *)&a, &l) == -1 && l == 7);
#elif HOW == 4
    assert(fstat(s[0], &st) == 0 && S_ISSOCK(st.st_mode));
    assert(fstat(p[0], &st) == 0 && S_ISFIFO(st.st_mode) && fstat(p[1], &other) == 0 && st.st_ino == other.st_ino);
#elif HOW == 5 /* the other end is closed */
    close(s[1]);
    assert(events(POLLIN | POLLRDHUP) == (POLLIN | POLLHUP | POLLRDHUP) && events(0) == POLLHUP);
    assert(events(POLLIN | POLLOUT) == (POLLIN | POLLOUT | POLLHUP));
    assert(read(s[0], b, 1) == 0 && write(s[0], b, 1) == -1 && errno == EPIPE);
#elif HOW == 6 /* and had not read everything */
    write(s[0], "a", 1), write(s[1], "b", 1), close(s[1]);
    assert(events(POLLIN) == (POLLIN | POLLHUP | POLLERR) && read(s[0], b, 8) == 1);
    assert(read(s[0], b, 8) == -1 && errno == ECONNRESET && read(s[0], b, 8) == 0 && events(POLLIN) == (POLLIN | POLLHUP));
#elif HOW == 7
    write(s[0], "a", 1), close(s[1]);
    assert(option(SO_ERROR) == ECONNRESET && option(SO_ERROR) == 0 && read(s[0], b, 8) == 0);
#elif HOW == 8 /* shut down by this end */
    shutdown(s[0], SHUT_WR);
    assert(write(s[0], b, 1) == -1 && errno == EPIPE && events(POLLIN) == 0);
    write(s[1], "b", 1), shutdown(s[1], SHUT_WR);
    assert(events(POLLIN) == (POLLIN | POLLHUP) && read(s[0], b, 8) == 1 && read(s[0], b, 8) == 0);
#elif HOW == 9
    int on = 1;
    setsockopt(s[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
#elif HOW == 10
    fchmod(p[0], 0600);
#elif HOW == 11
    int v;
    l = sizeof v;
    getsockopt(s[0], SOL_SOCKET, SO_RCVBUF, &v, &l);
#elif HOW == 12
    fstat(eventfd(0, 0), &st);
#elif HOW == 13
    shutdown(s[0], SHUT_WR);
#elif HOW == 14
    close(s[1]);
    assert(write(s[0], b, 1) == -1 && errno == ECONNREFUSED);
#elif HOW == 15
    close(s[1]);
    read(s[0], b, 1);
#elif HOW == 16 /* sockets of messages have the error before what is left */
    write(s[0], "a", 1), write(s[1], "b", 1), close(s[1]);
    assert(events(POLLIN) == (POLLIN | POLLHUP | POLLERR) && read(s[0], b, 8) == -1 && errno == ECONNRESET);
    assert(read(s[0], b, 8) == 1 && read(s[0], b, 8) == 0);
#endif
    return 0;
}
"#;

#[test]
fn descriptors_answer_as_the_kernel_does_or_are_refused() {
    const STREAM: &str = "-DKIND=SOCK_STREAM";
    const DATAGRAM: &str = "-DKIND=SOCK_DGRAM";
    run_table(&[
        ("kernel.c", &["-DHOW=1", STREAM], KERNEL, Verified),
        ("kernel.c", &["-DHOW=1", DATAGRAM], KERNEL, Verified),
        ("kernel.c", &["-DHOW=2", STREAM], KERNEL, Verified),
        ("kernel.c", &["-DHOW=3", STREAM], KERNEL, Verified),
        ("kernel.c", &["-DHOW=3", DATAGRAM], KERNEL, Verified),
        ("kernel.c", &["-DHOW=4", STREAM], KERNEL, Verified),
        ("kernel.c", &["-DHOW=5", STREAM], KERNEL, Verified),
        ("kernel.c", &["-DHOW=5", "-DKIND=SOCK_SEQPACKET"], KERNEL, Verified),
        ("kernel.c", &["-DHOW=6", STREAM], KERNEL, Verified),
        ("kernel.c", &["-DHOW=16", "-DKIND=SOCK_SEQPACKET"], KERNEL, Verified),
        ("kernel.c", &["-DHOW=7", STREAM], KERNEL, Verified),
        ("kernel.c", &["-DHOW=8", STREAM], KERNEL, Verified),
        ("kernel.c", &["-DHOW=9", STREAM], KERNEL, Refused("not modelled")),
        ("kernel.c", &["-DHOW=10", STREAM], KERNEL, Refused("not modelled")),
        ("kernel.c", &["-DHOW=11", STREAM], KERNEL, Refused("not modelled")),
        ("kernel.c", &["-DHOW=12", STREAM], KERNEL, Refused("not modelled")),
        ("kernel.c", &["-DHOW=13", DATAGRAM], KERNEL, Refused("not modelled")),
        ("kernel.c", &["-DHOW=14", DATAGRAM], KERNEL, Verified),
        ("kernel.c", &["-DHOW=15", DATAGRAM], KERNEL, Refused("not modelled")),
    ]);
}

#[test]
fn sockets_counters_and_closing() {
    run_table(&[
        ("close.c", &[], CLOSE, Fails("lock-misuse")),
        ("close.c", &["-DJOIN"], CLOSE, Verified),
        ("sockets.c", &["-DKIND=SOCK_STREAM", "-DWANT=2"], SOCKETS, Verified),
        ("sockets.c", &["-DKIND=SOCK_STREAM", "-DWANT=2", "-DTWO"], SOCKETS, Fails("assertion")),
        ("sockets.c", &["-DKIND=SOCK_SEQPACKET", "-DWANT=2", "-DTWO"], SOCKETS, Verified),
        ("event.c", &["-DFLAGS=0"], EVENT, Fails("assertion")),
        ("event.c", &["-DFLAGS=0", "-DALL"], EVENT, Verified),
        ("event.c", &["-DFLAGS=EFD_SEMAPHORE"], EVENT, Verified),
        ("event.c", &["-DFLAGS=EFD_SEMAPHORE", "-DALL"], EVENT, Verified),
    ]);
}

const WAITS: &str = r#"
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <unistd.h>
static int p[2], ev, data;
static void *w(void *u) {
    uint64_t one = 1;
    data = 1;
#ifndef SILENT
    write(p[1], "x", 1);
    write(ev, &one, 8);
#endif
    return 0;
}
int main(void) {
    pthread_t t;
    char b[4];
    uint64_t v;
    pipe(p);
    ev = eventfd(0, 0);
    pthread_create(&t, 0, w, 0);
#if HOW == 1 /* poll */
    struct pollfd f[2] = {{p[0], POLLIN, 0}, {ev, POLLIN, 0}};
    int n = poll(f, 2, -1);
    assert(n >= 1 && (f[0].revents & POLLIN));
    assert(data == 1);
#elif HOW == 2 /* one of two ready, or both */
    struct pollfd f[2] = {{p[0], POLLIN, 0}, {ev, POLLIN, 0}};
    assert(poll(f, 2, -1) == 2);
#elif HOW == 3 /* a time limit may be over */
    struct pollfd f = {p[0], POLLIN, 0};
    assert(poll(&f, 1, 100) == 1);
#elif HOW == 4
    struct pollfd f = {p[0], POLLIN, 0};
    while (poll(&f, 1, 100) == 0) ;
    assert(data == 1);
#elif HOW == 5 /* select */
    fd_set s;
    FD_ZERO(&s);
    FD_SET(p[0], &s);
    assert(select(p[0] + 1, &s, 0, 0, 0) == 1 && FD_ISSET(p[0], &s));
    assert(data == 1);
#elif HOW == 6 /* a pipe can be written to at once */
    struct pollfd f = {p[1], POLLOUT, 0};
    assert(poll(&f, 1, -1) == 1 && (f.revents & POLLOUT));
#else
    int ep = epoll_create1(0);
    struct epoll_event e = {.events = EPOLLIN, .data.u32 = 7}, o[4];
#if HOW == 8 || HOW == 9
    e.events |= EPOLLET;
#elif HOW == 10 || HOW == 11
    e.events |= EPOLLONESHOT;
#endif
    assert(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &e) == 0);
    assert(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &e) == -1 && errno == EEXIST);
    assert(epoll_wait(ep, o, 4, -1) == 1 && o[0].data.u32 == 7 && o[0].events == EPOLLIN);
    assert(data == 1);
#if HOW == 7 /* level-triggered: again while there is something to read */
    assert(epoll_wait(ep, o, 4, -1) == 1);
    assert(read(p[0], b, 4) == 1);
    assert(epoll_wait(ep, o, 4, 0) == 0);
#elif HOW == 8 /* edge-triggered: not again */
    assert(epoll_wait(ep, o, 4, 0) == 0);
#elif HOW == 9 /* a deadlock */
    epoll_wait(ep, o, 4, -1);
#elif HOW == 10
    assert(epoll_wait(ep, o, 4, 0) == 0);
    assert(epoll_ctl(ep, EPOLL_CTL_MOD, p[0], &e) == 0);
    assert(epoll_wait(ep, o, 4, 0) == 1);
#elif HOW == 11
    epoll_wait(ep, o, 4, -1);
#endif
#endif
    pthread_join(t, 0);
    return 0;
}
"#;

const TIMER: &str = r#"
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>
static int t;
static void *set(void *u) {
    struct itimerspec s = {{0, 0}, {1, 0}};
    timerfd_settime(t, 0, &s, 0);
    return 0;
}
int main(void) {
    pthread_t a;
    uint64_t v = 0;
    t = timerfd_create(CLOCK_MONOTONIC, HOW == 3 ? TFD_NONBLOCK : 0);
#ifndef UNSET
    pthread_create(&a, 0, set, 0);
#endif
#if HOW == 1
    assert(read(t, &v, 8) == 8 && v == 1);
#elif HOW == 2
    struct pollfd f = {t, POLLIN, 0};
    assert(poll(&f, 1, -1) == 1);
#elif HOW == 3
    assert(read(t, &v, 8) == 8);
#endif
    pthread_join(a, 0);
    return 0;
}
"#;

const REFUSED: &str = r#"
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>
int main(void) {
    int p[2];
    pipe(p);
#if HOW == 1
    FILE *f = fdopen(p[0], "r");
    return fgetc(f) == 'x';
#elif HOW == 2
    struct pollfd f = {inotify_init(), POLLIN, 0};
    return poll(&f, 1, -1) == 7;
#elif HOW == 3
    dup2(p[1], 1);
#elif HOW == 4
    struct epoll_event e = {.events = EPOLLIN};
    int a = epoll_create1(0), b = epoll_create1(0);
    epoll_ctl(a, EPOLL_CTL_ADD, b, &e);
#endif
    return 0;
}
"#;

#[test]
fn waits_for_several_descriptors_never_wait_in_the_kernel() {
    run_table(&[
        ("waits.c", &["-DHOW=1"], WAITS, Verified),
        ("waits.c", &["-DHOW=1", "-DSILENT"], WAITS, Fails("deadlock")),
        ("waits.c", &["-DHOW=2"], WAITS, Fails("assertion")),
        ("waits.c", &["-DHOW=3"], WAITS, Fails("assertion")),
        ("waits.c", &["-DHOW=4"], WAITS, Verified),
        ("waits.c", &["-DHOW=5"], WAITS, Verified),
        ("waits.c", &["-DHOW=6"], WAITS, Verified),
        ("waits.c", &["-DHOW=7"], WAITS, Verified),
        ("waits.c", &["-DHOW=7", "-DSILENT"], WAITS, Fails("deadlock")),
        ("waits.c", &["-DHOW=8"], WAITS, Verified),
        ("waits.c", &["-DHOW=9"], WAITS, Fails("deadlock")),
        ("waits.c", &["-DHOW=10"], WAITS, Verified),
        ("waits.c", &["-DHOW=11"], WAITS, Fails("deadlock")),
        ("timer.c", &["-DHOW=1"], TIMER, Verified),
        ("timer.c", &["-DHOW=2"], TIMER, Verified),
        ("timer.c", &["-DHOW=3"], TIMER, Fails("assertion")),
        ("timer.c", &["-DHOW=1", "-DUNSET"], TIMER, Fails("deadlock")),
        ("refused.c", &["-DHOW=1"], REFUSED, Refused("fdopen")),
        ("refused.c", &["-DHOW=2"], REFUSED, Refused("poll")),
        ("refused.c", &["-DHOW=3"], REFUSED, Refused("redirected")),
        ("refused.c", &["-DHOW=4"], REFUSED, Refused("epoll")),
    ]);
}
