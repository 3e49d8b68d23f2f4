//! Stops a test whose time is up, or that is stuck inside something that raddle does not control.
//!
//! One OS thread a process looks at all running sessions. A session counts its steps. When the count stands still while user code runs,
//! the controlled thread computes, or it waits in the real world: for a `std` lock that another controlled thread holds, for I/O, or for
//! ever. A thread that has used the limit in CPU time without a step is stopped, and so is one that has waited for that long. A long
//! computation on a busy machine is neither. Looks are counted for waits, not seconds, so that a process that was suspended and
//! continued is not taken for a stuck one.
//!
//! A session is stopped in three ways, one after the other: it sees its stop word at the next step; its OS thread is interrupted and
//! leaves the fiber that runs; the process ends with a report. See [`crate::limits`].

use crate::emergency;
use crate::execution::Execution;
use crate::front::front;
use crate::limits::{self, END_AFTER, INTERRUPT_AFTER, TIME};
use crate::{Settings, signals};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// What a session shows to the watchdog.
pub(crate) struct Watched {
    /// Steps so far, over all executions.
    pub(crate) steps: AtomicU64,
    /// User code runs, not the search and not the space between executions.
    pub(crate) user: AtomicBool,
    /// Not 0 once the session has to stop.
    stop: AtomicU8,
    execution: AtomicPtr<Execution>,
    limit: Duration,
    stop_at: Option<Instant>,
    /// The OS thread of the session.
    thread: libc::pthread_t,
    /// The process has a front end, which watches it.
    by_front: bool,
}

/// What the watchdog has seen of a session.
struct Session {
    watched: Arc<Watched>,
    /// How many steps there were at the last look.
    steps: u64,
    /// How many looks in a row found that many.
    looks: u32,
    /// The CPU time of the OS thread at the first of them.
    cpu: Duration,
    /// When the session was asked to stop.
    asked: Option<Instant>,
}

/// How many looks in a row must find a session at the same step.
const LOOKS: u32 = 8;

static SESSIONS: Mutex<Vec<Session>> = Mutex::new(Vec::new());

impl Watched {
    /// That of an execution without a session.
    pub(crate) fn nobody() -> Arc<Watched> {
        Arc::new(Watched::with(None, None, std::ptr::null_mut(), false))
    }

    fn with(
        limit: Option<Duration>,
        stop_at: Option<Instant>,
        execution: *mut Execution,
        by_front: bool,
    ) -> Watched {
        Watched {
            steps: AtomicU64::new(0),
            user: AtomicBool::new(false),
            stop: AtomicU8::new(limits::first_word(stop_at)),
            execution: AtomicPtr::new(execution),
            limit: limit.unwrap_or(Duration::MAX),
            stop_at,
            // SAFETY: it has no preconditions.
            thread: unsafe { libc::pthread_self() },
            by_front,
        }
    }

    /// Makes what an earlier session has left that of another one.
    pub(crate) fn begin(watched: &mut Arc<Watched>, settings: &Settings, execution: *mut Execution) {
        let Settings { watchdog, stop_at, .. } = *settings;
        let new = Watched::with(watchdog, stop_at, execution, front().is_some());
        match Arc::get_mut(watched) {
            Some(left) => *left = new,
            None => *watched = Arc::new(new),
        }
        if let Some(front) = front() {
            limits::OF_FRONT.store(watched.stop.load(Ordering::Relaxed), Ordering::Relaxed);
            front.watch(watchdog, stop_at);
            return;
        }
        let session = Session::new(watched.clone());
        {
            let mut sessions = sessions();
            sessions.push(session);
            limits::CHECKS.store(sessions.len(), Ordering::Relaxed);
        }
        static START: Once = Once::new();
        START.call_once(|| {
            let (started, ready) = std::sync::mpsc::channel();
            let watchdog = std::thread::Builder::new().name("raddle-watchdog".into()).spawn(move || {
                let _ = started.send(());
                watch()
            });
            // A thread that starts allocates. In a program whose allocator is under control nobody else must do that
            // while it runs.
            if watchdog.is_ok() {
                let _ = ready.recv();
            }
        });
    }

    /// Where the session sees that it has to stop.
    pub(crate) fn stop_word(&self) -> *const AtomicU8 {
        if self.by_front { &raw const limits::OF_FRONT } else { &raw const self.stop }
    }

