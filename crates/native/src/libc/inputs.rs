//! Functions whose results come from outside of the program, and functions that act behind its back.
//!
//! A value from outside (random numbers, the processor that a thread runs on) is one of many, and the search sees one: a caveat. What
//! works on the program's memory or blocks its threads without being seen is refused, or named in a caveat.

use super::accesses::{Access, r, w};
use super::{fronts, outside};
use crate::modules::{self, Owner};
use crate::process::unsupported;
use crate::rust_tests::is_rust;
use crate::shim::Call;
use explore::CaveatKind;
use std::ffi::{CStr, c_char};

/// The calling program gets a value from outside. Rust's std draws random numbers for itself.
pub(super) fn from_outside(name: &str) -> Access {
    if !is_rust() {
        let text =
            format!("`{name}` gives values from outside, and other values than this run's are not explored");
        runtime::caveat_at(CaveatKind::Inputs, text, Call::unknown().place);
    }
    Access::Nothing
}

/// The program makes something that threads can communicate through.
pub(super) fn channel(name: &str) -> Access {
    let text = format!("the program calls `{name}`: communication of threads through it is not explored");
    runtime::caveat_at(CaveatKind::Channel, text, Call::unknown().place);
    Access::Nothing
}

/// The program opens a file.
pub(super) fn opened(path: usize) -> Access {
    if path == 0 {
        return Access::Nothing;
    }
    // SAFETY: the program hands in a string.
    match unsafe { CStr::from_ptr(path as *const c_char) }.to_bytes() {
        b"/dev/urandom" => from_outside("/dev/urandom"),
        b"/dev/random" => from_outside("/dev/random"),
        b"/proc/self/mem" => {
            refused("open(\"/proc/self/mem\")", "accesses to memory through a file are not seen")
        }
        _ => Access::Nothing,
    }
}

fn refused(name: &str, why: &str) -> Access {
    unsupported(name, why)
}

const QUEUES: &str = "semaphores and message queues of System V are not modelled; use those of POSIX threads";
const ASYNCHRONOUS: &str =
    "the C library reads and writes in threads of its own, which are not under control";
const OTHER_PROCESS: &str = "accesses to memory through the kernel are not seen";

const CLOCK: &str = "raddle runs on the machine whose clock it would change";
const SIGNALS: &str = "old functions of signals are not modelled; use sigaction and pthread_sigmask";

/// The program asks for the address of a function by its name: calls through it are not seen.
fn looked_up(name: usize) -> Access {
    if name == 0 || is_rust() {
        return Access::Nothing;
    }
    // SAFETY: the program hands in a string.
    let (text, real) = unsafe {
        let name = name as *const c_char;
        (CStr::from_ptr(name).to_string_lossy(), libc::dlsym(libc::RTLD_DEFAULT, name) as usize)
    };
    let is_seen = matches!(modules::owner(real), None | Some(Owner::Program | Owner::Raddle));
    // Functions with an access are in a table, and are not harmless when they are called without their hook.
    if !is_seen && (super::has_hook(&text) || outside::kind(&text, real) != outside::Kind::Harmless) {
        let text =
            format!("the program gets `{text}` from `dlsym`, and what it reads and writes is not seen");
        runtime::caveat_at(CaveatKind::Library, text, Call::unknown().place);
    }
    Access::Nothing
}

fronts! { FRONTS:
    sched_getcpu() impure [from_outside("sched_getcpu")];
    getcpu(a, b) impure [w(a, 4), w(b, 4), from_outside("getcpu")];
    arc4random() impure [from_outside("arc4random")];
    arc4random_uniform() impure [from_outside("arc4random_uniform")];
    arc4random_buf(p, n) impure [w(p, n), from_outside("arc4random_buf")];
    backtrace(out, n) impure [w(out, n as u32 as usize * 8)];
    backtrace_symbols_fd(list, n) impure [r(list, n as u32 as usize * 8)];
    dlsym(handle, name) impure [looked_up(name)];
    dlvsym(handle, name) impure [looked_up(name)];
    shmget() impure [channel("shmget")];
    fanotify_init() impure [channel("fanotify_init")];
    semget() impure [refused("semget", QUEUES)];
    semop() impure [refused("semop", QUEUES)];
    semtimedop() impure [refused("semtimedop", QUEUES)];
    semctl() impure [refused("semctl", QUEUES)];
    msgget() impure [refused("msgget", QUEUES)];
    msgsnd() impure [refused("msgsnd", QUEUES)];
    msgrcv() impure [refused("msgrcv", QUEUES)];
    aio_read() impure [refused("aio_read", ASYNCHRONOUS)];
    aio_read64() impure [refused("aio_read", ASYNCHRONOUS)];
    aio_write() impure [refused("aio_write", ASYNCHRONOUS)];
    aio_write64() impure [refused("aio_write", ASYNCHRONOUS)];
    aio_fsync() impure [refused("aio_fsync", ASYNCHRONOUS)];
    lio_listio() impure [refused("lio_listio", ASYNCHRONOUS)];
    lio_listio64() impure [refused("lio_listio", ASYNCHRONOUS)];
    getaddrinfo_a() impure [refused("getaddrinfo_a", ASYNCHRONOUS)];
    process_vm_readv() impure [refused("process_vm_readv", OTHER_PROCESS)];
    process_vm_writev() impure [refused("process_vm_writev", OTHER_PROCESS)];
    clock_settime() impure [refused("clock_settime", CLOCK)];
    settimeofday() impure [refused("settimeofday", CLOCK)];
    adjtime() impure [refused("adjtime", CLOCK)];
    clock_adjtime() impure [refused("clock_adjtime", CLOCK)];
    sigblock() impure [refused("sigblock", SIGNALS)];
    sigsetmask() impure [refused("sigsetmask", SIGNALS)];
    siggetmask() impure [refused("siggetmask", SIGNALS)];
    sigpause() impure [refused("sigpause", SIGNALS)];
    __sigpause() impure [refused("sigpause", SIGNALS)];
    __xpg_sigpause() impure [refused("sigpause", SIGNALS)];
    sighold() impure [refused("sighold", SIGNALS)];
    sigrelse() impure [refused("sigrelse", SIGNALS)];
    sigignore() impure [refused("sigignore", SIGNALS)];
    sigset() impure [refused("sigset", SIGNALS)];
    siginterrupt() impure [refused("siginterrupt", SIGNALS)];
    sigstack() impure [refused("sigstack", SIGNALS)];
}
