//! The heap of the program.
//!
//! Calls from the C library itself (buffers of files, and the like) and from this library go to the C library's heap, which is not
//! put back; all others to arenas of which each thread has one, so that the address of a block depends on the thread and its
//! own past alone. Memory that was freed is not used again in the same execution, so every use of it is seen.

use crate::modules::{self, Owner as Code};
use crate::options::{Races, Reuse, options};
use crate::own_heap::{__libc_calloc, __libc_free, __libc_malloc, __libc_memalign, __libc_realloc};
use crate::real::real;
use crate::shim::{Call, call, export, return_address, user_address};
use crate::{access, locals, shim, table};
use explore::FailureKind;
use image::arena::{Heap, HeapError, MAX_LIMIT, MAX_THREADS, Origin, Owner, Probe, State};
use runtime::Place;
use std::ffi::{c_int, c_void};
use std::ptr::{NonNull, null_mut};

static mut HEAP: Option<Heap> = None;

/// How much a thread may take in an execution, unless set.
const LIMIT: usize = 1 << 32;

/// The heap, made on the first call.
#[inline]
pub(crate) fn heap() -> &'static Heap {
    // SAFETY: one OS thread alone runs code of the program; the value is set once and stays.
    unsafe {
        match &*(&raw const HEAP) {
            Some(heap) => heap,
            None => make(),
        }
    }
}

#[cold]
fn make() -> &'static Heap {
    let heap =
        Heap::new(MAX_THREADS, LIMIT.min(MAX_LIMIT)).unwrap_or_else(|e| crate::start::die(&e.to_string()));
    // SAFETY: as in `heap`.
    unsafe { (*(&raw mut HEAP)).insert(heap) }
}

/// Whether the call that has just come in is for the program's heap.
#[inline]
fn of_program() -> bool {
    let from = return_address();
    !matches!(modules::owner(from), Some(Code::Libc | Code::Raddle) | None)
}

fn owner() -> Owner {
    if runtime::in_execution() {
        Owner::thread(runtime::current().index().min(MAX_THREADS - 1))
    } else {
        Owner::STARTUP
    }
}

fn no_memory() -> *mut c_void {
    // SAFETY: every thread has its own.
    unsafe { *libc::__errno_location() = libc::ENOMEM };
    null_mut()
}

fn give(taken: Result<NonNull<u8>, HeapError>) -> *mut c_void {
    match taken {
        Ok(p) => p.as_ptr().cast(),
        Err(e @ HeapError::ArenaFull { .. }) => fail(FailureKind::Limit, || e.to_string()),
        Err(_) => no_memory(),
    }
}

/// A failure at the call that has just come in.
pub(crate) fn fail(kind: FailureKind, message: impl FnOnce() -> String) -> ! {
    if !runtime::in_execution() {
        crate::start::fail_before_main(kind, &message(), None);
    }
    // Before the message is put together: that takes calls, too.
    let place = call().place;
    runtime::settle();
    runtime::fail(kind, message(), place)
}

pub(crate) extern "C" fn allocate(size: usize) -> *mut c_void {
    if !of_program() {
        // SAFETY: the C library's own function.
        return unsafe { __libc_malloc(size) }.cast();
    }
    let p = take(size, 16, false);
    crate::std_threads::allocated(return_address(), p as usize);
    p
}

/// Where reports say that a block was allocated or freed.
#[inline]
fn site_in_report() -> usize {
    if runtime::in_execution() { user_address() } else { return_address() }
}

/// A block for the program: one that was freed, or a fresh one.
fn take(size: usize, align: usize, zero: bool) -> *mut c_void {
    let site = site_in_report();
    if runtime::in_execution()
        && let Some(p) = crate::reuse::allocate(size, align, zero, site, call())
    {
        if zero {
            zeroed(p, size);
        }
        return p as *mut c_void;
    }
    let taken =
        if zero { heap().calloc(owner(), 1, size, site) } else { heap().malloc(owner(), size, align, site) };
    if let Ok(p) = taken {
        crate::reuse::allocated(p.as_ptr() as usize);
        if zero {
            zeroed(p.as_ptr() as usize, size);
        }
    }
    give(taken)
}

/// `calloc` has written zeros. The C library does not write to what is so large that the kernel gives it with zeros.
fn zeroed(start: usize, size: usize) {
    if runtime::in_execution()
        && options().races == Races::Report
        && size < image::arena::LARGE
        && !crate::rust_tests::is_rust()
    {
        access::range(start, size, true, call());
    }
}

