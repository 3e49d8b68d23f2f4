//! The process: taken over before `main`, run again and again, ended with a report.

use crate::arguments;
use crate::crash;
use crate::exceptions;
use crate::front::Program;
use crate::heap::heap;
use crate::own_heap::is_shared;
use crate::process;
use crate::real::real;
use crate::report_out;
use crate::shim::Call;
use crate::storage;
use crate::threads::{self, Main};
use explore::FailureKind;
use explore::ThreadId;
use image::donors::{Donors, FsBase, RealPthread};
use image::output::Capture;
use image::segments::Region;
use image::snapshot::{Mode, Snapshot};
use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;

/// What the process was started with.
struct Started {
    main: Option<Main>,
    argc: libc::c_int,
    argv: *mut *mut libc::c_char,
    envp: *mut *mut libc::c_char,
}

static mut STARTED: Started =
    Started { main: None, argc: 0, argv: std::ptr::null_mut(), envp: std::ptr::null_mut() };

/// Called by the start code of the executable.
///
/// # Safety
///
/// Called once, by the start code, with its arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __libc_start_main(
    main: Main,
    argc: libc::c_int,
    argv: *mut *mut libc::c_char,
    init: *const c_void,
    fini: *const c_void,
    rtld_fini: *const c_void,
    stack_end: *mut c_void,
) -> libc::c_int {
    // SAFETY: nothing else runs yet; the name is a C string.
    let driver = unsafe {
        if libc::getenv(c"RADDLE_OFF".as_ptr()).is_null() {
            report_out::fix_addresses(argv);
            STARTED.main = Some(main);
            drive
        } else {
            // It is only asked something, as which tests it has.
            main
        }
    };
    real!(__libc_start_main(driver, argc, argv, init, fini, rtld_fini, stack_end):
        fn(Main, libc::c_int, *mut *mut libc::c_char, *const c_void, *const c_void, *const c_void, *mut c_void) -> libc::c_int)
}

/// Whether the constructors of the program have run.
static mut DRIVEN: bool = false;

/// Stands in for `main`, when the constructors of the program have run.
unsafe extern "C" fn drive(
    argc: libc::c_int,
    argv: *mut *mut libc::c_char,
    envp: *mut *mut libc::c_char,
) -> libc::c_int {
    // SAFETY: these are the arguments of a process, in which nothing else runs yet.
    let (arguments, handed) = unsafe {
        let (copied, environment, handed) = arguments::copy(argv, envp);
        STARTED.argc = argc;
        STARTED.argv = copied;
        STARTED.envp = environment;
        (words(argv, argc), handed)
    };
    // SAFETY: as above.
    unsafe { DRIVEN = true };
    let out = report_out::Out::prepare(&arguments);
    crate::libc::make_locale();
    crate::libc::install();
    crate::libc::objects::prepare();
    crate::libc::restored::prepare();
    crash::install();
    save(handed);
    crate::table::prepare();
    crate::reuse::prepare();
    crate::looks::prepare();
    crate::sync::prepare();
    crate::wide::prepare();
    process::seal();
    crate::files::prepare();
    crate::front::prepare();
    exceptions::install();
    runtime::set_front(&Program);
    if crate::functions::wants_code_on_stacks() {
        runtime::make_stacks_executable();
    }
    report_out::explore(out, run_program)
}

/// The words of a command line.
unsafe fn words(argv: *mut *mut libc::c_char, argc: libc::c_int) -> Vec<String> {
    // SAFETY: by the contract there are so many strings.
    (0..argc as usize)
        .map(|i| unsafe { CStr::from_ptr(*argv.add(i)) }.to_string_lossy().into_owned())
        .collect()
}

/// One execution of the program, on the fiber of its first thread.
fn run_program() {
    // SAFETY: `drive` has set this; `main` takes what the process was started with.
    unsafe {
        if let Some(entry) = crate::rust_tests::entry() {
            crate::rust_tests::run(entry);
            return process::end(0, Call::unknown());
        }
        let Some(main) = STARTED.main else { return };
        let code = threads::run_main(main, STARTED.argc, STARTED.argv, STARTED.envp);
        crate::signals::point_at_end();
        let call = Call::end_of(main as usize);
        let end = || {
            crate::sync::frames_are_gone(|| call.place);
            process::end(code, call);
        };
        if runtime::is_alone() {
            end();
        } else {
            // The frames of `main` were below that of this function.
            let top = &raw const call as usize;
            crate::frames::main_returned(top - ROOM, top, call);
            below_frames(end);
        }
    }
}

/// How far below the frames of `main` the rest of the process runs.
const ROOM: usize = 64 << 10;

/// Runs what comes after `main` further down the stack. Other threads may still use local variables of `main` while the process ends, and find
/// them as they were.
#[inline(never)]
fn below_frames(f: impl FnOnce()) {
    let room = MaybeUninit::<[u8; ROOM]>::uninit();
    std::hint::black_box(&room);
    f();
    std::hint::black_box(&room);
}

