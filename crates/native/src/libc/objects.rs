//! State inside the library that threads share.
//!
//! *Unlocked* state (the position of `strtok`, the buffer of `localtime`, the environment) is checked for races, as a variable of
//! the program is. *Locked* state (a stream, the offset and the contents of an open file) has no races. What a thread finds there may
//! depend on what others did, so a use is a step; but only where two threads use the same object in ways that do not commute.
//! That is learned, and the search starts again.

use crate::options::{Races, options};
use crate::shim::Call;
use crate::table;
use explore::{FailureKind, MemoryOrder, OpKind, ThreadId};
use runtime::{Class, Request, Touching};
use std::collections::HashMap;

/// Unlocked state.
pub(crate) struct Hidden {
    name: &'static str,
    /// Its address is what the object is known by.
    place: [u8; 16],
}

macro_rules! hidden {
    ($($object:ident $name:literal;)*) => {
        $(pub(crate) static $object: Hidden = Hidden { name: $name, place: [0; 16] };)*
        static HIDDEN: &[&Hidden] = &[$(&$object),*];
    };
}

hidden! {
    STRTOK "the position of `strtok`";
    ENV "the environment";
    LOCALE "the locale";
    PASSWORDS "the result of `getpwnam`, `getpwuid` or `getpwent`";
    GROUP "the result of `getgrnam`, `getgrgid` or `getgrent`";
    SHADOW "the result of `getspnam` or `getspent`";
    GROUP_SHADOW "the result of `getsgnam` or `getsgent`";
    HOSTS "the result of `gethostbyname`, `gethostbyaddr` or `gethostent`";
    NETWORKS "the result of `getnetbyname`, `getnetbyaddr` or `getnetent`";
    SERVICES "the result of `getservbyname`, `getservbyport` or `getservent`";
    PROTOCOLS "the result of `getprotobyname`, `getprotobynumber` or `getprotoent`";
    CALLS "the result of `getrpcbyname`, `getrpcbynumber` or `getrpcent`";
    MAIL "the result of `getaliasbyname` or `getaliasent`";
    NETGROUPS "the position of `getnetgrent`";
    LOGIN "the buffer of `getlogin`";
    LOGINS "the position and the result of `getutent`, `getutid` or `getutline`";
    MOUNTS "the result of `getmntent`";
    FILE_SYSTEMS "the result of `getfsent`, `getfsspec` or `getfsfile`";
    TERMINALS "the result of `getttyent` or `getttynam`";
    TEXT_DOMAIN "the text domain of `gettext`";
    STRERROR "the buffer of `strerror`";
    STRSIGNAL "the buffer of `strsignal`";
    TTYNAME "the buffer of a terminal function";
    TMPNAM "the buffer of `tmpnam`";
    MULTIBYTE "the hidden state of a multibyte conversion";
    HASH "the table of `hsearch`";
    DIGITS "the buffer of `ecvt` or `fcvt`";
    LONG_DIGITS "the buffer of `qecvt` or `qfcvt`";
    BASE64 "the buffer of `l64a`";
    CRYPT "the buffer of `crypt`";
    OPTIONS "the state of `getopt`";
    DRAND48 "the state of `drand48`";
    DRAND48_PARAMETERS "the parameters of `drand48` and `erand48`";
    SYSLOG "the state of `syslog`";
}

/// State of the process that the kernel or a lock keeps consistent: no races, but what one thread does is observed by others.
///
/// An access is a step only if the search has seen a conflicting access that happens-before does not order. Such a step orders
/// nothing in the program.
pub(crate) struct Process {
    name: &'static str,
    index: usize,
    /// The object of the steps, and the one that unordered accesses are found with.
    place: [u64; 2],
}

macro_rules! process {
    ($($object:ident $index:literal $name:literal;)*) => {
        $(pub(crate) static $object: Process = Process { name: $name, index: $index, place: [0; 2] };)*
        static PROCESS: &[&Process] = &[$(&$object),*];
    };
}

process! {
    DIRECTORY 0 "the working directory";
    MASK 1 "the file mode mask";
    LIMITS 2 "the resource limits";
    PRIORITY 3 "the priority of the process";
    USERS 4 "the user and group numbers of the process";
    SCHEDULING 5 "the scheduling parameters and processors of threads";
    NAMES 6 "the names of threads";
    KEYS 7 "the numbers of thread-specific keys";
    DESCRIPTORS 8 "the numbers of descriptors";
    EXIT 9 "the list of functions to call at exit";
    HOST 11 "the name of the host";
    GROUPS 12 "the process group and session";
    SHELLS 13 "the list of shells";
    HANDLERS 14 "the handlers and the global locale of the C++ library";
    CONCURRENCY 15 "the level of `pthread_setconcurrency`";
}