extern "C" fn allocate_zeroed(count: usize, size: usize) -> *mut c_void {
    if !of_program() {
        // SAFETY: the C library's own function.
        return unsafe { __libc_calloc(count, size) }.cast();
    }
    match count.checked_mul(size) {
        Some(size) => take(size, 16, true),
        None => no_memory(),
    }
}

pub(crate) extern "C" fn allocate_aligned(align: usize, size: usize) -> *mut c_void {
    if !of_program() {
        // SAFETY: the C library's own function.
        return unsafe { __libc_memalign(align, size) }.cast();
    }
    if !align.is_power_of_two() {
        return give(heap().malloc(owner(), size, align, return_address()));
    }
    take(size, align, false)
}

extern "C" fn allocate_at(out: *mut *mut c_void, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || align < size_of::<usize>() {
        return libc::EINVAL;
    }
    let p = allocate_aligned(align, size);
    if p.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the program hands in a place for the address.
    unsafe { out.write(p) };
    0
}

extern "C" fn allocate_pages(size: usize) -> *mut c_void {
    allocate_aligned(4096, size)
}

pub(crate) extern "C" fn reallocate(p: *mut c_void, size: usize) -> *mut c_void {
    if p.is_null() {
        return allocate(size);
    }
    if heap().state_of(p as usize) == State::NotHeap {
        // SAFETY: what is not ours is the C library's.
        return unsafe { __libc_realloc(p.cast(), size) }.cast();
    }
    crate::operators::check(p, Origin::Malloc);
    crate::alone::stop();
    let site = site_in_report();
    let mut comes_back = false;
    let mut taken = None;
    if runtime::in_execution() {
        let call = call();
        if stays(p as usize, size, call) {
            return p;
        }
        comes_back = crate::reuse::freeing(p as usize, call);
        freeing(p as usize, call);
        if size > 0 && matches!(heap().state_of(p as usize), State::Live(b) if b.start == p as usize) {
            taken =
                crate::reuse::allocate(size, 16, false, site, call).and_then(|q| NonNull::new(q as *mut u8));
        }
    }
    let moved = match taken {
        Some(new) => heap().move_to(new, owner(), p as usize, size, site).map(|()| new.as_ptr()),
        None => heap().realloc(owner(), p.cast(), size, site),
    };
    match moved {
        Ok(q) => {
            if comes_back {
                crate::reuse::freed(p as usize);
            }
            crate::reuse::allocated(q as usize);
            look_at_comparisons();
            q.cast()
        }
        Err(e @ (HeapError::DoubleFree { .. } | HeapError::InvalidFree { .. })) => wrong_free(&e),
        Err(e) => give(Err(e)),
    }
}

/// Whether `realloc` leaves a block where it is that does not grow: allocators do either. A block that grows always moves.
fn stays(start: usize, size: usize, call: Call) -> bool {
    let State::Live(block) = heap().state_of(start) else { return false };
    if block.start != start || size > block.size || size == 0 || crate::rust_tests::is_rust() {
        return false;
    }
    if options().reuse == Reuse::Off {
        let text = "that realloc leaves a block where it is was not explored (--reuse off)";
        runtime::caveat_at(explore::CaveatKind::Reuse, text, call.place);
        return false;
    }
    runtime::settle();
    runtime::choose_address(2, call.place) == 1 && heap().shrink(start, size, return_address())
}

extern "C" fn reallocate_array(p: *mut c_void, count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        Some(size) => reallocate(p, size),
        None => no_memory(),
    }
}

extern "C" fn free_here(p: *mut c_void) {
    crate::operators::check(p, Origin::Malloc);
    release(p);
}

pub(crate) extern "C" fn release(p: *mut c_void) {
    if p.is_null() {
        return;
    }
    if heap().state_of(p as usize) == State::NotHeap {
        if runtime::in_execution()
            && modules::owner(return_address()) == Some(Code::Program)
            && is_no_block(p as usize)
        {
            fail(FailureKind::InvalidFree, || {
                format!("{} is freed, and was never allocated", describe_address(p as usize))
            });
        }
        // SAFETY: what is not ours is the C library's.
        return unsafe { __libc_free(p.cast()) };
    }
    crate::alone::stop();
    let site = site_in_report();
    let mut comes_back = false;
    if runtime::in_execution() {
        let call = call();
        comes_back = crate::reuse::freeing(p as usize, call);
        freeing(p as usize, call);
    }
    if let Err(e) = heap().free(owner(), p.cast(), site) {
        wrong_free(&e);
    }
    if comes_back {
        crate::reuse::freed(p as usize);
    }
    look_at_comparisons();
}

