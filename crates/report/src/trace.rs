//! Who did what, as a table: one row a step, one column a thread, and where in the source.
//!
//! Only one thread acts in a row, so its text may run over the columns to its right: when the columns do not fit side by
//! side they are moved together like stairs. When even that is too wide, the table becomes a list in which each row
//! names its thread.

use crate::numbers::count;
use crate::paint::{Ink, Paint, columns, elide, one_line, pad, wrap};
use explore::{Failure, FailureKind, Step, ThreadId};
use std::collections::{HashMap, HashSet};

/// The names under which a failure shows its threads.
pub(crate) struct Names<'a>(&'a Failure);

impl<'a> Names<'a> {
    pub(crate) fn of(failure: &'a Failure) -> Names<'a> {
        Names(failure)
    }

    /// The name of a thread; with its number when another thread has the same name.
    pub(crate) fn name(&self, thread: ThreadId) -> String {
        let Some(info) = self.0.threads.iter().find(|t| t.thread == thread) else {
            return format!("thread {thread}");
        };
        match self.0.threads.iter().filter(|t| t.name == info.name).count() {
            _ if info.name.is_empty() => format!("thread {thread}"),
            1 => one_line(&info.name),
            _ => format!("{}({thread})", one_line(&info.name)),
        }
    }
}

/// `file:line` of a `file:line:column`, without the folders far up when it is long. Nothing for a place inside the
/// standard library: destructors are called from there, and nobody wrote that line.
pub(crate) fn place(location: &str) -> String {
    const LONG: usize = 26;
    if ["core", "alloc", "std"].iter().any(|l| location.contains(&format!("/library/{l}/src/"))) {
        return String::new();
    }
    let location = one_line(location);
    let mut parts = location.rsplitn(3, ':');
    let numbers = (parts.next().map(str::parse::<u32>), parts.next().map(str::parse::<u32>), parts.next());
    let short = match numbers {
        (Some(Ok(_)), Some(Ok(line)), Some(file)) => format!("{file}:{line}"),
        _ => location,
    };
    if columns(&short) <= LONG {
        return short;
    }
    let mut folders = short.rsplitn(3, ['/', '\\']);
    match (folders.next(), folders.next(), folders.next()) {
        (Some(file), Some(folder), Some(_)) => format!("{folder}/{file}"),
        _ => short,
    }
}

/// Which callers a place needs so that steps at one line that come from different calls can be told apart: a lock wrapper, say.
pub(crate) struct Callers<'a> {
    /// The chains of calls that led to each location of the failure, each once.
    all: HashMap<&'a str, HashSet<&'a [String]>>,
}

