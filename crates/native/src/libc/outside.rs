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

/// Beginnings of names that belong to the compiler's runtime, the instrumentation and the tables of C++. No function of the C library
/// with accesses or hidden state of its own begins so.
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
    "__gmon",
    "__raddle",
    "raddle_",
    "__atomic_",
    "GOMP_",
    "omp_",
    "__once",
    "rust_",
    "__tls",
    "gcov",
    "_Z",
];

/// Names of the C++ library that are not covered by their beginnings: what they do is not known.
const UNKNOWN: &[&str] = &["St10filesystem", "St3pmr"];

/// Functions that access neither memory of the program nor state that threads share, or whose accesses are made elsewhere: by a model of
/// this library, or where something that they need is made, which is refused or named.
#[rustfmt::skip]
const PURE: &[&str] = &[
    "_Exit", "__assert", "__assert_fail", "__assert_perror_fail", "__bsd_getpgrp", "__chk_fail", "__ctype_b_loc",
    "__ctype_tolower_loc", "__ctype_toupper_loc", "__cyg_profile_func_enter", "__cyg_profile_func_exit", "__errno_location",
    "__fdelt_chk", "__fdelt_warn", "__fentry__", "__finite", "__finitef", "__finitel", "__fpclassify", "__fpclassifyf",
    "__fpclassifyl", "__getauxval", "__getpagesize", "__getpgid", "__getpid", "__h_errno_location", "__isascii_l", "__isctype",
    "__isinf", "__isinff", "__isinfl", "__isnan", "__isnanf", "__isnanf128", "__isnanl", "__iswctype", "__libc_allocate_rtsig",
    "__libc_calloc", "__libc_current_sigrtmax", "__libc_current_sigrtmin", "__libc_free", "__libc_malloc", "__libc_memalign",
    "__libc_pvalloc", "__libc_realloc", "__libc_sa_len", "__libc_start_main", "__libc_valloc", "__profile_frequency",
    "__register_atfork", "__sbrk", "__sched_cpualloc", "__sched_cpufree", "__sched_get_priority_max", "__sched_get_priority_min",
    "__signbit", "__signbitf", "__signbitl", "__sigsetjmp", "__stack_chk_fail", "__sysconf", "__tls_get_addr", "__towctrans",
    "__wait", "__waitpid", "_exit", "_mcount", "_setjmp", "_tolower", "_toupper", "abort", "abs", "alarm", "aligned_alloc",
    "at_quick_exit", "atexit", "brk", "bsearch", "calloc", "cfree", "clone", "clone3", "copysign", "copysignf",
    "copysignl", "daemon", "difftime", "div", "dl_iterate_phdr", "dlerror", "dup2", "dup3", "dysize", "exit",
    "feclearexcept", "fegetexcept", "fegetround", "feraiseexcept", "fetestexcept", "ffs", "ffsl", "ffsll", "finite", "finitef",
    "finitel", "flock", "fork", "fpathconf", "free", "gai_strerror", "get_avphys_pages", "get_nprocs", "get_nprocs_conf",
    "get_phys_pages", "getauxval", "getdtablesize", "gethostid", "getpagesize", "getpid", "getppid", "getpt", "gettid",
    "gnu_dev_major", "gnu_dev_makedev", "gnu_dev_minor", "gnu_get_libc_release", "gnu_get_libc_version", "grantpt", "hstrerror",
    "htonl", "htons", "imaxabs", "imaxdiv", "inet6_option_space", "inet6_rth_space", "inet_lnaof", "inet_makeaddr", "inet_netof",
    "inotify_rm_watch", "isalnum", "isalpha", "isascii", "isblank", "iscntrl", "isctype", "isdigit", "isgraph", "isinf", "isinff",
    "isinfl", "islower", "isnan", "isnanf", "isnanl", "isprint", "ispunct", "isspace", "isupper", "iswalnum", "iswalpha", "iswblank",
    "iswcntrl", "iswctype", "iswdigit", "iswgraph", "iswlower", "iswprint", "iswpunct", "iswspace", "iswupper", "iswxdigit",
    "isxdigit", "kill", "killpg", "labs", "ldexp", "ldexpf", "ldexpl", "ldiv", "listen", "llabs", "lldiv", "lockf", "longjmp",
    "madvise", "malloc_trim", "malloc_usable_size", "mcount", "memalign", "mlock", "mlock2", "mlockall", "mprotect", "mq_close",
    "mq_getattr", "mq_notify", "mq_open", "mq_receive", "mq_send", "mq_setattr", "mq_timedreceive", "mq_timedsend", "mq_unlink",
    "msync", "munlock", "munlockall", "ntohl", "ntohs", "on_exit", "pause", "pclose", "pkey_alloc", "pkey_free", "poll",
    "posix_fadvise", "posix_fadvise64", "posix_madvise", "pvalloc", "quick_exit", "raise", "readahead", "realloc", "reallocarray",
    "sbrk", "scalbn", "scalbnf", "scalbnl", "sched_get_priority_max", "sched_get_priority_min", "sched_yield", "setjmp", "shmat",
    "shmctl", "shmdt", "shutdown", "sigabbrev_np", "sigdescr_np", "siglongjmp", "signalfd", "sigsetjmp", "sleep", "sockatmark",
    "splice", "strerrordesc_np", "strerrorname_np", "sync", "sync_file_range", "syncfs", "syscall", "sysconf", "tcdrain", "tcflow",
    "tcflush", "tcgetpgrp", "tcgetsid", "tcsendbreak", "tee", "thrd_current", "thrd_equal", "thrd_yield", "timer_delete",
    "timer_getoverrun", "toascii", "tolower", "toupper", "towctrans", "towlower", "towupper", "ualarm", "unlockpt", "usleep",
    "valloc", "vfork", "wait", "wait3", "wait4", "waitid", "waitpid", "wcwidth",
];

