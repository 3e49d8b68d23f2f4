//! The programs of `programs/verify`, with what `raddle verify` is to say of each: no engine may contradict it, and the portfolio
//! decides most. A program with a lock, a guard or an assignment removed is unsafe.

mod support;

use support::corpus::{self, Case};
use support::stands;
use verify::{Budget, Options, Verdict, engine, engines};

/// Runs an engine, checks what it says, and compares it with the manifest: whether it is decided.
fn decided(case: &Case, name: &str, seconds: f64) -> Result<bool, String> {
    let program = case.read().unwrap_or_else(|e| panic!("{}: {e}", case.name()));
    let budget = Budget { seconds: Some(seconds), work: None };
    let options = Options { deadlocks: case.deadlocks, budget };
    let out = (engine(name).unwrap().make)().verify(&program, &options);
    stands(&program, &options, &out);
    match &out.verdict {
        Verdict::Unknown(why) => Err(why.to_string()),
        v => {
            // A program that is safe under some schedules only is not safe.
            let word = if v.name() == "safe" { "safe" } else { "unsafe" };
            assert_eq!(word, case.expect, "{} on {}", name, case.name());
            Ok(true)
        }
    }
}

/// Runs the portfolio on programs; the names of those that it does not decide.
fn undecided(cases: &[Case], seconds: f64) -> Vec<String> {
    let mut out = Vec::new();
    for case in cases {
        if let Err(why) = decided(case, "portfolio", seconds) {
            out.push(format!("{}: {why}", case.name()));
        }
    }
    out
}

#[test]
fn the_portfolio_is_never_wrong_and_decides_what_is_not_marked_slow() {
    let all: Vec<Case> = corpus::cases().into_iter().filter(|c| !c.slow && !c.is_mutation()).collect();
    let open = undecided(&all, 60.0);
    assert!(open.is_empty(), "{} of {} are not decided: {open:#?}", open.len(), all.len());
}

#[test]
fn there_are_enough_programs_and_enough_of_them_without_an_end() {
    let all: Vec<Case> = corpus::cases().into_iter().filter(|c| !c.is_mutation()).collect();
    let mut files: Vec<&str> = all.iter().map(|c| c.file.as_str()).collect();
    files.dedup();
    assert!(files.len() >= 40, "{}", files.len());
    assert!(all.iter().filter(|c| c.unwind.is_none() && c.expect == "safe").count() >= 10);
    for verdict in ["safe", "unsafe"] {
        assert!(all.iter().filter(|c| c.expect == verdict).count() >= 40, "{verdict}");
    }
    let mut there: Vec<String> = std::fs::read_dir(corpus::directory())
        .unwrap()
        .map(|f| f.unwrap().file_name().into_string().unwrap())
        .filter(|f| f.ends_with(".c"))
        .collect();
    there.sort();
    files.sort_unstable();
    files.dedup();
    assert_eq!(files, there, "every program is in the manifest");
}

#[test]
fn a_lock_a_guard_or_an_assignment_less_is_found() {
    let all: Vec<Case> = corpus::cases().into_iter().filter(|c| !c.slow && c.is_mutation()).collect();
    let open = undecided(&all, 60.0);
    assert!(open.is_empty(), "{} of {} are not decided: {open:#?}", open.len(), all.len());
}

#[test]
fn who_asks_once_before_it_waits_is_wrong_if_threads_wake_up_for_no_reason() {
    let text = |ask: &str| {
        format!(
            "{} int ready, data; pthread_mutex_t m; pthread_cond_t c;
             void *f(void *p) {{ pthread_mutex_lock(&m); data = 7; ready = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);
               return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); pthread_mutex_lock(&m);
               {ask} (!ready) pthread_cond_wait(&c, &m); assert(data == 7); pthread_mutex_unlock(&m); return 0; }}",
            support::PRELUDE
        )
    };
    for (ask, spurious, verdict) in
        [("if", false, "safe"), ("while", false, "safe"), ("if", true, "unsafe"), ("while", true, "safe")]
    {
        let options = model::Options { spurious, ..model::Options::default() };
        let p = model::read_text("wait.c", &text(ask), &options).unwrap();
        for engine in ["explicit", "bdd", "impact"] {
            let out = support::run(engine, &p, &support::within(5000));
            assert_eq!(out.verdict.name(), verdict, "{ask}, spurious: {spurious}, {engine}");
        }
    }
}

#[test]
#[ignore = "minutes: every engine on every program"]
fn no_engine_is_wrong_about_any_program() {
    for case in corpus::cases() {
        for e in engines() {
            let found = decided(&case, e.name, 5.0);
            println!("{} {}: {found:?}", case.name(), e.name);
        }
    }
}
