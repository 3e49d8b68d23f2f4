//! How the program ends its process, or tries to: `exit`, `abort`, failed assertions, handlers that run at the end.
//!
//! A process that ends takes its threads with it, but not at once: whatever a thread does before it is gone can be seen. Nothing
//! that a thread does depends on the end of the process. So every execution in which it comes early is the beginning of one in
//! which it comes last, and that one is run: the thread that calls `exit` runs the handlers and ends, and the others go
//! on. Only that they wait for ever is no failure then.

use crate::modules::{self, Owner};
use crate::options::options;
use crate::real::real;
use crate::shim::{Call, call, export, return_address};
use explore::FailureKind;
use std::ffi::{CStr, c_char, c_int, c_void};

/// What is to be called at the end.
#[derive(Clone, Copy)]
struct Handler {
    function: usize,
    argument: *mut c_void,
    /// It is an `on_exit` handler: it gets the code first.
    wants_code: bool,
}

/// Those of the running execution, after those that constructors have registered.
static mut HANDLERS: Vec<Handler> = Vec::new();
/// How many there were before `main`.
static mut BEFORE_MAIN: usize = 0;

fn handlers() -> &'static mut Vec<Handler> {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a call into it.
    unsafe { &mut *(&raw mut HANDLERS) }
}

/// Whether there is anything to call at the end.
pub(crate) fn has_handlers() -> bool {
    !handlers().is_empty()
}

/// Constructors have run.
pub(crate) fn seal() {
    // SAFETY: nothing else runs.
    unsafe { BEFORE_MAIN = handlers().len() };
}

/// An execution begins.
pub(crate) fn begin() {
    // SAFETY: no thread of the program runs.
    unsafe { handlers().truncate(BEFORE_MAIN) };
}

fn text(s: *const c_char) -> String {
    if s.is_null() {
        return String::new();
    }
    // SAFETY: the program hands in a C string.
    unsafe { CStr::from_ptr(s) }.to_string_lossy().into_owned()
}

/// A call of `exit`, at `call`.
pub(crate) fn leave(code: c_int, call: Call) -> ! {
    end(code, call);
    runtime::leave_thread()
}

/// The end of the process, as far as its threads see it; the calling one must end next.
pub(crate) fn end(code: c_int, call: Call) {
    runtime::settle();
    if code != 0 && options().exit_codes {
        crate::rust_tests::fail_if_panicked(call.place);
        runtime::fail(FailureKind::ExitCode, format!("the program ends with exit code {code}"), call.place);
    }
    crate::locals::end_objects();
    while let Some(handler) = handlers().pop() {
        // SAFETY: the program has registered these functions to be called so.
        unsafe {
            if handler.wants_code {
                let f: extern "C" fn(c_int, *mut c_void) = std::mem::transmute(handler.function);
                f(code, handler.argument);
            } else {
                let f: extern "C" fn(*mut c_void) = std::mem::transmute(handler.function);
                f(handler.argument);
            }
        }
    }
    runtime::exit_process();
}

extern "C" fn exit_with(code: c_int) -> ! {
    if runtime::in_execution() {
        leave(code, call());
    }
    real!(exit(code): fn(c_int) -> !)
}

/// The same without handlers.
extern "C" fn exit_at_once(code: c_int) -> ! {
    if runtime::in_execution() {
        handlers().clear();
        leave(code, call());
    }
    real!(_exit(code): fn(c_int) -> !)
}

extern "C" fn abort_here() -> ! {
    if runtime::in_execution() {
        let call = call();
        runtime::settle();
        if let Some(exception) = crate::exceptions::current() {
            runtime::fail(FailureKind::UncaughtException, exception, call.place);
        }
        crate::rust_tests::fail_if_panicked(call.place);
        runtime::fail(FailureKind::Abort, "the program calls `abort`".to_owned(), call.place);
    }
    real!(abort(): fn() -> !)
}

extern "C" fn assert_fail(what: *const c_char, file: *const c_char, line: u32, function: *const c_char) -> ! {
    let message = format!("assertion `{}` failed in {}", text(what), text(function));
    if runtime::in_execution() {
        let call = call();
        runtime::settle();
        runtime::fail(FailureKind::Assertion, message, call.place);
    }
    crate::start::die(&format!("{}:{line}: {message}, before `main`", text(file)))
}