/// Functions without state of their own: they access what their arguments lead to. How much of it is not known.
#[rustfmt::skip]
const BY_ARGUMENTS: &[&str] = &[
    "__argz_count", "__argz_next", "__argz_stringify", "__bzero", "__cmsg_nxthdr", "__confstr_chk", "__explicit_bzero_chk",
    "__fxstat64", "__fxstatat", "__fxstatat64", "__getcwd_chk", "__getdomainname_chk", "__getgroups_chk", "__gethostname_chk",
    "__getlogin_r_chk", "__gettimeofday", "__gmtime_r", "__isalnum_l", "__isalpha_l", "__isblank_l", "__iscntrl_l", "__isdigit_l",
    "__isgraph_l", "__islower_l", "__isprint_l", "__ispunct_l", "__isspace_l", "__isupper_l", "__iswalnum_l", "__iswalpha_l",
    "__iswblank_l", "__iswcntrl_l", "__iswctype_l", "__iswdigit_l", "__iswgraph_l", "__iswlower_l", "__iswprint_l", "__iswpunct_l",
    "__iswspace_l", "__iswupper_l", "__iswxdigit_l", "__isxdigit_l", "__lxstat64", "__mbrlen", "__mbrtowc", "__mbstowcs_chk",
    "__memcmpeq", "__mempcpy", "__mempcpy_chk", "__pread64_chk", "__pread_chk", "__ptsname_r_chk", "__rawmemchr", "__read_chk",
    "__readlink_chk", "__realpath_chk", "__recv_chk", "__sched_cpucount", "__statfs", "__stpcpy", "__stpcpy_chk", "__stpncpy",
    "__stpncpy_chk", "__strcasecmp", "__strcasecmp_l", "__strcasestr", "__strcoll_l", "__strerror_r", "__strncasecmp_l",
    "__strncat_chk", "__strtod_internal", "__strtod_l", "__strtof_internal", "__strtof_l", "__strtol_internal", "__strtol_l",
    "__strtold_internal", "__strtold_l", "__strtoll_internal", "__strtoll_l", "__strtoul_internal", "__strtoul_l",
    "__strtoull_internal", "__strtoull_l", "__strverscmp", "__strxfrm_l", "__toascii_l", "__tolower_l", "__toupper_l",
    "__towctrans_l", "__towlower_l", "__towupper_l", "__ttyname_r_chk", "__wcpcpy_chk", "__wcpncpy_chk", "__wcscasecmp_l",
    "__wcscat_chk", "__wcscoll_l", "__wcscpy_chk", "__wcsncasecmp_l", "__wcsncat_chk", "__wcsncpy_chk", "__wcstod_internal",
    "__wcstof_internal", "__wcstol_internal", "__wcstold_internal", "__wcstoll_internal", "__wcstombs_chk", "__wcstoul_internal",
    "__wcstoull_internal", "__wcsxfrm_l", "__wctomb_chk", "__wctrans_l", "__wctype_l", "__wmemcpy_chk", "__wmemmove_chk",
    "__wmempcpy_chk", "__wmemset_chk", "__xstat64", "alphasort", "alphasort64", "argz_count", "argz_next", "argz_stringify",
    "c8rtomb", "dn_expand", "dn_skipname", "envz_entry", "envz_get", "envz_remove", "envz_strip", "ether_line", "flistxattr",
    "fstatfs64", "fstatvfs64", "ftime", "glob_pattern_p", "group_member", "inet_nsap_addr", "inet_nsap_ntoa",
    "llistxattr", "mbrtoc8", "name_to_handle_at", "ns_name_ntop", "ns_name_pton", "ns_name_skip", "ns_name_unpack",
    "posix_spawn_file_actions_destroy", "posix_spawn_file_actions_init", "posix_spawnattr_destroy", "posix_spawnattr_init",
    "res_dnok", "res_hnok", "res_mailok", "res_ownok", "rpmatch", "statfs64", "statvfs64", "strfromf128", "strfromf32", "strfromf32x",
    "strfromf64", "strfromf64x", "towctrans_l", "versionsort", "versionsort64", "wcstoq", "wcstouq", "wcswcs", "wcsxfrm_l",
    "wctrans_l",
];

