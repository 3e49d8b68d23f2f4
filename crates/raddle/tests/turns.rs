//! Threads that give way: loops that count, write, or take locks while they wait for others end, and what is left out is named.

mod common;

use common::default;
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{CaveatKind, Config, Report, Verdict, thread};
use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;

/// All outcomes of a test, and the report.
fn outcomes(config: Config, test: impl Fn() -> u64) -> (BTreeSet<u64>, Report) {
    let seen = Box::new(StdMutex::new(BTreeSet::new()));
    let report = config.run(|| {
        let outcome = test();
        seen.lock().unwrap().insert(outcome);
    });
    (seen.into_inner().unwrap(), report)
}

fn ends_with_caveat(report: &Report) {
    assert_eq!(report.verdict, Verdict::NoFailureWithCaveats, "{}", report.guarantee);
    let turns: Vec<_> = report.caveats.iter().filter(|c| c.kind == CaveatKind::Turns).collect();
    assert_eq!(turns.len(), 1, "{:?}", report.caveats);
    assert!(turns[0].text.contains("--turns") && turns[0].places[0].contains("turns.rs"), "{turns:?}");
}

#[test]
fn a_loop_that_counts_its_looks_ends() {
    let (_, report) = outcomes(default(), || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = flag.clone();
        let t = thread::spawn(move || other.store(true, SeqCst));
        let mut looks = 0u64;
        while !flag.load(SeqCst) {
            looks += 1;
            thread::yield_now();
        }
        t.join().unwrap();
        std::hint::black_box(looks)
    });
    ends_with_caveat(&report);
}

#[test]
fn a_loop_that_counts_in_an_atomic_ends() {
    let (_, report) = outcomes(default(), || {
        let (flag, spins) = (Arc::new(AtomicBool::new(false)), AtomicU32::new(0));
        let other = flag.clone();
        let t = thread::spawn(move || other.store(true, SeqCst));
        while !flag.load(SeqCst) {
            spins.fetch_add(1, SeqCst);
            thread::yield_now();
        }
        t.join().unwrap();
        u64::from(spins.load(SeqCst))
    });
    ends_with_caveat(&report);
}

/// Looks at a flag up to `n` times beside a thread that sets it: the looks it took, by hand 0 to `n`.
fn looks_up_to(n: u64) -> impl Fn() -> u64 {
    move || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = flag.clone();
        let t = thread::spawn(move || other.store(true, SeqCst));
        let mut looks = 0;
        while looks < n && !flag.load(SeqCst) {
            looks += 1;
        }
        t.join().unwrap();
        looks
    }
}

#[test]
fn a_loop_that_ends_by_itself_is_verified_with_all_its_turns() {
    for n in [1, 3, 5, 20, 40, 100] {
        let (seen, report) = outcomes(default(), looks_up_to(n));
        assert_eq!(report.verdict, Verdict::Verified, "{n}: {}", report.guarantee);
        assert_eq!(seen, (0..=n).collect(), "{n}");
        assert_eq!(report.stats.executions, n + 1, "{n}");
    }
}

#[test]
fn exactly_the_executions_with_so_many_fruitless_turns_are_explored() {
    // The first look is no turn. With at most k fruitless turns in a row the loop looks k + 1 times in vain, and once more when the
    // flag is set; a thread that gives way takes no other path before that.
    for k in 1..6 {
        let (seen, report) = outcomes(default().turns(k), looks_up_to(50));
        let k = u64::from(k);
        assert!((0..=k + 1).all(|looks| seen.contains(&looks)), "{k}: {seen:?}");
        assert!(seen.iter().all(|looks| *looks <= k + 1), "{k}: {seen:?}");
        ends_with_caveat(&report);
    }
    // A loop that ends before it has to give way is left alone.
    let (seen, report) = outcomes(default().turns(3), looks_up_to(4));
    assert_eq!((seen.len(), report.verdict), (5, Verdict::Verified), "{}", report.guarantee);
}

#[test]
fn a_lock_that_is_tried_five_times_is_given_up_in_some_execution() {
    let (seen, report) = outcomes(default(), || {
        let lock = Arc::new((Mutex::new(0), AtomicU32::new(0)));
        let other = lock.clone();
        let t = thread::spawn(move || {
            let _held = other.0.lock().unwrap();
            other.1.store(1, SeqCst);
        });
        let got = (0..5).any(|_| lock.0.try_lock().is_ok());
        t.join().unwrap();
        u64::from(got)
    });
    assert_eq!(report.verdict, Verdict::Verified, "{}", report.guarantee);
    assert_eq!(seen, BTreeSet::from([0, 1]));
}

