//! Functions of libraries that are in no list: what they do to the program's memory is not known.
//!
//! A call with a pointer to memory that other threads may use is named in the verdict.

use super::{Stub, Words};
use crate::modules::{self, Owner};
use crate::shim::Call;
use explore::CaveatKind;
use image::arena::State;

/// The words of a call that are looked at: what lies in the registers of later arguments is mostly left from before.
const WORDS: usize = 4;

/// Beginnings of names that need no hook: they belong to the compiler's runtime or to the C++ library's own machinery, or they
/// work on objects that are synchronised with.
const PREFIXES: &[&str] = &[
    "__cxa_",
    "__gxx_",
    "_Unwind_",
    "__tsan_",
    "__sanitizer_",
    "__ubsan_",
    "__gcov",
    "__gcc",
    "_ITM_",
    "__stack_chk",
    "__libc_",
    "__gmon",
    "__ctype_",
    "__errno",
    "__assert",
    "__fp",
    "__is",
    "__sig",
    "__raddle",
    "pthread_",
    "sched_",
    "sem_",
    "mtx_",
    "cnd_",
    "thrd_",
    "tss_",
    "mq_",
    "timer_",
    "timerfd_",
    "epoll_",
    "eventfd",
    "signalfd",
    "inotify_",
    "_Z",
    "__atomic_",
    "dl",
    "catch",
    "set",
    "end",
    "isw",
    "tow",
    "is",
    "to",
    "arc4random",
    "_set",
    "_long",
    "GOMP_",
    "omp_",
    "raddle_",
    "__once",
    "rust_",
    "gnu_",
    "_dl",
    "__register",
    "__res",
    "__tls",
    "gcov",
    "malloc",
    "mallinfo",
];

/// Names of the C++ library that are not covered by their beginnings: what they do is not known.
const UNKNOWN: &[&str] = &["St10filesystem", "St3pmr"];

/// Functions that touch no memory of the caller, or only what they are handed as their own.
const NAMES: &[&str] = &[
    "_exit",
    "_Exit",
    "abort",
    "abs",
    "alarm",
    "aligned_alloc",
    "at_quick_exit",
    "atexit",
    "brk",
    "bsearch",
    "btowc",
    "calloc",
    "close",
    "closedir",
    "cfree",
    "daemon",
    "difftime",
    "dirfd",
    "div",
    "dup",
    "dup2",
    "dup3",
    "duplocale",
    "exit",
    "fchmod",
    "fchown",
    "fcntl",
    "fcntl64",
    "feclearexcept",
    "fegetround",
    "feraiseexcept",
    "fegetexcept",
    "fetestexcept",
    "ffs",
    "ffsl",
    "ffsll",
    "flock",
    "fork",
    "free",
    "freelocale",
    "ftok",
    "gai_strerror",
    "getauxval",
    "getdtablesize",
    "getegid",
    "geteuid",
    "getgid",
    "gethostid",
    "getpagesize",
    "getpgid",
    "getpgrp",
    "getpid",
    "getppid",
    "getpriority",
    "getsid",
    "gettid",
    "getuid",
    "get_nprocs",
    "get_nprocs_conf",
    "grantpt",
    "hstrerror",
    "htonl",
    "htons",
    "iconv_open",
    "imaxabs",
    "imaxdiv",
    "kill",
    "killpg",
    "labs",
    "ldiv",
    "listen",
    "llabs",
    "lldiv",
    "lockf",
    "longjmp",
    "madvise",
    "memalign",
    "memfd_create",
    "mlock",
    "mlockall",
    "mprotect",
    "msync",
    "munlock",
    "munlockall",
    "newlocale",
    "ntohl",
    "ntohs",
    "on_exit",
    "openlog",
    "pathconf",
    "pause",
    "pclose",
    "posix_fadvise",
    "posix_fallocate",
    "posix_madvise",
    "posix_openpt",
    "pvalloc",
    "quick_exit",
    "raise",
    "realloc",
    "reallocarray",
    "rewinddir",
    "sbrk",
    "seekdir",
    "shm_unlink",
    "shmat",
    "shmctl",
    "shmdt",
    "shmget",
    "shutdown",
    "siglongjmp",
    "sigsetjmp",
    "sleep",
    "ualarm",
    "unlockpt",
    "sockatmark",
    "srand",
    "strerrordesc_np",
    "strerrorname_np",
    "sync",
    "syncfs",
    "syscall",
    "sysconf",
    "telldir",
    "tcflush",
    "uselocale",
    "usleep",
    "valloc",
    "vfork",
    "wait",
    "waitpid",
    "wctob",
    "wctrans",
    "wctype",
    "sigreturn",
    "posix_trace",
    "fpathconf",
    "swapcontext",
    "makecontext",
    "getcontext",
    "setcontext",
    "fchdir",
    "isatty",
    "tcgetpgrp",
    "tolower",
    "toupper",
    "closelog",
    "select",
    "pselect",
    "poll",
    "ppoll",
    "splice",
    "tee",
    "__fpurge",
    "__fpending",
    "_setjmp",
    "__sigsetjmp",
    "setjmp",
    "fputs",
    "puts",
    "printf",
    "fprintf",
    "_obstack_newchunk",
    "mtrace",
    "muntrace",
    "mcheck",
    "mprobe",
    "ptsname",
    "getusershell",
    "endusershell",
    "open_by_handle_at",
    "read",
    "clone",
    "clone3",
    "unshare",
    "membarrier",
];

