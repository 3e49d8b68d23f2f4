//! All engines agree on random programs with finitely many states; certificates check, traces replay.

use crate::budget::Budget;
use crate::outcome::{Options, Unknown, Verdict};
use crate::{check, engine, testing};

/// Runs engines on one program and compares them with `explicit`.
fn agree(seed: u64, deadlocks: bool) -> &'static str {
    let text = testing::random_text(seed);
    let p = testing::read(&text);
    let options = Options { deadlocks, budget: Budget { seconds: Some(20.0), work: None } };
    let run = |name: &str| (engine(name).unwrap().make)().verify(&p, &options);
    let expected = run("explicit");
    let word = expected.verdict.name();
    for name in ["bdd", "bdd-backward", "contexts", "lal-reps"] {
        let found = run(name);
        let say = || format!("seed {seed}, {name}: {:?}, not {word}\n{text}", found.verdict);
        match &found.verdict {
            Verdict::Unknown(Unknown::Within(_)) if name == "lal-reps" => continue,
            Verdict::Unknown(Unknown::Cannot(_)) if name == "lal-reps" && deadlocks => continue,
            Verdict::Safe(certificate) => {
                if let Err(e) = check(&p, &options, certificate) {
                    panic!("seed {seed}, {name}: {e}\n{text}");
                }
            }
            _ => {}
        }
        assert_eq!(found.verdict.name(), word, "{}", say());
        if name.starts_with("bdd") {
            let steps = |v: &Verdict| v.trace().map(|t| t.steps.len());
            assert_eq!(steps(&found.verdict), steps(&expected.verdict), "the shortest trace: {}", say());
        }
        if name == "bdd" && word == "safe" {
            assert_eq!(found.count("states"), expected.count("states"), "states: {}", say());
        }
    }
    word
}

#[test]
fn symbolic_and_bounded_engines_agree_with_explicit_reachability() {
    let mut words: Vec<&str> = (0..150).map(|seed| agree(seed, seed % 2 == 0)).collect();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words, ["safe", "unsafe"], "both occur");
}

#[test]
#[ignore = "minutes"]
fn they_agree_on_thousands() {
    for seed in 1000..4000 {
        agree(seed, seed % 2 == 0);
    }
}
