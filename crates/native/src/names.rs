//! Addresses in words: places, variables, values. Only asked when something is reported, but for one thing: which line of the
//! program a call comes from when it was made in a header of the standard library.

use crate::heap::heap;
use crate::modules::{self, Owner};
use crate::shim;
use explore::ThreadId;
use image::arena::State;
use runtime::Part;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;
use symbols::{Memory, StackFrame, Symbols, Variable};

/// On the heap, which processes share where executions have their own: the tables grow in all of them.
static mut SYMBOLS: Option<Box<Symbols>> = None;

fn symbols() -> &'static Symbols {
    // SAFETY: one OS thread alone runs code of the program; the value is set once and stays.
    unsafe { (*(&raw mut SYMBOLS)).get_or_insert_with(|| Box::new(Symbols::of_process())) }
}

/// Called before a process is made for an execution.
pub(crate) fn share() {
    symbols();
}

/// Paths of sources are shown from the directory where the process was started: the program is about to leave it.
pub(crate) fn keep_directory() {
    symbols();
}

/// A place in words. An address is one behind the call.
pub(crate) fn place(address: usize) -> String {
    shim::undisturbed(|| place_in_words(address))
}

fn place_in_words(address: usize) -> String {
    if address == 0 {
        return "the program".to_owned();
    }
    let place = symbols().place(address);
    let frame = place.frames().find(|f| f.user).unwrap_or_else(|| {
        let symbols::Place { function, file, line, column, user, .. } = place.clone();
        symbols::Frame { function, file, line, column, user }
    });
    match (&frame.file, frame.line, frame.column) {
        (Some(file), Some(line), Some(column)) => format!("{file}:{line}:{column}"),
        (Some(file), Some(line), None) => format!("{file}:{line}"),
        _ => frame.function,
    }
}

/// The name of the function at a return address.
pub(crate) fn function(address: usize) -> String {
    shim::undisturbed(|| symbols().place(address).function)
}

/// The memory of the process, read in a way that cannot fault.
struct Mapped;

impl Memory for Mapped {
    fn read(&self, address: usize, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0u8; length];
        let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: length };
        let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: length };
        // SAFETY: the local buffer is ours; the kernel checks the other one.
        let n = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
        (n == length as isize).then_some(bytes)
    }

    fn block(&self, address: usize) -> Option<Range<usize>> {
        match heap().state_of(address) {
            State::Live(block) | State::Freed { block, .. } => Some(block.start..block.end()),
            _ => None,
        }
    }
}

/// How many frames of a thread are looked at.
const MOST_FRAMES: usize = 64;

/// The frames of a thread, innermost first, by the chain of frame pointers.
pub(crate) fn frames(t: ThreadId) -> Vec<StackFrame> {
    let (site, frame) = shim::last_call(t);
    let mut found = Vec::new();
    let (mut return_address, mut frame) = (site, frame);
    if frame != 0
        && let Some(inner) = shim::site_below_frame(t, |slot| words_at(slot).map(|(word, _)| word))
    {
        found.push(StackFrame { return_address: inner, cfa: frame + 16 });
    }
    while found.len() < MOST_FRAMES && return_address != 0 && frame != 0 {
        found.push(StackFrame { return_address, cfa: frame + 16 });
        let Some((outer, above)) = words_at(frame) else { break };
        return_address = above;
        if outer <= frame || outer - frame > 1 << 24 {
            break;
        }
        frame = outer;
    }
    found
}

/// The two words at an address.
fn words_at(address: usize) -> Option<(usize, usize)> {
    let here = 0u8;
    let used = std::ptr::from_ref(&here) as usize..runtime::frames_end().saturating_sub(16);
    if used.contains(&address) && address.is_multiple_of(8) {
        // SAFETY: this part of the running thread's stack is in use.
        return unsafe {
            Some((
                (address as *const usize).read_volatile(),
                (address as *const usize).add(1).read_volatile(),
            ))
        };
    }
    let words = Mapped.read(address, 16)?;
    let word = |i: usize| usize::from_le_bytes(words[i..i + 8].try_into().unwrap_or_default());
    Some((word(0), word(8)))
}

