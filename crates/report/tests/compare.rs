//! A comparison as text, JSON and a plot.

use explore::{Compared, Comparison, Coverage, FailureKind, FirstFailure, LeftOut, Point, Stats, Verdict};
use report::Style;
use report::compare::{Measure, Over, json, plot, text};
use report::plot::{Mark, Scale};

fn row(plan: &str, verdict: Verdict, runs: u64, classes: u64) -> Compared {
    let curve = vec![
        Point { runs: 1, classes: 1, states: 4, cpu_seconds: Some(1e-5) },
        Point { runs, classes, states: 4 * classes, cpu_seconds: Some(runs as f64 * 1e-5) },
    ];
    Compared {
        plan: plan.into(),
        algorithm: plan.into(),
        bound: None,
        order: "depth-first".into(),
        seed: 1,
        verdict,
        guarantee: "verified: all".into(),
        stats: Stats { executions: runs, steps: 10 * runs, ..Stats::default() },
        runs,
        cpu_seconds: runs as f64 * 1e-5,
        failure: None,
        coverage: Some(Coverage { classes, states: 4 * classes, curve }),
        reached: None,
    }
}

fn comparison() -> Comparison {
    let mut failed = row("dpor", Verdict::Failure, 3, 3);
    failed.failure = Some(FirstFailure {
        kind: FailureKind::Deadlock,
        message: "all wait".into(),
        after: 3,
        replay: "rd1-AAAA".into(),
    });
    Comparison {
        program: Some("readers, size 4".into()),
        rows: vec![
            row("optimal", Verdict::Verified, 20, 20),
            row("none", Verdict::Incomplete, 100_000, 10),
            failed,
        ],
        left_out: vec![LeftOut { plan: "sleep@depth=2".into(), why: "it knows no bounds".into() }],
    }
}

#[test]
fn the_table_is_aligned_and_leaves_out_columns_that_say_nothing() {
    let expected = "\
readers, size 4
algorithm  executions  blocked  classes  states      steps     CPU  result
optimal            20        0       20      80        200  200 us  verified
none          100,000        0       10      40  1,000,000   1.0 s  stopped early
dpor                3        0        3      12         30   30 us  deadlock in execution 3
left out: sleep@depth=2: it knows no bounds
";
    assert_eq!(text(&comparison(), &Style::default()), expected);
    let mut bounded = comparison();
    bounded.rows[1].stats.over_bound = 7;
    assert!(text(&bounded, &Style::default()).contains("over bound"));
}

#[test]
fn a_table_without_colours_has_none_and_one_with_colours_says_the_same() {
    let plain = text(&comparison(), &Style::default());
    let coloured = text(&comparison(), &Style { colour: true, ..Style::default() });
    assert!(!plain.contains('\x1b') && coloured.contains('\x1b'));
    let mut bare = String::new();
    for part in coloured.split('\x1b') {
        bare.push_str(if bare.is_empty() && !coloured.starts_with('\x1b') {
            part
        } else {
            part.split_once('m').map_or(part, |p| p.1)
        });
    }
    assert_eq!(bare, plain);
}

#[test]
fn the_json_has_what_scripts_rely_on() {
    let value: serde_json::Value = serde_json::from_str(&json(&comparison())).unwrap();
    assert_eq!(value["program"], "readers, size 4");
    let rows = value["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for field in [
        "plan",
        "algorithm",
        "order",
        "seed",
        "verdict",
        "guarantee",
        "executions",
        "blocked",
        "over_bound",
        "steps",
        "runs",
        "cpu_seconds",
    ] {
        assert!(rows.iter().all(|r| !r[field].is_null()), "{field}");
    }
    assert_eq!(rows[0]["verdict"], "verified");
    assert_eq!(rows[0]["coverage"]["classes"], 20);
    assert_eq!(rows[0]["coverage"]["curve"][1]["runs"], 20);
    assert!(rows[0]["failure"].is_null() && rows[0]["bound"].is_null());
    assert_eq!((&rows[2]["failure"]["kind"], &rows[2]["failure"]["after"]), (&"deadlock".into(), &3.into()));
    assert_eq!(value["left_out"][0]["plan"], "sleep@depth=2");
}

#[test]
fn the_plot_is_in_percent_of_the_most_that_was_seen() {
    let p = plot(&comparison(), Measure::Classes, Over::Executions, None);
    assert_eq!(p.scale, Scale::Log, "3 and 100,000 executions do not fit a linear one");
    assert_eq!(p.y_label, "classes seen, % of all 20");
    let ends: Vec<(f64, f64)> = p.series.iter().map(|s| *s.points.last().unwrap()).collect();
    assert_eq!(ends, [(20.0, 100.0), (100_000.0, 50.0), (3.0, 15.0)]);
    let marks: Vec<Mark> = p.series.iter().map(|s| s.mark).collect();
    assert_eq!(marks, [Mark::Finished, Mark::Stopped, Mark::Failed]);
    let states = plot(&comparison(), Measure::States, Over::Executions, Some(Scale::Linear));
    assert_eq!(states.y_label, "local states seen, % of all 80");
    assert!(states.svg().contains("readers, size 4"));

    let time = plot(&comparison(), Measure::Classes, Over::Time, Some(Scale::Linear));
    assert_eq!(time.series[0].points.last(), Some(&(20.0 * 1e-5, 100.0)));
    assert!(time.svg().contains("200 ms"), "{}", time.svg());

    let mut early = comparison();
    early.rows.remove(0);
    assert_eq!(
        plot(&early, Measure::Classes, Over::Executions, None).y_label,
        "classes seen, % of the 10 seen at most"
    );
}
