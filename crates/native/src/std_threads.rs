//! The operations of Rust's std inside when threads start, are scoped, and end.
//!
//! Programs cannot observe most of them, and each would be a step that conflicts with the same step of another thread. So they are either
//! not steps, or steps that commute:
//!
//! - *The key of the guard* that runs destructors of thread-locals. The first thread that needs the guard makes the key. Here every
//!   operation on this key is no step.
//! - *Numbers of threads* (`ThreadId`). Threads draw them from one counter. Here each thread draws from a range of its own, so a number
//!   depends on the past of its thread alone. A program that prints a number can tell: that is a caveat.
//! - *Counts of references* to the data of a `Thread` and of a scope. The thread that drops the last reference frees memory, and nothing
//!   else. Here the counts are no steps, and the memory lives until the execution ends (`drop_slow` does nothing), so no
//!   operation depends on the order of the drops.
//! - *The count of running threads of a scope.* Its decrements commute, and only `scope` reads it, in a loop that ends at 0. Here the
//!   threads are senders of a channel, and the loop is a receive that waits until no sender is left. A scope still ends before
//!   thread-locals of its threads are destroyed. The last decrement does not unpark the thread of the scope: the token that it may leave
//!   behind makes a later `park` return at once, and `park` may also return spuriously.
//!
//! The reference count of a thread's result stays a step, because the thread that drops it last runs the destructor of the result.
//!
//! Functions are found by name. The offsets in a scope's data are compared with the code of std. A std that differs is explored as it is.

use crate::functions::{self, Symbol};
use crate::shim::{self, call, export};
use crate::std_locks::{self, is_named};
use crate::sync::On;
use explore::{OpKind, ThreadId};
use runtime::Class;

type Range = (usize, usize);

/// The internals of std in this program.
struct Found {
    /// The functions that make the key of the guard.
    guards: Vec<Range>,
    /// `Thread::new`.
    makers: Vec<Range>,
    /// The functions that print a scope.
    scope_printers: Vec<Range>,
    /// The counter of `ThreadId`.
    counter: usize,
    /// The `ThreadId` of the thread that runs `main`, and the same in its thread-local storage, as an offset from the end.
    main: usize,
    own_id: usize,
}

static mut FOUND: Found = Found {
    guards: Vec::new(),
    makers: Vec::new(),
    scope_printers: Vec::new(),
    counter: 0,
    main: 0,
    own_id: 0,
};

fn found() -> &'static Found {
    // SAFETY: set before the first execution.
    unsafe { &*(&raw const FOUND) }
}

fn contains(ranges: &[Range], at: usize) -> bool {
    ranges.iter().any(|(a, b)| (*a..*b).contains(&at))
}

/// Whether a call comes from the function that makes the key of the guard.
pub(crate) fn is_guard(site: usize) -> bool {
    contains(&found().guards, site)
}

/// How many numbers of threads each thread has drawn.
static mut IDS: [u64; explore::MAX_THREADS] = [0; explore::MAX_THREADS];

/// Numbers that a thread can draw.
const RANGE: u32 = 32;

/// A thread starts.
#[inline]
pub(crate) fn fresh(t: ThreadId) {
    // SAFETY: one OS thread alone runs code of the program.
    unsafe { IDS[t.index()] = 0 };
}

/// Sets the counter of `ThreadId`, if that is what a thread is about to read. A compare-exchange follows, and nothing comes between.
#[cold]
pub(crate) fn before_quiet_load(address: usize) {
    if !runtime::in_execution() || address != found().counter {
        return;
    }
    let t = runtime::current().index();
    // SAFETY: as above; the counter is a static variable of std.
    unsafe {
        OTHERS_DRAW |= t != 0;
        (address as *mut u64).write((t as u64) << RANGE | IDS[t]);
        IDS[t] += 1;
    }
}

/// Whether a thread other than the first has drawn a number, in any execution: the numbers depend on who is first then.
static mut OTHERS_DRAW: bool = false;
/// Whether a number was printed, in any execution.
static mut PRINTED: bool = false;
/// The functions that print one, until the first call of any of them.
static mut PRINTERS: Vec<std_locks::Watched> = Vec::new();

/// Whether the program has seen numbers of threads that depend on the schedule.
pub(crate) fn numbers_are_seen() -> bool {
    // SAFETY: no thread of the program runs.
    unsafe { OTHERS_DRAW && PRINTED }
}

