//! What a user sees, word for word.

use explore::{Failure, FailureKind, Promise, Report, Stats, Step, ThreadId, ThreadInfo, Verdict};
use report::{Style, json, text};

const MAIN: ThreadId = ThreadId(0);

fn step(n: usize, thread: u16, what: &str, line: u32) -> Step {
    let mut parts = what.splitn(3, '|').map(|p| (!p.is_empty()).then(|| p.to_owned()));
    Step {
        step: n,
        thread: ThreadId(thread),
        operation: parts.next().flatten().unwrap(),
        object: parts.next().flatten(),
        detail: parts.next().flatten(),
        location: Some(format!("tests/bank.rs:{line}:9")),
        callers: vec![],
        preempts: None,
    }
}

fn thread(n: u16, name: &str, state: &str, line: Option<u32>) -> ThreadInfo {
    ThreadInfo {
        thread: ThreadId(n),
        name: name.into(),
        state: state.into(),
        location: line.map(|l| format!("tests/bank.rs:{l}:9")),
        callers: vec![],
        waits_for: vec![],
    }
}

fn failed(failure: Failure) -> Report {
    let stats = Stats { executions: 2, open: 1, ..Stats::default() };
    Report {
        verdict: Verdict::Failure,
        guarantee: report::guarantee(Verdict::Failure, &Promise::Everything, &stats, None, None, &[]),
        algorithm: "optimal".into(),
        bound: None,
        memory: "sc".into(),
        stats,
        failures: vec![failure],
        stopped: None,
        rounds: vec![],
        caveats: vec![],
        warnings: vec![],
        seconds: 0.0021,
    }
}

fn lost_update() -> Report {
    let mut trace = vec![
        step(1, 0, "start", 9),
        step(2, 0, "spawn||thread 1 (payer)", 12),
        step(3, 0, "load|atomic #1|100", 14),
        step(4, 1, "start", 12),
        step(5, 1, "load|atomic #1|100", 14),
        step(6, 1, "store|atomic #1|= 150", 15),
        step(7, 1, "end", 12),
        step(8, 0, "store|atomic #1|= 120", 15),
        step(9, 0, "join||thread 1 (payer)", 18),
        step(10, 0, "load|atomic #1|120", 19),
        step(11, 0, "end", 9),
    ];
    trace[3].preempts = Some(MAIN);
    failed(Failure {
        kind: FailureKind::Assertion,
        message: "assertion `left == right` failed\n  left: 120\n right: 170".into(),
        location: Some("tests/bank.rs:19:5".into()),
        thread: Some(MAIN),
        replay: "rd1-AwADAQQAAzE5".into(),
        preemptions: 1,
        threads: vec![thread(0, "main", "panicked", Some(19)), thread(1, "payer", "finished", None)],
        cycle: vec![],
        trace,
        after: None,
        help: None,
        output: None,
    })
}

fn deadlock() -> Report {
    let mut trace = vec![
        step(1, 0, "start", 9),
        step(2, 0, "spawn||thread 1 (payer)", 12),
        step(3, 0, "lock|mutex #1", 20),
        step(4, 1, "start", 12),
        step(5, 1, "lock|mutex #2", 13),
    ];
    trace[3].preempts = Some(MAIN);
    let mut threads = vec![
        thread(0, "main", "waits for mutex #2, held by thread 1 (payer)", Some(21)),
        thread(1, "payer", "waits for mutex #1, held by thread 0 (main)", Some(14)),
    ];
    threads[0].waits_for = vec![ThreadId(1)];
    threads[1].waits_for = vec![MAIN];
    failed(Failure {
        kind: FailureKind::Deadlock,
        message: "no thread can go on".into(),
        location: None,
        thread: None,
        replay: "rd1-AgADAQIxOQ".into(),
        preemptions: 1,
        threads,
        cycle: vec![MAIN, ThreadId(1)],
        trace,
        after: None,
        help: None,
        output: None,
    })
}

#[test]
fn a_lost_update_reads_like_this() {
    let style = Style { width: 80, ..Style::for_test(Some("payments_add_up")) };
    assert_eq!(
        text::render(&lost_update(), &style),
        "\
raddle: failure: an assertion does not hold in thread main at tests/bank.rs:19:5
  assertion `left == right` failed
    left: 120
   right: 170

  step  main                    payer                  where
     1  start                                          tests/bank.rs:9
     2  spawn thread 1 (payer)                         tests/bank.rs:12
     3  load atomic #1: 100                            tests/bank.rs:14
        │                       ⇄ preempts main
     4  │                       start                  tests/bank.rs:12
     5  │                       load atomic #1: 100    tests/bank.rs:14
     6  │                       store atomic #1 = 150  tests/bank.rs:15
     7  │                       end                    tests/bank.rs:12
     8  store atomic #1 = 120                          tests/bank.rs:15
     9  join thread 1 (payer)                          tests/bank.rs:18
    10  load atomic #1: 120                            tests/bank.rs:19
        ✗ assertion                                    tests/bank.rs:19
    11  end                                            tests/bank.rs:9

  threads main   panicked, at tests/bank.rs:19
          payer  finished

  trace   shortest schedule found: 1 preemption
  token   rd1-AwADAQQAAzE5
  replay  RADDLE_REPLAY=rd1-AwADAQQAAzE5 cargo test payments_add_up -- --exact --nocapture
  search  optimal, memory sc: 2 executions so far, 0 blocked, 2 ms; 1 branch was
          not explored
"
    );
}

