//! Cases in which the process ends: each runs in a child process, which is this test binary again.
#![allow(missing_docs)]

mod common;

use common::*;
use runtime::Settings;
use std::process::Command;
use std::time::Duration;

const CASE: &str = "RADDLE_RUNTIME_TEST_CASE";

/// Runs one case in a child and gives its standard error and exit code.
fn child(case: &str) -> (String, Option<i32>) {
    let out = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_case_in_a_child", "--include-ignored"])
        .env(CASE, case)
        .output()
        .unwrap();
    (String::from_utf8_lossy(&out.stderr).into_owned(), out.status.code())
}

struct PanicsOnDrop;

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        panic!("second");
    }
}

#[test]
#[ignore = "only in a child process"]
fn a_case_in_a_child() {
    let Ok(case) = std::env::var(CASE) else { return };
    // Another reason to end comes long after the signal, however busy the machine is.
    let settings = Settings { watchdog: Some(Duration::from_secs(30)), ..settings() };
    let test: Box<dyn Fn()> = match case.as_str() {
        "interrupted" => Box::new(|| {
            Atomic::new(0).load();
            // SAFETY: `raise` has no preconditions.
            unsafe { libc::raise(libc::SIGINT) };
            loop {
                std::hint::spin_loop();
            }
        }),
        _ => unreachable!(),
    };
    let found = explore_with(&settings, Naive::default(), test);
    if let Some(stop) = found.stopped {
        runtime::end_process(&format!("stopped: {stop:?}"));
    }
}

#[test]
fn a_process_exit_inside_is_a_failure() {
    let found = explore_with(&settings(), Naive::default(), || {
        Atomic::new(0).load();
        join(spawn(|| std::process::exit(0)));
    });
    let failure = &found.failures[0];
    assert_eq!(failure.kind, explore::FailureKind::ExitCode, "{failure:?}");
    assert!(failure.replay.starts_with("rd1-"), "{failure:?}");
}

#[test]
fn a_panic_while_panicking_is_a_failure() {
    let found = explore_with(&settings(), Naive::default(), || {
        join(named("twice", || {
            let _p = PanicsOnDrop;
            panic!("first");
        }));
    });
    let failure = &found.failures[0];
    assert_eq!(failure.kind, explore::FailureKind::Abort, "{failure:?}");
    assert!(failure.message.contains("second") && failure.replay.starts_with("rd1-"), "{failure:?}");
}

#[test]
fn a_process_that_is_asked_to_end_in_a_computation_says_what_it_covered() {
    let (err, code) = child("interrupted");
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("SIGINT") && err.contains("Interrupt"), "{err}");
}

fn stopped(settings: &Settings, test: impl Fn()) -> (explore::Stop, Duration) {
    let start = std::time::Instant::now();
    let found = explore_with(settings, Naive::default(), test);
    (found.stopped.expect("the search stops"), start.elapsed())
}

#[test]
fn a_std_mutex_across_threads_is_stopped_by_the_watchdog() {
    let settings = Settings { watchdog: Some(Duration::from_millis(300)), ..settings() };
    let (stop, _) = stopped(&settings, || {
        let m = shared(std::sync::Mutex::new(()));
        let m1 = m.clone();
        let x = shared(Atomic::new(0));
        let x1 = x.clone();
        let _t = named("waiter", move || {
            let _g = m1.lock();
            x1.add(1);
        });
        let _g = m.lock();
        x.add(1);
    });
    assert_eq!(stop.reason, explore::StopReason::Limit);
    assert!(stop.text.contains("something that raddle does not control"), "{stop:?}");
    assert!(stop.replay.starts_with("rd1-"), "{stop:?}");
}

fn compute() {
    Atomic::new(0).load();
    loop {
        std::hint::spin_loop();
    }
}

#[test]
fn a_loop_without_operations_is_stopped_by_the_watchdog() {
    let settings = Settings { watchdog: Some(Duration::from_millis(100)), ..settings() };
    let (stop, _) = stopped(&settings, compute);
    assert!(stop.text.contains("of CPU time") && stop.text.contains("RADDLE_WATCHDOG"), "{stop:?}");
    assert!(stop.location.is_some(), "{stop:?}");
}

#[test]
fn the_time_limit_holds_inside_an_execution() {
    let limit = Duration::from_millis(200);
    type Test<'a> = (&'a str, &'a dyn Fn());
    let tests: [Test<'_>; 3] = [
        ("computes", &compute),
        ("sleeps", &|| std::thread::sleep(Duration::from_secs(100))),
        ("steps", &|| {
            let x = Atomic::new(0);
            loop {
                x.add(1);
            }
        }),
    ];
    for (name, test) in tests {
        let stop_at = Some(std::time::Instant::now() + limit);
        let settings = Settings { stop_at, max_steps: u64::MAX, ..settings() };
        let (stop, took) = stopped(&settings, test);
        assert_eq!(stop.reason, explore::StopReason::Time, "{name}");
        assert!(took < limit + Duration::from_secs(2), "{name}: {took:?}");
    }
}

#[test]
fn the_watchdog_leaves_a_long_search_alone() {
    let settings = Settings { watchdog: Some(Duration::from_millis(50)), ..settings() };
    let start = std::time::Instant::now();
    while start.elapsed() < Duration::from_millis(400) {
        let found = explore_with(&settings, Naive::default(), || join(spawn(|| ())));
        assert!(found.failures.is_empty());
    }
}
