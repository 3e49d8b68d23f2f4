//! Notices that a test is stuck inside something that raddle does not control.
//!
//! One OS thread a process looks at all running sessions. A session counts its steps; when the count stands still over
//! many looks in a row while user code runs, the controlled thread waits in the real world: for a `std` lock that
//! another controlled thread holds, for I/O, or for ever. Nothing can bring it back, so the process ends with a report.
//! Looks are counted, not seconds, so that a process that was stopped and continued is not taken for a stuck one.

use crate::emergency;
use crate::execution::Execution;
use crate::front::front;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

/// What a session shows to the watchdog.
pub(crate) struct Watched {
    /// Steps so far, over all executions.
    pub(crate) steps: AtomicU64,
    /// User code runs, not the search and not the space between executions.
    pub(crate) user: AtomicBool,
    execution: AtomicPtr<Execution>,
    limit: Duration,
}

/// How many looks in a row must find a session at the same step.
const LOOKS: u32 = 8;

static SESSIONS: Mutex<Vec<(Arc<Watched>, u64, u32)>> = Mutex::new(Vec::new());

impl Watched {
    pub(crate) fn new(limit: Option<Duration>, execution: *mut Execution) -> Arc<Watched> {
        let watched = Arc::new(Watched {
            steps: AtomicU64::new(0),
            user: AtomicBool::new(false),
            execution: AtomicPtr::new(execution),
            limit: limit.unwrap_or(Duration::MAX),
        });
        if let Some(front) = front() {
            front.watch(limit);
        } else if limit.is_some() {
            sessions().push((watched.clone(), 0, 0));
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
        watched
    }

    /// Looks at this session no more.
    pub(crate) fn stop(self: &Arc<Self>) {
        sessions().retain(|s| !Arc::ptr_eq(&s.0, self));
    }
}

fn sessions() -> std::sync::MutexGuard<'static, Vec<(Arc<Watched>, u64, u32)>> {
    SESSIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch() {
    loop {
        let mut sessions = sessions();
        let shortest = sessions.iter().map(|s| s.0.limit).min().unwrap_or(Duration::from_secs(1));
        let pause = (shortest / LOOKS).clamp(Duration::from_millis(10), Duration::from_millis(500));
        for (watched, seen, looks) in sessions.iter_mut() {
            let now = watched.steps.load(Ordering::Relaxed);
            if now != *seen || !watched.user.load(Ordering::Relaxed) {
                (*seen, *looks) = (now, 0);
                continue;
            }
            *looks = looks.saturating_add(1);
            if pause * *looks >= watched.limit {
                bark(watched);
            }
        }
        drop(sessions);
        std::thread::sleep(pause);
    }
}

fn bark(watched: &Watched) -> ! {
    let ex = watched.execution.load(Ordering::Relaxed);
    let what = format!(
        "no step for {:.0?}: the thread is inside something that raddle does not control: a lock or channel of `std` that \
         another thread of the test holds, I/O, a sleep, or a loop without any operation of raddle's types. Use raddle's \
         types in its place, or set Config::watchdog / RADDLE_WATCHDOG",
        watched.limit
    );
    // SAFETY: a session takes itself off the list, under the lock that is held here, before its execution goes away.
    // The OS thread that owns the execution has not come near it for the whole limit: it is stuck in user code. Should
    // it go on in this very moment, the worst is a garbled text, because the process ends right below.
    emergency::write(&unsafe { emergency::report(&*ex, explore::FailureKind::Limit, &what) });
    emergency::leave()
}