extern "C" fn error_reached() -> ! {
    if runtime::in_execution() {
        let call = call();
        runtime::settle();
        runtime::fail(FailureKind::Assertion, "`reach_error` is reached".to_owned(), call.place);
    }
    crate::start::die("`reach_error` is reached before `main`")
}

extern "C" fn verifier_assert(holds: c_int) {
    if holds == 0 && runtime::in_execution() {
        let call = call();
        runtime::settle();
        runtime::fail(FailureKind::Assertion, "`__VERIFIER_assert` does not hold".to_owned(), call.place);
    }
}

extern "C" fn cxa_atexit(function: usize, argument: *mut c_void, object: *mut c_void) -> c_int {
    if runtime::in_execution() || modules::owner(return_address()) == Some(Owner::Program) {
        handlers().push(Handler { function, argument, wants_code: false });
        if runtime::in_execution() {
            crate::leaving::handlers_are_there();
        }
        return 0;
    }
    real!(__cxa_atexit(function, argument, object): fn(usize, *mut c_void, *mut c_void) -> c_int)
}

extern "C" fn at_exit_with_code(function: usize, argument: *mut c_void) -> c_int {
    handlers().push(Handler { function, argument, wants_code: true });
    if runtime::in_execution() {
        crate::leaving::handlers_are_there();
    }
    0
}

/// What raddle does not run: the whole program under control is one process.
fn unsupported(what: &str, why: &str) -> ! {
    let call = call();
    runtime::settle();
    runtime::fail(FailureKind::Limit, format!("the program calls `{what}`: {why}"), call.place)
}

/// The same for system calls that are made without the C library's functions for them.
pub(crate) fn refuse_system_call(n: libc::c_long) {
    let what = match n {
        libc::SYS_clone => "clone",
        libc::SYS_clone3 => "clone3",
        libc::SYS_fork => "fork",
        libc::SYS_vfork => "vfork",
        libc::SYS_execve => "execve",
        _ => return,
    };
    if modules::owner(return_address()) == Some(Owner::Program) {
        let why = "a thread or process that is made behind the C library is not under control";
        unsupported(&format!("syscall(SYS_{what})"), why);
    }
}

macro_rules! refuse {
    ($($function:ident $name:ident: $why:literal;)*) => {
        $(extern "C" fn $function(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> usize {
            if runtime::in_execution() && modules::owner(return_address()) != Some(Owner::Raddle) {
                unsupported(stringify!($name), $why);
            }
            real!($name(a, b, c, d, e, f): fn(usize, usize, usize, usize, usize, usize) -> usize)
        })*
        export! { $($name => $function;)* }
    };
}

refuse! {
    no_fork fork: "a process that it makes is not under control; check the two programs apart";
    no_vfork vfork: "a process that it makes is not under control; check the two programs apart";
    no_spawn posix_spawn: "a process that it makes is not under control; check the two programs apart";
    no_spawnp posix_spawnp: "a process that it makes is not under control; check the two programs apart";
    no_clone clone: "a thread made behind pthreads is not under control";
    no_dlopen dlopen: "what it loads would not be put back between executions; link it instead";
    no_system system: "a process that it makes is not under control";
    no_popen popen: "a process that it makes is not under control";
    no_execve execve: "the program would be gone; check the two programs apart";
    no_execv execv: "the program would be gone; check the two programs apart";
    no_execvp execvp: "the program would be gone; check the two programs apart";
    no_sigwait sigwait: "signals from outside do not come here; leave out the thread that handles them";
    no_sigwaitinfo sigwaitinfo: "signals from outside do not come here; leave out the thread that handles them";
    no_sigtimedwait sigtimedwait: "signals from outside do not come here; leave out the thread that handles them";
    no_sigsuspend sigsuspend: "signals from outside do not come here; leave out the thread that handles them";
    no_pause pause: "signals from outside do not come here; leave out the thread that handles them";
}

export! {
    exit => exit_with;
    _exit => exit_at_once;
    _Exit => exit_at_once;
    quick_exit => exit_at_once;
    abort => abort_here;
    __assert_fail => assert_fail;
    __assert => assert_fail_plain;
    reach_error => error_reached;
    __VERIFIER_error => error_reached;
    __VERIFIER_assert => verifier_assert;
    __cxa_atexit => cxa_atexit;
    on_exit => at_exit_with_code;
}

extern "C" fn assert_fail_plain(what: *const c_char, file: *const c_char, line: c_int) -> ! {
    assert_fail(what, file, line as u32, std::ptr::null())
}