/// A block was freed: from now on a comparison with its address may depend on what the allocator gives out again.
#[inline]
fn look_at_comparisons() {
    if runtime::in_execution() {
        crate::touch::set_looks(true);
        crate::touch::forget_ranges();
    }
}

/// Whether an address is neither on the heap nor in a variable with a fixed place.
pub(crate) fn is_elsewhere(address: usize) -> bool {
    heap().state_of(address) == State::NotHeap && !crate::start::is_variable(address)
}

/// Whether an address is certainly no block of the C library: it is a variable.
fn is_no_block(p: usize) -> bool {
    runtime::on_own_stack(p) || crate::start::is_variable(p)
}

/// To free a block is to write all of it. Where accesses are steps this is so for a block that was freed before too: what a thread does next
/// must not depend on others.
fn freeing(start: usize, call: Call) {
    let (block, is_live) = match heap().state_of(start) {
        State::Live(block) => (block, true),
        State::Freed { block, .. } => (block, false),
        _ => return,
    };
    if block.start == start && is_live && runtime::records_plain() {
        runtime::record_free(start, block.size, call.place);
    }
    if block.start != start || options().races == Races::Ignore {
        return;
    }
    if options().races == Races::Sync {
        access::change(start, block.size, true, call);
        if !matches!(heap().state_of(start), State::Live(_)) {
            return;
        }
        table::note_freed(start, block.size);
    } else if !is_live {
        return;
    } else if !runtime::is_alone() {
        // When nothing can be concurrent with this, nothing can race with it.
        access::change(start, block.size, true, call);
        table::note_freed(start, block.size);
    }
    crate::sync::freed(start, block.size, call);
}

fn wrong_free(e: &HeapError) -> ! {
    match *e {
        HeapError::DoubleFree { block, freed_at, freed_by } => fail(FailureKind::DoubleFree, || {
            format!(
                "a block of {} bytes is freed that was freed before, by {} at {}; it was allocated at {}",
                block.size,
                who(freed_by),
                Place::at(freed_at),
                Place::at(block.site)
            )
        }),
        HeapError::InvalidFree { address, .. } => fail(FailureKind::InvalidFree, || {
            format!("{} is freed, which is not the start of a block", describe_address(address))
        }),
        _ => fail(FailureKind::Limit, || e.to_string()),
    }
}

fn who(owner: Owner) -> String {
    match owner.thread_index() {
        Some(0) => "main".to_owned(),
        Some(t) => runtime::label(explore::ThreadId(t as u16)),
        None => "what runs before `main`".to_owned(),
    }
}

/// What is at an address, in words.
fn describe_address(address: usize) -> String {
    match heap().state_of(address) {
        State::Live(block) => {
            let (offset, size) = (address - block.start, block.size);
            format!("byte {offset} of a block of {size} bytes, allocated at {}", Place::at(block.site))
        }
        State::Freed { block, .. } => {
            format!("byte {} of a freed block of {} bytes", address - block.start, block.size)
        }
        _ => format!("the variable {}", crate::names::describe(address)),
    }
}

/// Reports an access to memory of the heap that is not in use.
#[inline(always)]
pub(crate) fn check(address: usize, bytes: usize, write: bool, call: Call) {
    match heap().probe(address, bytes, write) {
        Probe::Wrong => wrong_access(address, bytes, write, call),
        Probe::NotHeap => {
            if locals::may_be_gone(address) {
                of_ended_thread(address, bytes, write, call);
            }
            if runtime::may_be_on_stack(address) && !runtime::on_own_stack(address) {
                on_other_stack(address, bytes, write, call);
            }
        }
        Probe::Live => {}
    }
}

/// The program itself accesses memory, and no function of a library does: reports an access to a frame of its own that has returned.
/// What lies below the stack pointer can also be a variable of ours, in a call on behalf of the program.
#[inline]
pub(crate) fn check_own_frame(address: usize, bytes: usize, write: bool, call: Call) {
    let top = shim::stack_pointer();
    // A thread that has put itself on another stack tells nothing of this one.
    if address < top && runtime::on_own_stack(address) && runtime::on_own_stack(top) {
        gone(address, bytes, write, call, "on the stack, in the frame of a function that has returned");
    }
}

#[cold]
fn on_other_stack(address: usize, bytes: usize, write: bool, call: Call) {
    let ended = runtime::ended_stack(address);
    if let Some(owner) = ended {
        let whose = format!("on the stack of {}, which has ended", runtime::label(owner));
        gone(address, bytes, write, call, &whose);
    }
    let Some(owner) = runtime::thread_of_stack(address) else { return };
    let top = shim::last_stack_pointer(owner);
    if owner == explore::ThreadId::MAIN && crate::frames::is_of_returned_main(address) {
        gone(address, bytes, write, call, "of a local variable of `main`, which has returned");
    }
    if address < top && runtime::thread_of_stack(top) == Some(owner) {
        let whose = format!(
            "on the stack of {}, in the frame of a function that has returned",
            runtime::label(owner)
        );
        gone(address, bytes, write, call, &whose);
    }
}