/// Whether a function needs no hook.
pub(super) fn is_harmless(name: &str, real: usize) -> bool {
    if UNKNOWN.iter().any(|u| name.contains(u)) {
        return false;
    }
    // Names of C++ that do not belong to the standard library come from a library of somebody else's.
    if name.starts_with("_Z") {
        return ["St", "Sa", "Ss", "So", "Si", "Sd", "10__cxxabiv1", "nw", "na", "dl", "da", "9__gnu_cxx"]
            .iter()
            .any(|s| {
                ["_Z", "_ZN", "_ZNK", "_ZT", "_ZTV", "_ZTI", "_ZTS"]
                    .iter()
                    .any(|p| name.starts_with(&format!("{p}{s}")))
            });
    }
    // The lists below are about the libraries that come with the compiler. Others may use the same names.
    if !comes_with_compiler(real) {
        return false;
    }
    // Programs that were not linked by the command call these directly.
    let wrapped = include_str!("../../wrapped.txt").lines().any(|l| l == name);
    wrapped || PREFIXES.iter().any(|p| name.starts_with(p)) || NAMES.contains(&name) || is_mathematics(real)
}

/// The file name of the library that a function lies in.
fn library_of(real: usize) -> Option<String> {
    // SAFETY: zero is a valid description, which `dladdr` fills; the file name is a string.
    unsafe {
        let mut about: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(real as *const _, &mut about) == 0 || about.dli_fname.is_null() {
            return None;
        }
        let file = std::ffi::CStr::from_ptr(about.dli_fname).to_string_lossy().into_owned();
        Some(file.rsplit('/').next().unwrap_or_default().to_owned())
    }
}

fn is_in(real: usize, libraries: &[&str]) -> bool {
    library_of(real).is_some_and(|file| libraries.iter().any(|l| file.starts_with(l)))
}

/// Whether a function belongs to the C library, the C++ library, or the compiler's runtime.
fn comes_with_compiler(real: usize) -> bool {
    modules::owner(real) == Some(Owner::Libc) || is_mathematics(real) || is_in(real, &OF_COMPILER)
}

const OF_COMPILER: [&str; 8] = [
    "libstdc++.so",
    "libc++.so",
    "libc++abi.so",
    "libpthread.so",
    "librt.so",
    "libdl.so",
    "libraddle_native.so",
    "libunwind.so",
];

/// Whether a function is one of the mathematical library, or of the compiler's.
fn is_mathematics(real: usize) -> bool {
    is_in(real, &["libm.so", "libmvec.so", "libgcc_s.so", "libatomic.so"])
}

/// Before a call of a function that is not known.
pub(super) fn before(stub: &Stub, words: &Words) {
    runtime::end_looking();
    if runtime::next_child().is_none_or(|t| t.index() > 1) && words[..WORDS].iter().any(|w| is_shared(*w)) {
        let text = format!(
            "the library function `{}` is called with a pointer to memory that threads may share, and what it reads and writes \
             there is not known",
            stub.name
        );
        runtime::caveat_at(CaveatKind::Library, text, Call::unknown().place);
    }
}

/// Whether a word is the address of memory that threads may share: a variable with a fixed place, or a live block of the heap.
fn is_shared(word: usize) -> bool {
    word > 4096
        && (crate::start::is_variable(word) || matches!(crate::heap::heap().state_of(word), State::Live(_)))
}
