//! The code of the user that led to an operation inside the standard library, such as a destructor.

use crate::record::place_of;
use explore::Site;
use std::backtrace::Backtrace;

/// The calls outside of the standard library and of raddle that led to an operation whose location lies inside the standard
/// library, innermost first. Empty for other operations: their location is the user's.
#[cold]
pub(crate) fn outside_std(site: Site) -> Vec<String> {
    let inside = place_of(site).is_some_and(|p| is_std(&p.to_string()));
    if !inside {
        return Vec::new();
    }
    user_frames(&Backtrace::force_capture().to_string())
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
    fn frames_of_the_user_are_found_in_a_backtrace() {
        let text = "   0: runtime::record::record\n             at ./crates/runtime/src/record.rs:9:5\n   1: core::ptr::drop_in_place<T>\n             \
                    at /rustc/ab/library/core/src/ptr/mod.rs:523:1\n   2: queue::Queue::push\n             at ./src/queue.rs:31:9\n";
        assert_eq!(user_frames(text), ["src/queue.rs:31:9"]);
    }
}
