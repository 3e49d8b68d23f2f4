//! What a process is: its memory, its heap, its output, its end, and what goes wrong in it.

mod common;

use common::{run, run_with};

#[test]
fn each_execution_finds_the_memory_of_a_new_process() {
    run("memory.c", &[]).is_verified_in(6);
    run("memory.c", &["-DLARGE"]).is_verified_in(6);
    run("memory.c", &["RADDLE_ISOLATE=1"]).is_verified_in(6);
}

#[test]
fn an_assignment_of_a_structure_is_a_race_like_any_other() {
    run("structures.c", &[]).fails_with("data-race", "pair");
    // It is one step then, which the report says.
    let ran = run("structures.c", &["RADDLE_RACES=sync"]);
    assert_eq!((ran.verdict(), ran.executions()), ("no-failure-with-caveats", 2), "{}", ran.report);
    assert_eq!(ran.report["caveats"][0]["kind"], "races", "{}", ran.report);
}

#[test]
fn memory_functions_read_and_write_for_the_program() {
    run("strings.c", &[]).fails_with("data-race", "text");
    run("strings.c", &["RADDLE_RACES=sync"]).fails_with("assertion", "torn");
    run("strings.c", &["-DLOCKED"]).is_verified_in(2);
}

#[test]
fn parts_of_one_word_are_objects_of_their_own_unless_they_are_accessed_together() {
    run("widths.c", &["RADDLE_RACES=sync"]).is_verified_in(1);
    run("widths.c", &["-DTOGETHER", "RADDLE_RACES=sync"]).fails_with("assertion", "both");
    run("widths.c", &["-DWIDE"]).is_verified_in(2);
}

#[test]
fn a_variable_on_the_stack_of_another_thread_is_shared() {
    run("stack.c", &[]).fails_with("data-race", "local");
    run("stack.c", &["RADDLE_RACES=sync"]).fails_with("assertion", "local == 2");
}

#[test]
fn the_heap_knows_what_was_freed_and_how_large_it_was() {
    run("heap.c", &["-DCASE=1"]).fails_with("use-after-free", "freed by");
    run("heap.c", &["-DCASE=2"]).fails_with("double-free", "freed before");
    run("heap.c", &["-DCASE=3"]).fails_with("invalid-free", "never allocated");
    run("heap.c", &["-DCASE=4"]).fails_with("out-of-bounds", "behind the end of a block of 16 bytes");
    run("heap.c", &["-DCASE=5", "RADDLE_LEAKS=1"]).fails_with("leak", "never freed");
    run("heap.c", &["-DCASE=5"]).is_verified_in(2);
    run("heap.c", &["-DCASE=6"]).is_verified_in(2);
}

#[test]
fn signals_are_failures_and_the_search_goes_on() {
    let ran = run("signals.c", &["RADDLE_KEEP_GOING=1"]);
    ran.fails_with("signal", "");
    let all: Vec<&str> = ran.report["failures"]
        .as_array()
        .map_or(Vec::new(), |f| f.iter().filter_map(|f| f["message"].as_str()).collect());
    assert!(all.iter().any(|m| m.contains("null pointer")), "{all:?}");
    assert!(all.iter().any(|m| m.contains("divided by zero")), "{all:?}");
    assert_eq!(ran.executions(), 6);
}

#[test]
fn a_loop_that_never_comes_by_is_stopped() {
    run("forever.c", &["RADDLE_WATCHDOG=1"]).fails_with("limit", "without any operation");
}

#[test]
fn the_output_of_the_failing_execution_alone_is_kept() {
    let ran = run("output.c", &[]);
    ran.fails_with("assertion", "order");
    assert_eq!(ran.report["failures"][0]["output"], "second\nfirst\nto standard error\n");
}

#[test]
fn arguments_and_standard_input_are_the_same_in_each_execution() {
    run_with("input.c", &[], &["one", "two"], Some("a line\n")).is_verified_in(2);
}

#[test]
fn waiting_for_the_outside_is_refused() {
    run("outside.c", &[]).fails_with("deadlock", "waits to read from pipe #1, which is empty");
    run("outside.c", &["-DFORK"]).fails_with("limit", "`fork`");
    run("outside.c", &["-DCLONE"]).fails_with("limit", "`clone`");
    run("outside.c", &["-DDLOPEN"]).fails_with("limit", "`dlopen`");
}

