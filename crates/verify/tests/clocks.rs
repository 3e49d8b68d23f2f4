//! Clocks that nobody can set never run backwards; those that can be set show any time.

mod support;

use support::{read, run, within};
use verify::Verdict;

const TIME: &str = "struct timespec { long tv_sec; long tv_nsec; };";

/// So many threads that run `body`.
fn text(threads: u32, globals: &str, body: &str) -> String {
    format!(
        "{TIME} {globals} pthread_mutex_t m; void *f(void *p) {{ struct timespec a, b; {body} return 0; }}
         int main(void) {{ pthread_t t[{threads}]; for (int i = 0; i < {threads}; i++) pthread_create(&t[i], 0, f, 0);
         for (int i = 0; i < {threads}; i++) pthread_join(t[i], 0); return 0; }}"
    )
}

fn is_safe(engine: &str, text: &str) -> Option<bool> {
    match run(engine, &read(text), &within(200_000)).verdict {
        Verdict::Safe(_) => Some(true),
        Verdict::Unsafe(_) => Some(false),
        _ => None,
    }
}

/// A thread looks twice; threads look one after the other.
fn programs(clock: u32) -> [String; 3] {
    let later = "a.tv_sec < b.tv_sec || a.tv_sec == b.tv_sec && a.tv_nsec <= b.tv_nsec";
    [
        text(1, "", &format!("clock_gettime({clock}, &a); clock_gettime({clock}, &b); assert({later});")),
        text(
            2,
            "long seen;",
            &format!(
                "pthread_mutex_lock(&m); clock_gettime({clock}, &a); assert(seen <= a.tv_sec); seen = a.tv_sec;
                 pthread_mutex_unlock(&m);"
            ),
        ),
        text(1, "", &format!("clock_gettime({clock}, &a); assert(a.tv_sec >= 0 && a.tv_nsec >= 0 && a.tv_nsec < 1000000000);")),
    ]
}

#[test]
fn time_does_not_run_backwards() {
    for p in programs(1) {
        assert_eq!(is_safe("impact", &p), Some(true), "{p}");
    }
    // The clock of a thread is its own, and what tells the time of day can be set.
    for (clock, expected) in [(3, [true, false, true]), (0, [false, false, true])] {
        for (p, expected) in programs(clock).iter().zip(expected) {
            let engine = if expected { "impact" } else { "explicit" };
            assert_eq!(is_safe(engine, p), Some(expected), "{p}");
        }
    }
}

#[test]
fn time_may_stand_still_or_jump() {
    for claim in ["a.tv_sec < b.tv_sec || a.tv_nsec != b.tv_nsec", "b.tv_sec - a.tv_sec < 5"] {
        let p = text(1, "", &format!("clock_gettime(1, &a); clock_gettime(1, &b); assert({claim});"));
        assert_eq!(is_safe("explicit", &p), Some(false), "{p}");
    }
}

#[test]
fn who_sleeps_wakes_up_later() {
    let sleeps = |how: &str, least: &str| {
        format!(
            "{TIME} int main(void) {{ struct timespec a, b, nap = {{ 2, 0 }}; clock_gettime(1, &a); {how} clock_gettime(1, &b);
             assert(b.tv_sec - a.tv_sec >= {least}); return 0; }}"
        )
    };
    assert_eq!(is_safe("impact", &sleeps("sleep(2);", "2")), Some(true));
    for how in ["sleep(2);", "usleep(2000000);", "nanosleep(&nap, 0);", "sleep(1); sleep(1);"] {
        assert_eq!(is_safe("explicit", &sleeps(how, "3")), Some(false), "{how}");
    }
}

#[test]
fn what_tells_the_time_of_day_is_in_range() {
    let p = "struct timeval { long tv_sec; long tv_usec; };
        int main(void) { struct timeval v; long t; gettimeofday(&v, 0); assert(v.tv_usec >= 0 && v.tv_usec < 1000000);
        assert(time(&t) >= 0); assert(t >= 0); return 0; }";
    assert_eq!(is_safe("impact", p), Some(true));
    assert_eq!(is_safe("explicit", &p.replace("t >= 0); return", "t == v.tv_sec); return")), Some(false));
}

#[test]
fn what_is_not_known_of_clocks_is_refused() {
    for (body, why) in [
        ("clock_gettime(1, &a); clock_gettime(7, &b);", "several clocks"),
        ("clock_gettime(__VERIFIER_nondet_int(), &a);", "a clock that is not known"),
        ("pthread_mutex_clocklock(&m, 1, &a); clock_gettime(1, &a);", "a time limit on a clock"),
    ] {
        let text = format!("{} {}", support::PRELUDE, text(1, "", body));
        let says = model::read_text("test.c", &text, &model::Options::default()).unwrap_err().to_string();
        assert!(says.contains(why), "{body}: {says}");
    }
}
