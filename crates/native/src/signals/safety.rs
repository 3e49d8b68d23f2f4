//! Functions that are not async-signal-safe.
//!
//! The behaviour is undefined if a handler interrupts a call of such a function and calls one, too (POSIX, XSH 2.4.3). A stub in front of
//! each such function of a program with handlers is a place at which a signal can interrupt the call. If the handler then calls a function
//! that uses the same state, such as the heap or the streams, that is a failure: it would find the state half changed, or locked
//! by the thread that it interrupts. If the functions have nothing in common that is known, the verdict names both.
//!
//! Locks are modelled step by step, so a handler that waits for its own thread is found as a deadlock. Two calls on locks are named in
//! the verdict alone.

use super::{is_offered, learned, me, name, of, point};
use crate::libc::{Stub, Words};
use crate::shim::Call;
use explore::{CaveatKind, FailureKind};

/// A function, with the state that it uses.
pub(crate) type Function = Stub;

const HEAP: u32 = 1 << 0;
const STREAMS: u32 = 1 << 1;
const LOCALE: u32 = 1 << 2;
const ENVIRONMENT: u32 = 1 << 3;
const TIME_ZONE: u32 = 1 << 4;
const DATABASE: u32 = 1 << 5;
const EXIT: u32 = 1 << 6;
const RANDOM: u32 = 1 << 7;
const LOADER: u32 = 1 << 8;
const LOG: u32 = 1 << 9;
const TOKENS: u32 = 1 << 10;
const DIRECTORIES: u32 = 1 << 11;
/// Locks of the program.
const LOCKS: u32 = 1 << 16;
/// Threads: their lives, their specific data.
const THREADS: u32 = 1 << 17;
/// Functions that are not async-signal-safe for other reasons.
const OTHER: u32 = 1 << 18;

/// State that a function may leave half changed or locked while it is interrupted.
const EXCLUSIVE: u32 = (1 << 12) - 1;

#[rustfmt::skip]
const NAMES: &[(u32, &[&str])] = &[
    (HEAP, &["malloc", "calloc", "realloc", "reallocarray", "free", "cfree", "posix_memalign", "aligned_alloc", "memalign", "valloc",
        "pvalloc", "strdup", "strndup", "wcsdup", "__strdup", "__cxa_allocate_exception", "__cxa_throw"]),
    (HEAP | STREAMS, &["asprintf", "vasprintf", "getline", "getdelim", "fopen", "fopen64", "fdopen", "freopen", "fclose", "tmpfile",
        "popen", "pclose", "open_memstream", "fmemopen"]),
    (STREAMS, &["printf", "fprintf", "vprintf", "vfprintf", "dprintf", "vdprintf", "puts", "fputs", "putchar", "putc", "fputc",
        "_IO_putc", "_IO_getc", "fwrite", "fread", "fgets", "fgetc", "getc", "getchar", "gets", "ungetc", "fflush", "fseek", "fseeko",
        "ftell", "rewind", "scanf", "fscanf", "vscanf", "vfscanf", "perror", "psignal", "setvbuf", "setbuf", "setlinebuf", "clearerr",
        "wprintf", "fwprintf", "fputws", "fputwc", "putwchar", "flockfile", "funlockfile", "__isoc99_scanf", "__isoc99_fscanf"]),
    (OTHER, &["sprintf", "snprintf", "vsprintf", "vsnprintf", "sscanf", "__isoc99_sscanf", "getenv", "secure_getenv", "strerror",
        "strsignal", "qsort", "getopt", "getopt_long", "sysconf", "system"]),
    (LOCALE, &["setlocale", "newlocale", "freelocale", "duplocale", "uselocale", "localeconv"]),
    (ENVIRONMENT, &["setenv", "putenv", "unsetenv", "clearenv"]),
    (TIME_ZONE, &["localtime", "localtime_r", "gmtime", "mktime", "ctime", "ctime_r", "asctime", "strftime", "tzset"]),
    (DATABASE, &["getpwnam", "getpwuid", "getpwnam_r", "getpwuid_r", "getgrnam", "getgrgid", "getgrnam_r", "getgrgid_r",
        "gethostbyname", "gethostbyaddr", "getaddrinfo", "freeaddrinfo", "getservbyname", "getprotobyname"]),
    (EXIT | STREAMS, &["exit"]),
    (EXIT, &["atexit", "on_exit", "at_quick_exit"]),
    (
        RANDOM,
        &[
            "rand", "srand", "random", "srandom", "initstate", "setstate", "drand48", "lrand48", "mrand48", "srand48",
            "seed48", "lcong48",
        ],
    ),
    (LOADER, &["dlopen", "dlsym", "dlclose", "dlerror"]),
    (LOG, &["syslog", "vsyslog", "openlog", "closelog"]),
    (TOKENS, &["strtok"]),
    (DIRECTORIES | HEAP, &["opendir", "readdir", "closedir", "scandir"]),
    (THREADS, &["pthread_create", "pthread_join", "pthread_detach", "pthread_cancel", "pthread_exit", "pthread_key_create",
        "pthread_key_delete", "pthread_setspecific", "pthread_atfork", "thrd_create", "thrd_join", "tss_create", "tss_set"]),
    (LOCKS, &["sem_wait", "sem_trywait", "sem_timedwait", "sem_clockwait", "sem_init", "sem_destroy"]),
];

