//! Running a recorded schedule again.

use crate::explorer::{Decision, Divergence, End, Executed, Explorer, Options, View};
use crate::ids::{ThreadId, ThreadSet};
use crate::op::{Op, OpKind};
use crate::schedule::Schedule;
use crate::search::Core;

/// Follows a schedule, once. What comes after its end goes on by default.
///
/// With [`Replay::strict`] a step that cannot be taken is a [`Divergence`]; with [`Replay::loose`] it is passed over, and the
/// default goes on: that is how schedules are shrunk.
pub struct Replay {
    schedule: Schedule,
    strict: bool,
    step: usize,
    option: usize,
    divergence: Option<Divergence>,
}

impl Replay {
    /// Follows the schedule exactly.
    pub fn strict(schedule: Schedule) -> Replay {
        Replay { schedule, strict: true, step: 0, option: 0, divergence: None }
    }

    /// Follows the schedule where it can be followed.
    pub fn loose(schedule: Schedule) -> Replay {
        Replay { strict: false, ..Replay::strict(schedule) }
    }
}

impl Explorer for Replay {
    fn begin(&mut self) {
        self.step = 0;
        self.option = 0;
        self.divergence = None;
    }

    fn next_thread(&mut self, view: &View<'_>) -> Decision {
        while let Some(t) = self.schedule.threads().get(self.step).copied() {
            self.step += 1;
            if view.enabled.contains(t) {
                return Decision::Run(t);
            }
            if self.strict {
                let found =
                    view.pending.get(t.index()).filter(|_| view.live.contains(t)).map(|p| (p.op, p.site));
                self.divergence =
                    Some(Divergence { step: self.step - 1, thread: t, expected: None, found, ended: false });
                return Decision::Stop;
            }
        }
        // A schedule is simpler if nobody wakes for no reason.
        let chance = |t: &ThreadId| {
            let op = &view.pending[t.index()].op;
            op.kind == OpKind::Wake && op.b == 0 && op.a == Op::MAY_WAKE_SPURIOUSLY
        };
        let others: ThreadSet = view.enabled.iter().filter(|t| self.strict || !chance(t)).collect();
        let among = if others.is_empty() { view.enabled } else { others };
        Core::default_thread(view, among).map_or(Decision::Stop, Decision::Run)
    }

    fn next_option(&mut self, options: Options<'_>) -> u32 {
        let wanted = self.schedule.options().get(self.option).copied();
        self.option += 1;
        wanted.filter(|w| (0..options.len()).any(|k| options.get(k) == *w)).unwrap_or_else(|| options.get(0))
    }

    fn executed(&mut self, _event: Executed<'_>) {}

    fn end(&mut self, _end: End, _view: &View<'_>) -> bool {
        false
    }

    fn divergence(&self) -> Option<&Divergence> {
        self.divergence.as_ref()
    }
}

/// Schedules with fewer switches to try in place of a failing one, simplest first: each leaves one stretch of one thread
/// out, so that the thread runs later, together with its next stretch.
pub fn simpler(schedule: &Schedule) -> impl Iterator<Item = Schedule> + '_ {
    let runs: Vec<(ThreadId, usize)> =
        schedule.threads().chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
    (0..runs.len()).filter_map(move |k| {
        let (t, n) = runs[k];
        let later = runs[k + 1..].iter().position(|r| r.0 == t)? + k + 1;
        let mut moved = runs.clone();
        moved[later].1 += n;
        moved.remove(k);
        let threads = moved.iter().flat_map(|(t, n)| std::iter::repeat_n(*t, *n)).collect();
        Some(Schedule::new(threads, schedule.options().to_vec()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simpler_schedule_joins_two_stretches_of_a_thread() {
        let s = Schedule::new([0, 0, 1, 0, 1].map(ThreadId).to_vec(), vec![]);
        let all: Vec<Vec<u16>> = simpler(&s).map(|s| s.threads().iter().map(|t| t.0).collect()).collect();
        assert_eq!(all, [vec![1, 0, 0, 0, 1], vec![0, 0, 0, 1, 1]]);
    }
}
