//! Rust's own locks where they are contended, and the pauses of loops that spin.
//!
//! std looks a hundred times at a lock before it waits for it, and each look could be the one that finds it free; parking_lot and
//! crossbeam pause a few times, in growing steps. Such a loop ends by itself, so it is no loop that waits, and each turn of it would be
//! explored. So these functions are replaced: the ones that take a contended lock by ones that wait at once, the pauses by a yield
//! that has come to its last step already.
//!
//! Nothing is lost by that. A look changes nothing, and what is done after it is decided by what it found last: a thread that found
//! the lock taken and waits, or found it free and takes it, does here what it does there. How often a thread pauses before it does
//! something else is no promise to anybody. Two things are left out besides: the waiting threads of `Mutex` do not write down that
//! somebody waits, and nobody sleeps in the kernel, as the search knows who can go on. That a writer waits for an `RwLock` is written
//! down, because others can tell: new readers are held up then.
//!
//! The functions are found in the symbol table, and a jump is written over their first bytes. What has other names, or was inlined, is
//! explored as it stands: that costs executions, and misses nothing. The command says (`RADDLE_STD_LOCKS=1`) whether this std is one
//! whose locks are as here.

use crate::real::real;
use crate::shim::{Call, call, export};
use crate::{atomics, functions, names, shim, start};
use runtime::LocalState;

const ACQUIRE: i32 = 2;
const RELAXED: i32 = 0;

/// The call that has just come in, with a local state that no other call has: these functions loop inside, and what of the thread's own
/// state matters there is added to it.
fn own_call() -> Call {
    static mut CALLS: u64 = 0;
    // SAFETY: one OS thread alone runs code of the program.
    let n = unsafe {
        CALLS += 1;
        CALLS
    };
    Call { state: LocalState::number(0), ..call() }.with(n)
}

fn exchange(word: usize, old: u32, new: u32, mo: i32, call: Call) -> Result<(), u32> {
    let (found, ok) = atomics::exchange_in(word, old, new, (mo, RELAXED), false, call);
    if ok { Ok(()) } else { Err(found) }
}

/// `Mutex` is one word: 0 when it is free, 1 when it is taken.
extern "C" fn lock_mutex(word: usize) {
    let call = own_call();
    let mut found = 1;
    loop {
        atomics::wait_while_taken(word, found, true, call);
        match exchange(word, 0, 1, ACQUIRE, call) {
            Ok(()) => return,
            // Somebody was faster. To have waited all the time would have been the same.
            Err(other) if other == found => runtime::stop_repeating(call.place),
            Err(other) => found = other,
        }
    }
}

/// `RwLock` is a word with the number of readers, or this for a writer,
const WRITER: u32 = (1 << 30) - 1;
/// and with whether readers
const READERS_WAIT: u32 = 1 << 30;
/// or writers wait.
const WRITERS_WAIT: u32 = 1 << 31;

extern "C" fn lock_to_read(word: usize) {
    let call = own_call();
    let mut waited = false;
    loop {
        let call = call.with(waited.into());
        let state: u32 = atomics::load_at(word, RELAXED, call);
        let readers = state & WRITER;
        // A writer that waits comes first; but not before who has waited and finds others reading.
        let in_turn = state & WRITERS_WAIT == 0 || waited && readers > 0;
        if readers < WRITER - 1 && state & READERS_WAIT == 0 && in_turn {
            if exchange(word, state, state + 1, ACQUIRE, call).is_ok() {
                return;
            }
        } else if state & READERS_WAIT != 0 {
            atomics::wait_while_taken(word, state, false, call);
            waited = true;
        } else {
            let _ = exchange(word, state, state | READERS_WAIT, RELAXED, call);
        }
    }
}