#[test]
fn a_thread_that_gave_way_goes_on_when_nobody_else_can() {
    // Both look at what nobody changes, and stop by themselves.
    let (seen, report) = outcomes(default().turns(2), || {
        let x = Arc::new(AtomicU32::new(0));
        let other = x.clone();
        let look = |x: &AtomicU32| (0..9).map(|_| u64::from(x.load(SeqCst))).sum::<u64>();
        let t = thread::spawn(move || look(&other));
        look(&x) + t.join().unwrap()
    });
    assert_eq!(seen, BTreeSet::from([0]));
    ends_with_caveat(&report);
}

#[test]
fn failures_behind_many_turns_are_found_and_replayed() {
    let test = || {
        let x = Arc::new(AtomicU32::new(0));
        let other = x.clone();
        let t = thread::spawn(move || other.store(1, SeqCst));
        let looks = (0..40).take_while(|_| x.load(SeqCst) == 0).count();
        t.join().unwrap();
        assert!(looks < 38, "looked {looks} times");
    };
    let report = default().run(test);
    assert_eq!(report.verdict, Verdict::Failure, "{}", report.guarantee);
    let again = default().replay(&report.failures[0].replay).run(test);
    assert_eq!(again.failures[0].message, report.failures[0].message);
}

/// Leaves `value` in the stack below the caller.
#[inline(never)]
fn soil_stack(value: u64) {
    std::hint::black_box([value; 512]);
}

/// Frames of the loop that are not written yet hold what lay there before, which differs from one execution to the next.
#[test]
fn what_lies_on_the_stack_does_not_decide_when_a_loop_that_backs_off_is_cut() {
    let executions = Box::new(StdMutex::new(0));
    for limit in [4, 1] {
        let report = default().run(|| {
            let execution = {
                let mut n = executions.lock().unwrap();
                *n += 1;
                *n
            };
            soil_stack(execution);
            let flag = Arc::new(AtomicBool::new(false));
            let other = flag.clone();
            let t = thread::spawn(move || {
                soil_stack(execution / 2);
                other.store(true, SeqCst);
            });
            let mut step = 0;
            while !flag.load(SeqCst) {
                if step < limit {
                    step += 1;
                    raddle::hint::spin_loop();
                } else {
                    thread::yield_now();
                }
            }
            t.join().unwrap();
        });
        assert_eq!(report.verdict, Verdict::Verified, "{:?}", report.failures);
    }
}

#[test]
fn true_livelocks_are_still_found() {
    let report = default().run(|| {
        let flag = AtomicBool::new(false);
        while !flag.load(SeqCst) {
            thread::yield_now();
        }
    });
    assert_eq!(report.failures[0].kind, raddle::FailureKind::Livelock);
}

/// What a report says of a loop: the verdict, and the kinds of its failures and caveats.
fn judged(test: impl Fn() + 'static) -> (Verdict, Vec<&'static str>) {
    let report = default().max_steps(20_000).run(test);
    let kinds =
        report.failures.iter().map(|f| f.kind.name()).chain(report.caveats.iter().map(|c| c.kind.name()));
    (report.verdict, kinds.collect())
}

/// A thread that runs beside a loop of the main thread.
fn beside(
    other: impl Fn(&Shared) + Copy + Send + Sync + 'static,
    main: impl Fn(&Shared) + 'static,
) -> (Verdict, Vec<&'static str>) {
    judged(move || {
        let shared = Arc::new(Shared::default());
        let theirs = shared.clone();
        let t = thread::spawn(move || other(&theirs));
        main(&shared);
        t.join().unwrap();
    })
}

#[derive(Default)]
struct Shared {
    flag: AtomicBool,
    x: AtomicU32,
    held: AtomicBool,
    data: Mutex<bool>,
    changed: raddle::sync::Condvar,
}

impl Shared {
    fn set(&self) {
        self.flag.store(true, SeqCst);
    }

    fn set_data(&self) {
        *self.data.lock().unwrap() = true;
    }

    fn spin(&self) {
        while self.held.swap(true, SeqCst) {}
        self.held.store(false, SeqCst);
    }

    fn timed(&self) {
        let mut data = self.data.lock().unwrap();
        while !*data {
            data = self.changed.wait_timeout(data, std::time::Duration::from_millis(1)).unwrap().0;
        }
    }

    fn step_back(&self) {
        loop {
            self.x.fetch_add(1, SeqCst);
            if self.flag.load(SeqCst) {
                return;
            }
            self.x.fetch_sub(1, SeqCst);
        }
    }
}