/// What the process is made of.
struct Image {
    /// None where each execution has a process of its own, which nobody needs to put back.
    snapshot: Option<&'static Snapshot>,
    /// The program's variables.
    regions: Vec<Region>,
    /// Its code and its constants.
    constants: Vec<Region>,
    donors: Donors,
    capture: Capture,
}

static mut IMAGE: Option<Image> = None;

fn image() -> &'static Image {
    // SAFETY: set once, by `save`, before the first execution.
    match unsafe { &*(&raw const IMAGE) } {
        Some(image) => image,
        None => die("the program runs before it was started"),
    }
}

/// Keeps what the program's memory is before `main`, and what `main` is handed.
fn save(handed: Region) {
    let objects = image::segments::user_objects();
    let tls: Vec<_> = objects.iter().filter_map(|o| o.tls).collect();
    // SAFETY: nothing else runs yet.
    unsafe { OWN_STORAGE = storage::is_needed(&objects) };
    heap().seal();
    let mut regions: Vec<_> = objects.iter().flat_map(|o| o.writable.iter().copied()).collect();
    let constants = objects.iter().filter_map(|o| {
        let start = o.base.max(LOWEST);
        let end = o.writable.iter().map(|r| r.start).min()?;
        (start < end).then(|| Region::new(start, end - start))
    });
    let constants: Vec<_> = constants.collect();
    regions.extend(heap().sealed());
    regions.push(handed);
    let built = move || {
        // SAFETY: the functions and images are those of this process; the handler of signals is installed.
        unsafe {
            let donors = Donors::new(RealPthread::next()?, donors_at_first(), &tls)?;
            let capture = Capture::start()?;
            let snapshot = match is_shared() {
                true => None,
                false => Some(Snapshot::take(&regions, Mode::Dirty)?),
            };
            Ok(Image { snapshot, regions, constants, donors, capture })
        }
    };
    match built() {
        // SAFETY: nothing else runs yet.
        Ok(image) => unsafe {
            IMAGE = Some(image);
            note_donors();
        },
        Err(e) => {
            let e: image::Error = e;
            die(&e.to_string())
        }
    }
}

/// Puts the program's memory back.
pub(crate) fn restore() {
    let image = image();
    heap().reset();
    image.capture.clear();
    // SAFETY: no thread of the program runs.
    unsafe { (*(&raw mut LOOKED_AT)).clear() };
    // SAFETY: no thread of the program runs.
    unsafe {
        if let Some(snapshot) = image.snapshot {
            snapshot.restore();
        }
        image.donors.reset_main_tls();
    }
}

/// Whether an address is that of a variable with a fixed place.
pub(crate) fn is_variable(address: usize) -> bool {
    image().regions.iter().any(|r| r.contains(address))
}

/// The start and the end of variables with fixed places that lie together, one of which has this address.
pub(crate) fn variables_around(address: usize) -> Option<(usize, usize)> {
    image().regions.iter().find(|r| r.contains(address)).map(|r| (r.start, r.start + r.len))
}

/// No object is loaded below this address.
const LOWEST: usize = 1 << 16;

/// Whether an address is that of something in the program that is never written: code, a constant, the table of a `switch`.
pub(crate) fn is_constant(address: usize) -> bool {
    image().constants.iter().any(|r| r.contains(address))
}

/// Where pointers to the heap may lie when all threads have ended.
pub(crate) fn roots() -> Vec<(usize, usize)> {
    let image = image();
    let variables = image.regions.iter().map(|r| (r.start, r.end() - r.start));
    variables.chain(image.donors.main_tls_ranges()).collect()
}

/// What the program had written when somebody looked.
static mut LOOKED_AT: String = String::new();

/// What the program has written since the execution began.
pub(crate) fn take_output() -> String {
    let (out, err) = image().capture.take();
    // SAFETY: one OS thread alone runs code of the program.
    let mut all = unsafe { std::mem::take(&mut *(&raw mut LOOKED_AT)) };
    all += &String::from_utf8_lossy(&[out, err].concat());
    all
}

/// The same; it can be taken later.
pub(crate) fn look_at_output() -> String {
    let all = take_output();
    // SAFETY: as in `take_output`.
    unsafe { LOOKED_AT = all.clone() };
    all
}

/// A thread is made: its variables are those of a new one.
#[inline]
pub(crate) fn new_thread(t: ThreadId) {
    if t.index() >= threads_with_storage() {
        make_donors(t);
    }
    if has_own_storage() {
        // SAFETY: the thread does not run yet, and no other one has these variables.
        unsafe { image().donors.reset_tls(t.index() - 1) };
    }
}

/// How many donors are made before the first execution. A process for each execution has no use for those that another one makes.
fn donors_at_first() -> usize {
    if is_shared() { explore::MAX_THREADS - 1 } else { 7 }
}

