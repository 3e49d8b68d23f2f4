//! Several engines, one after the other, and the one way in which answers leave this crate for users: checked.

use crate::budget::{Budget, Meter, Spent};
use crate::checker::{Refuted, check};
use crate::engines::{Engine, engine};
use crate::outcome::{Options, Outcome, Unknown, Verdict};
use crate::scheduled::schedule_within;
use crate::solver::embedded;
use model::Program;

/// How many values of variables are looked at, state by state, before formulas are tried.
const FEW: u64 = 6_000_000;

/// The engine: `explicit` while there are few states, then `impact`, then `bdd`, then `bmc` and `predabs`, which sometimes find what these
/// do not, then `explicit-symmetric` with more states, then `impact` with what is left.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Portfolio;

impl Engine for Portfolio {
    fn name(&self) -> &'static str {
        "portfolio"
    }

    fn verify(&self, program: &Program, options: &Options) -> Outcome {
        let meter = Meter::new(options.budget);
        let work = options.budget.work;
        let cells: usize = program.vars.iter().map(|v| v.cells()).sum();
        let few = (FEW / (cells as u64 + 1)).clamp(1500, 60_000);
        let few = Some(work.map_or(few, |w| w.min(few)));
        let (mut last, mut cannot) = (None, false);
        let order = [
            ("explicit", 0.2, few),
            ("impact", 0.3, work),
            ("bdd", 0.4, work),
            ("bmc", 0.25, work),
            ("predabs", 0.3, work),
            ("explicit-symmetric", 0.5, work),
            ("impact", 1.0, work),
        ];
        for (name, share, work) in order {
            let Ok(listed) = engine(name) else { continue };
            // What it cannot do, an input of too many values for example, it cannot do with more time either.
            if name.starts_with("explicit") && cannot {
                continue;
            }
            let budget = Budget { seconds: meter.left().map(|s| s * share), work };
            let out = (listed.make)().verify(program, &Options { budget, ..options.clone() });
            let decided = !matches!(out.verdict, Verdict::Unknown(_));
            // That a bound was too low says more than that time is over.
            let better = !matches!(&last, Some(Outcome { verdict: Verdict::Unknown(Unknown::Bound(_)), .. }));
            cannot |= name == "explicit" && matches!(out.verdict, Verdict::Unknown(Unknown::Cannot(_)));
            if decided || better {
                last = Some(out);
            }
            if decided {
                break;
            }
        }
        let unknown = || Outcome {
            engine: "portfolio",
            verdict: Verdict::Unknown(Unknown::Cannot("there is no engine".to_owned())),
            counts: Vec::new(),
            seconds: 0.0,
        };
        let mut out = Outcome { seconds: meter.seconds(), ..last.unwrap_or_else(unknown) };
        // An engine speaks of its own share.
        if let (Verdict::Unknown(Unknown::Spent(Spent::Seconds(_))), Some(all)) =
            (&out.verdict, options.budget.seconds)
        {
            out.verdict = Verdict::from(Spent::Seconds(all));
        }
        out
    }
}

/// Runs an engine and checks what it says: a proof that does not hold is none.
pub fn verify_checked(engine: &dyn Engine, program: &Program, options: &Options) -> Outcome {
    let mut out = engine.verify(program, options);
    believe_nothing(program, options, &mut out);
    out
}

/// Checks an outcome: the proof of *safe*, the schedules of *partially safe*. What does not hold makes it *unknown*, and so does what cannot
/// be checked in the time that the engine has left over.
pub fn believe_nothing(program: &Program, options: &Options, out: &mut Outcome) {
    let seconds = options.budget.seconds;
    let left = Budget { seconds: seconds.map(|s| (s - out.seconds).max(0.0)), work: None };
    let meter = Meter::new(left);
    let options = Options { budget: left, ..options.clone() };
    let checked = embedded(|| match &out.verdict {
        Verdict::Safe(certificate) => check(program, &options, certificate),
        Verdict::PartiallySafe { schedules, .. } => {
            schedules.iter().try_for_each(|s| schedule_within(program, s, options.deadlocks, meter.clone()))
        }
        _ => Ok(()),
    });
    out.seconds += meter.seconds();
    out.verdict = match (checked, &out.verdict) {
        (Ok(()), _) => return,
        // The run that goes wrong was replayed before.
        (Err(Refuted::Spent(_)), Verdict::PartiallySafe { trace, .. }) => Verdict::Unsafe(trace.clone()),
        (Err(Refuted::Spent(s)), _) => Verdict::from(seconds.map_or(s, Spent::Seconds)),
        (Err(why @ Refuted::Beyond(_)), _) => Verdict::Unknown(Unknown::Cannot(why.to_string())),
        (Err(why), _) => Verdict::Unknown(Unknown::Mistake(why.to_string())),
    };
}
