//! The manners of the Software Verification Competition: verdicts in its words, about its properties.

use crate::verify_races::may_be_apart;
use ::model::{ErrorKind, LocationKind, Order, Program, Transition, Wrong};
use ::verify::{Budget, OrderRace, Race, Trace, Unknown, Verdict};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What the model says where `reach_error` is called.
pub(crate) const REACHED: &str = "an error is reached";

#[derive(Args)]
pub(crate) struct SvcompArgs {
    /// Answer TRUE, FALSE or UNKNOWN about one property, as SV-COMP asks
    #[arg(long)]
    pub(crate) svcomp: bool,

    /// The property: unreach-call (reach_error is never called), no-data-race, or a .prp file that says so
    #[arg(long, value_name = "NAME|FILE", requires = "svcomp", value_parser = property, default_value = "unreach-call")]
    pub(crate) property: Property,

    /// Write a witness in the YAML format 2.x of SV-COMP: the run, or invariants (docs/verify-files.md)
    #[arg(long, value_name = "FILE.yml")]
    pub(crate) witness: Option<PathBuf>,

    /// What integers are: bit-vectors that wrap around, as compiled; or mathematical, where safe also means that no signed arithmetic
    /// overflows, and unknown that one may
    #[arg(long, value_name = "KIND", default_value = "bv")]
    pub(crate) int: Integers,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Property {
    UnreachCall,
    NoDataRace,
}

impl Property {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Property::UnreachCall => "unreach-call",
            Property::NoDataRace => "no-data-race",
        }
    }

    /// In the competition's own words.
    pub(crate) fn specification(self) -> &'static str {
        match self {
            Property::UnreachCall => "CHECK( init(main()), LTL(G ! call(reach_error())) )",
            Property::NoDataRace => "CHECK( init(main()), LTL(G ! data-race) )",
        }
    }
}

fn property(text: &str) -> Result<Property, String> {
    for p in [Property::UnreachCall, Property::NoDataRace] {
        if text == p.name() {
            return Ok(p);
        }
    }
    if !text.ends_with(".prp") {
        return Err(
            "there are unreach-call and no-data-race, or a .prp file that asks for one of them".to_owned()
        );
    }
    let said = std::fs::read_to_string(text).map_err(|e| format!("{text} cannot be read: {e}"))?;
    let plain = |s: &str| s.split_whitespace().collect::<String>();
    [Property::UnreachCall, Property::NoDataRace]
        .into_iter()
        .find(|p| plain(&said) == plain(p.specification()))
        .ok_or_else(|| format!("{text} asks for something else than unreach-call and no-data-race"))
}

/// What integers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Integers {
    /// Bit-vectors.
    Bv,
    /// Mathematical ones.
    Math,
}

impl Integers {
    /// What a result says of them.
    pub(crate) fn says(self) -> &'static str {
        match self {
            Integers::Bv => "bit-vectors",
            Integers::Math => "mathematical",
        }
    }
}

/// The answer about a property.
pub(crate) struct Answer {
    /// TRUE, FALSE or UNKNOWN.
    pub(crate) word: &'static str,
    /// Why, where it is not plain.
    pub(crate) reason: Option<String>,
    /// Where it is FALSE: the run.
    pub(crate) trace: Option<Trace>,
    /// The two accesses that race.
    pub(crate) race: Option<Race>,
}

impl Answer {
    fn of(word: &'static str, reason: Option<String>) -> Answer {
        Answer { word, reason, trace: None, race: None }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self.word {
            "TRUE" => 0,
            "FALSE" => 1,
            _ => 3,
        }
    }
}

/// What a verdict about everything that can go wrong says about calls of `reach_error` alone.
pub(crate) fn unreach_call(program: &Program, verdict: &Verdict) -> Answer {
    match verdict {
        Verdict::Safe(_) => Answer::of("TRUE", None),
        Verdict::Unknown(why) => Answer::of("UNKNOWN", Some(why.to_string())),
        Verdict::Unsafe(trace) | Verdict::PartiallySafe { trace, .. } => {
            let Wrong::Error { thread, location, kind } = trace.wrong else {
                return Answer::of(
                    "UNKNOWN",
                    Some("there is a deadlock, and the search ended with it".to_owned()),
                );
            };
            let message = match &program.thread(thread).location(location).kind {
                LocationKind::Error { message, .. } => message.as_str(),
                _ => "",
            };
            if kind == ErrorKind::Assertion && message == REACHED {
                return Answer { trace: Some(trace.clone()), ..Answer::of("FALSE", None) };
            }
            let why = format!(
                "something else goes wrong first ({}: {message}), and the search ended with it",
                kind.name()
            );
            Answer::of("UNKNOWN", Some(why))
        }
    }
}

