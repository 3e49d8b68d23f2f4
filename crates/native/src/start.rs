//! The process: taken over before `main`, run again and again, ended with a report.

use crate::front::Program;
use crate::real::real;
use crate::report_out;
use crate::threads::{self, Main};
use std::ffi::{CStr, c_void};

/// What the process was started with.
struct Started {
    main: Option<Main>,
    argc: libc::c_int,
    argv: *mut *mut libc::c_char,
    envp: *mut *mut libc::c_char,
}

static mut STARTED: Started =
    Started { main: None, argc: 0, argv: std::ptr::null_mut(), envp: std::ptr::null_mut() };

/// The writable memory of the program, and what it was before `main`.
static mut IMAGE: Vec<(usize, Vec<u8>)> = Vec::new();

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
    // SAFETY: nothing else runs yet.
    unsafe {
        report_out::fix_addresses(argv);
        STARTED.main = Some(main);
    }
    real!(__libc_start_main(drive, argc, argv, init, fini, rtld_fini, stack_end):
        fn(Main, libc::c_int, *mut *mut libc::c_char, *const c_void, *const c_void, *const c_void, *mut c_void) -> libc::c_int)
}

/// Stands in for `main`, when the constructors of the program have run.
unsafe extern "C" fn drive(
    argc: libc::c_int,
    argv: *mut *mut libc::c_char,
    envp: *mut *mut libc::c_char,
) -> libc::c_int {
    // SAFETY: nothing else runs yet.
    unsafe {
        STARTED.argc = argc;
        STARTED.argv = argv;
        STARTED.envp = envp;
        save();
    }
    runtime::set_front(&Program);
    // SAFETY: these are the arguments of a process.
    let arguments = unsafe { words(argv, argc) };
    report_out::explore(run_program, &arguments)
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
        let Some(main) = STARTED.main else { return };
        threads::run_main(main, STARTED.argc, STARTED.argv, STARTED.envp);
    }
    runtime::settle();
    runtime::exit_process();
}

/// Keeps what the program's memory is before `main`.
unsafe fn save() {
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        data: *mut c_void,
    ) -> libc::c_int {
        // SAFETY: `dl_iterate_phdr` hands in a valid `info`; the first object is the executable. `data` is our list.
        unsafe {
            let found = &mut *data.cast::<Vec<(usize, Vec<u8>)>>();
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum as usize);
            let base = (*info).dlpi_addr as usize;
            let relro = headers.iter().find(|h| h.p_type == libc::PT_GNU_RELRO);
            let relro_end = relro.map_or(0, |h| (base + (h.p_vaddr + h.p_memsz) as usize) & !4095);
            for h in headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_W != 0) {
                let start = (base + h.p_vaddr as usize).max(relro_end);
                let end = base + (h.p_vaddr + h.p_memsz) as usize;
                if start < end {
                    let bytes = std::slice::from_raw_parts(start as *const u8, end - start);
                    found.push((start, bytes.to_vec()));
                }
            }
        }
        1
    }
    // SAFETY: nothing else runs yet.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut IMAGE).cast()) };
}

/// Puts the program's memory back.
pub(crate) fn restore() {
    // SAFETY: no thread of the program runs; the regions are writable and stay mapped.
    unsafe {
        for (start, bytes) in &*(&raw const IMAGE) {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), *start as *mut u8, bytes.len());
        }
    }
}

/// The command line or the environment is wrong.
pub(crate) fn usage(why: &str) -> ! {
    eprintln!("raddle: {why}");
    report_out::leave(2)
}

/// Nothing can go on.
pub(crate) fn die(why: &str) -> ! {
    eprintln!("raddle: {why}");
    report_out::leave(2)
}
