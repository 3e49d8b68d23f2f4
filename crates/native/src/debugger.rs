//! What a debugger is told when a failure is found: where each thread of the program is.
//!
//! Threads are fibers, so a debugger sees one, and of a deadlock only the runtime that has noticed it. But each thread stands in a call of
//! ours, and where that came from is known, with the frame pointer: enough to unwind the program's own frames from there. The commands
//! of `raddle check --gdb` put these two in place and ask for a backtrace.

use crate::{shim, threads};
use explore::ThreadId;
use std::ffi::CString;

/// Where a thread is.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ThreadPlace {
    /// In the call that it made last.
    address: usize,
    /// The frame pointer there.
    frame: usize,
    /// What it is called.
    name: *const libc::c_char,
}

/// The threads that have not ended, for gdb.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static mut raddle_thread_places: [ThreadPlace; explore::MAX_THREADS] =
    [ThreadPlace { address: 0, frame: 0, name: std::ptr::null() }; explore::MAX_THREADS];

/// How many there are.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static mut raddle_thread_count: u64 = 0;

/// Whether the failure was found in a thread of the program, on whose stack the debugger stops.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static mut raddle_found_in_thread: u64 = 0;

/// Which of these threads a debugger should show: the one that failed, or one that waits.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static mut raddle_failed_thread: u64 = 0;

/// Where a debugger stops: called with what is wrong, in the thread and at the place where it was found.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn raddle_failure_found(what: *const libc::c_char) {
    std::hint::black_box(what);
}

/// Tells a debugger of a failure, if there is one.
pub(crate) fn failed(what: &str) {
    let text = |s: &str| CString::new(s.replace('\0', " ")).unwrap_or_default();
    let alive: Vec<ThreadId> = threads::alive().collect();
    let names: Vec<CString> = alive.iter().map(|t| text(&runtime::label(*t))).collect();
    let what = text(what);
    // SAFETY: one OS thread alone runs code of the program, and a debugger reads these only below, while the names are alive.
    unsafe {
        let places = &mut *(&raw mut raddle_thread_places);
        let (mut count, mut failed, current) = (0, 0, runtime::in_execution().then(runtime::current));
        for (t, name) in alive.iter().zip(&names) {
            let (site, frame) = shim::last_call(*t);
            if site != 0 {
                if Some(*t) == current {
                    failed = count;
                }
                // In the call, not behind it: that may be another line.
                places[count] = ThreadPlace { address: site - 1, frame, name: name.as_ptr() };
                count += 1;
            }
        }
        raddle_thread_count = count as u64;
        raddle_failed_thread = failed as u64;
        raddle_found_in_thread = u64::from(runtime::in_execution());
        raddle_failure_found(what.as_ptr());
        raddle_thread_count = 0;
    }
}
