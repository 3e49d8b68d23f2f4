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
use crate::sync::On;
use crate::threads;
use explore::{FailureKind, OpKind, ThreadId};
use runtime::Class;
use std::ffi::{CStr, c_char, c_int, c_void};

/// What is to be called at the end.
#[derive(Clone, Copy)]
struct Handler {
    function: usize,
    argument: *mut c_void,
    /// It is an `on_exit` handler: it gets the code first.
    wants_code: bool,
}

/// The functions to call at an end of the process, the latest last.
#[derive(Default)]
struct Handlers {
    /// At `exit`: those of the running execution, after those that constructors have registered.
    at_exit: Vec<Handler>,
    /// At `quick_exit`.
    at_quick_exit: Vec<Handler>,
    /// Both lists as they were before `main`.
    before_main: (Vec<Handler>, Vec<Handler>),
    /// The functions of `.fini_array` of the user's objects, in the order in which they are called.
    destructors: Vec<usize>,
    /// The thread that runs the handlers of `exit`, and in which execution.
    exiting: Option<(u64, ThreadId)>,
}

static mut HANDLERS: Handlers = Handlers {
    at_exit: Vec::new(),
    at_quick_exit: Vec::new(),
    before_main: (Vec::new(), Vec::new()),
    destructors: Vec::new(),
    exiting: None,
};

/// Whether several threads of the program call `exit`: then which one is first is a step. It is allocated, so that processes share it
/// where executions have their own.
static mut SEVERAL_EXITS: *mut bool = std::ptr::null_mut();

/// The address that stands for the lock of `exit`.
static EXIT_LOCK: u64 = 0;

fn handlers() -> &'static mut Handlers {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a call into it.
    unsafe { &mut *(&raw mut HANDLERS) }
}

/// Whether there is anything to call at the end.
pub(crate) fn has_handlers() -> bool {
    !handlers().at_exit.is_empty() || !handlers().destructors.is_empty()
}

/// Constructors have run.
pub(crate) fn seal() {
    let all = handlers();
    all.before_main = (all.at_exit.clone(), all.at_quick_exit.clone());
    all.destructors = destructors();
    // SAFETY: nothing else runs.
    unsafe { SEVERAL_EXITS = Box::leak(Box::new(false)) };
}

/// An execution begins.
pub(crate) fn begin() {
    let all = handlers();
    all.at_exit.clone_from(&all.before_main.0);
    all.at_quick_exit.clone_from(&all.before_main.1);
    all.exiting = None;
}

/// The functions that the dynamic linker calls at the end of the process for each object of the user, in order. The function of the compiler's start files, which only calls handlers that were registered with `atexit`, is
/// left out.
fn destructors() -> Vec<usize> {
    let of_compiler = crate::functions::named("__do_global_dtors_aux");
    // Its symbol may have no size.
    let is_users = |f: &usize| !of_compiler.iter().any(|(start, _)| start == f);
    let mut found = image::segments::destructors();
    found.retain(is_users);
    found
}

/// What `exit` is called in reports.
pub(crate) fn name_of(address: usize) -> Option<String> {
    (address == &raw const EXIT_LOCK as usize).then(|| "the end of the process".to_owned())
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

/// A program that ends with another code than 0 has failed, unless the user says otherwise. Others see the lowest byte alone.
fn check_code(code: c_int, call: Call) {
    runtime::settle();
    let code = code & 0xff;
    if code != 0 && options().exit_codes {
        crate::rust_tests::fail_if_panicked(call.place);
        runtime::fail(FailureKind::ExitCode, format!("the program ends with exit code {code}"), call.place);
    }
}

/// The end of the process, as far as its threads see it; the calling one must end next.
pub(crate) fn end(code: c_int, call: Call) {
    take_exit_lock(call);
    crate::locals::end_objects();
    run_at_exit(code);
    for i in 0..handlers().destructors.len() {
        // SAFETY: the linker put these functions there, to be called without arguments.
        unsafe { threads::run_destructor(handlers().destructors[i] as *const c_void, 0) };
        // A destructor may register a handler.
        run_at_exit(code);
    }
    // A handler may have ended the process with a code of its own.
    check_code(code, call);
    runtime::exit_process();
}

fn run_at_exit(code: c_int) {
    while let Some(handler) = handlers().at_exit.pop() {
        run(handler, code);
    }
}

fn run(handler: Handler, code: c_int) {
    let Handler { function, argument, wants_code } = handler;
    let (a, b) = if wants_code { (code as usize, argument as usize) } else { (argument as usize, 0) };
    // SAFETY: the program has registered these functions to be called so.
    unsafe { threads::run_handler(function as *const c_void, a, b) };
}

/// The first thread that calls `exit` runs the handlers, and others wait.
fn take_exit_lock(call: Call) {
    let me = (threads::execution(), runtime::current());
    let exiting = handlers().exiting;
    // A handler may call `exit`, too.
    if exiting == Some(me) {
        return;
    }
    // SAFETY: one OS thread alone runs code of the program; `seal` was called before the first execution.
    unsafe {
        if *SEVERAL_EXITS {
            let lock = On::new(&raw const EXIT_LOCK as usize, Class::Mutex);
            lock.step(OpKind::Lock, call);
        } else if exiting.is_some() {
            *SEVERAL_EXITS = true;
            runtime::restart_soon();
        }
    }
    handlers().exiting = Some(me);
}

extern "C" fn exit_with(code: c_int) -> ! {
    if runtime::in_execution() {
        let call = call();
        crate::signals::point_before(call);
        crate::rust_tests::fail_if_test_exits(code, call.place);
        leave(code, call);
    }
    real!(exit(code): fn(c_int) -> !)
}

/// The same without handlers.
extern "C" fn exit_at_once(code: c_int) -> ! {
    if runtime::in_execution() {
        let call = call();
        crate::signals::point_before(call);
        crate::rust_tests::fail_if_test_exits(code, call.place);
        check_code(code, call);
        runtime::exit_process();
        runtime::leave_thread()
    }
    real!(_exit(code): fn(c_int) -> !)
}

/// `quick_exit`: the handlers of `at_quick_exit` alone.
extern "C" fn exit_quickly(code: c_int) -> ! {
    if runtime::in_execution() {
        let call = call();
        take_exit_lock(call);
        while let Some(handler) = handlers().at_quick_exit.pop() {
            run(handler, code);
        }
        check_code(code, call);
        runtime::exit_process();
        runtime::leave_thread()
    }
    real!(quick_exit(code): fn(c_int) -> !)
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
    let location = format!("{}:{line}", text(file));
    crate::start::fail_before_main(FailureKind::Assertion, &message, Some(location))
}

extern "C" fn error_reached() -> ! {
    if runtime::in_execution() {
        let call = call();
        runtime::settle();
        runtime::fail(FailureKind::Assertion, "`reach_error` is reached".to_owned(), call.place);
    }
    crate::start::fail_before_main(FailureKind::Assertion, "`reach_error` is reached", None)
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
        if runtime::in_execution() {
            let call = call();
            crate::libc::objects::process(&crate::libc::objects::EXIT, true, call);
        }
        handlers().at_exit.push(Handler { function, argument, wants_code: false });
        if runtime::in_execution() {
            crate::leaving::handlers_are_there();
        }
        return 0;
    }
    real!(__cxa_atexit(function, argument, object): fn(usize, *mut c_void, *mut c_void) -> c_int)
}

