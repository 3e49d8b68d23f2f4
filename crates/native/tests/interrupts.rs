//! Signals: which handlers are a caveat.

mod common;

use common::Right::{Caveat, Fails, Verified};
use common::run_table;

const HANDLERS: &str = r#"
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static void h(int s) { _exit(0); }
static char stack[1 << 16];
int main(void) {
#if HOW == 1 /* as runtimes of languages do */
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = h, .sa_flags = SA_ONSTACK};
    int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigaltstack(&other, 0);
    for (int i = 0; i < 7; i++) sigaction(faults[i], &action, 0);
    signal(SIGPIPE, SIG_IGN);
#elif HOW == 2 /* a fault is a failure, whatever its handler does */
    signal(SIGSEGV, h);
    *(volatile int *)8 = 1;
#elif HOW == 3
    signal(SIGPIPE, h);
#elif HOW == 4
    signal(SIGTERM, h);
#elif HOW == 5
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_DFL);
#endif
    return 0;
}
"#;

#[test]
fn handlers_of_faults_are_no_caveat() {
    run_table(&[
        ("handlers.c", &["-DHOW=1"], HANDLERS, Verified),
        ("handlers.c", &["-DHOW=2"], HANDLERS, Fails("signal")),
        ("handlers.c", &["-DHOW=3"], HANDLERS, Verified),
        ("handlers.c", &["-DHOW=4"], HANDLERS, Caveat("signal")),
        ("handlers.c", &["-DHOW=5"], HANDLERS, Verified),
    ]);
}