    /// Looks at this session no more.
    pub(crate) fn stop(self: &Arc<Self>) {
        match front().filter(|_| self.by_front) {
            Some(front) => front.unwatch(),
            None => {
                let mut sessions = sessions();
                sessions.retain(|s| !Arc::ptr_eq(&s.watched, self));
                limits::CHECKS.store(sessions.len(), Ordering::Relaxed);
            }
        }
    }
}

fn sessions() -> std::sync::MutexGuard<'static, Vec<Session>> {
    SESSIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch() {
    loop {
        let mut sessions = sessions();
        let shortest = sessions.iter().map(|s| s.watched.limit).min().unwrap_or(Duration::MAX);
        let pause = (shortest / LOOKS).clamp(Duration::from_millis(10), Duration::from_millis(50));
        let threads: Vec<libc::pthread_t> = sessions.iter().map(|s| s.watched.thread).collect();
        for (i, session) in sessions.iter_mut().enumerate() {
            // A session that records a failure runs inside the one that found it.
            let is_innermost = !threads[i + 1..].contains(&threads[i]);
            if is_innermost {
                session.look(pause);
            }
        }
        drop(sessions);
        std::thread::sleep(pause);
    }
}

impl Session {
    /// The first look takes the CPU time that the OS thread has used before, for other things.
    fn new(watched: Arc<Watched>) -> Session {
        Session { watched, steps: u64::MAX, looks: 0, cpu: Duration::ZERO, asked: None }
    }

    fn look(&mut self, pause: Duration) {
        let watched = &self.watched;
        let steps = watched.steps.load(Ordering::Relaxed);
        let moves = steps != self.steps || !watched.user.load(Ordering::Relaxed);
        if moves {
            (self.steps, self.looks, self.cpu) = (steps, 0, cpu_of(watched.thread));
        } else {
            self.looks = self.looks.saturating_add(1);
        }
        if watched.stop.load(Ordering::Relaxed) == 0 {
            let waited = pause * self.looks;
            let computed = cpu_of(watched.thread).saturating_sub(self.cpu);
            let word = match limits::first_word(watched.stop_at) {
                0 if !moves && computed >= watched.limit => limits::COMPUTES,
                0 if !moves && waited >= watched.limit && computed < waited / 8 => limits::WAITS,
                word => word,
            };
            watched.stop.store(word, Ordering::Relaxed);
        }
        let word = watched.stop.load(Ordering::Relaxed);
        if word == 0 {
            self.asked = None;
            return;
        }
        let asked = self.asked.get_or_insert_with(Instant::now).elapsed();
        if asked >= 2 * END_AFTER {
            end(watched, word);
        }
        if !moves && (asked >= INTERRUPT_AFTER || word != TIME) {
            signals::interrupt(watched.thread);
        }
    }
}

/// The CPU time that an OS thread has used.
fn cpu_of(thread: libc::pthread_t) -> Duration {
    #[cfg(target_os = "linux")]
    // SAFETY: a session is taken off the list, under the lock that our callers hold, before its OS thread ends. The calls write to live locals.
    unsafe {
        let mut clock = 0;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        if libc::pthread_getcpuclockid(thread, &raw mut clock) == 0
            && libc::clock_gettime(clock, &raw mut time) == 0
        {
            return Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
        }
    }
    let _ = thread;
    Duration::ZERO
}

/// The session does not stop: the process ends.
fn end(watched: &Watched, word: u8) -> ! {
    let ex = watched.execution.load(Ordering::Relaxed);
    // SAFETY: a session takes itself off the list, under the lock that is held here, before its execution goes away.
    // The OS thread that owns the execution has not come near it for the whole limit: it is stuck. Should
    // it go on in this very moment, the worst is a garbled text, because the process ends right below.
    let stop = unsafe { (*ex).stop_of(word) };
    // SAFETY: as above.
    emergency::write(&unsafe { emergency::stopped(&*ex, &stop) });
    emergency::leave_with(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_computed_before_a_check_does_not_count() {
        let limit = Duration::from_millis(20);
        let watched = Arc::new(Watched::with(Some(limit), None, std::ptr::null_mut(), false));
        watched.user.store(true, Ordering::Relaxed);
        while cpu_of(watched.thread) < 2 * limit {
            std::hint::spin_loop();
        }
        Session::new(watched.clone()).look(Duration::from_millis(1));
        assert_eq!(watched.stop.load(Ordering::Relaxed), 0);
    }
}