extern "C" fn at_exit_with_code(function: usize, argument: *mut c_void) -> c_int {
    if runtime::in_execution() {
        let call = call();
        crate::libc::objects::process(&crate::libc::objects::EXIT, true, call);
    }
    handlers().at_exit.push(Handler { function, argument, wants_code: true });
    if runtime::in_execution() {
        crate::leaving::handlers_are_there();
    }
    0
}

extern "C" fn cxa_at_quick_exit(function: usize, object: *mut c_void) -> c_int {
    if runtime::in_execution() || modules::owner(return_address()) == Some(Owner::Program) {
        let handler = Handler { function, argument: std::ptr::null_mut(), wants_code: false };
        handlers().at_quick_exit.push(handler);
        return 0;
    }
    real!(__cxa_at_quick_exit(function, object): fn(usize, *mut c_void) -> c_int)
}

/// What raddle does not run: the whole program under control is one process.
pub(crate) fn unsupported(what: &str, why: &str) -> ! {
    unsupported_at(what, why, call())
}

/// The same for a call that came in otherwise.
pub(crate) fn unsupported_at(what: &str, why: &str, call: Call) -> ! {
    runtime::settle();
    runtime::fail(FailureKind::Limit, format!("the program calls `{what}`: {why}"), call.place)
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
    no_execl execl: "the program would be gone; check the two programs apart";
    no_execlp execlp: "the program would be gone; check the two programs apart";
    no_execle execle: "the program would be gone; check the two programs apart";
    no_execvpe execvpe: "the program would be gone; check the two programs apart";
    no_fexecve fexecve: "the program would be gone; check the two programs apart";
    no_plain_fork _Fork: "a process that it makes is not under control; check the two programs apart";
    no_daemon daemon: "the process that it makes is not under control";
    no_forkpty forkpty: "a process that it makes is not under control; check the two programs apart";
    no_ptrace ptrace: "raddle runs in the process that would be traced";
    no_unshare unshare: "raddle runs in the process that it would change";
    no_setns setns: "raddle runs in the process that it would change";
    no_chroot chroot: "raddle runs in the process that it would change";
    no_killpg killpg: "signals between processes are not modelled";
    no_tgkill tgkill: "signals between threads are not modelled";
    no_sigqueue sigqueue: "signals with data are not modelled";
    no_pthread_sigqueue pthread_sigqueue: "signals with data are not modelled";
    no_signalfd signalfd: "signals that are read from a descriptor are not modelled";
}

export! {
    exit => exit_with;
    _exit => exit_at_once;
    _Exit => exit_at_once;
    quick_exit => exit_quickly;
    abort => abort_here;
    __assert_fail => assert_fail;
    __assert => assert_fail_plain;
    reach_error => error_reached;
    __VERIFIER_error => error_reached;
    __VERIFIER_assert => verifier_assert;
    __cxa_atexit => cxa_atexit;
    __cxa_at_quick_exit => cxa_at_quick_exit;
    on_exit => at_exit_with_code;
}

extern "C" fn assert_fail_plain(what: *const c_char, file: *const c_char, line: c_int) -> ! {
    assert_fail(what, file, line as u32, std::ptr::null())
}