/// For each thread: the part of a larger object that its last atomic access was on, as address and size.
static mut PARTS: [(usize, usize); explore::MAX_THREADS] = [(0, 0); explore::MAX_THREADS];

/// Notes that the running thread accesses a part of an object, so that reports name the part.
#[cold]
pub(crate) fn note_part(address: usize, bytes: usize) {
    // SAFETY: one OS thread alone runs code of the program.
    unsafe { PARTS[runtime::current().index()] = (address, bytes) };
}

/// The part of the object at `address` that the operation of a thread is on, where that is known. The object has eight bytes.
pub(crate) fn part_of(t: ThreadId, address: usize) -> Option<Part> {
    // SAFETY: as in `note_part`.
    let (at, bytes) = unsafe { PARTS[t.index()] };
    let inside = at >= address && at + bytes <= address + 8 && (1..8).contains(&bytes);
    inside.then(|| Part { name: at as u64, shift: 8 * (at - address) as u32, bits: 8 * bytes as u32 })
}

/// The places in the program's own code that led to the last call of a thread, innermost first, without that call.
pub(crate) fn callers(t: ThreadId) -> Vec<String> {
    const MOST: usize = 8;
    shim::undisturbed(|| {
        let mut places: Vec<String> = Vec::new();
        for frame in frames(t) {
            let own = symbols().place(frame.return_address).frames().filter(|f| f.user).collect::<Vec<_>>();
            places.extend(
                own.into_iter()
                    .filter_map(|f| Some(format!("{}:{}:{}", f.file?, f.line?, f.column.unwrap_or(1)))),
            );
        }
        if !places.is_empty() {
            places.remove(0);
        }
        places.truncate(MOST);
        places
    })
}

/// What was found in the running execution.
static mut FOUND: Option<HashMap<usize, Option<Variable>>> = None;

/// Another execution begins, in which addresses may mean something else.
pub(crate) fn begin() {
    // SAFETY: one OS thread alone runs code of the program, and nobody holds the borrow.
    if let Some(found) = unsafe { &mut *(&raw mut FOUND) } {
        found.clear();
    }
}

/// The variable at an address, also on the heap and on stacks.
pub(crate) fn variable(address: usize) -> Option<Variable> {
    // SAFETY: as in `begin`.
    let found = unsafe { (*(&raw mut FOUND)).get_or_insert_with(HashMap::new) };
    if let Some(known) = found.get(&address) {
        return known.clone();
    }
    let variable = shim::undisturbed(|| look_up(address));
    found.insert(address, variable.clone());
    variable
}

fn look_up(address: usize) -> Option<Variable> {
    if let Some(found) = symbols().variable(address) {
        return Some(found);
    }
    let threads: Vec<Vec<StackFrame>> =
        (0..explore::MAX_THREADS as u16).map(|t| frames(ThreadId(t))).filter(|f| !f.is_empty()).collect();
    for frames in &threads {
        for frame in frames {
            if let Some(found) = symbols().stack_variable(*frame, address) {
                return Some(found);
            }
        }
    }
    if heap().state_of(address) == State::NotHeap {
        return None;
    }
    // Variables of the program's own functions say more than those of libraries.
    let all = threads.into_iter().flatten();
    let (own, others): (Vec<StackFrame>, Vec<StackFrame>) = all.partition(|f| !in_library(f.return_address));
    symbols().path_to(address, &own, &Mapped, 6).or_else(|| symbols().path_to(address, &others, &Mapped, 6))
}

/// Whether nothing can be said of an address, as of string literals.
#[cold]
pub(crate) fn is_nameless(address: usize) -> bool {
    in_words(address).is_none()
}

/// An address in words that are the same in every run: a variable, or at least where it lies.
pub(crate) fn describe(address: usize) -> String {
    in_words(address).unwrap_or_else(|| format!("{address:#x}"))
}

