//! What `main` is handed: the command line and the environment.
//!
//! Programs write into both (`argv[i] = NULL`, `strtok`, `setenv`), so they lie in memory that is put back between executions,
//! and what `setenv` and the like make lives for one execution. The C library keeps what they made for ever, and would hand
//! it to the next one.

use crate::real::real;
use crate::shim::{export, undisturbed};
use crate::start::die;
use image::PAGE;
use image::segments::Region;
use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;

type Words = *mut *mut c_char;

unsafe extern "C" {
    static mut environ: Words;
    static mut optind: c_int;
}

/// The environment that executions begin with.
static mut BEGINS: Words = null_mut();
/// Where `getopt` begins.
static mut FIRST_OPTION: c_int = 1;
/// What the running execution has put into its environment.
static mut STRINGS: Vec<Box<[u8]>> = Vec::new();
/// Its environment, once it has changed it: ends with a null pointer.
static mut CHANGED: Vec<*mut c_char> = Vec::new();

/// Copies the command line and the environment to a place of their own.
///
/// # Safety
///
/// These are the arguments of a process, and nothing else runs.
pub(crate) unsafe fn copy(argv: Words, envp: Words) -> (Words, Words, Region) {
    // SAFETY: both lists end with a null pointer; the new memory has room for all that is written to it.
    unsafe {
        let words = |list: Words| (0..).map(move |i| *list.add(i)).take_while(|w| !w.is_null());
        let length = |w: *mut c_char| CStr::from_ptr(w).to_bytes_with_nul().len();
        let pointers = words(argv).count() + words(envp).count() + 2;
        let bytes: usize = words(argv).chain(words(envp)).map(length).sum();
        let size = (pointers * size_of::<*mut c_char>() + bytes).next_multiple_of(PAGE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let place = libc::mmap(null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if place == libc::MAP_FAILED {
            die("there is no memory for the command line");
        }
        let lists = place.cast::<*mut c_char>();
        let mut list = lists;
        let mut text = lists.add(pointers).cast::<c_char>();
        let mut starts = [lists; 2];
        for (start, from) in starts.iter_mut().zip([argv, envp]) {
            *start = list;
            for word in words(from) {
                let n = length(word);
                text.copy_from_nonoverlapping(word, n);
                *list = text;
                (list, text) = (list.add(1), text.add(n));
            }
            // A new mapping is zero: the null pointer is there.
            list = list.add(1);
        }
        environ = starts[1];
        BEGINS = starts[1];
        FIRST_OPTION = optind;
        (starts[0], starts[1], Region::new(place as usize, size))
    }
}

/// An execution begins: it has the environment that the process was started with.
pub(crate) fn begin() {
    // SAFETY: no thread of the program runs; what was made for the last execution is its own.
    unsafe {
        // Both may lie in the program's own data, whose pages are best left alone.
        if environ != BEGINS {
            environ = BEGINS;
        }
        if optind != FIRST_OPTION {
            optind = FIRST_OPTION;
        }
        if !(*(&raw const CHANGED)).is_empty() {
            (*(&raw mut CHANGED)).clear();
            (*(&raw mut STRINGS)).clear();
        }
    }
}

/// Whether an entry of the environment is that of a variable.
fn is_of(entry: *mut c_char, name: &[u8]) -> bool {
    // SAFETY: entries are C strings.
    let entry = unsafe { CStr::from_ptr(entry) }.to_bytes();
    entry.strip_prefix(name).is_some_and(|rest| rest.first() == Some(&b'='))
}

/// The environment changes: the entry of a variable is taken out, and another one comes in.
fn change(name: &[u8], entry: Option<*mut c_char>) {
    // SAFETY: one OS thread alone runs code of the program, and nothing here calls it; the environment is a list that ends with
    // a null pointer, or null.
    unsafe {
        let now = environ;
        let mut all: Vec<_> = match now.is_null() {
            true => Vec::new(),
            false => (0..).map(|i| *now.add(i)).take_while(|e| !e.is_null()).collect(),
        };
        match (all.iter().position(|&e| is_of(e, name)), entry) {
            (Some(i), Some(entry)) => all[i] = entry,
            (None, Some(entry)) => all.push(entry),
            (_, None) => all.retain(|&e| !is_of(e, name)),
        }
        all.push(null_mut());
        CHANGED = all;
        environ = (*(&raw mut CHANGED)).as_mut_ptr();
    }
}

/// The name of a variable, if it can be one.
///
/// # Safety
///
/// It is a C string, or null.
unsafe fn name_of<'a>(name: *const c_char) -> Option<&'a [u8]> {
    if name.is_null() {
        return None;
    }
    // SAFETY: by the contract.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    (!name.is_empty() && !name.contains(&b'=')).then_some(name)
}

fn invalid() -> c_int {
    // SAFETY: every thread has its own.
    unsafe { *libc::__errno_location() = libc::EINVAL };
    -1
}

extern "C" fn set(name: *const c_char, value: *const c_char, overwrite: c_int) -> c_int {
    if !runtime::in_execution() {
        return real!(setenv(name, value, overwrite): fn(*const c_char, *const c_char, c_int) -> c_int);
    }
    undisturbed(|| {
        // SAFETY: the program hands in C strings.
        let (Some(key), false) = (unsafe { name_of(name) }, value.is_null()) else { return invalid() };
        // SAFETY: as above.
        unsafe {
            if overwrite == 0 && !libc::getenv(name).is_null() {
                return 0;
            }
            let mut entry =
                [key, b"=", CStr::from_ptr(value).to_bytes_with_nul()].concat().into_boxed_slice();
            let at = entry.as_mut_ptr().cast();
            (*(&raw mut STRINGS)).push(entry);
            change(key, Some(at));
        }
        0
    })
}

extern "C" fn unset(name: *const c_char) -> c_int {
    if !runtime::in_execution() {
        return real!(unsetenv(name): fn(*const c_char) -> c_int);
    }
    undisturbed(|| {
        // SAFETY: the program hands in a C string.
        let Some(key) = (unsafe { name_of(name) }) else { return invalid() };
        change(key, None);
        0
    })
}

/// The string becomes part of the environment as it is; without a `=` it names what goes.
extern "C" fn put(entry: *mut c_char) -> c_int {
    if !runtime::in_execution() {
        return real!(putenv(entry): fn(*mut c_char) -> c_int);
    }
    undisturbed(|| {
        // SAFETY: the program hands in a C string.
        let text = unsafe { CStr::from_ptr(entry) }.to_bytes();
        match text.iter().position(|&b| b == b'=') {
            Some(end) => change(&text[..end], Some(entry)),
            None => change(text, None),
        }
        0
    })
}

extern "C" fn clear() -> c_int {
    if !runtime::in_execution() {
        return real!(clearenv(): fn() -> c_int);
    }
    // SAFETY: as in `change`.
    unsafe { environ = null_mut() };
    0
}

export! {
    setenv => set;
    unsetenv => unset;
    putenv => put;
    clearenv => clear;
}
