//! `raddle compare`: one program, several searches, a table.

use crate::check::ProgramArgs;
use crate::compare_automata::Most;
use crate::terminal;
use clap::Args;
use examples::{Example, Variant};
use explore::{Algorithm, BadPlan, BoundKind, Comparison, LeftOut, Limit, Meter, Order, Plan, Verdict};
use report::compare::{Measure, Over};
use report::plot::Scale;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

#[derive(Args)]
pub(crate) struct CompareArgs {
    /// The program to search: C or C++ files, a program made by `raddle cc`, or an example (`raddle compare --list` shows them)
    #[arg(value_name = "FILE|EXAMPLE", required_unless_present_any = ["list", "project"])]
    programs: Vec<String>,

    #[command(flatten)]
    program: ProgramArgs,

    /// What to do about data races in C: they are failures; they are not looked for; or plain accesses are steps
    #[arg(long, value_name = "HOW", value_parser = ["report", "ignore", "sync"])]
    races: Option<String>,

    /// Read a C file as automata, as `raddle verify` does, and search these: one step for each access, the searches of states too
    /// (`tree` and `states`, with static persistent sets and sleep sets or without) unless algorithms or plans are named
    #[arg(long, conflicts_with_all = ["races", "project"])]
    automata: bool,

    /// List the programs and end
    #[arg(long, conflicts_with_all = ["programs", "plot"])]
    list: bool,

    /// How large the program is: mostly its number of threads
    #[arg(long, value_name = "N")]
    size: Option<usize>,

    /// The program without its bug
    #[arg(long)]
    fixed: bool,

    /// Which algorithms, with commas between them; all unless given
    #[arg(long, value_name = "A,B,...", value_delimiter = ',', value_parser = plan)]
    algorithms: Vec<Plan>,

    /// Within which bounds to run each algorithm: 0..3 is none, one and two preemptions; KIND=RANGE counts something else, an open
    /// range is one search that raises the bound itself, and `none` is no bound
    #[arg(long, value_name = "RANGE,...", value_delimiter = ',', value_parser = bounds)]
    bounds: Vec<Bounds>,

    /// In which orders to run each algorithm, with commas between them; depth-first unless given
    #[arg(long, value_name = "ORDER,...", value_delimiter = ',', value_parser = order)]
    orders: Vec<Order>,

    /// A whole plan, `algorithm@bound/order#seed`; may be given again
    #[arg(long = "plan", value_name = "PLAN", value_parser = plan)]
    plans: Vec<Plan>,

    /// What random orders start from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Stop each search after so many executions
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    max_executions: u64,

    /// Stop after so many seconds in all: each search has an equal part of what is left
    #[arg(long, value_name = "S", default_value = "100", value_parser = seconds)]
    max_seconds: f64,

    /// Go on after a failure
    #[arg(long)]
    keep_going: bool,

    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,

    /// Draw how much each search had seen by when, as SVG
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,

    /// What the plot counts
    #[arg(long, value_enum, default_value_t = Counted::Classes, requires = "plot")]
    count: Counted,

    /// What the plot has below
    #[arg(long, value_enum, default_value_t = Below::Executions, requires = "plot")]
    over: Below,