fn in_words(address: usize) -> Option<String> {
    if let Some(variable) = variable(address) {
        return Some(variable.text);
    }
    for t in (0..explore::MAX_THREADS as u16).map(ThreadId) {
        if let Some((low, high)) = runtime::stack_of(t)
            && (low..high).contains(&address)
        {
            return Some(format!(
                "a variable of {}, {} bytes down its stack",
                runtime::label(t),
                high - address
            ));
        }
    }
    match heap().state_of(address) {
        State::Live(block) | State::Freed { block, .. } => {
            let offset = address - block.start;
            Some(format!("byte {offset} of the block allocated at {}", place(block.site)))
        }
        _ => crate::libc::accesses::name_of_result(address).map(str::to_owned),
    }
}

/// The bytes of the object that a member function of C++ is called on, from a place in the function.
pub(crate) fn size_of_this(return_address: usize) -> Option<usize> {
    shim::undisturbed(|| symbols().size_of_this(return_address))
}

/// A value of the variable at an address, in words.
pub(crate) fn value(address: usize, word: u64) -> Option<String> {
    let variable = variable(address)?;
    if !(1..=8).contains(&variable.size) {
        return None;
    }
    variable.ty?;
    Some(shim::undisturbed(|| symbols().show(variable.ty, &word.to_le_bytes()[..variable.size])))
}

/// The bytes at an address, as far as there are eight of them on its page or mapped behind it.
pub(crate) fn word_at(address: usize) -> Option<u64> {
    shim::undisturbed(|| {
        let bytes = [8, 4, 2, 1].into_iter().find_map(|n| Mapped.read(address, n))?;
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(&bytes);
        Some(u64::from_le_bytes(word))
    })
}

/// Whether a call comes from a header of the standard library, by its return address.
static mut IN_LIBRARY: Option<HashMap<usize, bool, BuildHasherDefault<Mix>>> = None;

