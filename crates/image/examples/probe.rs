//! A library that the tests load into a C program, as the native front end is: it does what the program asks of the
//! image it runs in.

#![allow(missing_docs, reason = "each function is the one of the crate with its name")]

use image::arena::{Heap, HeapError, Owner, Probe, State};
use image::donors::{self, Donors, RealPthread};
use image::output::Capture;
use image::segments::{self, Object, Region, TlsImage};
use image::snapshot::{self, Mode, Snapshot};
use image::stacks::StackRange;
use std::ffi::{c_int, c_void};
use std::io::Write;
use std::os::fd::FromRawFd;
use std::sync::OnceLock;

static HEAP: OnceLock<Heap> = OnceLock::new();
static DONORS: OnceLock<Donors> = OnceLock::new();
static CAPTURE: OnceLock<Capture> = OnceLock::new();

fn objects() -> &'static [Object] {
    static OBJECTS: OnceLock<Vec<Object>> = OnceLock::new();
    OBJECTS.get_or_init(segments::user_objects)
}

extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel passes a valid description.
    let address = unsafe { (*info).si_addr() } as usize;
    if snapshot::on_fault(address) || CAPTURE.get().is_some_and(|capture| capture.on_fault(address)) {
        return;
    }
    if let Some(capture) = CAPTURE.get() {
        capture.dump();
    }
    // SAFETY: the access is repeated, and now ends the process.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

fn install() {
    let stack = Box::leak(vec![0u8; 64 << 10].into_boxed_slice());
    // SAFETY: the stack is kept for ever; the handler is made for what it gets.
    unsafe {
        let alternate = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: stack.len() };
        libc::sigaltstack(&alternate, std::ptr::null_mut());
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut());
        libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
    }
}

/// The number of the user's objects.
#[unsafe(no_mangle)]
extern "C" fn probe_objects() -> usize {
    objects().len()
}

/// Whether an address is in a global of the user: 1 of the main executable, 2 of another object, 0 of none.
#[unsafe(no_mangle)]
extern "C" fn probe_is_global(address: usize) -> c_int {
    let object = objects().iter().find(|o| o.writable.iter().any(|region| region.contains(address)));
    object.map_or(0, |object| if object.is_main { 1 } else { 2 })
}

/// A snapshot of all globals and of the sealed heap.
#[unsafe(no_mangle)]
extern "C" fn probe_take(full: c_int) {
    install();
    let mut regions: Vec<Region> = objects().iter().flat_map(|object| object.writable.clone()).collect();
    regions.extend(HEAP.get().map(Heap::sealed).unwrap_or_default());
    let mode = if full != 0 { Mode::Full } else { Mode::Dirty };
    // SAFETY: the objects are never unloaded, and the handler is there.
    unsafe { Snapshot::take(&regions, mode) }.unwrap();
}

/// A snapshot of one range.
#[unsafe(no_mangle)]
extern "C" fn probe_take_ranges(a: usize, a_len: usize, b: usize, b_len: usize) {
    install();
    // SAFETY: the test passes ranges that stay mapped.
    unsafe { Snapshot::take(&[Region::new(a, a_len), Region::new(b, b_len)], Mode::Dirty) }.unwrap();
}

#[unsafe(no_mangle)]
extern "C" fn probe_restore() {
    // SAFETY: the program keeps no references.
    unsafe { snapshot::current().unwrap().restore() };
}

#[unsafe(no_mangle)]
extern "C" fn probe_hot() -> usize {
    snapshot::current().unwrap().hot_pages()
}

#[unsafe(no_mangle)]
extern "C" fn probe_is_tracked(address: usize) -> c_int {
    snapshot::current().unwrap().is_tracked(address).into()
}

#[unsafe(no_mangle)]
extern "C" fn probe_prepare_write(address: usize, len: usize) {
    snapshot::prepare_write(address, len);
}

#[unsafe(no_mangle)]
extern "C" fn probe_heap(threads: usize, limit: usize) {
    assert!(HEAP.set(Heap::new(threads, limit).unwrap()).is_ok());
}

fn owner(number: c_int) -> Owner {
    if number < 0 { Owner::STARTUP } else { Owner::thread(number as usize) }
}

/// Thread -1 is what runs before `main`.
#[unsafe(no_mangle)]
extern "C" fn probe_malloc(thread: c_int, size: usize) -> *mut u8 {
    HEAP.get().unwrap().malloc(owner(thread), size, 1, 0).map_or(std::ptr::null_mut(), |start| start.as_ptr())
}

/// 0, or 1 for a double and 2 for any other invalid free.
#[unsafe(no_mangle)]
extern "C" fn probe_free(thread: c_int, address: *mut u8) -> c_int {
    match HEAP.get().unwrap().free(owner(thread), address, 0) {
        Ok(()) => 0,
        Err(HeapError::DoubleFree { .. }) => 1,
        Err(_) => 2,
    }
}

