//! All engines agree on random programs with finitely many states; certificates check, traces replay.

use crate::budget::Budget;
use crate::outcome::{Options, Outcome, Unknown, Verdict};
use crate::rounds::LalReps;
use crate::{Engine, check, engine, testing};

/// What is asked of lal-reps, which is slow where nothing is wrong.
const WORK: u64 = 1500;

/// Runs engines on one program and compares them with `explicit`; the verdict, and whether rounds found something wrong.
fn agree(seed: u64, deadlocks: bool) -> (&'static str, bool) {
    let text = testing::random_text(seed);
    let p = testing::read(&text);
    let options = Options { deadlocks, ..Options::default() };
    let run = |name: &str| (engine(name).unwrap().make)().verify(&p, &options);
    let expected = run("explicit");
    let word = expected.verdict.name();
    let say =
        |found: &Outcome| format!("seed {seed}, {}: {:?}, not {word}\n{text}", found.engine, found.verdict);
    for name in ["explicit-symmetric", "bdd", "bdd-backward", "contexts", "predabs"] {
        let found = run(name);
        if let Verdict::Safe(certificate) = &found.verdict
            && let Err(e) = check(&p, &options, certificate)
        {
            panic!("seed {seed}, {name}: {e}\n{text}");
        }
        assert_eq!(found.verdict.name(), word, "{}", say(&found));
        if name.starts_with("bdd") {
            let steps = |v: &Verdict| v.trace().map(|t| t.steps.len());
            assert_eq!(
                steps(&found.verdict),
                steps(&expected.verdict),
                "the shortest trace: {}",
                say(&found)
            );
        }
        if name == "bdd" && word == "safe" {
            assert_eq!(found.count("states"), expected.count("states"), "states: {}", say(&found));
        }
    }
    if deadlocks {
        return (word, false);
    }
    let budget = Budget { work: Some(WORK), seconds: None };
    let found = LalReps { rounds: 2 }.verify(&p, &Options { budget, ..options.clone() });
    match &found.verdict {
        Verdict::Unsafe(_) => assert_eq!(word, "unsafe", "{}", say(&found)),
        Verdict::Unknown(Unknown::Within(_) | Unknown::Spent(_)) => {}
        _ => panic!("{}", say(&found)),
    }
    (word, found.verdict.name() == "unsafe")
}

#[test]
fn symbolic_and_bounded_engines_agree_with_explicit_reachability() {
    let (mut safe, mut wrong, mut in_rounds) = (0, 0, 0);
    for seed in 0..150 {
        let (word, found) = agree(seed, seed % 2 == 0);
        safe += (word == "safe") as u32;
        wrong += (word == "unsafe") as u32;
        in_rounds += found as u32;
    }
    assert!(
        safe > 50 && wrong > 15 && in_rounds > 5,
        "{safe} safe, {wrong} unsafe, {in_rounds} in two rounds"
    );
}

#[test]
#[ignore = "minutes"]
fn they_agree_on_thousands() {
    for seed in 1000..4000 {
        agree(seed, seed % 2 == 0);
    }
}
