//! What a verdict of `raddle verify` leaves out, as data and in a sentence.

use crate::verify_svcomp;
use ::model::{Action, AddressUse, Order, Program, Transition};
use ::verify::{Budget, End, Unknown, Verdict};
use explore::{Caveat, CaveatKind};

/// Seconds that the search for data races may take besides the verdict.
const SECONDS_FOR_RACES: f64 = 2.0;

/// Seconds that the search for loops that do not end may take, and states.
const SECONDS_FOR_LOOPS: f64 = 2.0;
const STATES_FOR_LOOPS: u64 = 200_000;

/// What was asked for.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) spurious: bool,
    pub(crate) deadlocks: bool,
    /// Whether data races and loops that do not end make a difference: not where one property alone is asked for.
    pub(crate) whole: bool,
    /// Seconds that are left.
    pub(crate) seconds: f64,
}

/// What a verdict leaves out.
pub(crate) fn caveats(program: &Program, verdict: &Verdict, asked: Asked) -> Vec<Caveat> {
    let mut list = Vec::new();
    if !asked.spurious {
        let text = "spurious wake-ups and spurious failures of weak compare-exchanges were left out; run without \
                    --no-spurious-wakeups";
        Caveat::new(CaveatKind::Spurious, text).add_to(&mut list);
    }
    if !asked.deadlocks {
        let text = "deadlocks were not looked for; --deadlocks does";
        Caveat::new(CaveatKind::Deadlocks, text).add_to(&mut list);
    }
    if let Verdict::Unknown(Unknown::Bound(trace)) = verdict {
        let text =
            format!("runs beyond a bound were left out: {}", crate::verify::what(program, &trace.wrong));
        Caveat::new(CaveatKind::Depth, text).add_to(&mut list);
    }
    if !matches!(verdict, Verdict::Safe(_)) {
        return list;
    }
    let start = std::time::Instant::now();
    let mut of_races = Vec::new();
    if asked.whole {
        races(program, verdict, asked.seconds, &mut of_races);
    }
    let racy = !asked.whole || !of_races.is_empty();
    for open in ::verify::open_orders(program).into_iter().filter(|o| racy || !o.only_in_races) {
        let place = program.show_span(open.span);
        let mut text = format!(
            "the {} at {place} were evaluated from left to right; C leaves the order open, and the result may depend on it",
            open.what
        );
        if !open.variables.is_empty() {
            text += &format!(" ({})", open.variables.join(", "));
        }
        Caveat::new(CaveatKind::EvaluationOrder, text).at(place).add_to(&mut list);
    }
    for span in &program.assumed_aborts {
        let text = "calls of `abort` were taken to be failed assumptions, because the program calls `reach_error`; `raddle check` reports \
                    them as failures";
        Caveat::new(CaveatKind::Aborts, text).at(program.show_span(*span)).add_to(&mut list);
    }
    for (span, what) in &program.address_uses {
        Caveat::new(CaveatKind::Reuse, address_use(*what)).at(program.show_span(*span)).add_to(&mut list);
    }
    if asked.deadlocks && asked.whole {
        let left = (asked.seconds - start.elapsed().as_secs_f64()).max(0.0);
        endless(program, left, &mut list);
    }
    list.append(&mut of_races);
    memory_order(program, &mut list);
    list
}

/// The assumption under which an operation on addresses was evaluated.
fn address_use(what: AddressUse) -> &'static str {
    match what {
        AddressUse::Handle => {
            "handles of threads are compared, or used as numbers; each thread was taken to have one of its own, and a later one \
             may have that of one that was joined or detached"
        }
        AddressUse::Local => {
            "addresses of variables of functions that have returned or of threads that have ended are compared with those of later \
             ones; they were taken to be different"
        }
        AddressUse::Value => {
            "the order or the bits of addresses are looked at; they were taken from one layout of memory"
        }
    }
}