#[test]
fn a_deadlock_shows_its_cycle() {
    assert_eq!(
        text::render(&deadlock(), &Style::default()),
        "\
raddle: failure: deadlock
  main waits for mutex #2 held by payer (taken at tests/bank.rs:13)
  -> payer waits for mutex #1 held by main (taken at tests/bank.rs:20)

  step  main                    payer                 where
     1  start                                         tests/bank.rs:9
     2  spawn thread 1 (payer)                        tests/bank.rs:12
     3  lock mutex #1                                 tests/bank.rs:20
        │                       ⇄ preempts main
     4  │                       start                 tests/bank.rs:12
     5  │                       lock mutex #2         tests/bank.rs:13
        ✗ waits for mutex #2    │                     tests/bank.rs:21
                                ✗ waits for mutex #1  tests/bank.rs:14

  threads main   waits for mutex #2, held by thread 1 (payer), at tests/bank.rs:21
          payer  waits for mutex #1, held by thread 0 (main), at tests/bank.rs:14

  trace   shortest schedule found: 1 preemption
  token   rd1-AgADAQIxOQ
  replay  set RADDLE_REPLAY=rd1-AgADAQIxOQ and run the same program again
  search  optimal, memory sc: 2 executions so far, 0 blocked, 2 ms; 1 branch was not explored
"
    );
}

/// A trace with many threads in which every operation is as long as they get.
fn crowd(threads: u16, steps: usize) -> Report {
    let mut report = lost_update();
    let failure = &mut report.failures[0];
    failure.threads = (0..threads).map(|t| thread(t, &format!("worker-{t}"), "finished", None)).collect();
    failure.trace = (0..steps)
        .map(|i| {
            let mut step =
                step(i + 1, i as u16 % threads, "compare_exchange_weak|atomic #1|1 (wanted 0)", 10);
            step.preempts = (i % 7 == 6).then(|| ThreadId((i as u16 + 1) % threads));
            step.location = Some("crates/somewhere/deep/tests/long_name.rs:1234:5".into());
            step
        })
        .collect();
    report
}

/// The lines that must fit: all but those that are there to be copied.
fn widest(text: &str) -> usize {
    let copied = |l: &&str| !l.starts_with("  token") && !l.starts_with("  replay");
    text.lines().filter(copied).map(|l| l.chars().count()).max().unwrap()
}

#[test]
fn every_line_fits_the_width_with_any_number_of_threads() {
    for width in [40, 60, 80, 100, 160] {
        for report in (1..=12).map(|n| crowd(n, 40)).chain([lost_update(), deadlock()]) {
            let out = text::render(&report, &Style { width, ..Style::default() });
            assert!(widest(&out) <= width, "{width}:\n{out}");
        }
    }
}

#[test]
fn up_to_six_threads_have_columns_on_a_wide_terminal_and_more_become_a_list() {
    let out = |threads| text::render(&crowd(threads, 40), &Style::default());
    let header = |out: &str| out.lines().find(|l| l.starts_with("  step")).unwrap().to_owned();
    for threads in 2..=6 {
        let header = header(&out(threads));
        for t in 0..threads {
            assert!(header.contains(&format!("worker-{t}")), "{header}");
        }
    }
    let mut short = crowd(6, 40);
    for step in &mut short.failures[0].trace {
        (step.operation, step.detail) = ("store".into(), Some("= 1".into()));
        step.location = Some("tests/bank.rs:10:1".into());
    }
    assert!(header(&text::render(&short, &Style::default())).contains("worker-5"));
    assert_eq!(header(&out(12)), "  step  thread     what                                           where");
}

#[test]
fn a_list_of_threads_with_short_names_has_room_for_its_header() {
    let mut report = crowd(1, 4);
    report.failures[0].threads[0].name = "main".into();
    let out = text::render(&report, &Style { width: 40, ..Style::default() });
    assert!(out.contains("  step  thread  what"), "{out}");
    assert!(out.contains("     1  main    compare_exchange_weak"), "{out}");
}

#[test]
fn nothing_is_lost_when_a_cell_is_wrapped() {
    let squeeze = |text: String| text.split([' ', '│', '\n']).collect::<String>();
    for threads in [6, 12] {
        let out = squeeze(text::render(&crowd(threads, 12), &Style::default()));
        let cell =
            |i: u16| format!("worker-{i}compare_exchange_weakatomic#1:1(wanted0)tests/long_name.rs:1234");
        match threads {
            12 => (0..12).for_each(|i| assert!(out.contains(&cell(i)), "{out}")),
            _ => assert_eq!(out.matches("compare_exchange_weak").count(), 12, "{out}"),
        }
    }
}