/// By the index of a [`Process`]: whether its accesses are steps. Shared by processes where executions have their own.
struct Steps {
    of: [bool; 16],
    /// Descriptors that a thread uses while another one may open or close them: each use is a step.
    watched: [bool; WATCHED],
}

/// The numbers of descriptors that can be watched.
const WATCHED: usize = 1024;

static mut STEPS: *mut Steps = std::ptr::null_mut();

fn steps() -> &'static mut Steps {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step; `prepare` was called before.
    unsafe { &mut *STEPS }
}

/// An access of state of the process.
pub(crate) fn process(object: &'static Process, write: bool, call: Call) {
    if !runtime::in_execution() {
        return;
    }
    runtime::settle();
    if steps().of[object.index] {
        let on = crate::sync::On::new(&raw const object.place[0] as usize, Class::Once);
        runtime::hush(&on.entry().handle, on.class, call.place);
        // The value says how often it was written, so that no two writes seem to be the same.
        let (kind, a) = if write { (OpKind::Store, on.word() + 1) } else { (OpKind::Load, 0) };
        on.step_with(kind, a, 0, MemoryOrder::Relaxed, call);
    } else if is_unordered(&raw const object.place[1] as usize, write, call) {
        steps().of[object.index] = true;
        runtime::restart_soon();
    }
}

/// Notes an access; says whether a conflicting one is unordered with it.
fn is_unordered(place: usize, write: bool, call: Call) -> bool {
    let how = Touching { write, atomic: false, elsewhere: false };
    runtime::touch(&table::sync(place).handle, how, call.place).is_some()
}

/// The places that stand for numbers of descriptors.
static NUMBERS: [u64; WATCHED] = [0; WATCHED];

fn number(fd: i32) -> Option<usize> {
    usize::try_from(fd).ok().filter(|n| *n < WATCHED)
}

/// Notes what is done with a number of a descriptor.
fn watch(n: usize, write: bool, call: Call) {
    if !steps().watched[n] && is_unordered(&raw const NUMBERS[n] as usize, write, call) {
        steps().watched[n] = true;
        steps().of[DESCRIPTORS.index] = true;
        runtime::restart_soon();
    }
}

/// A descriptor is about to be made: it gets the lowest number that is free.
pub(crate) fn making_descriptor(call: Call) {
    process(&DESCRIPTORS, true, call);
}

/// A descriptor was made.
pub(crate) fn made_descriptor(fd: i32, call: Call) {
    if let Some(n) = number(fd).filter(|_| runtime::in_execution()) {
        watch(n, true, call);
    }
}

/// A descriptor is about to be closed. The order of two calls does not matter, unless a thread uses one of the numbers meanwhile.
pub(crate) fn closing_descriptor(fd: i32, call: Call) {
    crate::files::note_changed(fd);
    if let Some(n) = number(fd).filter(|_| runtime::in_execution()) {
        runtime::settle();
        watch(n, true, call);
        process(&DESCRIPTORS, steps().watched[n], call);
    }
}

/// A descriptor is used. It may be closed, or another one than the thread expects.
pub(crate) fn used_descriptor(fd: i32, is_open: impl FnOnce() -> bool, call: Call) {
    if let Some(n) = number(fd).filter(|_| runtime::in_execution()) {
        runtime::settle();
        watch(n, false, call);
        if steps().watched[n] || !is_open() {
            process(&DESCRIPTORS, false, call);
        }
    }
}

/// An access of unlocked state.
pub(crate) fn unlocked(object: &'static Hidden, write: bool, call: Call) {
    let entry = table::sync(object.place.as_ptr() as usize);
    match options().races {
        Races::Ignore => {}
        Races::Sync => step(&entry.handle, write, call),
        Races::Report => race_if(&entry.handle, write, call),
    }
}

/// Reports a race of a plain access on an object.
fn race_if(handle: &'static runtime::Handle, write: bool, call: Call) {
    runtime::settle();
    let how = Touching { write, atomic: false, elsewhere: true };
    if let Some(race) = runtime::touch(handle, how, call.place) {
        runtime::fail(FailureKind::DataRace, race, call.place);
    }
}

fn step(handle: &'static runtime::Handle, write: bool, call: Call) {
    let kind = if write { OpKind::Rmw } else { OpKind::Load };
    let a = if write { runtime::peek(handle).unwrap_or(0) + 1 } else { 0 };
    let order = if write { MemoryOrder::AcqRel } else { MemoryOrder::Acquire };
    let request =
        Request { kind, object: handle, class: Class::Atomic, initial: 0, a, b: 0, order, place: call.place };
    runtime::step_in(&request, call.state);
}

/// How a function uses locked state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Adds something that the caller learns nothing of: any order of these is the same.
    Append,
    /// Looks at it.
    Look,
    /// Changes it, and the result depends on what it was.
    Change,
}