/// A number is about to be printed. The functions are as they were from now on.
extern "C" fn printed() {
    // SAFETY: one OS thread alone runs code of the program, and it is in none of these functions: the one at hand begins afterwards.
    unsafe {
        PRINTED = true;
        (*(&raw mut PRINTERS)).drain(..).for_each(|function| function.put_back());
    }
}

/// Where a function begins that prints a number: the call there has put the address behind it on the stack. The function is called again,
/// with the same arguments.
#[unsafe(naked)]
unsafe extern "C" fn prints() {
    std::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "call {printed}",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "pop rax",
        "sub rax, {jump}",
        "jmp rax",
        printed = sym printed,
        jump = const std_locks::JUMP,
    )
}

/// The counts that are not steps: two words at each of these addresses, and the lowest and highest of them.
static mut COUNTS: (Vec<usize>, usize, usize) = (Vec::new(), usize::MAX, 0);
/// The counts of running threads, one for each scope.
static mut SCOPES: Vec<usize> = Vec::new();

const WORDS: usize = 16;

/// An execution starts.
pub(crate) fn begin() {
    // SAFETY: no thread of the program runs.
    unsafe {
        let counts = &mut *(&raw mut COUNTS);
        counts.0.clear();
        (counts.1, counts.2) = (usize::MAX, 0);
        (*(&raw mut SCOPES)).clear();
    }
}

fn hide(count: usize) {
    // SAFETY: one OS thread alone runs code of the program.
    let counts = unsafe { &mut *(&raw mut COUNTS) };
    if !counts.0.contains(&count) {
        counts.0.push(count);
        counts.1 = counts.1.min(count);
        counts.2 = counts.2.max(count + WORDS);
    }
}

/// Whether an address is in a count that is not a step.
#[inline]
pub(crate) fn is_count(address: usize) -> bool {
    // SAFETY: one OS thread alone runs code of the program.
    let (all, start, end) = unsafe { &*(&raw const COUNTS) };
    address >= *start && address < *end && all.iter().any(|a| (*a..*a + WORDS).contains(&address))
}

/// A function has allocated a block.
#[inline]
pub(crate) fn allocated(site: usize, block: usize) {
    let makers = &found().makers;
    if !makers.is_empty() && block != 0 && contains(makers, site) && runtime::in_execution() {
        hide(block);
    }
}

/// Where the counts of a reference-counted value lie, from the value.
const BEFORE_VALUE: usize = 16;
/// Where the count of running threads lies in the data of a scope, and where it is noted that a thread panicked.
const RUNNING: usize = 8;
const PANICKED: usize = 16;

fn threads_of(count: usize) -> On {
    On::new(count, Class::Channel)
}

/// A thread of a scope is about to be made.
extern "C" fn scope_adds(data: usize) {
    let call = call();
    let count = data + RUNNING;
    hide(data - BEFORE_VALUE);
    // SAFETY: one OS thread alone runs code of the program.
    let scopes = unsafe { &mut *(&raw mut SCOPES) };
    if !scopes.contains(&count) {
        scopes.push(count);
    }
    threads_of(count).step(OpKind::AddSender, call);
}

/// A thread of a scope has ended, but for its thread-locals.
extern "C" fn scope_drops(data: usize, panicked: usize) {
    let call = call();
    if panicked & 1 != 0 {
        // SAFETY: this is where std notes it; nobody reads it before all threads have come here.
        unsafe { ((data + PANICKED) as *mut u8).write(1) };
    }
    threads_of(data + RUNNING).step(OpKind::DropSender, call);
}

/// The count of threads of a scope, if that is what a thread reads: `scope` waits until there are none, and `Debug` only looks.
#[inline]
pub(crate) fn threads_in_scope(address: usize) -> Option<u64> {
    // SAFETY: one OS thread alone runs code of the program.
    let scopes = unsafe { &*(&raw const SCOPES) };
    if scopes.is_empty() || !scopes.contains(&address) {
        return None;
    }
    let looks = contains(&found().scope_printers, shim::return_address());
    if looks {
        // A look that finds no message is ordered with each thread that comes or goes.
        let threads = threads_of(address);
        threads.step(OpKind::TryRecv, call());
        return Some(explore::semantics::Channel::unpack(threads.word()).senders);
    }
    threads_of(address).step(OpKind::Recv, call());
    Some(0)
}

/// What an object is called in reports, by its address.
pub(crate) fn name_of(address: usize) -> Option<String> {
    // SAFETY: one OS thread alone runs code of the program.
    unsafe { &*(&raw const SCOPES) }.contains(&address).then(|| "the threads of a scope".to_owned())
}

extern "C" fn keep(_count: usize) {}

