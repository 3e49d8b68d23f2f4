//! Panics of controlled threads: caught with message and place, and printed by nobody.

use crate::context;
use crate::emergency;
use crate::execution::{Execution, Noted};
use crate::fiber::Abandoned;
use crate::threads::Panicked;
use explore::{FailureKind, ThreadId};
use std::any::Any;
use std::panic::PanicHookInfo;
use std::sync::Once;

/// Installs the hook, once a process. Panics outside controlled threads go to the hook that was there before.
pub(crate) fn install() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !note(info) {
                previous(info);
            }
        }));
    });
}

/// What a panic says.
fn text(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|s| s.to_string())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic whose payload is not a text".to_string())
}

/// Messages of panics after which the process is aborted.
const FATAL: [&str; 2] = ["panic in a destructor during cleanup", "panic in a function that cannot unwind"];

/// Notes a panic of a controlled thread. `false`: it is none.
fn note(info: &PanicHookInfo<'_>) -> bool {
    let ex = context::current();
    if ex.is_null() {
        return false;
    }
    // SAFETY: a current execution is valid; the hook runs in the middle of the code that panics, which is either user
    // code, where no reference into the execution is alive, or the search, whose call is under way with one: then only
    // the two flags are touched.
    unsafe {
        // A program in machine code has no panics of ours: one there is a mistake of this workspace.
        if !(*ex).in_fiber || (*ex).front.is_some() {
            return false;
        }
        if !(*ex).in_user_code() {
            (*ex).search_panicked = true;
            return false;
        }
        let ex = &mut *ex;
        let message = text(info.payload());
        let location = info.location().map(|l| l.to_string());
        if ex.with_callers
            && let Some(location) = &location
        {
            crate::callers::note_panic(location);
        }
        if FATAL.contains(&message.as_str()) {
            last_words(ex, &message);
            return true;
        }
        let now = ex.now();
        let thread = &mut ex.threads[ex.current.index()];
        let again = thread.panicking;
        let notes = thread.seldom_mut();
        notes.noted_at = Some(now);
        let earlier = notes.noted.replace((message, location));
        notes.unwinding_from = if again { earlier } else { None };
        thread.panicking = true;
        (ex.any_panicking, ex.attend) = (true, true);
        ex.panics_are_counted();
        true
    }
}

/// The process aborts: a destructor panicked while a panic, or the end of an abandoned execution, unwound its thread.
fn last_words(ex: &mut Execution, why: &str) {
    let thread = &ex.threads[ex.current.index()];
    let say = |panic: &(String, Option<String>)| match panic {
        (message, Some(at)) => format!("`{message}` at {at}"),
        (message, None) => format!("`{message}`"),
    };
    let mut cause = thread.seldom().noted.as_ref().map_or("a panic".to_string(), say);
    if let Some(first) = &thread.seldom().unwinding_from {
        cause += &format!(", while the thread unwound from {}", say(first));
    }
    if let Some(found) = &ex.given_up_for {
        cause += &format!(", after the execution had failed: {found}");
    }
    let when = match ex.phase {
        crate::execution::Phase::Running => "",
        crate::execution::Phase::TearingDown => {
            " (the execution was being given up, so operations did nothing; guard the destructor with \
             `std::thread::panicking()`)"
        }
    };
    let what = format!("the process aborts: {why}; the last panic was {cause}{when}");
    // SAFETY: the current execution.
    if crate::signals::sees_aborts() && unsafe { crate::crash::can_leave(ex) } {
        // std calls `abort` next, which leads to `crate::crash`.
        ex.last_words = Some(what);
        return;
    }
    emergency::write(&emergency::report(ex, FailureKind::Abort, &what));
}

/// Whether the running thread unwinds from a panic. The hook says when that begins; it has ended for sure when nobody on
/// this OS thread panics.
pub(crate) fn still_panicking(ex: &mut Execution) -> bool {
    let thread = &mut ex.threads[ex.current.index()];
    thread.panicking = thread.panicking && std::thread::panicking();
    thread.panicking
}

/// A panic came out of a thread.
///
/// # Safety
///
/// `ex` is the current execution, and the caller holds no reference into it.
pub(crate) unsafe fn note_end(ex: *mut Execution, t: ThreadId, payload: Box<dyn Any + Send>) {
    if payload.is::<Abandoned>() {
        return;
    }
    // SAFETY: by the contract; the payload, whose destructor may be any code, is dropped with the thread's entry not
    // borrowed.
    let old = unsafe {
        (*ex).panics += 1;
        let at = (*ex).panics;
        let thread = (&mut (*ex).threads)[t.index()].seldom_mut();
        let (message, location) = match thread.noted.take() {
            Some((message, location)) if message == text(&*payload) || location.is_some() => {
                (message, location)
            }
            _ => (text(&*payload), None),
        };
        if thread.panicked.is_none() {
            thread.panicked = Some(Panicked {
                message,
                location,
                at,
                moment: thread.noted_at,
                seen: false,
                passed_on: false,
            });
        }
        thread.payload.replace(payload)
    };
    drop(old);
}