/// How conflicting uses of an object are found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finding {
    /// Two threads use it, ordered or not: the order of two uses that commute is observed by a third one.
    ByThread,
    /// Happens-before does not order the uses.
    Unordered,
    /// As [`Finding::Unordered`], for objects on which [`Use::Append`] commutes even for later observers.
    UnorderedSet,
}

/// One object that an operation uses.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) key: usize,
    pub(crate) how: Use,
    pub(crate) finding: Finding,
}

/// What is known of one locked object.
struct Known {
    name: String,
    /// The execution that the uses below belong to.
    execution: u64,
    /// For each use, by which thread, and whether by others too.
    uses: [Option<(ThreadId, bool)>; 3],
    /// Uses are steps.
    steps: bool,
    /// The object that stands for this one, because some operation uses both in one step.
    with: usize,
    /// Some function uses it without its lock, or holds the lock over several calls.
    exposed: bool,
    /// Who holds the lock of a stream, and how often.
    held: Option<(ThreadId, u32)>,
}

/// The locked objects by their keys. Allocated, so that processes share it where executions have their own.
#[derive(Default)]
struct Locked {
    known: HashMap<usize, Known>,
    /// Places that stand for files, by device and number.
    files: HashMap<(u64, u64), usize>,
    /// How often the use of files by several threads has made the search start again.
    learned: usize,
    /// Each use of a file is a step on this object.
    one: Option<usize>,
}

/// Names that differ in each execution teach nothing: after so many restarts all files are one object.
const MOST_LEARNED: usize = 64;

static mut LOCKED: *mut Locked = std::ptr::null_mut();

/// Called before the first execution.
pub(crate) fn prepare() {
    // SAFETY: nothing else runs yet.
    unsafe {
        LOCKED = Box::leak(Box::default());
        STEPS = Box::leak(Box::new(Steps { of: [false; 16], watched: [false; WATCHED] }));
    }
}

fn locked() -> &'static mut Locked {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step; `prepare` was called before.
    unsafe { &mut *LOCKED }
}

fn known(key: usize, name: impl FnOnce() -> String) -> &'static mut Known {
    let execution = crate::threads::execution();
    let known = locked().known.entry(key).or_insert_with(|| Known {
        name: name(),
        execution,
        uses: [None; 3],
        steps: false,
        with: key,
        exposed: false,
        held: None,
    });
    if known.execution != execution {
        known.execution = execution;
        known.uses = [None; 3];
        known.held = None;
    }
    known
}

/// A number that stands for a file, in place of an address.
pub(crate) fn key_of_file(device: u64, number: u64) -> usize {
    *locked()
        .files
        .entry((device, number))
        .or_insert_with(|| Box::leak(Box::new([0u64; 2])).as_ptr() as usize)
}

/// The name of a hidden object, for reports.
pub(crate) fn name_of(address: usize) -> Option<String> {
    let hidden = HIDDEN.iter().find(|h| h.place.as_ptr() as usize == address);
    if let Some(hidden) = hidden {
        return Some(hidden.name.to_owned());
    }
    let process = PROCESS.iter().find(|p| p.place.as_ptr_range().contains(&(address as *const u64)));
    if let Some(process) = process {
        return Some(process.name.to_owned());
    }
    // SAFETY: as in `locked`.
    unsafe { LOCKED.as_ref() }.and_then(|l| l.known.get(&address)).map(|k| k.name.clone())
}

/// Notes a use of a thread; says whether other threads have used the object in a conflicting way.
fn is_used_by_others(known: &mut Known, how: Use) -> bool {
    let me = runtime::current();
    let by_others = |of: Use| known.uses[of as usize].is_some_and(|(t, more)| more || t != me);
    let conflict = match how {
        Use::Append => by_others(Use::Look) || by_others(Use::Change),
        Use::Look => by_others(Use::Append) || by_others(Use::Change),
        Use::Change => by_others(Use::Append) || by_others(Use::Look) || by_others(Use::Change),
    };
    let mine = &mut known.uses[how as usize];
    *mine = Some(mine.map_or((me, false), |(t, more)| (t, more || t != me)));
    conflict
}

/// The object that stands for all that are used together with this one.
fn representative(mut key: usize) -> usize {
    while let Some(known) = locked().known.get(&key).filter(|k| k.with != key) {
        key = known.with;
    }
    key
}

/// Gives an object a name, if it has none.
pub(crate) fn name(key: usize, name: impl FnOnce() -> String) {
    known(key, name);
}

