//! C++ exceptions: what is being thrown when the program gives up.

use explore::FailureKind;
use std::ffi::{CStr, c_char, c_int, c_void};

fn find<T>(name: &CStr) -> Option<T> {
    // SAFETY: the name is a C string; `T` is a function pointer, which is as large as a pointer.
    unsafe {
        let address = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
        (!address.is_null()).then(|| std::mem::transmute_copy(&address))
    }
}

/// The exception that the running thread handles, in words, if the program is one of C++ and there is one.
pub(crate) fn current() -> Option<String> {
    let current_type: extern "C" fn() -> *const *const c_char = find(c"__cxa_current_exception_type")?;
    let info = current_type();
    if info.is_null() {
        return None;
    }
    // SAFETY: a `std::type_info` is a table of virtual functions and then the name.
    let name = unsafe { CStr::from_ptr(*info.add(1)) };
    let demangle: Option<extern "C" fn(*const c_char, *mut c_char, *mut usize, *mut c_int) -> *mut c_char> =
        find(c"__cxa_demangle");
    let mut readable = name.to_string_lossy().trim_start_matches('*').to_owned();
    if let Some(demangle) = demangle {
        let mut status = 0;
        let text = demangle(name.as_ptr(), std::ptr::null_mut(), std::ptr::null_mut(), &mut status);
        if status == 0 && !text.is_null() {
            // SAFETY: the function gives a C string.
            readable = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        }
    }
    let what = what(name).map_or_else(String::new, |w| format!(": {w}"));
    Some(format!("an exception of type `{readable}` is thrown, and nobody catches it{what}"))
}

/// What a `std::exception` says of itself, for the types of the standard library, which have it in a known place.
fn what(name: &CStr) -> Option<String> {
    let known = [c"St13runtime_error", c"St11logic_error", c"St16invalid_argument", c"St12out_of_range"];
    if !known.contains(&name) {
        return None;
    }
    #[repr(C)]
    struct Globals {
        caught: *const c_void,
        uncaught: u32,
    }
    let globals: extern "C" fn() -> *const Globals = find(c"__cxa_get_globals")?;
    // SAFETY: a thread that handles an exception has it on its list; the object lies behind the header, which in libstdc++ ends
    // with the 32 bytes of the unwinder. These types are a table of virtual functions and then a pointer to the text.
    unsafe {
        let header = (*globals()).caught;
        if header.is_null() {
            return None;
        }
        // One that was thrown again from a `std::exception_ptr` has a header of its own, which begins with a pointer to the object.
        let again = header.byte_add(HEADER - 32).cast::<u64>().read() & 0xff == 1;
        let object = match again {
            true => header.cast::<*const *const c_char>().read(),
            false => header.byte_add(HEADER).cast::<*const c_char>(),
        };
        let text = *object.add(1);
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    }
}

/// The size of libstdc++'s `__cxa_exception` on x86-64.
const HEADER: usize = 112;

/// Takes the place of the C++ library's handler for programs that give up: that one keeps a note of having been called.
pub(crate) fn install() {
    let set: Option<extern "C" fn(extern "C" fn()) -> *const c_void> = find(c"_ZSt13set_terminatePFvvE");
    if let Some(set) = set {
        set(terminated);
    }
}

extern "C" fn terminated() {
    if !runtime::in_execution() {
        let message = "`std::terminate` is called";
        crate::start::fail_before_main(explore::FailureKind::Abort, message, None);
    }
    runtime::settle();
    let place = crate::names::place_here();
    match current() {
        Some(exception) => runtime::fail(FailureKind::UncaughtException, exception, place),
        None => runtime::fail(
            FailureKind::Abort,
            "`std::terminate` is called; for example, a `std::thread` is destroyed that was not joined"
                .to_owned(),
            place,
        ),
    }
}