/// Those of them whose arguments lead to pointers, which lead on.
const NESTED: &[&str] = &[
    "__cmsg_nxthdr",
    "alphasort",
    "alphasort64",
    "envz_remove",
    "envz_strip",
    "versionsort",
    "versionsort64",
];

/// Another name by which a function is known.
pub(super) enum Alias {
    /// The same function.
    Same(&'static str),
    /// A function with the same accesses.
    Alike(String),
}

/// The name by which a function is known that has several.
pub(super) fn alias(name: &str) -> Option<Alias> {
    const SAME: &[(&str, &str)] = &[
        ("glob64", "glob"),
        ("globfree64", "globfree"),
        ("readdir64_r", "readdir_r"),
        ("fgetpos64", "fgetpos"),
        ("fsetpos64", "fsetpos"),
        ("freopen64", "freopen"),
        ("creat64", "creat"),
        ("tmpfile64", "tmpfile"),
        ("statfs64", "statfs"),
        ("fstatfs64", "fstatfs"),
        ("statvfs64", "statvfs"),
        ("fstatvfs64", "fstatvfs"),
        ("__xstat64", "__xstat"),
        ("__lxstat64", "__lxstat"),
        ("__fxstat64", "__fxstat"),
        ("pwritev64", "pwritev"),
        ("preadv64", "preadv"),
        ("__gmtime_r", "gmtime_r"),
        ("__mbrtowc", "mbrtowc"),
        ("__mbrlen", "mbrlen"),
        ("__strerror_r", "strerror_r"),
        ("__strtok_r", "strtok_r"),
        ("__pread64", "pread64"),
        ("__pwrite64", "pwrite64"),
        ("wcswcs", "wcsstr"),
        ("wcstoq", "wcstoll"),
        ("wcstouq", "wcstoull"),
        ("gsignal", "raise"),
        ("ssignal", "signal"),
        ("bsd_signal", "signal"),
    ];
    if let Some((_, other)) = SAME.iter().find(|(alias, _)| *alias == name) {
        return Some(Alias::Same(other));
    }
    // `frexpf64x` is `frexpl`.
    const TYPES: [(&str, &str); 5] = [("f32x", ""), ("f64x", "l"), ("f32", "f"), ("f64", ""), ("f128", "l")];
    let (plain, end) = match name.strip_suffix("_r") {
        Some(plain) => (plain, "_r"),
        None => (name, ""),
    };
    let (stem, suffix) = TYPES.iter().find_map(|(of, suffix)| Some((plain.strip_suffix(of)?, suffix)))?;
    TAKE_POINTERS.contains(&stem).then(|| Alias::Alike(format!("{stem}{suffix}{end}")))
}

/// The functions of mathematics that take a pointer, without the endings for types.
const TAKE_POINTERS: &[&str] = &[
    "canonicalize",
    "frexp",
    "getpayload",
    "setpayload",
    "setpayloadsig",
    "lgamma",
    "modf",
    "nan",
    "remquo",
    "sincos",
    "totalorder",
    "totalordermag",
];

/// Information about a function that has no hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Calls of it have no accesses that matter here.
    Harmless,
    /// It accesses what its arguments lead to.
    ByArguments,
    /// It may also have state of its own.
    Unknown,
}