const HOSTILE: &str = r#"
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>
static atomic_int n;
extern char **environ;
static void *add(void *u) { n++; return u; }
static void aborts(void) { abort(); }
static void *leaves(void *u) { _exit(0); }
int main(void) {
    char name[32] = "", *arguments[] = {"true", 0};
    struct rlimit r = {5, 5};
    sigset_t set;
    pthread_t t;
#if HOW == 1
    close(0), close(1), close(2);
#elif HOW == 2
    freopen("/dev/null", "w", stdout);
#elif HOW == 3 /* a limit that raddle could not live with */
    assert(!setrlimit(RLIMIT_NOFILE, &r) && !getrlimit(RLIMIT_NOFILE, &r) && r.rlim_cur == 5);
#elif HOW == 4 /* each execution finds the same limits */
    assert(!getrlimit(RLIMIT_CORE, &r) && r.rlim_cur != 7);
    r.rlim_cur = 7;
    setrlimit(RLIMIT_CORE, &r);
#elif HOW == 5
    closefrom(3);
#elif HOW == 6
    assert(!close_range(3, ~0u, 0));
#elif HOW == 7
    for (int i = 3; i < 1024; i++) close(i);
    assert(dup2(1, 500) == -1);
#elif HOW == 8
    prctl(PR_SET_NAME, "worker");
    prctl(PR_GET_NAME, name);
    assert(!strcmp(name, "worker"));
#elif HOW == 9 /* a temporary file has the same name in each execution */
    strcpy(name, "/tmp/raddle-process-XXXXXX");
    int f = mkstemp(name);
    struct stat st;
    assert(f >= 0 && stat(name, &st) == 0 && (st.st_mode & 0777) == 0600);
    char other[] = "/tmp/raddle-process-XXXXXX";
    close(mkstemp(other));
    assert(strcmp(name, other));
    unlink(name), unlink(other);
#elif HOW == 10
    atexit(aborts);
#endif
    pthread_create(&t, 0, HOW == 11 ? leaves : add, 0);
    n++;
    pthread_join(t, 0);
#if HOW == 20
    execl("/bin/true", "true", (char *)0);
#elif HOW == 21
    execvpe("true", arguments, environ);
#elif HOW == 22
    fexecve(open("/bin/true", O_RDONLY), arguments, environ);
#elif HOW == 23
    daemon(0, 0);
#elif HOW == 24
    ptrace(PTRACE_TRACEME, 0, 0, 0);
#elif HOW == 25
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#elif HOW == 26
    setuid(getuid() + 1);
#elif HOW == 27
    setuid(getuid());
#elif HOW == 28
    sigemptyset(&set);
    signalfd(-1, &set, 0);
#elif HOW == 29
    kill(getpid(), SIGKILL);
#elif HOW == 30
    chroot("/");
#elif HOW == 31
    if (!vfork()) _exit(0);
#endif
    return 0;
}
"#;

#[test]
fn a_program_does_not_harm_the_process_that_it_is_checked_in() {
    use common::Right::{Caveat, Fails, Refused, Verified};
    let right = |how: &'static [&'static str], right| ("hostile.c", how, HOSTILE, right);
    common::run_table(&[
        right(&["-DHOW=1"], Verified),
        right(&["-DHOW=2"], Verified),
        right(&["-DHOW=3"], Caveat("state")),
        right(&["-DHOW=4"], Verified),
        right(&["-DHOW=5"], Verified),
        right(&["-DHOW=6"], Verified),
        right(&["-DHOW=7"], Verified),
        right(&["-DHOW=8"], Verified),
        right(&["-DHOW=9"], Verified),
        right(&["-DHOW=10"], Fails("abort")),
        right(&["-DHOW=11"], Verified),
        right(&["-DHOW=20"], Refused("`execl`")),
        right(&["-DHOW=21"], Refused("`execvpe`")),
        right(&["-DHOW=22"], Refused("`fexecve`")),
        right(&["-DHOW=23"], Refused("`daemon`")),
        right(&["-DHOW=24"], Refused("`ptrace`")),
        right(&["-DHOW=25"], Refused("`prctl(1, ...)`")),
        right(&["-DHOW=26"], Refused("`setuid`")),
        right(&["-DHOW=27"], Verified),
        right(&["-DHOW=28"], Refused("`signalfd`")),
        right(&["-DHOW=29"], Fails("signal")),
        right(&["-DHOW=30"], Refused("`chroot`")),
        right(&["-DHOW=31"], Refused("`vfork`")),
    ]);
}