/// 0 not in the heap, 1 live, 2 freed, 3 between blocks.
#[unsafe(no_mangle)]
extern "C" fn probe_state(address: usize) -> c_int {
    match HEAP.get().unwrap().state_of(address) {
        State::NotHeap => 0,
        State::Live(_) => 1,
        State::Freed { .. } => 2,
        State::Gap { .. } => 3,
    }
}

#[unsafe(no_mangle)]
extern "C" fn probe_seal() {
    HEAP.get().unwrap().seal();
}

#[unsafe(no_mangle)]
extern "C" fn probe_reset() {
    HEAP.get().unwrap().reset();
}

/// Blocks that neither the globals nor the main thread's thread-local variables lead to.
#[unsafe(no_mangle)]
extern "C" fn probe_lost() -> usize {
    let globals =
        objects().iter().flat_map(|object| &object.writable).map(|region| (region.start, region.len));
    let locals = DONORS.get().into_iter().flat_map(Donors::main_tls_ranges);
    let roots: Vec<(usize, usize)> = globals.chain(locals).collect();
    // SAFETY: globals and thread-local variables are readable.
    unsafe { HEAP.get().unwrap().unreachable(&roots) }.len()
}

#[unsafe(no_mangle)]
extern "C" fn probe_donors(count: usize) {
    let images: Vec<TlsImage> = objects().iter().filter_map(|object| object.tls).collect();
    // SAFETY: the functions are the C library's, the images those of loaded objects.
    let donors = unsafe { Donors::new(RealPthread::next().unwrap(), count, &images) }.unwrap();
    assert!(DONORS.set(donors).is_ok());
}

/// Calls a function with the FS base of a donor.
#[unsafe(no_mangle)]
extern "C" fn probe_on(donor: usize, function: extern "C" fn(*mut c_void), argument: *mut c_void) {
    let donors = DONORS.get().unwrap();
    let back = donors::current();
    // SAFETY: donors only park, and nothing here is thread-local.
    unsafe {
        donors::switch_to(donors.get(donor));
        function(argument);
        donors::switch_to(back);
    }
    assert_eq!(back, donors.main());
}

#[unsafe(no_mangle)]
extern "C" fn probe_fs(donor: usize) -> usize {
    DONORS.get().unwrap().get(donor).address()
}

#[unsafe(no_mangle)]
extern "C" fn probe_reset_tls(donor: usize) {
    // SAFETY: the program keeps no references.
    unsafe { DONORS.get().unwrap().reset_tls(donor) };
}

#[unsafe(no_mangle)]
extern "C" fn probe_reset_main_tls() {
    // SAFETY: the program keeps no references.
    unsafe { DONORS.get().unwrap().reset_main_tls() };
}

#[unsafe(no_mangle)]
extern "C" fn probe_stack(index: usize, size: usize) -> usize {
    StackRange::at(index, size).unwrap().bottom
}

#[unsafe(no_mangle)]
extern "C" fn probe_capture() {
    install();
    assert!(CAPTURE.set(Capture::start().unwrap()).is_ok());
}

#[unsafe(no_mangle)]
extern "C" fn probe_written() -> c_int {
    CAPTURE.get().unwrap().written().into()
}

#[unsafe(no_mangle)]
extern "C" fn probe_clear() {
    CAPTURE.get().unwrap().clear();
}

/// Writes what was captured to the real output, as one line that starts with a word.
#[unsafe(no_mangle)]
extern "C" fn probe_show() {
    let capture = CAPTURE.get().unwrap();
    let (out, err) = capture.take();
    let (out, err) = (String::from_utf8_lossy(&out), String::from_utf8_lossy(&err));
    // SAFETY: the descriptor stays open: the file is forgotten.
    let mut real = std::mem::ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(capture.real_stdout()) });
    writeln!(real, "shown out={out:?} err={err:?}").unwrap();
}

/// Says why on the real standard error, and ends the process.
#[unsafe(no_mangle)]
extern "C" fn probe_fail(why: *const libc::c_char) {
    let fd = CAPTURE.get().map_or(2, Capture::real_stderr);
    // SAFETY: the text ends with a zero.
    unsafe {
        libc::write(fd, why.cast(), libc::strlen(why));
        libc::write(fd, c"\n".as_ptr().cast(), 1);
        libc::_exit(77);
    }
}

/// Whether `len` bytes may be used: 0 not in the heap, 1 yes, 2 no.
#[unsafe(no_mangle)]
extern "C" fn probe_probe(address: usize, len: usize) -> c_int {
    match HEAP.get().unwrap().probe(address, len, false) {
        Probe::NotHeap => 0,
        Probe::Live => 1,
        Probe::Wrong => 2,
    }
}
