//! Last words: reports for cases in which the process ends before a report can be made in the usual way.

use crate::execution::Execution;
use crate::record;

/// Writes to standard error, past any capture a test harness has set up: the process is about to end.
pub(crate) fn write(text: &str) {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        // SAFETY: the pointer and the length are those of a live slice.
        let n = unsafe { libc::write(2, rest.as_ptr().cast(), rest.len()) };
        if n <= 0 {
            return;
        }
        rest = &rest[n as usize..];
    }
}

/// Ends the process without running anything else.
pub(crate) fn leave() -> ! {
    leave_with(1)
}

/// Ends the process with an exit code without running anything else.
pub(crate) fn leave_with(code: i32) -> ! {
    // SAFETY: `_exit` has no preconditions.
    unsafe { libc::_exit(code) }
}

/// A report on a search that had to stop and did not.
pub(crate) fn stopped(ex: &Execution, stop: &explore::Stop) -> String {
    let mut text = format!("\nraddle: stopped early, NOT verified: {}\n", stop.text);
    text += &format!("  thread:    {}\n", ex.thread_label(ex.current));
    if let Some(p) = ex.pending.get(ex.current.index()) {
        let place = record::place_of(p.site).map_or_else(|| "unknown".to_string(), |l| l.to_string());
        text += &format!("  last step: {} at {place}\n", record::operation(p.op.kind));
    }
    text += &format!("  steps:     {}\n  token:     {}\n", ex.total_steps, ex.schedule());
    text
}

/// Says why and ends the process.
pub(crate) fn die(why: &str) -> ! {
    write(&format!("\nraddle: {why}\n"));
    leave()
}

/// A report on the running execution: what happened, in which thread, its last step, and the token.
pub(crate) fn report(ex: &Execution, kind: explore::FailureKind, what: &str) -> String {
    let t = ex.current;
    let mut text = format!("\nraddle: failure ({}): {what}\n", kind.name());
    text += &format!("  thread:    {}\n", ex.thread_label(t));
    if let Some(p) = ex.pending.get(t.index()) {
        let place = record::place_of(p.site).map_or_else(|| "unknown".to_string(), |l| l.to_string());
        text += &format!("  last step: {} at {place}\n", record::operation(p.op.kind));
    }
    text += &format!("  replay:    RADDLE_REPLAY={}\n", ex.schedule());
    text
}