impl<'a> Callers<'a> {
    pub(crate) fn of(failure: &'a Failure) -> Callers<'a> {
        let steps = failure.trace.iter().map(|s| (s.location.as_deref(), &*s.callers));
        let threads = failure.threads.iter().map(|t| (t.location.as_deref(), &*t.callers));
        let mut all: HashMap<&str, HashSet<&[String]>> = HashMap::new();
        for (at, callers) in steps.chain(threads) {
            if let Some(at) = at.filter(|_| !callers.is_empty()) {
                all.entry(at).or_default().insert(callers);
            }
        }
        Callers { all }
    }

    /// A place, with the calls that led to it up to the first one that differs from those of another step at the same location:
    /// `lock.c:5 < queue.c:31`, without a file that is the same one. For a place inside the standard library that is the user's call alone.
    pub(crate) fn shown(&self, location: Option<&str>, callers: &[String]) -> String {
        let Some(at) = location else { return String::new() };
        let own = place(at);
        if own.is_empty() {
            return callers.first().map(|c| place(c)).unwrap_or_default();
        }
        let others = self.all.get(at).into_iter().flatten().filter(|other| **other != callers);
        let alike = |other: &&[String]| other.iter().zip(callers).take_while(|(a, b)| a == b).count();
        match others.map(alike).max() {
            // The deepest common part says how far the chain has to go.
            Some(common) if !callers.is_empty() => {
                let file = own.rsplit_once(':').map_or("", |(file, _)| file).to_owned();
                let chain = callers[..callers.len().min(common + 1)].iter().map(|c| {
                    let caller = place(c);
                    match caller.strip_prefix(&file) {
                        Some(line) if line.starts_with(':') => line.to_owned(),
                        _ => caller,
                    }
                });
                std::iter::once(own).chain(chain).collect::<Vec<_>>().join(" < ")
            }
            _ => own,
        }
    }
}

/// What a thread waits for, without who holds it: `waits for mutex #2`. `None` when it does not wait.
pub(crate) fn wait_of(state: &str) -> Option<&str> {
    if !["waits", "spins", "is parked"].iter().any(|word| state.starts_with(word)) {
        return None;
    }
    let aside = [", held", ", which", ", where"].iter().filter_map(|word| state.find(word)).min();
    Some(&state[..aside.unwrap_or(state.len())])
}

/// How the thing a thread waits for is held: `held by`, `held for writing by`.
pub(crate) fn hold_of(state: &str) -> Option<&str> {
    let held = &state[state.find("held ")?..];
    held.find(" by ").map(|end| &held[..end + " by".len()])
}

struct Row {
    number: Option<usize>,
    lane: usize,
    text: String,
    ink: Ink,
    place: String,
}

/// The rows of a failure's trace, and the thread of each lane.
fn rows(failure: &Failure, names: &Names<'_>) -> (Vec<Row>, Vec<ThreadId>) {
    let waiting = failure.threads.iter().filter_map(|t| match failure.kind {
        FailureKind::Deadlock | FailureKind::Livelock => wait_of(&t.state).map(|wait| (t, wait)),
        _ => None,
    });
    let waiting: Vec<_> = waiting.collect();
    let mut lanes: Vec<ThreadId> = failure.trace.iter().map(|s| s.thread).collect();
    lanes.extend(waiting.iter().map(|(t, _)| t.thread));
    lanes.extend(failure.thread);
    lanes.sort();
    lanes.dedup();
    let lane = |t: ThreadId| lanes.binary_search(&t).unwrap_or(0);

    let mut rows = Vec::new();
    let callers = Callers::of(failure);
    let mut before_failure = None;
    for (i, step) in failure.trace.iter().enumerate() {
        if failure.after == Some(i) {
            before_failure = Some(rows.len());
        }
        let lane = lane(step.thread);
        if let Some(preempted) = step.preempts {
            let text = format!("⇄ preempts {}", names.name(preempted));
            rows.push(Row { number: None, lane, text, ink: Ink::Warning, place: String::new() });
        }
        let place = callers.shown(step.location.as_deref(), &step.callers);
        let ink = if matches!(&*step.operation, "start" | "end") { Ink::Faint } else { Ink::Lane(lane) };
        rows.push(Row {
            number: (step.step > 0).then_some(step.step),
            lane,
            text: describe(step),
            ink,
            place,
        });
    }
    if failure.after == Some(failure.trace.len()) {
        before_failure = Some(rows.len());
    }
    for (thread, wait) in &waiting {
        let place = callers.shown(thread.location.as_deref(), &thread.callers);
        let text = format!("✗ {}", one_line(wait));
        rows.push(Row { number: None, lane: lane(thread.thread), text, ink: Ink::Bad, place });
    }
    if let (true, Some(thread)) = (waiting.is_empty(), failure.thread) {
        let place = failure.location.as_deref().map(place).unwrap_or_default();
        let text = format!("✗ {}", failure.kind.name());
        let lane = lane(thread);
        let at = before_failure.unwrap_or_else(|| failing_row(&rows, lane, &place));
        rows.insert(at, Row { number: None, lane, text, ink: Ink::Bad, place });
    }
    (rows, lanes)
}

/// Before which row to say that a thread failed: after its last step at the same place, if there is one, as what comes
/// later is its unwinding; otherwise after all its steps but its end.
fn failing_row(rows: &[Row], lane: usize, place: &str) -> usize {
    let last = |wanted: &dyn Fn(&Row) -> bool| {
        rows.iter().rposition(|r| r.lane == lane && r.number.is_some() && wanted(r))
    };
    last(&|r| !place.is_empty() && r.place == place)
        .or_else(|| last(&|r| r.text != "end"))
        .map_or(rows.len(), |i| i + 1)
}

fn describe(step: &Step) -> String {
    let mut text = step.operation.clone();
    if let Some(object) = &step.object {
        text = format!("{text} {object}");
    }
    if let Some(detail) = &step.detail {
        let colon = if step.object.is_some() && !detail.starts_with('=') { ":" } else { "" };
        text = format!("{text}{colon} {detail}");
    }
    one_line(&text)
}

/// The longest group of rows whose repetition is found.
const LONGEST_GROUP: usize = 12;

/// Replaces what repeats the rows before it by a row that says how often: a loop that goes round two hundred times is shown once.
fn fold(rows: Vec<Row>) -> Vec<Row> {
    let same = |a: &Row, b: &Row| a.lane == b.lane && a.text == b.text && a.place == b.place;
    let repeats = |at: usize, size: usize| {
        let mut count = 1;
        while at + (count + 1) * size <= rows.len()
            && (0..size).all(|i| same(&rows[at + i], &rows[at + count * size + i]))
        {
            count += 1;
        }
        count
    };
    let mut kept: Vec<(usize, Option<String>)> = Vec::new();
    let mut at = 0;
    while at < rows.len() {
        // Twice may be chance, and the row that says so is a row too.
        let group = (1..=LONGEST_GROUP).map(|size| (size, repeats(at, size))).find(|(_, n)| *n >= 4);
        match group {
            Some((size, count)) => {
                kept.extend((at..at + size).map(|i| (i, None)));
                let steps = if size == 1 { "this step".to_owned() } else { format!("these {size} rows") };
                kept.push((at, Some(format!("... {steps} {} more times", count as u64 - 1))));
                at += size * count;
            }
            None => {
                kept.push((at, None));
                at += 1;
            }
        }
    }
    let mut rows: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
    let lanes: Vec<usize> = rows.iter().flatten().map(|r| r.lane).collect();
    let made = kept.into_iter().filter_map(|(i, note)| match note {
        None => rows[i].take(),
        Some(text) => Some(Row { number: None, lane: lanes[i], text, ink: Ink::Faint, place: String::new() }),
    });
    made.collect()
}

/// How many rows stay at the beginning when a long trace is cut; the others stay at the end, where the failure is.
const HEAD_SHARE: usize = 10;

/// The table, one string a line, without line ends.
pub(crate) fn table(failure: &Failure, width: usize, most_rows: usize, paint: Paint) -> Vec<String> {
    let names = Names::of(failure);
    let (rows, lanes) = rows(failure, &names);
    if rows.is_empty() {
        return Vec::new();
    }
    let rows = fold(rows);
    let layout = Layout::choose(&rows, &lanes, &names, width);
    let mut out = layout.header(paint);

    // The rows of a thread between its first and its last are its life: the table draws a line there.
    let mut life = vec![(usize::MAX, 0); lanes.len()];
    for (i, row) in rows.iter().enumerate() {
        let (first, last) = &mut life[row.lane];
        *first = (*first).min(i);
        *last = i;
    }
    let cut = (rows.len() > most_rows).then(|| {
        let head = most_rows / HEAD_SHARE;
        head..rows.len() - (most_rows - head)
    });
    for (i, row) in rows.iter().enumerate() {
        match &cut {
            Some(cut) if cut.start == i => {
                let steps = rows[cut.clone()].iter().filter(|r| r.number.is_some()).count();
                let text =
                    format!("... {} steps left out; RADDLE_TRACE=full shows them", count(steps as u64));
                out.extend(
                    wrap(&text, width.saturating_sub(2))
                        .iter()
                        .map(|l| format!("  {}", paint.paint(Ink::Faint, l))),
                );
            }
            Some(cut) if cut.contains(&i) => {}
            _ => layout.row(row, |lane| (life[lane].0..=life[lane].1).contains(&i), paint, &mut out),
        }
    }
    out
}

/// Columns before the first lane: two of margin, the step number, two of space.
const GUTTER: usize = 8;
/// Columns between two lanes, and before the places.
const GAP: usize = 2;

enum Shape {
    /// The column at which each lane starts, and where the places start.
    Columns { starts: Vec<usize> },
    /// One lane, and so many columns for the name of the thread.
    List { tag: usize },
}

struct Layout {
    shape: Shape,
    /// Names, cut so that they fit.
    names: Vec<String>,
    /// Where the texts end.
    texts: usize,
    /// Columns for the places; 0 when they go on lines of their own.
    places: usize,
    width: usize,
}

impl Layout {
    fn choose(rows: &[Row], lanes: &[ThreadId], names: &Names<'_>, width: usize) -> Layout {
        let names: Vec<String> = lanes.iter().map(|t| names.name(*t)).collect();
        let places = rows.iter().map(|r| columns(&r.place)).max().unwrap_or(0);
        let texts = width.saturating_sub(if places == 0 { 0 } else { places + GAP });
        let space = texts.saturating_sub(GUTTER);
        let mut longest: Vec<usize> = names.iter().map(|n| columns(n)).collect();
        for row in rows {
            longest[row.lane] = longest[row.lane].max(columns(&row.text));
        }
        if let Some(starts) = side_by_side(&longest, space).or_else(|| stairs(&longest, &names, space)) {
            let room = |i: usize| starts.get(i + 1).map_or(texts, |next| next - 1) - starts[i];
            let names = names.iter().enumerate().map(|(i, n)| elide(n, room(i))).collect();
            let end = starts.iter().zip(&longest).map(|(s, l)| s + l).max().unwrap_or(0).min(texts);
            return Layout { shape: Shape::Columns { starts }, names, texts: end, places, width };
        }
        // The word above the names has room, too.
        let tag = names.iter().map(|n| columns(n)).max().unwrap_or(0).clamp("thread".len(), 14);
        let names = names.iter().map(|n| elide(n, tag)).collect();
        let longest = longest.iter().copied().max().unwrap_or(0);
        let start = GUTTER + tag + GAP;
        if start + longest.min(30) <= texts {
            return Layout {
                shape: Shape::List { tag },
                names,
                texts: texts.min(start + longest),
                places,
                width,
            };
        }
        Layout { shape: Shape::List { tag }, names, texts: width.max(start + 8), places: 0, width }
    }

