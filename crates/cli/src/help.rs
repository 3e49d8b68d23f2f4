//! What `--help` teaches.

pub(crate) const ABOUT: &str = "Checks concurrent programs under every schedule that can matter";

pub(crate) const LONG_ABOUT: &str = "\
Checks concurrent programs under every schedule that can matter.

raddle runs a test again and again, each time with its threads in another order, until
every behaviour that can differ has been seen; orders that cannot differ are run once. When
a run fails, raddle shows who did what, and gives a token that runs exactly that schedule
again.

C and C++ programs are checked as they are:

    raddle check prog.c

Rust is checked in tests: raddle has std's types under std's names, and a test hands its body
to `raddle::check`.

    use raddle::sync::atomic::{AtomicU64, Ordering::SeqCst};
    use raddle::{sync::Arc, thread};

    #[test]
    fn payments_add_up() {
        raddle::check(|| {
            let account = Arc::new(AtomicU64::new(100));
            let other = account.clone();
            let payer = thread::spawn(move || other.fetch_add(50, SeqCst));
            account.fetch_add(20, SeqCst);
            payer.join().unwrap();
            assert_eq!(account.load(SeqCst), 170);
        });
    }

Such a test runs with `cargo test`, as any other.";

pub(crate) const AFTER: &str = "\
Examples:
  raddle check prog.c               explore a C program (`raddle check --help` has more)
  raddle demo                       find a bug, show it, replay it
  raddle demo --algorithm dpor      the same with another algorithm
  raddle demo --json | jq .guarantee
  raddle algorithms                 which algorithms and orders there are
  raddle compare torn-pair          which of them finds a bug first

Exit codes:
  0  nothing wrong found, and the search was complete for what it promised
     (`demo` is there to show a bug: 0 says that it was found and replayed)
  1  a failure was found
  2  the input or the command line is wrong
  3  stopped early without a failure

Environment of programs made by `raddle cc`, and of tests that call raddle::check (they override
raddle::Config):
  RADDLE_REPLAY=TOKEN         run this one schedule again
  RADDLE_ALGORITHM=NAME       how to search
  RADDLE_BOUND=KIND=N,..      search within these bounds
  RADDLE_OPTIMISATIONS=LIST   which optimisations bpor has: all, none, or some of tr,at,ro,bo,ss
  RADDLE_ORDER=ORDER          which executions come first
  RADDLE_SEED=N               what random orders start from
  RADDLE_FRINGE_LIMIT=N       open executions that a best-first order keeps in memory
  RADDLE_MAX_EXECUTIONS=N     give up after so many executions
  RADDLE_MAX_SECONDS=S        give up after so many seconds
  RADDLE_MAX_STEPS=N          stop at an execution of more steps than this
  RADDLE_MAX_THREADS=N        stop at an execution of more threads than this
  RADDLE_STACK_SIZE=BYTES     the stack of each thread
  RADDLE_LATE=N               how often a thread may read a late time in an execution
  RADDLE_KEEP_GOING=1         go on after a failure and report all that differ
  RADDLE_SPURIOUS=N           so many spurious wake-ups, failures and timeouts in a row, where they are counted
  RADDLE_TIMEOUTS=patient=1h  waits and sleeps of an hour and more end only when nothing else can run
  RADDLE_SPURIOUS_WAKEUPS=0   waits and parks never end spuriously
  RADDLE_SPURIOUS_FAILURES=0  compare_exchange_weak never fails spuriously
  RADDLE_LEAKS=0              do not report what is never given back
  RADDLE_SPIN_LOOPS=0         do not let a spinning thread wait for a change
  RADDLE_SCAN=0               do not look for types of std in the code of a test
  RADDLE_SHRINK=0             do not look for a schedule with fewer preemptions
  RADDLE_LIVELOCKS=all        report livelocks that some fair schedules leave, too
  RADDLE_TURNS=N              turns of a loop that saw no change before a thread gives way; 0 is never
  RADDLE_WATCHDOG=S           CPU time that a thread may compute without a step; 0 is for ever
  RADDLE_QUIET=1              print nothing
  RADDLE_TRACE=full           leave nothing out of a long trace
  RADDLE_RACES=HOW            C: report, ignore or sync, as `raddle check --races`
  RADDLE_VOLATILE=HOW         C: plain or atomic, as `raddle check --volatile`
  RADDLE_REUSE=HOW            C: off or all, as `raddle check --reuse`
  RADDLE_JSON=1               C: print the report as JSON, on standard output
  RADDLE_NONDET=NUMBERS       C: what __VERIFIER_nondet_* gives: 0..3, or 0,7,1000
  RADDLE_FOLLOW=FILE          run one execution along a guide, as `raddle verify` does with a run that goes wrong
  RADDLE_EXECUTIONS=FILE      C: list the executions in a file, one line for each class, instead of a check, or
                              with RADDLE_JSON besides
  NO_COLOR=1                  no colours";

