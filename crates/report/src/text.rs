//! The report for a terminal.

use crate::Style;
use crate::numbers::{count, duration, plural};
use crate::paint::{Ink, Paint, clean, columns, elide, one_line, pad, wrap};
use crate::trace::{self, Callers, Names, hold_of, wait_of};
use explore::{BoundKind, Caveat, Failure, FailureKind, Limit, Report, Stop, StopReason, ThreadId, Verdict};
use std::fmt::Write;

/// Only the table of who did what, for a failure that is told about elsewhere.
pub fn trace(failure: &Failure, style: &Style) -> String {
    let lines = trace::table(failure, style.width, style.rows, Paint { colour: style.colour });
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The report as text, with a line end after each line.
///
/// Every line fits the width of the style, but for those that are there to be copied: the replay token and the command.
pub fn render(report: &Report, style: &Style) -> String {
    let mut page = Page { out: String::new(), style, paint: Paint { colour: style.colour } };
    for (i, failure) in report.failures.iter().enumerate() {
        if i > 0 {
            page.blank();
        }
        let number = (report.failures.len() > 1).then(|| format!(" {} of {}", i + 1, report.failures.len()));
        page.failure(failure, &number.unwrap_or_default(), most_preemptions(report));
    }
    if report.failures.is_empty() {
        page.covered(report);
    } else {
        page.searched(report);
    }
    if let Some(stop) = &report.stopped {
        page.stopped(stop);
    }
    page.rounds(report);
    for caveat in &report.caveats {
        page.caveat(caveat);
    }
    for warning in &report.warnings {
        page.labelled("warning:", Ink::Warning, warning);
    }
    page.out
}

struct Page<'a> {
    out: String,
    style: &'a Style,
    paint: Paint,
}

/// Where the values of the lines below a trace start.
const LABEL: usize = 10;

