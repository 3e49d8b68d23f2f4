//! What can be asked and said of a thread by its handle.
//!
//! Handles of the program's threads are ours, so nothing of this may reach the C library with one of them. How threads are
//! scheduled on processors is none of a checked program's business: it may say what it likes.

use crate::real::real;
use crate::shim::{call, export, export_past};
use crate::threads::used;
use std::ffi::CStr;

type Thread = libc::pthread_t;
type Code = libc::c_int;
type Attributes = *mut libc::pthread_attr_t;

extern "C" fn set_name(thread: Thread, name: *const libc::c_char) -> Code {
    if !runtime::in_execution() {
        return set_name_inside(thread, name);
    }
    let t = used(thread, call());
    // SAFETY: the program hands in a string.
    let name = unsafe { CStr::from_ptr(name) };
    if name.count_bytes() > 15 {
        return libc::ERANGE;
    }
    runtime::name_thread(t, name.to_string_lossy().into_owned());
    0
}

/// Names the running thread; what is too long is cut, as `prctl` does.
pub(crate) fn name_self(name: *const libc::c_char) {
    // SAFETY: the program hands in a string.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    let name = String::from_utf8_lossy(&name[..name.len().min(15)]).into_owned();
    runtime::name_thread(runtime::current(), name);
}

/// The name of the running thread with a zero byte at its end, and its length.
pub(crate) fn own_name() -> ([u8; 16], usize) {
    let mut out = [0; 16];
    let name = runtime::thread_name(runtime::current()).unwrap_or_default();
    let n = name.len().min(15);
    out[..n].copy_from_slice(&name.as_bytes()[..n]);
    (out, n + 1)
}

extern "C" fn set_name_inside(thread: Thread, name: *const libc::c_char) -> Code {
    real!(pthread_setname_np(thread, name): fn(Thread, *const libc::c_char) -> Code)
}

extern "C" fn get_name(thread: Thread, out: *mut libc::c_char, size: usize) -> Code {
    if !runtime::in_execution() {
        return real!(pthread_getname_np(thread, out, size): fn(Thread, *mut libc::c_char, usize) -> Code);
    }
    let t = used(thread, call());
    let name = runtime::thread_name(t).unwrap_or_default();
    // There must be room for the longest name.
    if size < 16 || name.len() >= size {
        return libc::ERANGE;
    }
    // SAFETY: the program hands in room for so many bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(name.as_ptr().cast(), out, name.len());
        out.add(name.len()).write(0);
    }
    0
}

extern "C" fn get_attributes(thread: Thread, out: Attributes) -> Code {
    if !runtime::in_execution() {
        return get_attributes_inside(thread, out);
    }
    let bounds = runtime::stack_of(used(thread, call()));
    let Some((low, high)) = bounds else { return libc::ESRCH };
    let page = 4096;
    let (low, high) = (low & !(page - 1), (high + page - 1) & !(page - 1));
    // SAFETY: the program hands in a place for attributes.
    unsafe {
        libc::pthread_attr_init(out);
        libc::pthread_attr_setstack(out, low as *mut _, high - low)
    }
}

extern "C" fn get_attributes_inside(thread: Thread, out: Attributes) -> Code {
    real!(pthread_getattr_np(thread, out): fn(Thread, Attributes) -> Code)
}

extern "C" fn set_scheduling(thread: Thread, policy: Code, parameters: *const libc::sched_param) -> Code {
    if !runtime::in_execution() {
        return real!(pthread_setschedparam(thread, policy, parameters):
            fn(Thread, Code, *const libc::sched_param) -> Code);
    }
    used(thread, call());
    let is_policy = (libc::SCHED_OTHER..=libc::SCHED_RR).contains(&policy)
        || matches!(policy, libc::SCHED_BATCH | libc::SCHED_IDLE | libc::SCHED_DEADLINE);
    // SAFETY: the program hands in parameters.
    let priority = unsafe { (*parameters).sched_priority };
    let has_priorities = matches!(policy, libc::SCHED_FIFO | libc::SCHED_RR);
    if !is_policy || has_priorities != (1..=99).contains(&priority) || !has_priorities && priority != 0 {
        return libc::EINVAL;
    }
    0
}

extern "C" fn get_scheduling(thread: Thread, policy: *mut Code, parameters: *mut libc::sched_param) -> Code {
    if !runtime::in_execution() {
        return real!(pthread_getschedparam(thread, policy, parameters):
            fn(Thread, *mut Code, *mut libc::sched_param) -> Code);
    }
    used(thread, call());
    // SAFETY: the program hands in places for both.
    unsafe {
        policy.write(libc::SCHED_OTHER);
        parameters.write(libc::sched_param { sched_priority: 0 });
    }
    0
}

extern "C" fn set_priority(thread: Thread, priority: Code) -> Code {
    if !runtime::in_execution() {
        return real!(pthread_setschedprio(thread, priority): fn(Thread, Code) -> Code);
    }
    used(thread, call());
    // Threads have the usual policy, which knows no other priority.
    if priority == 0 { 0 } else { libc::EINVAL }
}

extern "C" fn set_affinity(thread: Thread, size: usize, set: *const libc::cpu_set_t) -> Code {
    if !runtime::in_execution() {
        return real!(pthread_setaffinity_np(thread, size, set): fn(Thread, usize, *const libc::cpu_set_t) -> Code);
    }
    used(thread, call());
    // SAFETY: the program hands in a set of so many bytes.
    let is_empty = unsafe { std::slice::from_raw_parts(set.cast::<u8>(), size) }.iter().all(|b| *b == 0);
    if is_empty {
        return libc::EINVAL;
    }
    0
}

extern "C" fn get_affinity(thread: Thread, size: usize, set: *mut libc::cpu_set_t) -> Code {
    if !runtime::in_execution() {
        return real!(pthread_getaffinity_np(thread, size, set): fn(Thread, usize, *mut libc::cpu_set_t) -> Code);
    }
    used(thread, call());
    // SAFETY: the program hands in room for a set. All threads run where the process does.
    let code = crate::libc::keeping_errno(|| unsafe { libc::sched_getaffinity(0, size, set) });
    if code == 0 { 0 } else { libc::EINVAL }
}

extern "C" fn cpu_clock(thread: Thread, out: *mut libc::clockid_t) -> Code {
    if !runtime::in_execution() {
        return real!(pthread_getcpuclockid(thread, out): fn(Thread, *mut libc::clockid_t) -> Code);
    }
    used(thread, call());
    // SAFETY: the program hands in a place for it.
    unsafe { out.write(libc::CLOCK_THREAD_CPUTIME_ID) };
    0
}

export_past! {
    pthread_setname_np => set_name, set_name_inside;
    pthread_getattr_np => get_attributes, get_attributes_inside;
}

export! {
    pthread_getname_np => get_name;
    pthread_setschedparam => set_scheduling;
    pthread_getschedparam => get_scheduling;
    pthread_setschedprio => set_priority;
    pthread_setaffinity_np => set_affinity;
    pthread_getaffinity_np => get_affinity;
    pthread_getcpuclockid => cpu_clock;
}