extern "C" fn lock_to_write(word: usize) {
    let call = own_call();
    // Whoever was seen to wait may still do so when this one gets the lock.
    let mut others = 0;
    loop {
        let call = call.with(others.into());
        let state: u32 = atomics::load_at(word, RELAXED, call);
        if state & WRITER == 0 {
            if exchange(word, state, state | WRITER | others, ACQUIRE, call).is_ok() {
                return;
            }
        } else if state & WRITERS_WAIT != 0 {
            others = WRITERS_WAIT;
            atomics::wait_while_taken(word, state, false, call);
        } else if exchange(word, state, state | WRITERS_WAIT, RELAXED, call).is_ok() {
            others = WRITERS_WAIT;
        }
    }
}

/// A pause of a loop, counted at `step` up to `last`.
fn pause(step: usize, last: Option<u32>) {
    let call = call();
    if let Some(last) = last {
        // SAFETY: the program hands in its counter, which is a local variable of the loop.
        unsafe { (step as *mut u32).write(last) };
    }
    if runtime::in_execution() {
        runtime::yield_in(call.place, call.state);
    }
}

/// std's counter is only asked how long to pause.
extern "C" fn std_pause(_step: usize) {
    pause(0, None);
}

/// crossbeam's: beyond 6 it yields,
extern "C" fn crossbeam_spin(step: usize) {
    pause(step, Some(7));
}

/// and beyond 10 it says that it is better to sleep.
extern "C" fn crossbeam_snooze(step: usize) {
    pause(step, Some(11));
}

/// parking_lot's: it has spun enough.
extern "C" fn parking_lot_spin(_step: usize) -> usize {
    0
}

export! {
    raddle_std_lock_mutex => lock_mutex;
    raddle_std_lock_to_read => lock_to_read;
    raddle_std_lock_to_write => lock_to_write;
    raddle_std_pause => std_pause;
    raddle_crossbeam_spin => crossbeam_spin;
    raddle_crossbeam_snooze => crossbeam_snooze;
    raddle_parking_lot_spin => parking_lot_spin;
    raddle_parking_lot_pause => std_pause;
}

pub(crate) type Function = unsafe extern "C" fn();

/// Parts of the names, as both ways of mangling write them, and what stands in.
const REPLACED: [(&str, &str, Function); 9] = [
    ("4sync5mutex5futex", "5Mutex14lock_contended", raddle_std_lock_mutex),
    ("4sync6rwlock5futex", "6RwLock14read_contended", raddle_std_lock_to_read),
    ("4sync6rwlock5futex", "6RwLock15write_contended", raddle_std_lock_to_write),
    ("3std4sync4mpmc5utils", "7Backoff10spin_light", raddle_std_pause),
    ("3std4sync4mpmc5utils", "7Backoff10spin_heavy", raddle_std_pause),
    ("15crossbeam_utils7backoff", "7Backoff4spin", raddle_crossbeam_spin),
    ("15crossbeam_utils7backoff", "7Backoff6snooze", raddle_crossbeam_snooze),
    ("16parking_lot_core8spinwait", "8SpinWait4spin", raddle_parking_lot_spin),
    ("16parking_lot_core8spinwait", "8SpinWait13spin_no_yield", raddle_parking_lot_pause),
];

/// Functions of std in which a thread that sleeps in the kernel goes on when a word has changed, and looks again if it was woken
/// for another reason: `park`, whose word is the thread's own, and `Once`, which wakes all. They wait for the change, in one step. It is
/// not so in `Condvar`: there it matters who is woken.
const WAITS: [(&str, &str); 3] =
    [("3std6thread", "4park"), ("4sync4once5futex", "4Once4call"), ("4sync4once5futex", "4Once4wait")];

/// Functions of std that wait for a duration. They read the clock to find its end, which the kernel wants. Here they read the time at which the
/// execution began, and the end is counted from there: so what they do does not depend on the clock, and a loop that waits with a limit is
/// in the same state in each turn.
const WITH_DURATION: [(&str, &str); 2] =
    [("4sync7condvar5futex", "7Condvar21wait_optional_timeout"), ("3std6thread", "12park_timeout")];