export! {
    raddle_std_scope_adds => scope_adds;
    raddle_std_scope_drops => scope_drops;
    raddle_std_keep => keep;
}

/// Whether a function's code has these bytes.
fn has(range: Range, bytes: &[u8]) -> bool {
    // SAFETY: a function of the program lies there.
    let code = unsafe { std::slice::from_raw_parts(range.0 as *const u8, range.1 - range.0) };
    code.windows(bytes.len()).any(|w| w == bytes)
}

/// Finds these functions in the program, before the first execution. `known`: this std has been looked at.
pub(crate) fn prepare(known: bool) {
    let base = functions::base();
    let (mut makers, mut adds, mut drops) = (Vec::new(), Vec::new(), Vec::new());
    let (mut of_threads, mut of_scopes, mut printers) = (Vec::new(), Vec::new(), Vec::new());
    // SAFETY: nothing else runs yet.
    let found = unsafe { &mut *(&raw mut FOUND) };
    functions::each(|Symbol { name, address, size, is_variable }| {
        let Ok(name) = std::str::from_utf8(name) else { return };
        let range = (base + address, base + address + size);
        if is_variable {
            if name.contains("3std6thread") && name.ends_with("8ThreadId3new7COUNTER") {
                found.counter = range.0;
            } else if name.contains("3std6thread11main_thread4MAIN") && size == 8 {
                found.main = range.0;
            }
            return;
        }
        // Both ways of mangling.
        if name.contains("6scoped") && name.contains("5ScopeNt") && name.contains("3fmt5Debug3fmt")
            || name.contains("thread..scoped..Scope$u20$as$u20$core..fmt..Debug")
        {
            found.scope_printers.push(range);
        }
        let prints = name.contains("8ThreadIdNt") && name.contains("3fmt5Debug3fmt")
            || name.contains("thread..id..ThreadId$u20$as$u20$core..fmt..Debug");
        if prints && known && std_locks::is_long_enough(range) {
            printers.push(range);
            return;
        }
        let slow = name.contains("9drop_slow") && name.contains("4sync") && name.contains("3std6thread");
        if is_named(name, "12thread_local5guard3key", "6enable") {
            found.guards.push(range);
        } else if is_named(name, "3std6thread", "6Thread3new") {
            makers.push(range);
        } else if is_named(name, "3std6thread6scoped", "29increment_num_running_threads") {
            adds.push(range);
        } else if is_named(name, "3std6thread6scoped", "29decrement_num_running_threads") {
            drops.push(range);
        } else if slow && name.contains("5Inner") {
            of_threads.push(range);
        } else if slow && name.contains("9ScopeData") {
            of_scopes.push(range);
        }
    });
    if !known {
        return;
    }
    // SAFETY: nothing else runs yet.
    unsafe { PRINTERS = printers.into_iter().map(|r: Range| std_locks::watch(r.0, prints)).collect() };
    found.own_id = functions::own_variable("3std6thread7current2id2ID").unwrap_or(0);
    let keeps = |all: &[Range]| !all.is_empty() && all.iter().all(|r| std_locks::is_long_enough(*r));
    let replace = |all: &[Range], by| all.iter().for_each(|r| std_locks::replace_whole(*r, by));
    if keeps(&of_threads) {
        replace(&of_threads, raddle_std_keep);
        found.makers = makers;
    }
    // `add rdi, RUNNING`; `lea rdi, [rbx + RUNNING]` and `lea rdi, [rbx + PANICKED]`.
    let as_known = adds.iter().all(|r| has(*r, &[0x48, 0x83, 0xc7, RUNNING as u8]))
        && drops
            .iter()
            .all(|r| [RUNNING, PANICKED].iter().all(|offset| has(*r, &[0x48, 0x8d, 0x7b, *offset as u8])));
    if as_known && keeps(&of_scopes) && keeps(&adds) && keeps(&drops) {
        replace(&of_scopes, raddle_std_keep);
        replace(&adds, raddle_std_scope_adds);
        replace(&drops, raddle_std_scope_drops);
    }
}

/// Makes the running thread the main thread of std, as the start of a Rust program does: its name is `main`.
pub(crate) fn name_main(fs: usize) {
    let Found { main, own_id, counter, .. } = *found();
    if main == 0 || own_id == 0 || counter == 0 {
        return;
    }
    // SAFETY: these are variables of std, and the thread has not used them.
    unsafe {
        let id = IDS[0] + 1;
        IDS[0] = id;
        (main as *mut u64).write(id);
        ((fs - own_id) as *mut u64).write(id);
    }
}