/// Return addresses are few, and asked for at each call.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_usize(usize::from(*b)));
    }

    fn write_usize(&mut self, n: usize) {
        self.0 = (self.0 ^ n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 ^= self.0 >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

fn in_library(site: usize) -> bool {
    // SAFETY: one OS thread alone runs code of the program, and the borrow ends here.
    let known = unsafe { (*(&raw mut IN_LIBRARY)).get_or_insert_with(HashMap::default) };
    *known.entry(site).or_insert_with(|| {
        modules::owner(site) != Some(Owner::Program)
            || !shim::undisturbed(|| symbols().place(site).frames().any(|f| f.user))
    })
}

/// The place in the program's own code that a call comes from: `site`, or, for calls out of the standard library and its headers,
/// the frame of the program that led there.
pub(crate) fn user_site(site: usize, frame: usize) -> usize {
    if !in_library(site) {
        return site;
    }
    // All of a Rust test has frame pointers; what is left is std's own code, as where threads begin and end.
    if crate::rust_tests::is_rust() {
        return by_frame_pointers(frame).unwrap_or(site);
    }
    // A library may use the frame pointer for something else, or leave it as it is: then it is that of the calling function.
    let of_program = modules::owner(site) == Some(Owner::Program);
    let near = if of_program { by_frame_pointers(frame) } else { None };
    near.or_else(|| by_steps(site)).or_else(|| by_unwinding(site)).unwrap_or(site)
}

/// The innermost place in the program's own code in a chain of frame pointers.
fn by_frame_pointers(mut frame: usize) -> Option<usize> {
    for _ in 0..MOST_FRAMES {
        if !runtime::on_own_stack(frame) || frame & 7 != 0 {
            break;
        }
        // SAFETY: the address lies on the running stack, where everything up to the end of the frames can be read.
        let (outer, return_address) = unsafe { (*(frame as *const usize), *((frame + 8) as *const usize)) };
        if return_address != 0
            && modules::owner(return_address) == Some(Owner::Program)
            && !in_library(return_address)
        {
            return Some(return_address);
        }
        if outer <= frame {
            break;
        }
        frame = outer;
    }
    None
}

/// How far the stack pointer after a call is from that after the return of the calling function, as unwinding has found it.
#[derive(Clone, Copy)]
struct FrameSize {
    /// [`OUTERMOST`] if nothing called the function.
    bytes: usize,
    /// It was found at least twice, the same each time. The frame of a function may have parts whose size is known at run time only.
    constant: Option<bool>,
}

const OUTERMOST: usize = 0;

/// The sizes of frames, by the return address inside of the function.
static mut FRAME_SIZES: Option<HashMap<usize, FrameSize, BuildHasherDefault<Mix>>> = None;

fn frame_sizes() -> &'static mut HashMap<usize, FrameSize, BuildHasherDefault<Mix>> {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over another call.
    unsafe { (*(&raw mut FRAME_SIZES)).get_or_insert_with(HashMap::default) }
}

/// Notes the size of a frame that was unwound.
fn learn(site: usize, bytes: usize) {
    let known = frame_sizes().entry(site).or_insert(FrameSize { bytes: usize::MAX, constant: None });
    known.constant = match known.constant {
        None if known.bytes == bytes => Some(true),
        Some(true) if known.bytes != bytes => Some(false),
        None if known.bytes != usize::MAX => Some(false),
        constant => constant,
    };
    known.bytes = bytes;
}

/// The innermost place in the program's own code, by the sizes of the frames that lead there; `from` itself if it is known that there is none.
fn by_steps(from: usize) -> Option<usize> {
    let readable = |slot: usize| runtime::on_own_stack(slot) && slot & 7 == 0;
    // SAFETY: the address lies on the running stack, where everything up to the end of the frames can be read.
    let word = |slot: usize| readable(slot).then(|| unsafe { *(slot as *const usize) });
    // The call has pushed its return address.
    let mut stack = shim::stack_pointer();
    if word(stack) != Some(from) {
        return None;
    }
    stack += 8;
    let mut site = from;
    for _ in 0..MOST_FRAMES {
        let FrameSize { bytes, constant: Some(true) } = *frame_sizes().get(&site)? else { return None };
        if bytes == OUTERMOST {
            return Some(from);
        }
        stack += bytes;
        site = word(stack - 8)?;
        if !shim::follows_call(site) {
            return None;
        }
        if !in_library(site) {
            return Some(site);
        }
    }
    None
}

/// The variables that say whether a local static object of C++ is made: the compiler reads them, not the program.
static mut GUARDS: Vec<usize> = Vec::new();

/// Finds them, before the first execution.
pub(crate) fn find_guards() {
    let base = crate::functions::base();
    let mut all = Vec::new();
    crate::functions::each(|symbol| {
        if symbol.is_variable && symbol.name.starts_with(b"_ZGV") {
            all.push(base + symbol.address);
        }
    });
    all.sort_unstable();
    // SAFETY: nothing else runs yet.
    unsafe { GUARDS = all };
}

/// Whether one of them is at an address.
pub(crate) fn is_guard(address: usize) -> bool {
    // SAFETY: set before the first execution.
    let guards = unsafe { &*(&raw const GUARDS) };
    guards.binary_search(&address).is_ok()
}

/// Who wrote an atomic operation, and its memory order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    Program,
    /// The implementers of a standard library, as in `shared_ptr` or `Arc`.
    Library,
    /// The same, in the lock of `std::atomic<std::shared_ptr>`.
    SharedPointerLock,
}

/// The authors of atomic operations, by the return address and the address behind the call of the function that it is in.
static mut AUTHORS: Option<HashMap<(usize, usize), Author, BuildHasherDefault<Mix>>> = None;