/// Functions of channels and of parking_lot that take a duration and wait in loops of their own until it is over. They read the clock to find the
/// end, and again in each turn. As above, the end is counted from the time at which the execution began. A later reading adds what has passed on the
/// thread's own clock since the first one. None is late: that the duration is over is one end of the wait itself, which is explored.
const WITH_DEADLINE: [(&str, &str); 10] = [
    ("3std4sync4mpmc", "12recv_timeout"),
    ("3std4sync4mpmc", "12send_timeout"),
    ("17crossbeam_channel7channel", "12recv_timeout"),
    ("17crossbeam_channel7channel", "12send_timeout"),
    ("11parking_lot", "8wait_for"),
    ("11parking_lot", "12try_lock_for"),
    ("11parking_lot", "19try_lock_shared_for"),
    ("11parking_lot", "22try_lock_exclusive_for"),
    ("11parking_lot", "23try_lock_upgradable_for"),
    ("11parking_lot", "15try_upgrade_for"),
];

/// Crates and modules whose readings of the clock, made in such a function, are about its end.
const OF_WAITS: [&str; 4] = ["3std4sync4mpmc", "17crossbeam_channel", "11parking_lot", "16parking_lot_core"];

/// Where functions lie that read the clock for the end of a wait.
#[derive(Default)]
struct Deadlines {
    /// Those of std that hand on a reading of the clock.
    clocks: Vec<(usize, usize)>,
    /// The crates and modules that wait until a time.
    waits: Vec<(usize, usize)>,
    /// Their functions that take a duration.
    entries: Vec<(usize, usize)>,
    /// And those that turn it into a time.
    starts: Vec<(usize, usize)>,
}

static mut DEADLINES: Deadlines =
    Deadlines { clocks: Vec::new(), waits: Vec::new(), entries: Vec::new(), starts: Vec::new() };

/// When each thread read the clock first in such a function.
static mut STARTED: [u64; explore::MAX_THREADS] = [0; explore::MAX_THREADS];

/// How much later than the start of the execution it is, if the clock is read for the end of a wait with a duration.
pub(crate) fn time_in_wait() -> Option<u64> {
    // SAFETY: set before the first execution.
    let deadlines = unsafe { &*(&raw const DEADLINES) };
    if deadlines.entries.is_empty() {
        return None;
    }
    let is_start = shim::undisturbed(|| {
        let frames = names::frames(runtime::current());
        let mut outside =
            frames.iter().map(|f| f.return_address).skip_while(|at| contains(&deadlines.clocks, *at));
        let reader = outside.next().filter(|at| contains(&deadlines.waits, *at))?;
        if contains(&deadlines.starts, reader) {
            return Some(true);
        }
        let inside =
            contains(&deadlines.entries, reader) || outside.any(|at| contains(&deadlines.entries, at));
        inside.then_some(false)
    })?;
    let now = runtime::clock_now();
    // SAFETY: one OS thread alone runs code of the program.
    let started = unsafe { &mut (*(&raw mut STARTED))[runtime::current().index()] };
    if is_start {
        *started = now;
    }
    Some(now.saturating_sub(*started))
}

/// Notes a function that has to do with the ends of waits.
fn note_deadline(name: &str, range: (usize, usize)) {
    // SAFETY: nothing else runs yet.
    let deadlines = unsafe { &mut *(&raw mut DEADLINES) };
    if name.contains("3std4time") || name.contains("3std3sys") && name.contains("4time") {
        deadlines.clocks.push(range);
    }
    if !OF_WAITS.iter().any(|module| name.contains(module)) {
        return;
    }
    deadlines.waits.push(range);
    if let Some(i) = WITH_DEADLINE.iter().position(|(module, function)| is_named(name, module, function)) {
        deadlines.entries.push(range);
        // Channels find the end themselves.
        if i < 4 {
            deadlines.starts.push(range);
        }
    } else if is_named(name, "11parking_lot4util", "11to_deadline") {
        deadlines.starts.push(range);
    }
}

static mut WAITING: Vec<(usize, usize)> = Vec::new();
static mut PARKS: Vec<(usize, usize)> = Vec::new();

/// Where functions lie that matter for compare-exchanges that may fail spuriously.
#[derive(Default)]
struct Weak {
    /// The functions of core that do one.
    exchanges: Vec<(usize, usize)>,
    /// All atomic operations of core.
    atomics: Vec<(usize, usize)>,
    /// All of std and alloc.
    library: Vec<(usize, usize)>,
}