/// Information about a function without a hook.
pub(super) fn kind(name: &str, real: usize) -> Kind {
    if UNKNOWN.iter().any(|u| name.contains(u)) {
        return Kind::ByArguments;
    }
    // Names of C++ that do not belong to the standard library come from a library of somebody else's.
    if name.starts_with("_Z") {
        let is_standard =
            ["St", "Sa", "Ss", "So", "Si", "Sd", "10__cxxabiv1", "nw", "na", "dl", "da", "9__gnu_cxx"]
                .iter()
                .any(|s| {
                    ["_Z", "_ZN", "_ZNK", "_ZT", "_ZTV", "_ZTI", "_ZTS"]
                        .iter()
                        .any(|p| name.starts_with(&format!("{p}{s}")))
                });
        return if is_standard { Kind::Harmless } else { Kind::ByArguments };
    }
    // The lists below are about the libraries that come with the compiler. Others may use the same names, and were not compiled by
    // raddle, which the verdict says.
    if !comes_with_compiler(real) {
        return Kind::ByArguments;
    }
    if is_mathematics(real) { Kind::Harmless } else { kind_in_c_library(name) }
}

/// The same for a function of the C library.
fn kind_in_c_library(name: &str) -> Kind {
    // Programs that were not linked by the command call these directly.
    let is_wrapped = || include_str!("../../wrapped.txt").lines().any(|l| l == name);
    if BY_ARGUMENTS.contains(&name) {
        Kind::ByArguments
    } else if PURE.contains(&name) || PREFIXES.iter().any(|p| name.starts_with(p)) || is_wrapped() {
        Kind::Harmless
    } else {
        Kind::Unknown
    }
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

/// Before a call of a function that accesses what its arguments lead to.
pub(super) fn before(stub: &Stub, words: &Words) {
    runtime::end_looking();
    let leads_on = NESTED.contains(&stub.name.as_str());
    let leads = |w: usize| is_shared(w) || leads_on && pointers(w).any(is_shared);
    if has_threads() && words[..WORDS].iter().any(|w| leads(*w)) {
        let text = format!(
            "the library function `{}` is called with a pointer to memory that threads may share, and what it reads and writes \
             there is not known",
            stub.name
        );
        runtime::caveat_at(CaveatKind::Library, text, Call::unknown().place);
    }
}

/// Before a call of a function that may have state of its own.
pub(super) fn before_unknown(stub: &Stub, _: &Words) {
    runtime::end_looking();
    if has_threads() {
        let text = format!(
            "the library function `{}` is not modelled: what it reads and writes, also inside of the library, is not known",
            stub.name
        );
        runtime::caveat_at(CaveatKind::Library, text, Call::unknown().place);
    }
}

/// Whether the program has made a thread.
fn has_threads() -> bool {
    runtime::next_child().is_none_or(|t| t.index() > 1)
}

/// The first words of a structure on the stack of the running thread.
fn pointers(structure: usize) -> impl Iterator<Item = usize> {
    let is_there =
        runtime::may_be_on_stack(structure) && runtime::on_own_stack(structure) && structure & 7 == 0;
    // SAFETY: the stack can be read up to its end, which is further up than the frame of the caller.
    (0..if is_there { 8 } else { 0 }).map(move |i| unsafe { (structure as *const usize).add(i).read() })
}

/// Whether a word is the address of memory that threads may share: a variable with a fixed place, a live block of the heap, or the stack
/// of a thread, if it is another one's or one that threads look at.
fn is_shared(word: usize) -> bool {
    if runtime::may_be_on_stack(word) {
        return crate::table::looks_at_stacks() || !runtime::on_own_stack(word);
    }
    is_memory_of_program(word)
}

/// Whether a word is the address of a variable with a fixed place or of a live block of the heap.
pub(super) fn is_memory_of_program(word: usize) -> bool {
    word > 4096
        && (crate::start::is_variable(word) || matches!(crate::heap::heap().state_of(word), State::Live(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_in_one_list() {
        let mut all: Vec<_> = PURE.iter().chain(BY_ARGUMENTS).collect();
        all.sort();
        let twice: Vec<_> = all.windows(2).filter(|w| w[0] == w[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
        let hooked: Vec<_> =
            BY_ARGUMENTS.iter().filter(|n| crate::libc::all_rows().any(|r| r.name == **n)).collect();
        assert!(hooked.is_empty(), "{hooked:?}");
    }

    #[test]
    fn functions_of_the_c_library_are_known_by_their_whole_names() {
        for name in
            ["setutent", "endmntent", "error", "dladdr", "fts_read", "catopen", "tdestroy", "malloc_stats"]
        {
            assert_eq!(kind_in_c_library(name), Kind::Unknown, "{name}");
        }
    }

    /// The functions that a library exports, by `nm`; none where it is not found.
    fn exported(function: &std::ffi::CStr) -> Vec<String> {
        // SAFETY: the name ends with a zero byte; `dladdr` fills the description.
        let file = unsafe {
            let at = libc::dlsym(libc::RTLD_DEFAULT, function.as_ptr());
            let mut about: libc::Dl_info = std::mem::zeroed();
            if at.is_null() || libc::dladdr(at, &mut about) == 0 {
                return Vec::new();
            }
            std::ffi::CStr::from_ptr(about.dli_fname).to_string_lossy().into_owned()
        };
        let Ok(out) = std::process::Command::new("nm").args(["-D", "--defined-only", &file]).output() else {
            return Vec::new();
        };
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let function = |line: &str| {
            let mut words = line.split_whitespace().skip(1);
            let is_function = matches!(words.next(), Some("T" | "W" | "i"));
            words.next().filter(|_| is_function).map(|n| n.split('@').next().unwrap_or(n).to_owned())
        };
        text.lines().filter_map(function).collect()
    }

    #[test]
    fn no_function_of_the_c_library_is_harmless_by_the_beginning_of_its_name() {
        // These register destructors and run them.
        const LOOKED_AT: [&str; 4] =
            ["__cxa_at_quick_exit", "__cxa_atexit", "__cxa_finalize", "__cxa_thread_atexit_impl"];
        let is_wrapped = |name: &str| include_str!("../../wrapped.txt").lines().any(|l| l == name);
        let by_beginning = |name: &String| {
            let name = name.as_str();
            kind_in_c_library(name) == Kind::Harmless
                && !PURE.contains(&name)
                && !is_wrapped(name)
                && !crate::libc::has_hook(name)
                && !LOOKED_AT.contains(&name)
        };
        let found: Vec<String> = exported(c"getpid").into_iter().filter(by_beginning).collect();
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn functions_of_mathematics_that_take_a_pointer_have_accesses() {
        const TYPES: [&str; 7] = ["f32x", "f64x", "f128", "f32", "f64", "f", "l"];
        let takes_pointer = |name: &str| {
            let reentrant = name.strip_suffix("_r");
            let plain = reentrant.unwrap_or(name);
            let is_one =
                |stem: &str| TAKE_POINTERS.contains(&stem) && (reentrant.is_some() || stem != "lgamma");
            is_one(plain) || TYPES.iter().any(|t| plain.strip_suffix(t).is_some_and(is_one))
        };
        let known = |name: &str| {
            crate::libc::has_hook(name)
                || match alias(name) {
                    Some(Alias::Same(other)) => crate::libc::has_hook(other),
                    Some(Alias::Alike(other)) => crate::libc::has_hook(&other),
                    None => false,
                }
        };
        let unknown: Vec<String> =
            exported(c"frexp").into_iter().filter(|n| takes_pointer(n) && !known(n)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