impl Page<'_> {
    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn blank(&mut self) {
        self.out.push('\n');
    }

    /// Text that starts at the margin; what does not fit goes on below, indented.
    fn headline(&mut self, ink: Ink, text: &str) {
        let fits = columns(text) <= self.style.width;
        let lines = wrap(text, if fits { self.style.width } else { self.style.width.saturating_sub(2) });
        for (i, line) in lines.iter().enumerate() {
            let line = self.paint.paint(ink, line);
            self.line(&format!("{}{line}", if i == 0 { "" } else { "  " }));
        }
    }

    /// Text that is wrapped, all of it in one ink, with a margin of two.
    fn paragraph(&mut self, ink: Ink, text: &str) {
        for line in wrap(&clean(text), self.style.width.saturating_sub(2)) {
            let painted = self.paint.paint(ink, &line);
            self.line(format!("  {painted}").trim_end());
        }
    }

    /// A label, and text that is wrapped beside it.
    fn labelled(&mut self, label: &str, ink: Ink, text: &str) {
        let start = (2 + columns(label) + 1).max(LABEL);
        for (i, line) in wrap(&clean(text), self.style.width.saturating_sub(start)).iter().enumerate() {
            let label = if i == 0 { label } else { "" };
            let gap = " ".repeat(start - 2 - columns(label));
            let label = self.paint.paint(ink, label);
            self.line(format!("  {label}{gap}{line}").trim_end());
        }
    }

    /// A label, and text that is there to be copied.
    fn copied(&mut self, label: &str, text: &str) {
        let label = self.paint.paint(Ink::Faint, &pad(label, LABEL - 2));
        self.line(&format!("  {label}{text}"));
    }

    /// What a check that found nothing wrong has covered.
    fn covered(&mut self, report: &Report) {
        let (ink, words) = match report.verdict {
            Verdict::Verified | Verdict::NoFailureWithinBound | Verdict::NoFailureWithCaveats => {
                (Ink::Good, String::new())
            }
            Verdict::Incomplete => (Ink::Warning, "stopped early, NOT verified: ".to_owned()),
            Verdict::Failure => (Ink::Bad, "failed: ".to_owned()),
        };
        let text = format!("raddle: {words}{}", one_line(&report.guarantee));
        self.headline(ink, &text);
        self.paragraph(Ink::Plain, &searched(report));
    }

    /// What the result leaves out, with the first places.
    fn caveat(&mut self, caveat: &Caveat) {
        const MOST: usize = 4;
        let mut text = caveat.text.clone();
        if !caveat.places.is_empty() {
            let _ = write!(text, " ({}", caveat.places[..caveat.places.len().min(MOST)].join(", "));
            if caveat.places.len() > MOST {
                let _ = write!(text, " and {} more", caveat.places.len() - MOST);
            }
            text.push(')');
        }
        self.labelled("caveat:", Ink::Warning, &text);
    }

    /// Why the search stopped, where the first line does not say so.
    fn stopped(&mut self, stop: &Stop) {
        if stop.reason != StopReason::Limit {
            return;
        }
        let place = stop.location.as_ref().map_or(String::new(), |l| format!(" (at {})", one_line(l)));
        self.labelled("stopped", Ink::Warning, &format!("{}{place}", stop.text));
        if !stop.replay.is_empty() {
            self.copied("token", &stop.replay);
        }
    }

    /// What was covered within each limit, where there was one after the other.
    fn rounds(&mut self, report: &Report) {
        let kind = report
            .bound
            .iter()
            .flat_map(|b| b.split(','))
            .find_map(|b| b.parse::<Limit>().ok().filter(Limit::is_iterative).map(|limit| limit.kind));
        let Some(kind) = kind else { return };
        for round in &report.rounds {
            // A round that goes on from the one before runs only what is new.
            let (more, new) = if round.covered > round.executions {
                (" more", format!(", {} in all", count(round.covered)))
            } else if round.new < round.executions {
                ("", format!(", {} new", count(round.new)))
            } else {
                ("", String::new())
            };
            let cut = match round.over_bound {
                0 => String::new(),
                n => format!(", {} over it", count(n)),
            };
            let left = match (round.complete, report.failures.is_empty()) {
                (true, _) => "",
                (false, true) => "; not all of them",
                (false, false) => "; it stopped at the failure",
            };
            let text = format!(
                "{}: {}{new}{cut}{left}",
                kind.say(round.limit),
                plural(round.executions, "execution").replace(' ', &format!("{more} "))
            );
            self.labelled("within", Ink::Faint, &text);
        }
    }

    /// What was searched until a failure was found.
    fn searched(&mut self, report: &Report) {
        let left = match report.stats.open {
            0 => String::new(),
            1 => "; 1 branch was not explored".to_owned(),
            n => format!("; {} branches were not explored", count(n)),
        };
        self.labelled("search", Ink::Faint, &format!("{}{left}", searched(report)));
    }

    fn failure(&mut self, failure: &Failure, number: &str, most: Option<u32>) {
        let names = Names::of(failure);
        let mut headline = format!("raddle: failure{number}: {}", words(failure.kind));
        if let Some(thread) = failure.thread.filter(|_| failure.kind != FailureKind::Deadlock) {
            let name = names.name(thread);
            let word = if name.starts_with("thread ") { "" } else { "thread " };
            let _ = write!(headline, " in {word}{name}");
        }
        if let Some(location) = &failure.location {
            let _ = write!(headline, " at {}", one_line(location));
        }
        self.headline(Ink::Bad, &headline);
        if failure.cycle.is_empty() {
            // The headline has said which kind it is.
            let kind = format!("{}: ", failure.kind.name());
            self.paragraph(Ink::Strong, failure.message.strip_prefix(&kind).unwrap_or(&failure.message));
        } else {
            // The message of a deadlock says of each thread what it waits for: the cycle is the same, put better.
            self.cycle(failure, &names);
        }
        if self.style.show_trace && !failure.trace.is_empty() {
            self.blank();
            for line in trace::table(failure, self.style.width, self.style.rows, self.paint) {
                self.line(&line);
            }
        }
        if !failure.threads.is_empty() {
            self.blank();
            self.threads(failure, &names);
        }
        self.blank();
        if !failure.trace.is_empty() {
            let preemptions = plural(failure.preemptions as u64, "preemption");
            let over = match most.filter(|most| failure.preemptions as u64 > *most as u64) {
                Some(most) => format!(
                    ", more than {most}: what is run past the bound is checked too, and no schedule within it was found"
                ),
                None => String::new(),
            };
            self.labelled("trace", Ink::Faint, &format!("shortest schedule found: {preemptions}{over}"));
        }
        if let Some(output) = &failure.output {
            self.labelled("output", Ink::Plain, "of this execution:");
            for line in output.lines() {
                self.line(&format!("          | {}", clean(line)));
            }
        }
        if let Some(help) = &failure.help {
            self.labelled("help", Ink::Good, help);
        }
        if !failure.replay.is_empty() {
            self.copied("token", &failure.replay);
            self.copied("replay", &self.style.replay_command(&failure.replay));
        }
    }

    /// `main waits for mutex #2 held by worker -> worker waits for mutex #1 held by main`, in one line if it fits.
    fn cycle(&mut self, failure: &Failure, names: &Names<'_>) {
        let links: Vec<String> = failure
            .cycle
            .iter()
            .enumerate()
            .map(|(i, thread)| {
                let next = failure.cycle[(i + 1) % failure.cycle.len()];
                let holder = if next == *thread { "itself".to_owned() } else { names.name(next) };
                let state =
                    failure.threads.iter().find(|t| t.thread == *thread).map_or("", |t| t.state.as_str());
                let name = names.name(*thread);
                match (wait_of(state), hold_of(state)) {
                    (Some(wait), Some(hold)) => {
                        let wait = one_line(wait);
                        let taken =
                            taken_at(failure, next, wait.strip_prefix("waits for ").unwrap_or_default());
                        format!("{name} {wait} {hold} {holder}{taken}")
                    }
                    (Some(wait), None) => format!("{name} {}", one_line(wait)),
                    (None, _) => format!("{name} waits for {holder}"),
                }
            })
            .collect();
        let joined = links.join(" -> ");
        if columns(&joined) + 2 <= self.style.width {
            self.paragraph(Ink::Strong, &joined);
        } else {
            for (i, link) in links.iter().enumerate() {
                self.paragraph(Ink::Strong, &format!("{}{link}", if i == 0 { "" } else { "-> " }));
            }
        }
    }

    /// How each thread ended or what it waits for. With many threads, those that just finished share a line.
    fn threads(&mut self, failure: &Failure, names: &Names<'_>) {
        const MANY: usize = 8;
        let callers = Callers::of(failure);
        let (together, alone): (Vec<_>, Vec<_>) =
            failure.threads.iter().partition(|t| failure.threads.len() > MANY && t.state == "finished");
        let mut lines: Vec<(String, String)> = alone
            .iter()
            .map(|t| {
                let place = Some(callers.shown(t.location.as_deref(), &t.callers)).filter(|p| !p.is_empty());
                let place = place.map(|p| format!(", at {p}")).unwrap_or_default();
                (names.name(t.thread), one_line(&t.state) + &place)
            })
            .collect();
        if !together.is_empty() {
            let all: Vec<String> = together.iter().map(|t| names.name(t.thread)).collect();
            lines.push(("finished".into(), all.join(", ")));
        }
        let widest = lines.iter().map(|(name, _)| columns(name)).max().unwrap_or(0).min(self.style.width / 3);
        let room = self.style.width.saturating_sub(LABEL + widest + 2);
        let mut label = "threads";
        for (name, text) in &lines {
            let mut name = elide(name, widest);
            for line in wrap(text, room) {
                let painted = self.paint.paint(Ink::Faint, &pad(label, LABEL - 2));
                self.line(&format!("  {painted}{}  {line}", pad(&name, widest)));
                (label, name) = ("", String::new());
            }
        }
    }
}