/// The author of the atomic operation at a return address. The functions of `std::atomic` themselves do what their caller says.
pub(crate) fn author(site: usize, frame: usize) -> Author {
    let outer = |frame: usize| {
        let readable = runtime::on_own_stack(frame) && frame & 7 == 0;
        // SAFETY: the address lies on the running stack, where everything up to the end of the frames can be read.
        readable.then(|| unsafe { (*(frame as *const usize), *((frame + 8) as *const usize)) })
    };
    let caller = outer(frame).map_or(0, |(_, return_address)| return_address);
    // SAFETY: one OS thread alone runs code of the program, and the borrow ends here.
    let known = unsafe { (*(&raw mut AUTHORS)).get_or_insert_with(HashMap::default) };
    if let Some(known) = known.get(&(site, caller)) {
        return *known;
    }
    let (mut site_now, mut frame_now) = (site, frame);
    let mut result = Author::Program;
    for _ in 0..8 {
        let frames: Vec<_> = shim::undisturbed(|| symbols().place(site_now).frames().collect());
        let written = frames.iter().find(|f| f.user || !is_interface(f.file.as_deref().unwrap_or("")));
        if let Some(written) = written {
            result = match written.file.as_deref() {
                Some(_) if !written.is_standard() => Author::Program,
                Some(file) if file.ends_with("/shared_ptr_atomic.h") => Author::SharedPointerLock,
                _ => Author::Library,
            };
            break;
        }
        let Some((next, return_address)) = outer(frame_now).filter(|(next, _)| *next > frame_now) else {
            break;
        };
        (site_now, frame_now) = (return_address, next);
    }
    known.insert((site, caller), result);
    result
}

/// Whether a file has nothing but the functions of atomics, which hand on the order of their caller.
fn is_interface(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let of_cpp = ["atomic", "atomic_base.h", "atomic_wide_counter.h", "stdatomic.h"];
    of_cpp.contains(&name)
        || name == "atomic.rs"
        || file.contains("/intrinsics/")
        || file.contains("core/src/ops/")
}

/// The place in the program from which the running code was called.
pub(crate) fn place_here() -> runtime::Place {
    runtime::Place::at(by_unwinding(0).unwrap_or_default())
}

/// What the visitor of the unwinder knows.
struct Unwound {
    /// Frames are measured from the one with this return address on.
    from: usize,
    /// The return address and the stack pointer of the frame that was visited last.
    last: Option<(usize, usize)>,
    found: usize,
}

/// The innermost place in the program's own code, from the tables that exceptions are unwound with: for libraries that use the frame
/// pointer for something else. The sizes of the frames from that of `site` on are kept.
fn by_unwinding(site: usize) -> Option<usize> {
    type Trace = unsafe extern "C" fn(*mut libc::c_void, *mut libc::c_void) -> i32;
    unsafe extern "C" {
        fn _Unwind_Backtrace(trace: Trace, argument: *mut libc::c_void) -> i32;
        fn _Unwind_GetIP(context: *mut libc::c_void) -> usize;
        /// In a frame that is visited: its stack pointer after the call that it is in.
        fn _Unwind_GetCFA(context: *mut libc::c_void) -> usize;
    }
    unsafe extern "C" fn visit(context: *mut libc::c_void, state: *mut libc::c_void) -> i32 {
        // SAFETY: called by the unwinder with a frame, and what we gave it.
        let (state, address, stack) =
            unsafe { (&mut *state.cast::<Unwound>(), _Unwind_GetIP(context), _Unwind_GetCFA(context)) };
        if let Some((inner, below)) = state.last {
            learn(inner, stack.wrapping_sub(below));
        }
        if state.last.is_some() || address == state.from {
            state.last = Some((address, stack));
        }
        if modules::owner(address) == Some(Owner::Program) && !in_library(address) {
            state.found = address;
            return 4;
        }
        0
    }
    let mut state = Unwound { from: site, last: None, found: 0 };
    // SAFETY: `visit` has the type that is asked for, and the state outlives the call. The unwinder calls exported functions.
    shim::undisturbed(|| unsafe { _Unwind_Backtrace(visit, (&raw mut state).cast()) });
    if state.found == 0 {
        state.last.inspect(|(outermost, _)| learn(*outermost, OUTERMOST));
        return None;
    }
    Some(state.found)
}