static mut WEAK: Weak = Weak { exchanges: Vec::new(), atomics: Vec::new(), library: Vec::new() };

fn contains(ranges: &[(usize, usize)], at: usize) -> bool {
    ranges.iter().any(|(a, b)| (*a..*b).contains(&at))
}

/// Whether a compare-exchange at a place is one of the program's that may fail spuriously: the compiler does not say so to its hook.
/// Those of std start again when they fail.
#[inline]
pub(crate) fn is_weak_exchange(site: usize) -> bool {
    // SAFETY: set before the first execution.
    let weak = unsafe { &*(&raw const WEAK) };
    !weak.exchanges.is_empty() && is_one_of(weak, site)
}

fn is_one_of(weak: &Weak, site: usize) -> bool {
    if !contains(&weak.exchanges, site) {
        return false;
    }
    shim::undisturbed(|| {
        let frames = names::frames(runtime::current());
        let caller = frames.iter().map(|f| f.return_address).find(|at| !contains(&weak.atomics, *at));
        caller.is_none_or(|at| !contains(&weak.library, at))
    })
}

/// Whether a call comes from `park`.
pub(crate) fn parks(site: usize) -> bool {
    // SAFETY: set before the first execution.
    contains(unsafe { &*(&raw const PARKS) }, site)
}
static mut DURATIONS: Vec<(usize, usize)> = Vec::new();

/// Whether a call comes from a function that waits for a duration.
pub(crate) fn has_duration(site: usize) -> bool {
    // SAFETY: set before the first execution.
    unsafe { &*(&raw const DURATIONS) }.iter().any(|(a, b)| (*a..*b).contains(&site))
}

/// Whether the clock is read by such a function, or by what it calls for that.
pub(crate) fn asks_for_a_limit() -> bool {
    // SAFETY: set before the first execution.
    if unsafe { (*(&raw const DURATIONS)).is_empty() } {
        return false;
    }
    shim::undisturbed(|| {
        names::frames(runtime::current()).iter().take(2).any(|f| has_duration(f.return_address))
    })
}

/// Whether a call comes from one of these.
pub(crate) fn waits_for_change(site: usize) -> bool {
    // SAFETY: set before the first execution.
    unsafe { &*(&raw const WAITING) }.iter().any(|(a, b)| (*a..*b).contains(&site))
}

/// In one step: until the word differs.
pub(crate) fn wait_for_change(word: usize, value: u32, call: Call) {
    atomics::wait_while_taken(word, value, false, call);
}

/// `mov rax, FUNCTION; jmp rax`, or `call rax`.
pub(crate) const JUMP: usize = 12;

/// Whether a mangled name is that of a function of this module.
pub(crate) fn is_named(name: &str, module: &str, function: &str) -> bool {
    let mangled = name.starts_with("_R") || name.starts_with("_ZN");
    let rest = name.find(module).and_then(|_| name.split_once(function)).map(|r| r.1);
    // The name ends there, but for a hash or the crate that has this copy: what is inside the function is not meant.
    mangled
        && rest.is_some_and(|r| {
            r.is_empty() || r.starts_with("17h") || r.starts_with("Cs") || r.starts_with('B')
        })
}