/// How many preemptions the search was to allow at most.
fn most_preemptions(report: &Report) -> Option<u32> {
    let bounds = report.bound.iter().flat_map(|b| b.split(','));
    let limits: Vec<Limit> = bounds.filter_map(|b| b.parse().ok()).collect();
    // With a fair bound, to leave a thread that yields is no preemption: those are not the ones of a trace.
    if limits.iter().any(|l| l.kind == BoundKind::Fair) {
        return None;
    }
    let limit = limits.iter().find(|l| l.kind == BoundKind::Preemptions)?;
    limit.last
}

/// The algorithm and what it ran.
fn searched(report: &Report) -> String {
    let bound = report.bound.as_ref().map(|b| format!(", bound {}", one_line(b))).unwrap_or_default();
    let pruned = match report.stats.pruned {
        0 => String::new(),
        n => format!(", {} pruned", count(n)),
    };
    format!(
        "{}{bound}, memory {}: {}{}, {} blocked{}, {}",
        one_line(&report.algorithm),
        one_line(&report.memory),
        plural(report.stats.executions, "execution"),
        if report.failures.is_empty() { "" } else { " so far" },
        count(report.stats.blocked),
        pruned,
        duration(report.seconds),
    )
}

/// Where a thread took a lock that it still holds, as far as the trace has it: ` (taken at file:line)`.
fn taken_at(failure: &Failure, holder: ThreadId, lock: &str) -> String {
    let takes = [
        "lock",
        "try_lock",
        "trylock",
        "read",
        "try_read",
        "write",
        "try_write",
        "rdlock",
        "tryrdlock",
        "wrlock",
        "trywrlock",
    ];
    let step = failure.trace.iter().rev().find(|s| {
        s.thread == holder && s.object.as_deref() == Some(lock) && takes.contains(&s.operation.as_str())
    });
    let at =
        step.map(|s| Callers::of(failure).shown(s.location.as_deref(), &s.callers)).filter(|p| !p.is_empty());
    at.map_or_else(String::new, |at| format!(" (taken at {at})"))
}

/// What went wrong, for a reader who does not know the names.
fn words(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Assertion => "an assertion does not hold",
        FailureKind::Panic => "panic",
        FailureKind::Abort => "the process would abort",
        FailureKind::Signal => "signal",
        FailureKind::ExitCode => "the program ended its own process",
        FailureKind::Deadlock => "deadlock",
        FailureKind::Livelock => "livelock",
        FailureKind::DataRace => "data race",
        FailureKind::Leak => "leak",
        FailureKind::LockMisuse => "a lock or a thread was used against its rules",
        FailureKind::Nondeterminism => "the program is not deterministic",
        FailureKind::Limit => "a limit was reached",
        FailureKind::UncaughtException => "an exception that nobody catches",
        FailureKind::UseAfterFree => "memory is used after it was freed",
        FailureKind::DoubleFree => "memory is freed twice",
        FailureKind::InvalidFree => "something is freed that was never allocated",
        FailureKind::OutOfBounds => "memory is used past its end",
        FailureKind::Shift => "a value is shifted by the width of its type or more",
    }
}