/// Beginnings of names.
const PREFIXES: &[(u32, &[&str])] = &[
    (HEAP, &["_Znw", "_Zna", "_Zdl", "_Zda"]),
    (STREAMS, &["_ZNSo", "_ZNSi", "_ZStls", "_ZStrs", "_ZSt4endl", "_ZSt5flush", "_ZSt16__ostream_insert"]),
    (
        LOCKS,
        &[
            "pthread_mutex_",
            "pthread_rwlock_",
            "pthread_cond_",
            "pthread_spin_",
            "pthread_barrier_",
            "pthread_once",
            "mtx_",
            "cnd_",
            "call_once",
            "_ZNSt18condition_variable",
        ],
    ),
];

/// The hidden state that a function uses; 0 for one that is async-signal-safe, or of which nothing is known.
pub(crate) fn uses(function: &str) -> u32 {
    // The forms that check the size of a buffer.
    let plain = function.strip_prefix("__").and_then(|f| f.strip_suffix("_chk")).unwrap_or(function);
    let exact = NAMES.iter().find(|(_, names)| names.contains(&plain));
    let by_prefix = || PREFIXES.iter().find(|(_, all)| all.iter().any(|p| plain.starts_with(p)));
    exact.or_else(by_prefix).map_or(0, |(uses, _)| *uses)
}

/// What two calls have to do with each other.
#[derive(PartialEq, Eq)]
enum Together {
    Nothing,
    /// The behaviour is undefined, and no state is known that both use.
    Undefined,
    /// Both use state that one of them leaves half changed.
    Broken,
}

/// Says what happens if a handler calls a function that uses `called` while it interrupts one that uses `interrupted`.
fn together(called: u32, interrupted: u32) -> Together {
    if called & interrupted & EXCLUSIVE != 0 {
        return Together::Broken;
    }
    // Locks and threads are modelled, and have no state in common.
    let modelled = (called | interrupted) & !(LOCKS | THREADS) == 0;
    if modelled && called & interrupted & LOCKS == 0 { Together::Nothing } else { Together::Undefined }
}

/// Before a call of a function that is not async-signal-safe.
pub(crate) fn before(stub: &Stub, _: &Words) {
    // SAFETY: stubs are never freed.
    let function: &'static Stub = unsafe { &*std::ptr::from_ref(stub) };
    let (i, call) = (me(), Call::unknown());
    if of(i).depth > 0 {
        called_by_handler(function, call);
    }
    let used = learned().used_by_handlers;
    if used == 0 || of(i).busy || !is_offered() || together(used, function.uses) == Together::Nothing {
        return;
    }
    runtime::settle();
    let outer = of(i).inside.replace(function);
    point(call.place);
    of(i).inside = outer;
}

fn called_by_handler(function: &'static Function, call: Call) {
    let i = me();
    if learned().used_by_handlers & function.uses != function.uses {
        learned().used_by_handlers |= function.uses;
        runtime::restart_soon();
    }
    let Some(interrupted) = of(i).inside else { return };
    let text = format!(
        "the handler of {} calls `{}` while it interrupts a call of `{}`, and neither is async-signal-safe: the behaviour is undefined",
        name(of(i).handled),
        function.name,
        interrupted.name,
    );
    match together(function.uses, interrupted.uses) {
        Together::Broken => {
            runtime::settle();
            runtime::fail(FailureKind::Signal, text, call.place);
        }
        Together::Undefined => runtime::caveat_at(CaveatKind::Signal, text, call.place),
        Together::Nothing => {}
    }
}