    /// How the plot divides that; chosen by its range unless given
    #[arg(long, value_enum, requires = "plot")]
    scale: Option<Division>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Counted {
    /// Happens-before classes of complete executions
    Classes,
    /// Local states of threads
    States,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Below {
    Executions,
    /// CPU time
    Time,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Division {
    Linear,
    Log,
}

/// One item of `--bounds`.
#[derive(Clone, Debug, PartialEq)]
struct Bounds(Vec<Option<Limit>>);

fn plan(text: &str) -> Result<Plan, BadPlan> {
    text.parse()
}

fn order(text: &str) -> Result<Order, BadPlan> {
    text.parse()
}

/// A closed range is one search for each bound in it.
fn bounds(text: &str) -> Result<Bounds, BadPlan> {
    if text == "none" {
        return Ok(Bounds(vec![None]));
    }
    let with_kind = if text.contains('=') {
        text.to_owned()
    } else {
        format!("{}={text}", BoundKind::Preemptions.name())
    };
    let limit: Limit = with_kind.parse()?;
    Ok(Bounds(match limit.last {
        None => vec![Some(limit)],
        Some(last) => (limit.first..=last).map(|n| Some(Limit::at(limit.kind, n))).collect(),
    }))
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if s > 0.0 && Duration::try_from_secs_f64(s).is_ok() => Ok(s),
        _ => Err("say a number of seconds above 0".to_owned()),
    }
}

pub(crate) fn run(args: &CompareArgs) -> ExitCode {
    if args.list {
        return terminal::print(&if args.json { listed() } else { list(terminal::style().width) }, 0);
    }
    match compare(args) {
        Ok((text, code)) => terminal::print(&text, code),
        Err(why) => {
            if args.json {
                let object = serde_json::json!({ "verdict": "error", "error": why, "caveats": [] });
                terminal::print(&format!("{object}\n"), 2);
            }
            eprintln!("raddle: {why}");
            ExitCode::from(2)
        }
    }
}

fn compare(args: &CompareArgs) -> Result<(String, u8), String> {
    let example = match &args.programs[..] {
        [name] => examples::example(name),
        _ => None,
    };
    let all = match example {
        _ if args.automata => compare_automata(args)?,
        Some(example) => compare_example(args, example)?,
        None => match compare_files(args)? {
            Some(all) => all,
            None => return Ok((String::new(), 2)),
        },
    };
    if let Some(path) = &args.plot {
        let measure = if args.count == Counted::Classes { Measure::Classes } else { Measure::States };
        let scale = args.scale.map(|s| if s == Division::Linear { Scale::Linear } else { Scale::Log });
        let over = if args.over == Below::Executions { Over::Executions } else { Over::Time };
        let svg = report::compare::plot(&all, measure, over, scale).svg();
        create(path)?
            .write_all(svg.as_bytes())
            .map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    }
    let text =
        if args.json { report::compare::json(&all) } else { report::compare::text(&all, &terminal::style()) };
    Ok((text, exit_code(&all)))
}

fn compare_example(args: &CompareArgs, example: &Example) -> Result<Comparison, String> {
    let size = args.size.unwrap_or(example.small);
    let (least, most) = example.sizes;
    if !(least..=most).contains(&size) {
        return Err(format!("`{}` has sizes from {least} to {most}, and --size is {size}", example.name));
    }
    if args.fixed && example.bug.is_none() {
        return Err(format!("`{}` has no bug: leave --fixed out", example.name));
    }
    if args.races.is_some() || !args.program.is_default() {
        return Err(format!("`{}` is an example: it is not compiled, and has no arguments", example.name));
    }
    let (plans, mut left_out) = plans(args)?;
    args.plot.as_deref().map(create).transpose()?;

    let variant = if args.fixed { Variant::Correct } else { Variant::Buggy };
    let program = example.program(size, variant);
    let config = example
        .config()
        .max_executions(args.max_executions)
        .max_time(Duration::from_secs_f64(args.max_seconds))
        .keep_going(args.keep_going);
    let mut all = Comparison { program: Some(title(example, size, variant)), ..Comparison::default() };
    let shown = std::io::stderr().is_terminal();
    let one = config.compare_each(&plans, &program, |i, plan| {
        if shown {
            eprint!("\r\x1b[2Kraddle: {plan} ({} of {})", i + 1, plans.len());
        }
    });
    all.rows.extend(one.rows);
    left_out.extend(one.left_out);
    if shown {
        eprint!("\r\x1b[2K");
    }
    all.left_out = left_out;
    Ok(all)
}

/// Reads a C file as automata.
fn compare_automata(args: &CompareArgs) -> Result<Comparison, String> {
    let [file] = &args.programs[..] else {
        return Err("--automata takes one C file".to_owned());
    };
    if args.size.is_some() || args.fixed {
        return Err("--size and --fixed are for examples".to_owned());
    }
    if !args.program.args().is_empty() {
        return Err("automata have no arguments".to_owned());
    }
    let (plans, left_out) = plans(args)?;
    args.plot.as_deref().map(create).transpose()?;
    let most =
        Most { executions: args.max_executions, seconds: args.max_seconds, keep_going: args.keep_going };
    let states = args.algorithms.is_empty() && args.plans.is_empty();
    let shown = std::io::stderr().is_terminal();
    let begin = |name: &str| {
        if shown {
            eprint!("\r\x1b[2Kraddle: {name}");
        }
    };
    let words = args.program.preprocessor()?;
    let all = crate::compare_automata::compare(file, words, &plans, states, &most, begin);
    if shown {
        eprint!("\r\x1b[2K");
    }
    let mut all = all?;
    all.left_out.splice(..0, left_out);
    Ok(all)
}

/// Compiles files, and lets the program compare by itself. `None` when the compiler has said why it cannot be made.
#[cfg(c_programs)]
fn compare_files(args: &CompareArgs) -> Result<Option<Comparison>, String> {
    use crate::run::{Ended, Start};

    if let [name] = &args.programs[..]
        && !name.contains(['.', '/'])
        && !Path::new(name).exists()
    {
        let near = examples::all().iter().map(|e| (distance(e.name, name), e.name)).min();
        let near =
            near.filter(|(d, _)| *d <= 2).map(|(_, n)| format!(": is `{n}` meant?")).unwrap_or_default();
        return Err(format!(
            "there is no file and no example `{name}`{near} (`raddle compare --list` shows the examples)"
        ));
    }
    if args.size.is_some() || args.fixed {
        return Err("--size and --fixed are for examples".to_owned());
    }
    let (plans, left_out) = plans(args)?;
    args.plot.as_deref().map(create).transpose()?;
    let Some(built) = crate::build::build(&args.programs, &args.program, None)? else { return Ok(None) };
    let texts: Vec<String> = plans.iter().map(Plan::to_string).collect();
    let out = built.scratch.path().join("comparison.json");
    let mut variables = vec![
        ("RADDLE_COMPARE", texts.join(" ")),
        ("RADDLE_COMPARE_OUT", out.to_string_lossy().into_owned()),
        ("RADDLE_MAX_EXECUTIONS", args.max_executions.to_string()),
        ("RADDLE_MAX_SECONDS", args.max_seconds.to_string()),
        ("RADDLE_KEEP_GOING", u8::from(args.keep_going).to_string()),
    ];
    variables.extend(args.races.clone().map(|r| ("RADDLE_RACES", r)));
    variables.extend(built.variables.iter().cloned());
    let start = Start {
        program: &built.program,
        args: args.program.args(),
        variables: &variables,
        gdb: false,
        seconds: None,
    };
    match crate::run::run(&start, &built.scratch.path().join("done"))? {
        // The library has said what is wrong.
        Ended::Reported(2) => return Ok(None),
        Ended::Reported(_) | Ended::Debugged(_) => {}
        Ended::Otherwise(what, _) => return Err(what),
    }
    let text = std::fs::read_to_string(&out).map_err(|e| format!("the program left no comparison: {e}"))?;
    let mut all: Comparison =
        serde_json::from_str(&text).map_err(|e| format!("the comparison is damaged: {e}"))?;
    let name = if args.programs.is_empty() { args.program.name() } else { args.programs.join(" ") };
    all.program = Some(name);
    all.left_out.splice(..0, left_out);
    Ok(Some(all))
}

#[cfg(not(c_programs))]
fn compare_files(args: &CompareArgs) -> Result<Option<Comparison>, String> {
    Err(format!("there is no example `{}`; {}", args.programs.join(" "), crate::check::ELSEWHERE))
}

/// 1 if some search found a failure, 3 if none did and all stopped early.
fn exit_code(all: &Comparison) -> u8 {
    match () {
        () if all.rows.iter().any(|r| r.verdict == Verdict::Failure) => 1,
        () if all.rows.iter().all(|r| r.verdict == Verdict::Incomplete) => 3,
        () => 0,
    }
}

/// How many letters must be changed, added or taken away to make one word of the other.
#[cfg(c_programs)]
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = corner + usize::from(x != *y);
            corner = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

/// Opened before the search, so that nobody waits for a plot that cannot be written.
fn create(path: &Path) -> Result<File, String> {
    File::create(path).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

fn title(example: &Example, size: usize, variant: Variant) -> String {
    let what = match (example.bug, variant) {
        (None, _) => "",
        (Some(_), Variant::Buggy) => ", with its bug",
        (Some(_), Variant::Correct) => ", repaired",
    };
    format!("{}, size {size}{what}", example.name)
}

/// The plans that can be run, and what cannot.
fn plans(args: &CompareArgs) -> Result<(Vec<Plan>, Vec<LeftOut>), String> {
    let mut bases = args.algorithms.clone();
    if bases.is_empty() && args.plans.is_empty() {
        bases = if args.orders.is_empty() {
            explore::algorithms().iter().map(algorithm_alone).collect()
        } else {
            vec![Plan::default()]
        };
    }
    let bounds: Vec<Option<Limit>> = args.bounds.iter().flat_map(|b| b.0.iter().copied()).collect();
    let bounded = bounds.iter().any(Option::is_some);
    let (mut out, mut left_out, mut any_bounded) = (Vec::new(), Vec::new(), false);
    for base in &bases {
        let free = base.bounds.is_empty();
        // An algorithm that knows no bounds is still worth a row: the others are compared with it.
        let refused = if free && bounded { refuses_all(base, &bounds) } else { None };
        if let Some(why) = &refused {
            left_out
                .push(LeftOut { plan: format!("{base} with --bounds"), why: format!("{why}; run without") });
        }
        any_bounded |= free && bounded && refused.is_none();
        let within = match (free && !bounds.is_empty(), &refused) {
            (true, None) => bounds.clone(),
            _ => vec![None],
        };
        let orders = if base.order == Order::DepthFirst && !args.orders.is_empty() {
            args.orders.clone()
        } else {
            vec![base.order.clone()]
        };
        for bound in &within {
            for order in &orders {
                let mut plan = Plan { order: order.clone(), ..base.clone() };
                plan.bounds.extend(*bound);
                out.push(plan);
            }
        }
    }
    if bounded && !any_bounded {
        let why: String = left_out.iter().fold(String::new(), |mut s, l| {
            let _ = write!(s, "\n  {}", l.why.trim_end_matches("; run without"));
            s
        });
        return Err(format!("--bounds: none of these searches goes with a bound{why}"));
    }
    out.extend(args.plans.iter().cloned());
    for plan in &mut out {
        // A seed of its own stays.
        if plan.seed == Plan::default().seed {
            plan.seed = args.seed;
        }
    }
    out.retain(|plan| match plan.search(Meter::unlimited()) {
        Ok(_) => true,
        Err(BadPlan(why)) => {
            left_out.push(LeftOut { plan: plan.to_string(), why });
            false
        }
    });
    if out.is_empty() {
        let all: Vec<String> = left_out.iter().map(|l| format!("\n  {}: {}", l.plan, l.why)).collect();
        return Err(format!("nothing to compare: no plan can be run{}", all.concat()));
    }
    Ok((out, left_out))
}

fn algorithm_alone(algorithm: &'static Algorithm) -> Plan {
    Plan { algorithm: Some(algorithm), ..Plan::default() }
}

/// Why an algorithm cannot be run within any of these bounds, if it cannot.
fn refuses_all(base: &Plan, bounds: &[Option<Limit>]) -> Option<String> {
    let mut why = None;
    for bound in bounds.iter().flatten() {
        let plan = Plan { bounds: vec![*bound], ..base.clone() };
        match plan.search(Meter::unlimited()) {
            Ok(_) => return None,
            Err(BadPlan(e)) => why = why.or(Some(e)),
        }
    }
    why
}

fn listed() -> String {
    let rows: Vec<_> = examples::all()
        .iter()
        .map(|e| {
            serde_json::json!({
                "name": e.name,
                "about": e.about,
                "bug": e.bug.map(|b| b.name()),
                "small": e.small,
                "large": e.large,
                "sizes": [e.sizes.0, e.sizes.1],
            })
        })
        .collect();
    format!("{:#}\n", serde_json::Value::Array(rows))
}

/// Name, kind of bug and sizes side by side; what each program does below, where there is room for a sentence.
fn list(width: usize) -> String {
    let name = examples::all().iter().map(|e| e.name.len()).max().unwrap_or(0).max("example".len());
    let mut out = format!("{:name$}  {:10}  {:>12}  {:>12}\n", "example", "bug", "size", "large size");
    for e in examples::all() {
        let bug = e.bug.map_or("none", |b| b.name());
        let _ = writeln!(out, "{:name$}  {bug:10}  {:>12}  {:>12}", e.name, e.small, e.large);
        for line in crate::algorithms::wrap(e.about, width.saturating_sub(name + 4)) {
            let _ = writeln!(out, "{:name$}    {line}", "");
        }
        out.push('\n');
    }
    out.push_str("Run one with `raddle compare EXAMPLE`, with --size for another size, with --fixed without its bug.\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(b: &Bounds) -> Vec<String> {
        b.0.iter().map(|l| l.map_or("none".into(), |l| l.to_string())).collect()
    }

    #[test]
    fn a_range_of_bounds_is_one_search_for_each() {
        assert_eq!(texts(&bounds("0..3").unwrap()), ["preemptions=0", "preemptions=1", "preemptions=2"]);
        assert_eq!(texts(&bounds("2").unwrap()), ["preemptions=2"]);
        assert_eq!(texts(&bounds("fair=1..=2").unwrap()), ["fair=1", "fair=2"]);
        assert_eq!(texts(&bounds("delays=0..").unwrap()), ["delays=0.."], "one search that raises its bound");
        assert_eq!(texts(&bounds("0..").unwrap()), ["preemptions=0.."]);
        assert_eq!(texts(&bounds("none").unwrap()), ["none"]);
        for bad in ["", "3..1", "lemons=2", "x"] {
            assert!(bounds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    #[cfg(c_programs)]
    fn a_slip_of_the_pen_is_near() {
        let near =
            [distance("counter", "conter"), distance("fib", "fbi"), distance("", "ab"), distance("a", "a")];
        assert_eq!(near, [1, 2, 2, 0]);
    }

    #[test]
    fn the_list_fits_its_width() {
        for width in [60, 80, 100] {
            for line in list(width).lines().take_while(|l| !l.starts_with("Run")) {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}
