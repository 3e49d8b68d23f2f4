//! The code of the user that led to an operation inside the standard library, such as a destructor.

use crate::record::place_of;
use explore::Site;
use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::collections::HashMap;

/// The calls outside of the standard library and of raddle that led to an operation whose location lies inside the standard
/// library, innermost first. Empty for other operations: their location is the user's.
#[cold]
pub(crate) fn outside_std(site: Site) -> Vec<String> {
    // Asked at each step of an execution that is shown: nothing is allocated, which could take a block that the test has freed, and expects again.
    let inside = place_of(site).and_then(|p| p.file()).is_some_and(is_std);
    if !inside {
        return Vec::new();
    }
    user_frames(&Backtrace::force_capture().to_string())
}

/// Whether an `Arc` of std's is dropping its value: its last reference is gone, and raddle does not see what its counts order.
#[cold]
pub(crate) fn in_arc_of_std() -> bool {
    thread_local! {
        static KNOWN: RefCell<HashMap<Vec<usize>, bool>> = RefCell::default();
    }
    let frames = return_addresses();
    let known = KNOWN.with_borrow(|k| k.get(&frames).copied());
    known.unwrap_or_else(|| {
        let is = names_arc_of_std(&Backtrace::force_capture().to_string());
        KNOWN.with_borrow_mut(|k| k.insert(frames, is));
        is
    })
}

/// Whether the innermost `Arc` that drops its value in a backtrace is not part of one of ours. Functions have short names where the place
/// of their code is known.
fn names_arc_of_std(backtrace: &str) -> bool {
    let lines: Vec<&str> = backtrace.lines().map(str::trim).collect();
    let at = |i: usize| lines.get(i + 1).and_then(|l| l.strip_prefix("at ")).unwrap_or_default();
    let drops = |i: &usize| {
        lines[*i].contains("drop_slow")
            && (lines[*i].contains("alloc::sync::Arc") || at(*i).contains("/alloc/src/sync.rs"))
    };
    let Some(slow) = (0..lines.len()).find(drops) else { return false };
    // What drops it: the glue of fields and of types around it.
    let is_glue = |n: &&&str| n.contains("drop_in_place") || n.contains(": drop<") || n.contains("::drop");
    let names = lines[slow + 1..].iter().filter(|l| !l.starts_with("at "));
    !names.take_while(is_glue).any(|n| n.contains("drop_in_place<raddle::sync::arc::Arc"))
}

/// Where the callers go on, innermost first.
fn return_addresses() -> Vec<usize> {
    use std::ffi::{c_int, c_void};
    const MOST: usize = 16;
    unsafe extern "C" {
        fn _Unwind_Backtrace(f: extern "C" fn(*mut c_void, *mut c_void) -> c_int, data: *mut c_void)
        -> c_int;
        fn _Unwind_GetIP(context: *mut c_void) -> usize;
    }
    extern "C" fn visit(context: *mut c_void, data: *mut c_void) -> c_int {
        // SAFETY: called below with the list, which nobody else uses meanwhile, and a context of the unwinder.
        unsafe {
            let all = &mut *data.cast::<Vec<usize>>();
            all.push(_Unwind_GetIP(context));
            // 0 asks for the next frame.
            if all.len() < MOST { 0 } else { 5 }
        }
    }
    let mut all = Vec::with_capacity(MOST);
    // SAFETY: the unwinder is part of every program with std in it; `visit` has the signature that it asks for.
    unsafe { _Unwind_Backtrace(visit, (&raw mut all).cast()) };
    all
}

fn is_std(location: &str) -> bool {
    location.contains("/library/") && location.contains("/src/")
}

/// The locations in the text of a backtrace: each frame is a line `N: function` and, where it is known, a line `at file:line:column`.
fn user_frames(backtrace: &str) -> Vec<String> {
    const OURS: [&str; 8] = [
        "raddle::",
        "raddle_runtime::",
        "runtime::",
        "explore::",
        "core::",
        "alloc::",
        "std::",
        "corosensei::",
    ];
    let mut found = Vec::new();
    let mut function = "";
    for line in backtrace.lines().map(str::trim) {
        match line.strip_prefix("at ") {
            Some(at) => {
                let name = function.trim_start_matches(['<', '&']);
                if !is_std(at) && !OURS.iter().any(|o| name.starts_with(o)) {
                    found.push(at.trim_start_matches("./").to_owned());
                }
            }
            None => function = line.split_once(": ").map_or(line, |(_, name)| name),
        }
    }
    found.truncate(8);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_arc_is_of_std_or_ours() {
        let of_std = "  0: runtime::x\n  1: core::ptr::drop_in_place<A>\n   2: alloc::sync::Arc<T,A>::drop_slow\n   3: \
                      core::ptr::drop_in_place<alloc::sync::Arc<A>>\n   4: mine::work\n   5: raddle::sync::arc::Arc<T>::new\n";
        assert!(names_arc_of_std(of_std));
        assert!(!names_arc_of_std(
            &of_std.replace("4: mine::work", "4: core::ptr::drop_in_place<raddle::sync::arc::Arc<A>>")
        ));
        assert!(!names_arc_of_std("  0: core::ptr::drop_in_place<A>\n  1: mine::work\n"));
    }

    #[test]
    fn frames_of_the_user_are_found_in_a_backtrace() {
        let text = "   0: runtime::record::record\n             at ./crates/runtime/src/record.rs:9:5\n   1: core::ptr::drop_in_place<T>\n             \
                    at /rustc/ab/library/core/src/ptr/mod.rs:523:1\n   2: queue::Queue::push\n             at ./src/queue.rs:31:9\n";
        assert_eq!(user_frames(text), ["src/queue.rs:31:9"]);
    }
}
