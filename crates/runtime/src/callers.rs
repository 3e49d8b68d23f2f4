//! The code of the user that led to an operation inside the standard library, such as a destructor.

use crate::record::place_of;
use explore::{Failure, Site};
use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::collections::BTreeMap;

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

/// The calls outside of the standard library and of raddle that led here, innermost first.
#[cold]
pub(crate) fn outside_std_here() -> Vec<String> {
    let mut all = user_frames(&Backtrace::force_capture().to_string());
    // Functions that are part of their callers have no path in some debug information.
    all.retain(|at| {
        !["callers.rs:", "crash.rs:"].iter().any(|file| at.contains(&format!("runtime/src/{file}")))
    });
    all
}

thread_local! {
    /// By place in the standard library: where the user's code called what panicked there, in the last execution that recorded callers.
    static PANICS: RefCell<BTreeMap<String, String>> = const { RefCell::new(BTreeMap::new()) };
}

/// A panic begins at a place, in an execution that records callers.
#[cold]
pub(crate) fn note_panic(location: &str) {
    if is_std(location)
        && let Some(user) = outside_std_here().into_iter().find(|at| !at.contains("runtime/src/panics.rs:"))
    {
        PANICS.with_borrow_mut(|all| all.insert(location.to_owned(), user));
    }
}

/// Forgets the panics of an earlier check.
pub(crate) fn forget_panics() {
    PANICS.with_borrow_mut(BTreeMap::clear);
}

/// Gives failures that lie in the standard library the place of the user's call.
#[cold]
pub(crate) fn show_users_places(failures: &mut [Failure]) {
    PANICS.with_borrow(|all| {
        for failure in failures.iter_mut() {
            if let Some(location) = &mut failure.location
                && let Some(user) = all.get(location)
            {
                failure.message += &format!(" (in the standard library, at {location})");
                location.clone_from(user);
            }
        }
    });
}

/// Whether an `Arc` of std's is dropping its value: its last reference is gone, and raddle does not see what its counts order. So many of those on
/// the stack are part of ours.
#[cold]
pub(crate) fn in_arc_of_std(ours: u16) -> bool {
    thread_local! {
        static KNOWN: RefCell<BTreeMap<Vec<usize>, usize>> = RefCell::default();
    }
    let frames = return_addresses();
    let known = KNOWN.with_borrow(|k| k.get(&frames).copied());
    let dropping = known.unwrap_or_else(|| {
        let names = frames.iter().map(|f| crate::alien::function_name(*f).unwrap_or_default());
        let n = dropping_arcs(&names.collect::<Vec<_>>());
        KNOWN.with_borrow_mut(|k| k.insert(frames, n));
        n
    });
    dropping > ours as usize
}

/// How many `Arc`s of std's drop their values in these functions, innermost first. Those inside of types of ours do not count, but for `Arc`.
fn dropping_arcs(names: &[String]) -> usize {
    let is_slow = |n: &str| n.contains("alloc::sync::Arc<") && n.ends_with("drop_slow");
    let is_glue = |n: &&String| n.contains("drop_in_place<") || n.ends_with("::drop");
    let is_ours =
        |n: &String| n.contains("drop_in_place<raddle::") && !n.contains("drop_in_place<raddle::sync::arc::");
    let slow = names.iter().enumerate().filter(|(_, n)| is_slow(n));
    slow.filter(|(i, _)| !names[i + 1..].iter().take_while(is_glue).any(is_ours)).count()
}

/// Where the callers go on, innermost first.
fn return_addresses() -> Vec<usize> {
    use std::ffi::{c_int, c_void};
    const MOST: usize = 64;
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
    fn arcs_of_std_that_drop_their_values_are_counted() {
        let names = |all: &[&str]| all.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        let mut stack = names(&[
            "runtime::owners::look",
            "core::ptr::drop_in_place<mine::Loud>",
            "alloc::sync::Arc<T,A>::drop_slow",
            "<alloc::sync::Arc<T,A> as core::ops::drop::Drop>::drop",
            "core::ptr::drop_in_place<alloc::sync::Arc<mine::Loud>>",
            "mine::work",
        ]);
        assert_eq!(dropping_arcs(&stack), 1);
        // Those of our `Arc` are counted where they drop their values.
        stack[5] = "core::ptr::drop_in_place<raddle::sync::arc::Arc<mine::Loud>>".to_owned();
        assert_eq!(dropping_arcs(&stack), 1);
        stack[5] = "core::ptr::drop_in_place<raddle::sync::mpsc::Sender<mine::Loud>>".to_owned();
        assert_eq!(dropping_arcs(&stack), 0);
        assert_eq!(dropping_arcs(&names(&["core::ptr::drop_in_place<mine::Loud>", "mine::work"])), 0);
        assert_eq!(dropping_arcs(&names(&["<alloc::sync::Arc<mine::Loud>>::drop_slow", "mine::work"])), 1);
    }

    #[test]
    fn frames_of_the_user_are_found_in_a_backtrace() {
        let text = "   0: runtime::record::record\n             at ./crates/runtime/src/record.rs:9:5\n   1: core::ptr::drop_in_place<T>\n             \
                    at /rustc/ab/library/core/src/ptr/mod.rs:523:1\n   2: queue::Queue::push\n             at ./src/queue.rs:31:9\n";
        assert_eq!(user_frames(text), ["src/queue.rs:31:9"]);
    }
}