#[test]
fn a_long_trace_is_cut_in_the_middle_and_says_so() {
    let report = crowd(2, 1_000);
    let out = text::render(&report, &Style::default());
    let rows = |out: &str| out.lines().filter(|l| l.contains("compare_exchange_weak")).count();
    assert!((150..=200).contains(&rows(&out)), "{}", rows(&out));
    let left = 1_000 - rows(&out);
    assert!(out.contains(&format!("... {left} steps left out; RADDLE_TRACE=full shows them")), "{out}");
    assert!(out.lines().any(|l| l.starts_with("  1000  ")), "the end is what matters:\n{out}");

    let full = text::render(&report, &Style { rows: usize::MAX, ..Style::default() });
    assert_eq!(rows(&full), 1_000);
    assert!(!full.contains("left out"));
    let none = text::render(&report, &Style { show_trace: false, ..Style::default() });
    assert_eq!(rows(&none), 0);
}

#[test]
fn there_are_escape_codes_only_with_colour() {
    let mut report = lost_update();
    report.failures[0].message = "\x1b[31mred\x1b[0m".into();
    let plain = text::render(&report, &Style::default());
    assert!(!plain.contains('\x1b'));
    let coloured = text::render(&report, &Style { colour: true, ..Style::default() });
    assert!(coloured.contains("\x1b[1;31m"));
    let mut stripped = coloured.clone();
    while let Some(start) = stripped.find('\x1b') {
        let end = start + stripped[start..].find('m').unwrap();
        stripped.replace_range(start..=end, "");
    }
    assert_eq!(stripped, plain, "colours change no column");
}

#[test]
fn threads_of_one_name_are_told_apart() {
    let mut report = deadlock();
    report.failures[0].threads.iter_mut().for_each(|t| t.name = "worker".into());
    let out = text::render(&report, &Style::default());
    assert!(
        out.contains("worker(0) waits for mutex #2 held by worker(1) (taken at tests/bank.rs:13)"),
        "{out}"
    );
}

#[test]
fn a_thread_that_waits_for_itself_is_a_cycle_too() {
    let mut report = deadlock();
    report.failures[0].cycle.truncate(1);
    report.failures[0].threads[0].state = "waits for mutex #1, held by itself".into();
    let out = text::render(&report, &Style::default());
    assert!(
        out.contains("\n  main waits for mutex #1 held by itself (taken at tests/bank.rs:20)\n"),
        "{out}"
    );
}

fn passed(verdict: Verdict, executions: u64, open: u64, spent: Option<&str>) -> Report {
    let stats = Stats { executions, open, ..Stats::default() };
    let guarantee = report::guarantee(verdict, &Promise::Everything, &stats, spent, None, &[]);
    Report { verdict, guarantee, stats, failures: vec![], ..lost_update() }
}

#[test]
fn a_check_that_found_nothing_says_what_it_covered() {
    let style = Style::default();
    assert_eq!(
        text::render(&passed(Verdict::Verified, 24, 0, None), &style),
        "raddle: verified: all 24 executions\n  optimal, memory sc: 24 executions, 0 blocked, 2 ms\n"
    );
    let mut early = passed(Verdict::Incomplete, 1_234_567, 31, Some("60 s"));
    early.warnings.push("nothing is shared".into());
    assert_eq!(
        text::render(&early, &style),
        "\
raddle: stopped early, NOT verified: gave up after 60 s, 1.2 M executions, 31 open branches
  optimal, memory sc: 1,234,567 executions, 0 blocked, 2 ms
  warning: nothing is shared
"
    );
}

#[test]
fn the_command_quotes_what_a_shell_would_split() {
    assert!(Style::for_test(Some("a b")).command.unwrap().contains("cargo test 'a b' --"));
    assert_eq!(Style::for_test(Some("main")).command, None);
    assert_eq!(Style::for_test(None).command, None);
}

#[test]
fn the_json_has_every_field_that_scripts_rely_on() {
    let fields = [
        "verdict",
        "guarantee",
        "algorithm",
        "bound",
        "memory",
        "executions",
        "blocked",
        "failures",
        "seconds",
    ];
    for report in [lost_update(), deadlock(), passed(Verdict::Verified, 24, 0, None)] {
        let value: serde_json::Value = serde_json::from_str(&json::render(&report)).unwrap();
        for field in fields {
            assert!(value.get(field).is_some(), "{field} is missing in {value:#}");
        }
        for failure in value["failures"].as_array().unwrap() {
            for field in ["kind", "message", "location", "replay", "trace"] {
                assert!(failure.get(field).is_some(), "{field} is missing in {failure:#}");
            }
        }
    }
    let value: serde_json::Value = serde_json::from_str(&json::render(&lost_update())).unwrap();
    assert_eq!(value["verdict"], "failure");
    assert_eq!(value["bound"], serde_json::Value::Null);
    assert_eq!(value["executions"], 2);
    let failure = &value["failures"][0];
    assert_eq!((&failure["kind"], &failure["replay"]), (&"assertion".into(), &"rd1-AwADAQQAAzE5".into()));
    assert_eq!(failure["trace"][3]["preempts"], 0);
    assert_eq!(failure["trace"][5]["detail"], "= 150");
    assert_eq!(value["failures"][0]["location"], "tests/bank.rs:19:5");
}
