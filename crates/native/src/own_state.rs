//! State of the process that raddle needs itself: limits, high descriptors, and the name of the OS thread. Also temporary files.
//!
//! The program sees limits as it sets them, but they are not enforced: raddle runs in the same process. Descriptors from
//! [`FIRST_OWN`] on are raddle's, and do not exist for the program. Names of temporary files are the same in each execution.

use crate::libc::{self as library, objects, restored};
use crate::modules::{self, Owner};
use crate::real::real;
use crate::shim::{Call, call, export, return_address};
use crate::sync::with_errno;
use explore::CaveatKind;
use libc::rlimit;
use std::ffi::{c_char, c_int, c_uint};

/// The first number of a descriptor that is not the program's.
pub(crate) const FIRST_OWN: c_int = 480;

/// The limits that the running execution has set, and how many temporary files each thread has made.
struct Own {
    limits: [Option<rlimit>; KINDS],
    temporary: [u32; explore::MAX_THREADS],
    execution: u64,
}

const KINDS: usize = 16;

static mut OWN: Own = Own { limits: [None; KINDS], temporary: [0; explore::MAX_THREADS], execution: 0 };

fn own() -> &'static mut Own {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step.
    let own = unsafe { &mut *(&raw mut OWN) };
    if own.execution != crate::threads::execution() {
        own.execution = crate::threads::execution();
        own.limits = [None; KINDS];
        own.temporary = [0; explore::MAX_THREADS];
    }
    own
}

fn of_program() -> bool {
    runtime::in_execution() && modules::owner(return_address()) == Some(Owner::Program)
}

fn limit_of(what: c_uint) -> Option<rlimit> {
    if let Some(limit) = own().limits.get(what as usize).copied().flatten() {
        return Some(limit);
    }
    let mut now = rlimit { rlim_cur: 0, rlim_max: 0 };
    let done = real!(getrlimit(what, &raw mut now): fn(c_uint, *mut rlimit) -> c_int);
    (done == 0).then_some(now)
}

fn set_limit(what: c_uint, new: rlimit, call: Call) -> c_int {
    let Some(now) = limit_of(what).filter(|_| (what as usize) < KINDS) else {
        return with_errno(libc::EINVAL);
    };
    if new.rlim_cur > new.rlim_max {
        return with_errno(libc::EINVAL);
    }
    // SAFETY: a system call without preconditions.
    if new.rlim_max > now.rlim_max && unsafe { libc::geteuid() } != 0 {
        return with_errno(libc::EPERM);
    }
    // No execution of a program that is checked writes a core file.
    if what != libc::RLIMIT_CORE {
        let text = "limits that the program sets are not enforced";
        runtime::caveat_at(CaveatKind::State, text, call.place);
    }
    own().limits[what as usize] = Some(new);
    0
}

extern "C" fn set_rlimit(what: c_uint, new: *const rlimit) -> c_int {
    if !of_program() {
        return real!(setrlimit(what, new): fn(c_uint, *const rlimit) -> c_int);
    }
    let call = call();
    crate::access::access(new as usize, size_of::<rlimit>(), false, call);
    objects::process(&objects::LIMITS, true, call);
    // SAFETY: the program hands in a limit.
    set_limit(what, unsafe { *new }, call)
}

extern "C" fn get_rlimit(what: c_uint, out: *mut rlimit) -> c_int {
    if !of_program() {
        return real!(getrlimit(what, out): fn(c_uint, *mut rlimit) -> c_int);
    }
    let call = call();
    objects::process(&objects::LIMITS, false, call);
    let Some(now) = limit_of(what) else { return with_errno(libc::EINVAL) };
    crate::access::access(out as usize, size_of::<rlimit>(), true, call);
    // SAFETY: the program hands in a place for a limit.
    unsafe { out.write(now) };
    0
}

extern "C" fn process_limit(
    process: libc::pid_t,
    what: c_uint,
    new: *const rlimit,
    old: *mut rlimit,
) -> c_int {
    // SAFETY: a system call without preconditions.
    let is_own = process == 0 || process == unsafe { libc::getpid() };
    if !of_program() || !is_own {
        return real!(prlimit(process, what, new, old):
            fn(libc::pid_t, c_uint, *const rlimit, *mut rlimit) -> c_int);
    }
    let call = call();
    objects::process(&objects::LIMITS, !new.is_null(), call);
    let Some(now) = limit_of(what) else { return with_errno(libc::EINVAL) };
    let mut done = 0;
    if !new.is_null() {
        crate::access::access(new as usize, size_of::<rlimit>(), false, call);
        // SAFETY: the program hands in a limit.
        done = set_limit(what, unsafe { *new }, call);
    }
    if done == 0 && !old.is_null() {
        crate::access::access(old as usize, size_of::<rlimit>(), true, call);
        // SAFETY: the program hands in a place for a limit.
        unsafe { old.write(now) };
    }
    done
}

/// Closes descriptors of the program from `first` to `last`.
fn close_from(first: c_int, last: c_int, call: Call) {
    for fd in first.max(0)..=last.min(FIRST_OWN - 1) {
        // Those that the process was started with stay open: the next execution needs them too.
        if crate::files::is_open(fd) && !crate::files::was_open_before(fd) {
            crate::pipes::close_for(fd, call);
        }
    }
}

extern "C" fn close_all_from(first: c_int) {
    if !of_program() {
        return real!(closefrom(first): fn(c_int) -> ());
    }
    close_from(first, c_int::MAX, call());
}