#[test]
fn loops_that_wait_for_others_are_judged_as_fair_schedules_go() {
    let verified = (Verdict::Verified, vec![]);
    let turns = (Verdict::NoFailureWithCaveats, vec!["turns"]);
    let livelock = (Verdict::Failure, vec!["livelock"]);
    let take_back = |s: &Shared| {
        while !s.flag.load(SeqCst) {
            s.x.store(1, SeqCst);
            s.x.store(0, SeqCst);
        }
    };
    assert_eq!(beside(Shared::set, take_back), verified);
    let writes_and_yields = |s: &Shared| {
        while !s.flag.load(SeqCst) {
            s.x.fetch_add(1, SeqCst);
            thread::yield_now();
        }
    };
    assert_eq!(beside(Shared::set, writes_and_yields), turns);
    let counts = |s: &Shared| {
        let mut n = 0;
        while !s.flag.load(SeqCst) {
            n += 1;
            std::hint::black_box(&n);
        }
    };
    assert_eq!(beside(Shared::set, counts), turns);
    let polls_under_a_lock = |s: &Shared| while !*s.data.lock().unwrap() {};
    assert_eq!(beside(Shared::set_data, polls_under_a_lock), verified);
    // Without optimisation what a wait leaves in its caller's frame may be another word each time, so that no cycle closes.
    let timed = beside(Shared::set_data, Shared::timed);
    assert!(timed == verified || timed == (Verdict::NoFailureWithCaveats, vec!["spurious"]), "{timed:?}");
    assert_eq!(beside(Shared::spin, Shared::spin), verified);
    // Nobody sets what these wait for.
    assert_eq!(beside(|_| (), take_back), livelock);
    assert_eq!(beside(Shared::step_back, Shared::step_back), livelock);
}

#[test]
fn what_some_fair_schedules_leave_is_a_livelock_only_if_asked() {
    let test = || {
        let wants = [AtomicBool::new(false), AtomicBool::new(false)];
        thread::scope(|s| {
            for i in 0..2 {
                let wants = &wants;
                s.spawn(move || {
                    loop {
                        wants[i].store(true, SeqCst);
                        if !wants[1 - i].load(SeqCst) {
                            break;
                        }
                        wants[i].store(false, SeqCst);
                        thread::yield_now();
                    }
                    wants[i].store(false, SeqCst);
                });
            }
        });
    };
    let report = default().run(test);
    let kinds: Vec<_> = report.caveats.iter().map(|c| c.kind).collect();
    assert_eq!((report.verdict, kinds), (Verdict::NoFailureWithCaveats, vec![CaveatKind::MayNotEnd]));
    let report = default().all_livelocks(true).run(test);
    assert_eq!(report.failures[0].kind, raddle::FailureKind::Livelock);
    let again = default().all_livelocks(true).replay(&report.failures[0].replay).run(test);
    assert_eq!(again.failures[0].message, report.failures[0].message);
}

/// Small random programs whose loops count, write, take locks and retry: all reductions give the outcomes of the naive search within the same
/// number of turns.
mod random {
    use super::*;

    struct Random(u64);

    impl Random {
        fn below(&mut self, n: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % n
        }
    }

    /// What a turn of a loop does besides its look.
    #[derive(Clone, Copy, Debug)]
    enum Body {
        Nothing,
        Yield,
        Add(usize),
        Store(usize),
        Lock(usize),
        Look(usize),
    }

    #[derive(Clone, Copy, Debug)]
    enum Part {
        Store(usize, u32),
        Add(usize),
        Load(usize),
        Locked(usize),
        /// Looks up to so many times, until a word is not 0.
        Poll(usize, u32, Body),
        /// Tries the lock up to so many times.
        Try(u32, Body),
        /// Tries to change 1 to 2.
        Retry(usize, u32),
    }

    type Words = [AtomicU32; 3];

    fn run(part: Part, x: &Words, m: &Mutex<()>) -> u64 {
        let body = |body: Body, i: u32| match body {
            Body::Nothing => {}
            Body::Yield => thread::yield_now(),
            Body::Add(w) => drop(x[w].fetch_add(1, SeqCst)),
            Body::Store(w) => x[w].store(i, SeqCst),
            Body::Lock(w) => {
                let _held = m.lock().unwrap();
                x[w].fetch_add(1, SeqCst);
            }
            Body::Look(w) => drop(x[w].load(SeqCst)),
        };
        match part {
            Part::Store(w, v) => x[w].store(v, SeqCst),
            Part::Add(w) => return u64::from(x[w].fetch_add(1, SeqCst)),
            Part::Load(w) => return u64::from(x[w].load(SeqCst)),
            Part::Locked(w) => {
                let _held = m.lock().unwrap();
                x[w].fetch_add(1, SeqCst);
            }
            Part::Poll(w, n, b) => {
                for i in 0..n {
                    if x[w].load(SeqCst) != 0 {
                        return u64::from(i);
                    }
                    body(b, i);
                }
                return u64::from(n);
            }
            Part::Try(n, b) => {
                for i in 0..n {
                    if m.try_lock().is_ok() {
                        return u64::from(i);
                    }
                    body(b, i);
                }
                return u64::from(n);
            }
            Part::Retry(w, n) => {
                for i in 0..n {
                    if x[w].compare_exchange(1, 2, SeqCst, SeqCst).is_ok() {
                        return u64::from(i);
                    }
                }
                return u64::from(n);
            }
        }
        9
    }