/// Puts these functions in place, before the first execution.
pub(crate) fn prepare() {
    let known = std::env::var_os("RADDLE_STD_LOCKS").is_some_and(|v| v == "1");
    crate::std_threads::prepare(known);
    if !known {
        return;
    }
    let base = functions::base();
    functions::each(|symbol| {
        let Ok(name) = std::str::from_utf8(symbol.name) else { return };
        if symbol.is_variable {
            return;
        }
        let start = base + symbol.address;
        let range = (start, start + symbol.size);
        let is_of = |krate: &str| {
            name.strip_prefix("_ZN").is_some_and(|n| n.starts_with(krate))
                || name.starts_with("_R") && name.contains(&format!("_{krate}"))
        };
        // SAFETY: nothing else runs yet.
        unsafe {
            let weak = &mut *(&raw mut WEAK);
            if name.contains("4core4sync6atomic") {
                weak.atomics.push(range);
                if name.contains("28atomic_compare_exchange_weak") {
                    weak.exchanges.push(range);
                }
            } else if is_of("3std") || is_of("5alloc") {
                weak.library.push(range);
            }
            if is_named(name, WAITS[0].0, WAITS[0].1) {
                (*(&raw mut PARKS)).push(range);
            }
        }
        if WAITS.iter().any(|(module, function)| is_named(name, module, function)) {
            // SAFETY: nothing else runs yet.
            unsafe { (*(&raw mut WAITING)).push((start, start + symbol.size)) };
        }
        if WITH_DURATION.iter().any(|(module, function)| is_named(name, module, function)) {
            // SAFETY: nothing else runs yet.
            unsafe { (*(&raw mut DURATIONS)).push((start, start + symbol.size)) };
        }
        note_deadline(name, range);
        let found = REPLACED.iter().find(|(module, function, _)| is_named(name, module, function));
        if let Some((_, _, function)) = found.filter(|_| symbol.size >= JUMP) {
            // SAFETY: it is a function of the program, long enough, and nothing of the program runs.
            unsafe { replace(start, *function) };
        }
    });
}

/// Whether a function is long enough to be replaced.
pub(crate) fn is_long_enough((start, end): (usize, usize)) -> bool {
    end - start >= JUMP
}

/// Puts a function in the place of one that is long enough, before the first execution.
pub(crate) fn replace_whole(range: (usize, usize), by: Function) {
    if is_long_enough(range) {
        // SAFETY: it is a function of the program, long enough, and nothing of the program runs.
        unsafe { replace(range.0, by) };
    }
}

/// # Safety
///
/// There is a function of at least [`JUMP`] bytes there, which nobody runs.
unsafe fn replace(address: usize, by: Function) {
    let mut code = [0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0];
    code[2..10].copy_from_slice(&(by as usize).to_le_bytes());
    // SAFETY: by the contract.
    unsafe { write_code(address, &code) };
}

/// A function whose first call is noted.
pub(crate) struct Watched {
    address: usize,
    /// How it begins.
    code: [u8; JUMP],
}

impl Watched {
    /// Makes the function what it was.
    ///
    /// # Safety
    ///
    /// Nobody is in the function.
    pub(crate) unsafe fn put_back(self) {
        // SAFETY: by the contract; the function was long enough to be watched.
        unsafe { write_code(self.address, &self.code) };
    }
}

/// Makes a function that is long enough begin with a call of `first`, before the first execution.
pub(crate) fn watch(address: usize, first: Function) -> Watched {
    let mut watched = Watched { address, code: [0; JUMP] };
    let mut code = [0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0];
    code[2..10].copy_from_slice(&(first as usize).to_le_bytes());
    // SAFETY: it is a function of the program, long enough, and nothing of the program runs.
    unsafe {
        watched.code.as_mut_ptr().copy_from_nonoverlapping(address as *const u8, JUMP);
        write_code(address, &code);
    }
    watched
}

/// # Safety
///
/// There is a function of at least [`JUMP`] bytes there, which nobody runs.
unsafe fn write_code(address: usize, code: &[u8; JUMP]) {
    const PAGE: usize = 4096;
    let protect = |pages: (usize, usize), how: libc::c_int| real!(mprotect(pages.0, pages.1, how): fn(usize, usize, libc::c_int) -> libc::c_int);
    let (first, last) = (address & !(PAGE - 1), (address + JUMP - 1) & !(PAGE - 1));
    let pages = (first, last + PAGE - first);
    if protect(pages, libc::PROT_READ | libc::PROT_WRITE) != 0 {
        start::die("the program's code cannot be changed");
    }
    // SAFETY: by the contract; these are pages of the program's code, and they are code again when this returns.
    unsafe { code.as_ptr().copy_to_nonoverlapping(address as *mut u8, JUMP) };
    protect(pages, libc::PROT_READ | libc::PROT_EXEC);
}