extern "C" fn close_between(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    if !of_program() {
        return real!(close_range(first, last, flags): fn(c_uint, c_uint, c_int) -> c_int);
    }
    let call = call();
    if first > last {
        return with_errno(libc::EINVAL);
    }
    if flags != 0 {
        crate::sync::not_modelled("`close_range` with flags", call);
    }
    let small = |n: c_uint| c_int::try_from(n).unwrap_or(c_int::MAX);
    close_from(small(first), small(last), call);
    0
}

extern "C" fn control_process(command: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    if !of_program() {
        return real!(prctl(command, a, b, c, d): fn(c_int, usize, usize, usize, usize) -> c_int);
    }
    let call = call();
    match command {
        libc::PR_SET_NAME => {
            library::accesses::before(library::accesses::s(a), call);
            objects::process(&objects::NAMES, true, call);
            crate::attributes::name_self(a as *const c_char);
            0
        }
        libc::PR_GET_NAME => {
            objects::process(&objects::NAMES, false, call);
            let (start, bytes) = crate::attributes::own_name();
            crate::access::access(a, bytes, true, call);
            // SAFETY: the program hands in room for 16 bytes, and a name has at most so many.
            unsafe { std::ptr::copy_nonoverlapping(start.as_ptr(), a as *mut u8, bytes) };
            0
        }
        libc::PR_GET_DUMPABLE
        | libc::PR_GET_PDEATHSIG
        | libc::PR_GET_KEEPCAPS
        | libc::PR_GET_NO_NEW_PRIVS => {
            real!(prctl(command, a, b, c, d): fn(c_int, usize, usize, usize, usize) -> c_int)
        }
        other => {
            let what = format!("prctl({other}, ...)");
            crate::process::unsupported_at(&what, "it would change the process that raddle runs in", call)
        }
    }
}

/// Makes something with a name that is not taken; `make` makes it at that name, and says -1 with `EEXIST` if it is taken.
fn temporary(name: *mut c_char, suffix: c_int, call: Call, make: impl Fn(*const c_char) -> c_int) -> c_int {
    const PLACES: usize = 6;
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let length = crate::strings::extent(name, usize::MAX) - 1;
    let Some(at) = length.checked_sub(suffix.max(0) as usize + PLACES) else {
        return with_errno(libc::EINVAL);
    };
    library::accesses::before(library::accesses::r(name as usize, length + 1), call);
    // SAFETY: the program hands in a string of this length.
    let places = unsafe { std::slice::from_raw_parts_mut(name.cast::<u8>().add(at), PLACES) };
    if places != b"XXXXXX" {
        return with_errno(libc::EINVAL);
    }
    library::accesses::before(library::accesses::w(name as usize + at, PLACES), call);
    let me = runtime::current().index();
    loop {
        let count = &mut own().temporary[me];
        let mut n = *count as usize * explore::MAX_THREADS + me;
        *count += 1;
        for place in places.iter_mut().rev() {
            *place = DIGITS[n % DIGITS.len()];
            n /= DIGITS.len();
        }
        let made = make(name);
        if made >= 0 || library::errno() != libc::EEXIST {
            return made;
        }
    }
}

fn temporary_file(name: *mut c_char, suffix: c_int, flags: c_int) -> c_int {
    let call = call();
    runtime::settle();
    let flags = flags & !libc::O_ACCMODE | libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
    temporary(name, suffix, call, |name| {
        library::keeping_errno(|| {
            objects::making_descriptor(call);
            restored::file(name as usize);
            library::accesses::before(library::accesses::path(library::Lookup::change(name as usize)), call);
        });
        // SAFETY: as the program called it.
        let fd = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, name, flags, 0o600) as c_int };
        if fd >= 0 {
            crate::files::opened();
            library::keeping_errno(|| objects::made_descriptor(fd, call));
        }
        fd
    })
}

extern "C" fn make_file(name: *mut c_char) -> c_int {
    if !of_program() {
        return real!(mkstemp(name): fn(*mut c_char) -> c_int);
    }
    temporary_file(name, 0, 0)
}

extern "C" fn make_file_with(name: *mut c_char, flags: c_int) -> c_int {
    if !of_program() {
        return real!(mkostemp(name, flags): fn(*mut c_char, c_int) -> c_int);
    }
    temporary_file(name, 0, flags)
}

extern "C" fn make_file_ending(name: *mut c_char, suffix: c_int) -> c_int {
    if !of_program() {
        return real!(mkstemps(name, suffix): fn(*mut c_char, c_int) -> c_int);
    }
    temporary_file(name, suffix, 0)
}

extern "C" fn make_directory(name: *mut c_char) -> *mut c_char {
    if !of_program() {
        return real!(mkdtemp(name): fn(*mut c_char) -> *mut c_char);
    }
    let call = call();
    runtime::settle();
    let made = temporary(name, 0, call, |name| {
        library::keeping_errno(|| {
            restored::directory(library::HERE, name as usize);
            library::accesses::before(library::accesses::path(library::Lookup::change(name as usize)), call);
        });
        // SAFETY: as the program called it.
        unsafe { libc::syscall(libc::SYS_mkdir, name, 0o700) as c_int }
    });
    if made == 0 { name } else { std::ptr::null_mut() }
}

export! {
    setrlimit => set_rlimit;
    setrlimit64 => set_rlimit;
    getrlimit => get_rlimit;
    getrlimit64 => get_rlimit;
    prlimit => process_limit;
    prlimit64 => process_limit;
    closefrom => close_all_from;
    close_range => close_between;
    prctl => control_process;
    mkstemp => make_file;
    mkstemp64 => make_file;
    mkostemp => make_file_with;
    mkostemp64 => make_file_with;
    mkstemps => make_file_ending;
    mkstemps64 => make_file_ending;
    mkdtemp => make_directory;
}