    fn program(r: &mut Random) -> Vec<Vec<Part>> {
        let w = |r: &mut Random| r.below(3) as usize;
        let body = |r: &mut Random| match r.below(6) {
            0 => Body::Nothing,
            1 => Body::Yield,
            2 => Body::Add(w(r)),
            3 => Body::Store(w(r)),
            4 => Body::Lock(w(r)),
            _ => Body::Look(w(r)),
        };
        let part = |r: &mut Random| match r.below(9) {
            0 => Part::Store(w(r), r.below(2) as u32),
            1 => Part::Add(w(r)),
            2 => Part::Load(w(r)),
            3 => Part::Locked(w(r)),
            4..=6 => Part::Poll(w(r), 2 + r.below(5) as u32, body(r)),
            7 => Part::Try(2 + r.below(5) as u32, body(r)),
            _ => Part::Retry(w(r), 2 + r.below(5) as u32),
        };
        let threads = if r.below(4) == 0 { 3 } else { 2 };
        (0..threads).map(|_| (0..1 + r.below(2)).map(|_| part(r)).collect()).collect()
    }

    type Outcome = Vec<u64>;

    fn explore(config: Config, program: &[Vec<Part>]) -> (BTreeSet<Outcome>, Report) {
        let seen = Box::new(StdMutex::new(BTreeSet::new()));
        let report = config.run(|| {
            let x: Arc<Words> = Arc::new([AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0)]);
            let m = Arc::new(Mutex::new(()));
            let threads: Vec<_> = program
                .iter()
                .map(|parts| {
                    let (parts, x, m) = (parts.clone(), x.clone(), m.clone());
                    thread::spawn(move || {
                        parts.iter().fold(0, |sum, part| sum * 10 + run(*part, &x, &m) % 10)
                    })
                })
                .collect();
            let mut outcome: Outcome = threads.into_iter().map(|t| t.join().unwrap()).collect();
            outcome.extend(x.iter().map(|w| u64::from(w.load(SeqCst))));
            seen.lock().unwrap().insert(outcome);
        });
        (seen.into_inner().unwrap(), report)
    }

    /// Compares so many programs; gives how many of them were small enough, and in how many a thread gave way.
    fn compare(seed: u64, programs: usize) -> (usize, usize) {
        let mut r = Random(0x9E37_79B9_7F4A_7C15 ^ seed << 32 | 1);
        let (mut compared, mut gave_way) = (0, 0);
        for _ in 0..programs {
            let program = program(&mut r);
            let turns = 1 + r.below(3) as u32;
            let config = |algorithm: &str| default().algorithm(algorithm).turns(turns);
            let (all, naive) = explore(config("none").max_executions(4_000), &program);
            if naive.verdict == Verdict::Incomplete {
                continue;
            }
            let caveat = |r: &Report| r.caveats.iter().any(|c| c.kind == CaveatKind::Turns);
            compared += 1;
            gave_way += usize::from(caveat(&naive));
            // More turns give more outcomes at most, and none where no caveat says so. Where a thread gave way to others that it has
            // nothing to do with, a reduction may not notice.
            let (more, full) = explore(default().turns(0).max_executions(100_000), &program);
            assert!(more.is_superset(&all), "{turns} turns, of {program:?}");
            for algorithm in ["optimal", "source", "dpor"] {
                let (found, report) = explore(config(algorithm), &program);
                assert_eq!(found, all, "{algorithm}, {turns} turns, of {program:?}");
                let complete = full.verdict != Verdict::Incomplete;
                assert!(
                    caveat(&report) || complete && more == found,
                    "no caveat by {algorithm}, {turns} turns, of {program:?}"
                );
                assert!(!caveat(&report) || caveat(&naive), "{algorithm}, {turns} turns, of {program:?}");
            }
        }
        (compared, gave_way)
    }

    #[test]
    fn reductions_agree_with_the_naive_search() {
        let (compared, gave_way) = compare(1, 60);
        assert!(compared >= 20 && gave_way >= 8, "{compared} compared, {gave_way} gave way");
    }

    #[test]
    #[ignore = "some minutes"]
    fn reductions_agree_with_the_naive_search_on_many_programs() {
        for seed in 2..200 {
            let (compared, gave_way) = compare(seed, 100);
            println!("{seed}: {compared} compared, {gave_way} gave way");
        }
    }
}