/// An operation that uses several objects at once: one step, on the object that stands for those whose uses are steps. Says whether
/// it was a step.
pub(crate) fn together(parts: &[Part], call: Call) -> bool {
    if parts.is_empty() {
        return false;
    }
    runtime::settle();
    if let Some(all) = locked().one {
        step(&table::sync(all).handle, true, call);
        return true;
    }
    let (mut on, mut write, mut learned) = (None, false, false);
    for part in parts {
        let known = known(part.key, String::new);
        let conflict = match part.finding {
            Finding::ByThread => is_used_by_others(known, part.how),
            Finding::Unordered => is_unordered(part.key + 8, part.how != Use::Look, call),
            // Two uses that look are taken for a conflict here. That makes them steps, which do not conflict.
            Finding::UnorderedSet => is_unordered(part.key + 8, part.how != Use::Append, call),
        };
        if conflict && !known.steps {
            known.steps = true;
            learned = true;
        }
        if known.steps {
            let mine = representative(part.key);
            let first = *on.get_or_insert(mine);
            if first != mine {
                self::known(mine, String::new).with = first;
                learned = true;
            }
            write |= part.how != Use::Look;
        }
    }
    if learned {
        locked().learned += 1;
        if locked().learned > MOST_LEARNED {
            locked().one = Some(key_of_file(u64::MAX, u64::MAX));
            known(key_of_file(u64::MAX, u64::MAX), || "the files".to_owned());
        }
        runtime::restart_soon();
    }
    if let Some(key) = on {
        step(&table::sync(key).handle, write, call);
    }
    on.is_some()
}

/// Notes uses that come too late to be a step: if one conflicts, the search starts again with steps.
pub(crate) fn noted<'a>(parts: impl Iterator<Item = &'a Part>, call: Call) {
    for part in parts {
        let known = known(part.key, String::new);
        let unordered = match part.finding {
            Finding::ByThread => is_used_by_others(known, part.how),
            _ => is_unordered(part.key + 8, part.how != Use::Look, call),
        };
        if unordered && !known.steps {
            known.steps = true;
            runtime::restart_soon();
        }
    }
}

/// A use of locked state that accesses memory of the program while the lock is held.
pub(crate) fn used_with(
    key: usize,
    how: Use,
    name: impl FnOnce() -> String,
    call: Call,
    inside: impl FnOnce(),
) {
    let known = known(key, name);
    let me = runtime::current();
    let conflict = is_used_by_others(known, how);
    if conflict && !known.steps {
        known.steps = true;
        runtime::restart_soon();
    }
    let (steps, exposed, held) = (known.steps, known.exposed, known.held);
    if exposed {
        let mine = held.is_some_and(|h| h.0 == me);
        if !mine {
            lock_step(key, OpKind::Lock, call);
        }
        if options().races == Races::Report {
            race_if(&table::sync(key).handle, how != Use::Look, call);
        }
        inside();
        if !mine {
            lock_step(key, OpKind::Unlock, call);
        }
    } else {
        if steps {
            step(&table::sync(key).handle, how != Use::Look, call);
        }
        inside();
    }
}

fn lock_step(key: usize, kind: OpKind, call: Call) {
    let on = crate::sync::On::new(key + 4, Class::Mutex);
    on.step(kind, call);
}

fn expose(known: &mut Known) {
    if !known.exposed {
        known.exposed = true;
        runtime::restart_soon();
    }
}

/// Each use of a stream takes its lock from now on: the lock protects memory of the program.
pub(crate) fn protects_memory(key: usize, name: impl FnOnce() -> String) {
    expose(known(key, name));
}

/// A use of a stream without its lock.
pub(crate) fn used_unlocked(key: usize, name: impl FnOnce() -> String, call: Call) {
    expose(known(key, name));
    match options().races {
        Races::Report => race_if(&table::sync(key).handle, true, call),
        Races::Sync => step(&table::sync(key).handle, true, call),
        Races::Ignore => {}
    }
}

/// `flockfile`, or `ftrylockfile`; says whether the calling thread has the lock now.
pub(crate) fn lock(key: usize, wait: bool, name: impl FnOnce() -> String, call: Call) -> bool {
    let me = runtime::current();
    let object = known(key, name);
    expose(object);
    if let Some((owner, depth)) = &mut object.held
        && *owner == me
    {
        *depth += 1;
        return true;
    }
    let on = crate::sync::On::new(key + 4, Class::Mutex);
    let done = on.step(if wait { OpKind::Lock } else { OpKind::TryLock }, call);
    if done.ok {
        known(key, String::new).held = Some((me, 1));
    }
    done.ok
}

/// `funlockfile`.
pub(crate) fn unlock(key: usize, call: Call) {
    let object = known(key, String::new);
    match &mut object.held {
        Some((_, depth)) if *depth > 1 => *depth -= 1,
        Some(_) => {
            object.held = None;
            lock_step(key, OpKind::Unlock, call);
        }
        None => {}
    }
}