/// The program has more threads than ever before.
#[cold]
fn make_donors(t: ThreadId) {
    let count = (2 * t.index()).next_power_of_two().min(explore::MAX_THREADS) - 1;
    let made = crate::shim::past_calls(|| {
        // SAFETY: one OS thread alone runs code of the program; no borrow of the image is held here.
        unsafe { (*(&raw mut IMAGE)).as_mut() }.map(|image| {
            let running = image::donors::current();
            // SAFETY: the thread that this OS thread is, and back. Nothing in between keeps an address of a thread-local variable.
            unsafe {
                image::donors::switch_to(image.donors.main());
                let made = image.donors.make_more(count);
                image::donors::switch_to(running);
                made
            }
        })
    });
    if let Some(Err(e)) = made {
        die(&e.to_string());
    }
    note_donors();
}

/// Where the thread-local variables of a thread are that is not the first: start and length.
pub(crate) fn locals_of(t: ThreadId) -> impl Iterator<Item = (usize, usize)> {
    let donors = &image().donors;
    let of_main = (t == ThreadId::MAIN).then(|| donors.main_tls_ranges());
    let of_other = t.index().checked_sub(1).map(|i| donors.tls_ranges(i));
    of_main.into_iter().flatten().chain(of_other.into_iter().flatten())
}

/// By thread: where its thread-local storage is, of as many threads as have some.
static mut FS: [MaybeUninit<FsBase>; explore::MAX_THREADS] =
    [const { MaybeUninit::uninit() }; explore::MAX_THREADS];
static mut WITH_STORAGE: usize = 0;

/// How many threads have thread-local storage: at least those that the process has ever had.
#[inline]
pub(crate) fn threads_with_storage() -> usize {
    // SAFETY: one OS thread alone runs code of the program.
    unsafe { WITH_STORAGE }
}

/// The image has more donors than before.
fn note_donors() {
    let donors = &image().donors;
    // SAFETY: as above.
    unsafe {
        for (i, fs) in (*(&raw mut FS)).iter_mut().enumerate().take(donors.count() + 1) {
            fs.write(if i == 0 { donors.main() } else { donors.get(i - 1) });
        }
        WITH_STORAGE = donors.count() + 1;
    }
}

/// Where the thread-local storage of a thread is.
#[inline]
pub(crate) fn fs_of(t: ThreadId) -> FsBase {
    debug_assert!(t.index() < threads_with_storage(), "{t:?} was never made");
    // SAFETY: a thread that was made has storage, set by `note_donors`.
    unsafe { FS[t.index()].assume_init() }
}

/// Whether threads run with storage of their own. What is thread-local in the process is that of the first thread otherwise.
static mut OWN_STORAGE: bool = true;

#[inline]
fn has_own_storage() -> bool {
    // SAFETY: set by `save`, before there are threads.
    unsafe { OWN_STORAGE }
}

/// Puts the thread-local storage of a thread in place, or our own.
#[inline]
pub(crate) fn switch(to: Option<ThreadId>) {
    if !has_own_storage() {
        return;
    }
    // SAFETY: these are of threads that exist, and park for ever; the fiber that runs next is the one they belong to.
    unsafe { image::donors::switch_to(fs_of(to.unwrap_or(ThreadId::MAIN))) };
}

/// For the handler of signals: whether a fault is one of the captured output.
pub(crate) fn output_fault(address: usize) -> bool {
    // SAFETY: as in `image`.
    unsafe { (*(&raw const IMAGE)).as_ref() }.is_some_and(|i| i.capture.on_fault(address))
}

/// Prints past the capture.
pub(crate) fn print(text: &str) {
    // SAFETY: as in `image`.
    let fd = unsafe { (*(&raw const IMAGE)).as_ref() }.map_or(2, |i| i.capture.real_stderr());
    report_out::write_to(fd, text);
}

/// Standard output past the capture.
pub(crate) fn real_stdout() -> libc::c_int {
    // SAFETY: as in `image`.
    unsafe { (*(&raw const IMAGE)).as_ref() }.map_or(1, |i| i.capture.real_stdout())
}

/// Nothing can go on, or the command line or the environment is wrong.
pub(crate) fn die(why: &str) -> ! {
    if report_out::wants_json() && report_out::begin_report() {
        report_out::write_object(
            &serde_json::json!({ "verdict": "error", "error": why, "failures": [], "caveats": [] }),
        );
    }
    print(&format!("raddle: {why}\n"));
    report_out::leave(2)
}

/// The program fails before `main`, where there is one thread and one schedule.
pub(crate) fn fail_before_main(kind: FailureKind, message: &str, location: Option<String>) -> ! {
    if report_out::wants_json() {
        let failure =
            serde_json::json!({ "kind": kind, "message": message, "location": location, "trace": [] });
        report_out::write_object(
            &serde_json::json!({ "verdict": "failure", "executions": 0, "failures": [failure], "caveats": [] }),
        );
    } else {
        let place = location.map_or(String::new(), |at| format!(" at {at}"));
        report_out::write_text(&format!("raddle: failure before `main`{place}\n  {message}\n"));
    }
    report_out::leave(1)
}

/// Whether the program's constructors run, and raddle is to check it.
pub(crate) fn is_before_main() -> bool {
    // SAFETY: before `main` there is one thread; the name is a C string.
    unsafe { !DRIVEN && libc::getenv(c"RADDLE_OFF".as_ptr()).is_null() }
}