/// Reports an access to a variable of a thread that has ended.
#[cold]
fn of_ended_thread(address: usize, bytes: usize, write: bool, call: Call) {
    if let Some(owner) = locals::of_ended_thread(address) {
        let whose = format!("of a thread-local variable of {}, which has ended", runtime::label(owner));
        gone(address, bytes, write, call, &whose);
    }
}

/// Reports an access to a variable that is not there any more.
#[cold]
fn gone(address: usize, bytes: usize, write: bool, call: Call, whose: &str) {
    debug_assert!(address != 0);
    runtime::settle();
    let what = if write { "write" } else { "read" };
    let s = if bytes == 1 { "" } else { "s" };
    runtime::fail(FailureKind::UseAfterFree, format!("{what} of {bytes} byte{s} {whose}"), call.place)
}

/// Whether a block that starts at an address is in use and has at least so many bytes.
pub(crate) fn has_room(start: usize, bytes: usize) -> bool {
    matches!(heap().state_of(start), State::Live(block) if block.start == start && block.size >= bytes)
}

/// Whether an address lies in a block of the heap that is in use.
pub(crate) fn is_block(address: usize) -> bool {
    matches!(heap().state_of(address), State::Live(_))
}

#[cold]
fn wrong_access(address: usize, bytes: usize, write: bool, call: Call) -> ! {
    runtime::settle();
    let what = if write { "write" } else { "read" };
    let s = if bytes == 1 { "" } else { "s" };
    let bad = (address..address + bytes).map(|a| heap().state_of(a)).find(|s| !matches!(s, State::Live(_)));
    match bad.unwrap_or(State::NotHeap) {
        State::Freed { block, freed_at, freed_by } => runtime::fail(
            FailureKind::UseAfterFree,
            format!(
                "{what} of {bytes} byte{s} at offset {} of a block of {} bytes that was freed by {} at {}; it was allocated at {}",
                address - block.start,
                block.size,
                who(freed_by),
                Place::at(freed_at),
                Place::at(block.site)
            ),
            call.place,
        ),
        State::Gap { before: Some((block, after)), .. } => runtime::fail(
            FailureKind::OutOfBounds,
            format!(
                "{what} of {bytes} byte{s}, {after} byte{} behind the end of a block of {} bytes that was allocated at {}",
                if after == 1 { "" } else { "s" },
                block.size,
                Place::at(block.site)
            ),
            call.place,
        ),
        _ => runtime::fail(
            FailureKind::OutOfBounds,
            format!("{what} of {bytes} byte{s} in no block of the heap"),
            call.place,
        ),
    }
}

extern "C" fn usable_size(p: *mut c_void) -> usize {
    if p.is_null() {
        return 0;
    }
    if heap().state_of(p as usize) == State::NotHeap {
        return real!(malloc_usable_size(p): fn(*mut c_void) -> usize);
    }
    if runtime::in_execution() {
        let text = "malloc_usable_size gives the size that was asked for: that an allocator gives more was not explored";
        runtime::caveat_at(explore::CaveatKind::Library, text, call().place);
    }
    heap().usable_size(p.cast())
}

export! {
    malloc => allocate;
    calloc => allocate_zeroed;
    realloc => reallocate;
    reallocarray => reallocate_array;
    free => free_here;
    cfree => free_here;
    memalign => allocate_aligned;
    aligned_alloc => allocate_aligned;
    posix_memalign => allocate_at;
    valloc => allocate_pages;
    malloc_usable_size => usable_size;
}

/// The first block that nothing points to any more, in words, and where it was allocated.
pub(crate) fn leak() -> Option<(String, usize)> {
    let roots = crate::start::roots();
    // SAFETY: the roots are mapped, and no thread of the program runs.
    let lost = unsafe { heap().unreachable(&roots) };
    let first = lost.iter().min_by_key(|b| b.start)?;
    let more = match lost.len() {
        1 => String::new(),
        n => format!(", and so {} {} more", if n == 2 { "is" } else { "are" }, n - 1),
    };
    let message = format!(
        "a block of {} bytes is never freed, and nothing points to it at the end; it was allocated at {}{more}",
        first.size,
        Place::at(first.site)
    );
    Some((message, first.site))
}