/// Whether two threads can access a variable at once, one of them to write.
///
/// TRUE needs that every state was seen, or that all accesses hold a common lock, and that no run left what the model means: one that
/// goes wrong in another way than by an assertion is followed no further.
pub(crate) fn no_data_race(program: &Program, verdict: &Verdict, budget: Budget) -> Answer {
    let safe = matches!(verdict, Verdict::Safe(_));
    let only_assertions =
        program.threads.iter().flat_map(|t| t.errors()).all(|(_, kind, _)| kind == ErrorKind::Assertion);
    if safe && ::verify::locksets(program).warnings.is_empty() {
        return Answer::of("TRUE", None);
    }
    match ::verify::races_until(program, budget, |r| !program.var(r.var).parts) {
        Ok(found) => {
            let found = found.into_iter().min_by_key(|r| (program.var(r.var).parts, r.run.len()));
            let found = match found {
                Some(race) => Some(race),
                None => match unordered(program, budget) {
                    Ok(found) => found,
                    Err(why) => return Answer::of("UNKNOWN", Some(why)),
                },
            };
            match found {
                // Of a union both may be to different bytes, unless one is to all of them.
                Some(race) if may_be_apart(program, race.var, (race.first, race.second)) => {
                    let name = program.name(race.var);
                    let why = format!(
                        "there are accesses at once to the union `{name}`, perhaps to different bytes"
                    );
                    Answer::of("UNKNOWN", Some(why))
                }
                Some(race) => {
                    let var = program.name(race.var);
                    Answer { reason: Some(format!("`{var}`")), race: Some(race), ..Answer::of("FALSE", None) }
                }
                None if safe || only_assertions => Answer::of("TRUE", None),
                None => {
                    let why = "something else may go wrong, and runs are not followed beyond that".to_owned();
                    Answer::of("UNKNOWN", Some(why))
                }
            }
        }
        Err(why) => Answer::of("UNKNOWN", Some(why.to_string())),
    }
}

/// Searches for a race whose accesses are never enabled at once: what keeps them apart does not order them. Such are atomic accesses
/// with weaker memory orders, failed attempts to take a lock or a semaphore, `sem_getvalue`, and initializations of locks and the like.
///
/// Fails if there is no such race in the executions that were followed, and these were not all.
fn unordered(program: &Program, budget: Budget) -> Result<Option<Race>, String> {
    let weak = |e: &Transition| matches!(e.order, Order::Relaxed | Order::Acquire | Order::Release);
    // Whether a thread itself has a recursive lock is read as well, and tells nothing about others.
    let counts: Vec<_> = program
        .syncs
        .iter()
        .filter_map(|s| match s.kind {
            ::model::SyncKind::Semaphore { count } => Some(count),
            _ => None,
        })
        .collect();
    let tries = |e: &Transition| {
        use ::model::Action::{Atomic, SemTryWait, TryLock, TryReadLock, TryWriteLock};
        match e.action {
            TryLock(_) | SemTryWait(_) | TryReadLock(_) | TryWriteLock(_) => true,
            Atomic => program.accesses(e).reads.iter().any(|place| counts.contains(&place.var)),
            _ => false,
        }
    };
    let late = program.syncs.iter().any(|s| s.initialized.is_some());
    if !late && !program.threads.iter().flat_map(|t| &t.transitions).any(|e| weak(e) || tries(e)) {
        return Ok(None);
    }
    let found =
        ::verify::happens_before(program, crate::verify_races::EXECUTIONS, budget.seconds.unwrap_or(10.0))?;
    let Some(shortest) = found.races.into_iter().min_by_key(|r| r.run.len()) else {
        return match found.all {
            true => Ok(None),
            false => Err("not every execution was followed to find unordered accesses".to_owned()),
        };
    };
    let OrderRace { var, first, second, mut run } = shortest;
    run.pop();
    Ok(Some(Race { first, second, var, run }))
}

/// With mathematical integers a run that overflows shows nothing: there the two kinds of integers part.
pub(crate) fn mathematical(verdict: Verdict) -> (Verdict, Option<Trace>) {
    let overflows = |t: &Trace| matches!(t.wrong, Wrong::Error { kind: ErrorKind::Overflow, .. });
    match verdict {
        Verdict::Unsafe(trace) | Verdict::PartiallySafe { trace, .. } if overflows(&trace) => {
            let why = "signed arithmetic can overflow, so bit-vectors and mathematical integers differ; raddle proves about \
                       mathematical ones only where they do not";
            (Verdict::Unknown(Unknown::Cannot(why.to_owned())), Some(trace))
        }
        other => (other, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_read_by_name_and_from_files() {
        assert_eq!(property("no-data-race"), Ok(Property::NoDataRace));
        assert!(property("no-overflow").is_err());
        let path = std::env::temp_dir().join(format!("raddle-property-{}.prp", std::process::id()));
        std::fs::write(&path, "CHECK( init(main()), LTL(G ! call(reach_error())) )\n\n").unwrap();
        assert_eq!(property(path.to_str().unwrap()), Ok(Property::UnreachCall));
        std::fs::write(&path, "CHECK( init(main()), LTL(G ! overflow) )\n").unwrap();
        assert!(property(path.to_str().unwrap()).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