#[test]
fn an_exit_code_is_a_failure_unless_the_user_says_otherwise() {
    run("code.c", &["RADDLE_EXIT_CODES=0"]).is_verified_in(2);
    run("code.c", &[]).fails_with("exit-code", "exit code 3");
}

#[test]
fn loops_on_volatile_and_plain_variables_end() {
    let ignored = run("flag.c", &["-DKIND=volatile", "RADDLE_RACES=ignore"]);
    assert_eq!((ignored.verdict(), ignored.executions()), ("no-failure-with-caveats", 4));
    run("flag.c", &["-DKIND=", "RADDLE_RACES=sync"]).is_verified_in(4);
    run("flag.c", &["-DKIND="]).fails_with("data-race", "flag");
}

#[test]
fn annotations_order_what_nothing_else_does() {
    run("annotations.c", &[]).fails_with("data-race", "data");
    run("annotations.c", &["-DANNOTATED"]).is_verified_in(2);
}

#[test]
fn relaxed_atomics_do_not_order_plain_accesses_and_others_do() {
    run("orders.c", &["-DORDER=memory_order_relaxed"]).fails_with("data-race", "data");
    run("orders.c", &["-DORDER=memory_order_seq_cst"]).is_verified_in(2);
    run("orders.c", &["-DORDER=memory_order_seq_cst", "-DPLAIN"]).fails_with("data-race", "ready");
}

#[test]
fn mapped_memory_and_handlers_of_signals_do_not_outlast_an_execution() {
    // The handler of SIGSEGV is never called: what would call it is reported instead.
    run("mapping.c", &[]).is_verified_in(2);
    run("mapping.c", &["-DFAULTS"]).fails_with("signal", "null pointer");
}

#[test]
fn random_numbers_are_shared_by_threads_and_the_same_in_each_execution() {
    run("random.c", &[]).is_verified_in(2);
    run("random.c", &["-DBUG"]).fails_with("assertion", "drawn[0] == first");
}

const LISTS: &str = r#"
#define _GNU_SOURCE
#include <assert.h>
#include <libintl.h>
#include <locale.h>
#include <pthread.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>
static atomic_int first;
static void *set(void *arg) { first = 1; return arg; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, set, 0);
    int seen = first;
    pthread_join(t, 0);
#if HOW == 1
    struct passwd *entry = getpwent();
    assert(!seen || entry);
#elif HOW == 2
    textdomain("messages");
#elif HOW == 3
    assert(uselocale(0) == LC_GLOBAL_LOCALE);
    uselocale(newlocale(LC_ALL_MASK, "C", 0));
#elif HOW == 4
    fwide(stdout, 1);
#elif HOW == 5 /* these only look */
    fwide(stdout, 0);
    textdomain(0);
    uselocale(0);
#elif HOW == 6
    char *rest = strtok(0, " ");
    assert(!rest);
#elif HOW == 7
    char text[] = "one two";
    assert(strtok(text, " ") && strtok(0, " ") && !strtok(0, " ") && !strtok(0, " "));
#endif
    return seen & 0;
}
"#;

#[test]
fn state_of_the_c_library_that_stays_is_named() {
    use common::Right::{Caveat, Fails, Verified};
    let right = |how: &'static [&'static str], right| ("lists.c", how, LISTS, right);
    common::run_table(&[
        right(&["-DHOW=1"], Caveat("state")),
        right(&["-DHOW=2"], Caveat("state")),
        right(&["-DHOW=3"], Verified),
        right(&["-DHOW=4"], Caveat("state")),
        right(&["-DHOW=5"], Verified),
        right(&["-DHOW=6"], Fails("signal")),
        right(&["-DHOW=7"], Verified),
    ]);
}