pub(crate) const CHECK: &str = "\
Compile a C or C++ program and run it under every schedule that can matter.

The program is compiled by gcc or clang with their thread instrumentation, linked with raddle's
runtime, and explored in one process: its `main` is run again and again, each time with its
threads in another order, until every behaviour that can differ has been seen. When a run fails,
raddle shows who did what, and gives a token that runs exactly that schedule again.

Nothing in the program needs to change. It should end by itself, do the same whenever its threads
are scheduled the same way, and say what must hold with `assert`.";

pub(crate) const CHECK_AFTER: &str = "\
Examples:
  raddle check prog.c
  raddle check main.c pool.c -Iinclude -DWORKERS=2 -std=c11
  raddle check prog.cpp --cflags '-std=c++20 -Wall' -- an argument
  raddle check prog.c --bound preemptions=2        what two preemptions can do
  raddle check prog.c --order urw --max-seconds 60 look for bugs, promise nothing
  raddle check prog.c --races sync                 plain accesses are steps: every interleaving of them
  raddle check prog.c --replay TOKEN --gdb         the failing run, in the debugger
  raddle check --project build --target app        a program of a CMake project
  raddle check ./app                               a program made with `raddle cc`

CC and CXX name the compilers. The compiler is told -O0: at higher levels it may turn a loop that
waits for another thread into one that looks once (RADDLE_KEEP_O=1 keeps -O as given). RADDLE_CACHE
names the directory for the runtime library, which is otherwise kept with other caches.

Exit codes:
  0  nothing wrong found, and the search was complete for what it promised
  1  a failure was found
  2  the program was not made, or the command line is wrong
  3  stopped early without a failure";

pub(crate) const CC: &str = "\
A C or C++ compiler that makes programs which explore themselves when they are started.

    CC='raddle cc' CXX='raddle c++' make
    CC='raddle cc' cmake -B build && cmake --build build
    ./prog                                    explores itself, and says what it found
    RADDLE_BOUND=preemptions=2 ./prog         `raddle --help` lists the variables
    raddle check ./prog --bound preemptions=2 the same with options

Everything is handed to gcc or clang (RADDLE_CC and RADDLE_CXX name another, or CC and CXX where
they do not name raddle), with the flags added that instrument, and -O0 in place of other levels
unless RADDLE_KEEP_O=1 is set. Where a compiler must have one name, make a link to raddle called
raddle-cc or raddle-c++.";

pub(crate) const DEMO: &str = "\
Find a lost update in a small program, show how it comes about, and replay it.

Two threads pay into one account. Each loads the balance and stores a new one, and when both
load before either stores, a payment is lost. A test that just runs this program is unlikely
to see it; raddle finds it at once, because it tries the orders one by one.

Exits with 0 when the bug was found and its replay failed the same way, with 1 when not.";

pub(crate) const COMPARE: &str = "\
Search one program in several ways, and show what each took and saw.

Each plan (an algorithm, perhaps within a bound and in another order) is run on the same
program until it is done, finds a failure, or has used its budget. The table has one row a
plan:

  executions  complete ones
  blocked     executions that were cut because all they could show is seen elsewhere
  over bound  executions that were cut because every way on is over the bound
  classes     different happens-before orders among the complete ones: what a reduction must
              see once, and need not see twice
  states      different local states: what a thread can know at one of its steps
  reached     states of the whole program, for searches of states (--automata)
  steps       steps run
  CPU         CPU time of the search, without the time it takes to count classes and states
  result      whether it is verified, or which failure came in which execution";

pub(crate) const COMPARE_AFTER: &str = "\
Examples:
  raddle compare --list                                   the programs
  raddle compare counter                                  every algorithm, 20 classes
  raddle compare lost-wakeup --size 6 --algorithms optimal,dpor
                                                          which finds the bug first
  raddle compare upgrade --fixed --bounds 0..3,none       up to two preemptions, and all
  raddle compare fib --algorithms optimal,none --plot fib.svg
                                                          classes seen over executions
  raddle compare readers --plan optimal --plan none#7 --json | jq '.rows[].cpu_seconds'
  raddle compare --automata programs/verify/dekker.c      C text, searches of states too

Exit codes:
  0  no search found a failure, and at least one was complete for what it promised
  1  a search found a failure
  2  the command line is wrong, or no plan can be run
  3  every search stopped early, without a failure";