/// A panic has left a destructor of a thread-local. std ends the process then, so nobody who joins the thread can handle it.
///
/// # Safety
///
/// As for [`note_end`].
pub(crate) unsafe fn fail_in_destructor(ex: *mut Execution, t: ThreadId, payload: Box<dyn Any + Send>) {
    // SAFETY: by the contract; no reference into the execution is held over `fail`, which suspends.
    unsafe {
        if payload.is::<Abandoned>() || (*ex).phase != crate::execution::Phase::Running {
            return note_end(ex, t, payload);
        }
        let noted = (&mut (*ex).threads)[t.index()].seldom_mut().noted.take();
        let (message, location) = noted.unwrap_or_else(|| (text(&*payload), None));
        let at = location.map_or_else(String::new, |l| format!(" at {l}"));
        let message =
            format!("the destructor of a thread-local panicked{at}, which ends the process: {message}");
        drop(payload);
        (*ex).note_failure(FailureKind::Panic, message, None, Some(t));
        // The payload that unwinds an abandoned fiber comes out here.
        let Err(payload) =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| crate::sync::give_up(ex)));
        note_end(ex, t, payload);
    }
}

/// Messages of panics that only pass on that another thread has panicked.
const PASSED_ON: [&str; 2] = ["on an `Err` value: Any", "a scoped thread panicked"];

/// Whether a panic has come out of the first thread.
pub(crate) fn has_left_main(ex: &Execution) -> bool {
    ex.panics > 0 && ex.threads[ThreadId::MAIN.index()].seldom().panicked.is_some()
}

/// The failures that panics amount to: the one that is shown first, and with [`Settings::keep_going`](crate::Settings::keep_going), or where
/// a schedule leads to a later one, the others.
pub(crate) fn failures(ex: &Execution) -> Vec<Noted> {
    let Some((mut thread, mut shown)) = ex.unseen_panic() else { return Vec::new() };
    // The first thread fails the test whatever became of the others. If it did not just pass a panic on, its own panic is shown.
    if let Some(of_main) = &ex.threads[ThreadId::MAIN.index()].seldom().panicked
        && !passes_on(of_main)
    {
        (thread, shown) = (ThreadId::MAIN, of_main);
    }
    let mut all = vec![failure(ex, thread, shown)];
    if !ex.settings.keep_going && ex.passes == 0 {
        return all;
    }
    let mut panicked: Vec<(ThreadId, &Panicked)> = ex
        .order
        .iter()
        .filter_map(|t| ex.threads[t.index()].seldom().panicked.as_ref().map(|p| (*t, p)))
        .filter(|(_, p)| !p.seen || p.passed_on)
        .collect();
    panicked.sort_by_key(|(_, p)| p.at);
    for (thread, shown) in panicked {
        // Where a panic was passed on, each of those that it may have come from is shown.
        let noted = match passes_on(shown) {
            true => failure(ex, thread, shown),
            false => noted(thread, shown, None),
        };
        let is_known = |other: &Noted| other.thread == noted.thread && other.message == noted.message;
        if !all.iter().any(is_known) {
            all.push(noted);
        }
    }
    all
}

/// Whether a panic only says that another thread has panicked.
fn passes_on(panicked: &Panicked) -> bool {
    panicked.location.is_none() || PASSED_ON.iter().any(|m| panicked.message.contains(m))
}

/// The failure that a panic amounts to. If it only passes on another one, it is that one.
fn failure(ex: &Execution, thread: ThreadId, shown: &Panicked) -> Noted {
    let first = ex
        .order
        .iter()
        .filter_map(|t| ex.threads[t.index()].seldom().panicked.as_ref().map(|p| (*t, p)))
        .filter(|(_, p)| p.seen && passes_on(shown))
        .min_by_key(|(_, p)| p.at);
    let help = first.map(|_| {
        let at = shown.location.as_ref().map_or_else(String::new, |l| format!(" at {l}"));
        format!("{} passed the panic on{at}", ex.thread_label(thread))
    });
    let (origin, panicked) = first.unwrap_or((thread, shown));
    noted(origin, panicked, help)
}

fn noted(thread: ThreadId, panicked: &Panicked, help: Option<String>) -> Noted {
    let kind =
        if panicked.message.starts_with("assertion") { FailureKind::Assertion } else { FailureKind::Panic };
    Noted {
        kind,
        message: panicked.message.clone(),
        location: panicked.location.clone(),
        thread: Some(thread),
        help,
        at: panicked.moment,
        passed: None,
    }
}