    fn header(&self, paint: Paint) -> Vec<String> {
        let mut line = pad("  step", GUTTER);
        let mut plain = line.clone();
        match &self.shape {
            Shape::Columns { starts } => {
                for (i, start) in starts.iter().enumerate() {
                    let gap = " ".repeat(start - columns(&plain));
                    plain = format!("{plain}{gap}{}", self.names[i]);
                    line = format!("{line}{gap}{}", paint.paint(Ink::Lane(i), &self.names[i]));
                }
            }
            Shape::List { tag } => {
                plain = format!("{plain}{}what", pad("thread", tag + GAP));
                line = plain.clone();
            }
        }
        if self.places > 0 {
            let gap = (self.texts + GAP).saturating_sub(columns(&plain));
            line = format!("{line}{}{}", " ".repeat(gap), paint.paint(Ink::Faint, "where"));
        }
        vec![line.trim_end().to_owned()]
    }

    fn row(&self, row: &Row, alive: impl Fn(usize) -> bool, paint: Paint, out: &mut Vec<String>) {
        let start = match &self.shape {
            Shape::Columns { starts } => starts[row.lane],
            Shape::List { tag } => GUTTER + tag + GAP,
        };
        let number = row.number.map(|n| n.to_string()).unwrap_or_default();
        for (i, text) in wrap(&row.text, self.texts.saturating_sub(start)).iter().enumerate() {
            let mut line = format!("{:>width$}  ", if i == 0 { &number } else { "" }, width = GUTTER - 2);
            let mut at = columns(&line);
            let mut put = |column: usize, text: &str, ink: Ink| {
                line.push_str(&" ".repeat(column.saturating_sub(at)));
                line.push_str(&paint.paint(ink, text));
                at = at.max(column) + columns(text);
            };
            match &self.shape {
                Shape::Columns { starts } => {
                    for (lane, column) in starts.iter().enumerate() {
                        if lane == row.lane {
                            put(*column, text, row.ink);
                        } else if alive(lane) && (lane < row.lane || *column > start + columns(text)) {
                            put(*column, "│", Ink::Faint);
                        }
                    }
                }
                Shape::List { .. } => {
                    if i == 0 {
                        put(GUTTER, &self.names[row.lane], Ink::Lane(row.lane));
                    }
                    put(start, text, row.ink);
                }
            }
            if i == 0 && self.places > 0 {
                put(self.texts + GAP, &row.place, Ink::Faint);
            }
            out.push(line.trim_end().to_owned());
        }
        if self.places == 0 && !row.place.is_empty() {
            let place = elide(&row.place, self.width.saturating_sub(start + 3).max(8));
            out.push(format!("{}{}", " ".repeat(start), paint.paint(Ink::Faint, &format!("at {place}"))));
        }
    }
}

/// Where the lanes start when they stand side by side, if that fits.
fn side_by_side(longest: &[usize], space: usize) -> Option<Vec<usize>> {
    let mut starts = Vec::with_capacity(longest.len());
    let mut at = GUTTER;
    for width in longest {
        starts.push(at);
        at += width + GAP;
    }
    (at - GAP <= GUTTER + space).then_some(starts)
}

/// Where the lanes start when a text may run over the lanes to its right, if that fits. Texts in the last lanes are
/// wrapped when they are longer than what is left for them.
fn stairs(longest: &[usize], names: &[String], space: usize) -> Option<Vec<usize>> {
    const MOST_NAME: usize = 9;
    const LEAST_TEXT: usize = 20;
    let name = names.iter().map(|n| columns(n)).max().unwrap_or(0);
    let least = (name + 1).clamp(4, MOST_NAME);
    let last = longest.len().checked_sub(1).filter(|n| *n > 0)?;
    let step = (1..=last).map(|i| space.saturating_sub(longest[i]) / i).min()?.max(least);
    // A step wider than the widest lane would only spread the table.
    let step = step.min(longest.iter().max()? + GAP);
    (step * last + longest[last].min(LEAST_TEXT) <= space && longest[0] <= space)
        .then(|| (0..=last).map(|i| GUTTER + i * step).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_lose_their_column_and_when_long_their_upper_folders() {
        assert_eq!(place("src/lib.rs:12:5"), "src/lib.rs:12");
        assert_eq!(place("crates/raddle/tests/golden/bank.rs:118:9"), "golden/bank.rs:118");
        assert_eq!(place("somewhere"), "somewhere");
        assert_eq!(place("/rustc/0123abcd/library/core/src/ptr/mod.rs:805:1"), "");
        assert_eq!(place(r"C:\code\one\two\three\four.rs:7:1"), "three/four.rs:7");
    }

    fn row(lane: usize, text: &str) -> Row {
        Row { number: Some(1), lane, text: text.into(), ink: Ink::Plain, place: String::new() }
    }

    #[test]
    fn a_loop_is_shown_once() {
        let mut rows: Vec<Row> = (0..200).flat_map(|_| [row(0, "load x: 0"), row(0, "yield")]).collect();
        rows.push(row(1, "store x = 1"));
        let folded = fold(rows);
        let texts: Vec<&str> = folded.iter().map(|r| &*r.text).collect();
        assert_eq!(texts, ["load x: 0", "yield", "... these 2 rows 199 more times", "store x = 1"]);
        let three = (0..3).map(|_| row(0, "yield")).collect::<Vec<_>>();
        assert_eq!(fold(three).len(), 3);
        let lanes = vec![row(0, "a"), row(1, "a"), row(0, "a"), row(1, "a"), row(0, "a"), row(1, "a")];
        assert_eq!(fold(lanes).len(), 6, "steps of different threads are not repetitions of one");
    }

    #[test]
    fn a_state_that_waits_says_for_what() {
        assert_eq!(wait_of("waits for mutex #2, held by thread 1 (reader)"), Some("waits for mutex #2"));
        assert_eq!(
            wait_of("waits for a message from channel #1"),
            Some("waits for a message from channel #1")
        );
        assert_eq!(
            wait_of("spins on atomic #1 = 0, atomic #2 = 0"),
            Some("spins on atomic #1 = 0, atomic #2 = 0")
        );
        assert_eq!(wait_of("finished"), None);
        assert_eq!(hold_of("waits for rwlock #2, held for writing by thread 1"), Some("held for writing by"));
        assert_eq!(hold_of("waits for the end of thread 1"), None);
    }
}