/// Atomic operations weaker than sequentially consistent.
fn memory_order(program: &Program, list: &mut Vec<Caveat>) {
    let weak = |e: &&Transition| {
        e.action != Action::Local && matches!(e.order, Order::Relaxed | Order::Acquire | Order::Release)
    };
    for e in program.threads.iter().flat_map(|t| &t.transitions).filter(weak) {
        let text =
            "atomic operations weaker than sequentially consistent were taken to be sequentially consistent";
        Caveat::new(CaveatKind::MemoryOrder, text).at(program.show_span(e.span)).add_to(list);
    }
}

/// Loops whose end depends on other threads and may not come. `raddle check` reports them as livelocks.
fn endless(program: &Program, seconds: f64, list: &mut Vec<Caveat>) {
    let budget = Budget { seconds: Some(seconds.min(SECONDS_FOR_LOOPS)), work: Some(STATES_FOR_LOOPS) };
    for one in ::verify::endless_loops(program, budget) {
        let (place, thread) = (program.show_span(one.span), &one.thread);
        let text = match one.end {
            End::Never => format!(
                "the loop at {place} in `{thread}` may never end: a state is reached from which no schedule leaves it (a livelock)"
            ),
            End::Sometimes => format!(
                "the loop at {place} in `{thread}` does not end under some fair schedules: threads can keep each other from ending"
            ),
            End::Undecided => format!(
                "whether the loop at {place} in `{thread}` ends depends on other threads and was not decided: there are too many states"
            ),
        };
        Caveat::new(CaveatKind::MayNotEnd, text).at(place).add_to(list);
    }
}

/// Data races: what one does C leaves undefined, and the automata do not.
fn races(program: &Program, verdict: &Verdict, seconds: f64, list: &mut Vec<Caveat>) {
    let seconds = seconds.min(SECONDS_FOR_RACES);
    let answer = verify_svcomp::no_data_race(program, verdict, Budget { seconds: Some(seconds), work: None });
    let caveat = match (answer.word, &answer.race) {
        ("TRUE", _) => return,
        ("FALSE", Some(race)) => {
            let name = program.name(race.var);
            let initialized = program.syncs.iter().find(|s| s.initialized == Some(race.var));
            let text = match initialized {
                Some(s) => format!(
                    "`{}` is initialized while another thread may use it, with nothing that orders the two, which POSIX leaves undefined; \
                     it was taken to be usable before",
                    s.name
                ),
                None => format!(
                    "`{name}` is accessed in a data race, which C leaves undefined; its accesses were taken to be sequentially consistent"
                ),
            };
            let place = |(t, e): (::model::ThreadId, ::model::TransitionId)| {
                program.show_span(program.thread(t).transition(e).span)
            };
            Caveat::new(CaveatKind::Races, text).at(place(race.first)).at(place(race.second))
        }
        _ => {
            let text = "data races were not ruled out; racing accesses were taken to be sequentially consistent (--races looks \
                        for them)";
            Caveat::new(CaveatKind::Races, text)
        }
    };
    caveat.add_to(list);
}

/// The verdict in words: a result that leaves something out is never a plain *safe*.
pub(crate) fn verdict_in_words(verdict: &Verdict, caveats: &[Caveat]) -> String {
    let name = verdict.name();
    match verdict {
        Verdict::Safe(_) if caveats.iter().any(|c| c.kind.weakens()) => format!("{name} with caveats"),
        Verdict::Safe(_) if !caveats.is_empty() => format!("{name} under sequential consistency"),
        _ => name.to_owned(),
    }
}

/// One line for each caveat.
pub(crate) fn in_words(caveats: &[Caveat]) -> String {
    let line = |c: &Caveat| {
        let named = c.places.iter().filter(|p| !c.text.contains(p.as_str())).take(5);
        let named: Vec<&str> = named.map(String::as_str).collect();
        let places = if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) };
        format!("caveat: {}{places}\n", c.text)
    };
    caveats.iter().map(line).collect()
}
