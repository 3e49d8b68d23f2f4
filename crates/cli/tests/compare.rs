//! `raddle compare` as a user runs it.

use serde_json::Value;
use std::process::{Command, Output};

fn compare(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("RADDLE_")) {
        command.env_remove(name);
    }
    command.arg("compare").args(args).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn json(args: &[&str]) -> (Option<i32>, Value) {
    let output = compare(&[args, &["--json"]].concat());
    let value = serde_json::from_str(&out(&output)).unwrap_or_else(|e| panic!("{e}: {}", err(&output)));
    (output.status.code(), value)
}

#[test]
fn a_program_without_a_bug_gets_a_row_for_each_algorithm() {
    let output = compare(&["counter", "--algorithms", "optimal,dpor,none"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    for plan in ["optimal", "dpor", "none"] {
        let row =
            text.lines().find(|l| l.split(' ').next() == Some(plan)).unwrap_or_else(|| panic!("{text}"));
        let cells: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(cells[1..5], ["20", "0", "20", "68"], "{text}");
        assert!(row.ends_with("verified"), "{text}");
    }
    assert!(!text.contains('\x1b'), "no colours when it is not a terminal");
}

#[test]
fn without_names_every_algorithm_is_run() {
    let (code, all) = json(&["mutex", "--size", "3", "--max-executions", "5000"]);
    assert_eq!(code, Some(0));
    let run = all["rows"].as_array().unwrap().iter().chain(all["left_out"].as_array().unwrap());
    let plans: Vec<&str> = run.map(|r| r["plan"].as_str().unwrap()).collect();
    for a in explore::algorithms() {
        assert!(plans.contains(&a.name), "{} is missing among {plans:?}", a.name);
    }
}

#[test]
fn the_time_limit_is_one_for_all_searches() {
    // Nothing is left when the first one would start.
    let (code, all) = json(&["mutex", "--max-seconds", "0.000000001", "--algorithms", "optimal,none"]);
    assert_eq!(code, Some(3), "{all}");
    assert_eq!(all["rows"].as_array().unwrap().len(), 0, "{all}");
    let left_out = all["left_out"].as_array().unwrap();
    assert_eq!(left_out.len(), 2, "{all}");
    for (left, plan) in left_out.iter().zip(["optimal", "none"]) {
        assert_eq!(left["plan"], plan);
        assert!(left["why"].as_str().unwrap().starts_with("not run: the time limit"), "{left}");
    }
    let output = compare(&["--help"]);
    assert!(out(&output).contains("each search has an equal part of what is left"), "{}", out(&output));
}

#[test]
fn a_bug_is_found_and_its_repair_is_verified() {
    let (code, found) = json(&["torn-pair", "--algorithms", "optimal"]);
    assert_eq!(code, Some(1));
    let failure = &found["rows"][0]["failure"];
    assert_eq!(failure["kind"], "assertion");
    assert_eq!(failure["after"], found["rows"][0]["runs"]);
    assert!(failure["replay"].as_str().unwrap().starts_with("rd1-"));
    let (code, fixed) = json(&["torn-pair", "--fixed", "--algorithms", "optimal"]);
    assert_eq!((code, &fixed["rows"][0]["verdict"]), (Some(0), &"verified".into()));
    let (code, _) = json(&["torn-pair", "--fixed", "--algorithms", "optimal", "--max-executions", "2"]);
    assert_eq!(code, Some(3), "stopped early");
}

#[test]
fn what_does_not_go_together_is_said_and_no_error_as_long_as_something_can_be_run() {
    let (code, all) =
        json(&["counter", "--plan", "optimal", "--plan", "hb-cache@preemptions=1@fair=2@depth=9"]);
    assert!(code == Some(0) || code == Some(3));
    let count = |list: &str| all[list].as_array().unwrap().len();
    assert_eq!(count("rows") + count("left_out"), 2);
    let bounded = compare(&["counter", "--bounds", "0..3"]);
    let supported = explore::algorithms().iter().any(|a| {
        let plan: explore::Plan = format!("{}@preemptions=0", a.name).parse().unwrap();
        plan.search(explore::Meter::unlimited()).is_ok()
    });
    if supported {
        let text = out(&bounded);
        for bound in ["@preemptions=0 ", "@preemptions=1 ", "@preemptions=2 "] {
            assert!(text.contains(bound), "{text}");
        }
        assert!(!text.contains("@preemptions=3"), "{text}");
    } else {
        assert_eq!(bounded.status.code(), Some(2));
        assert!(err(&bounded).contains("none of these searches goes with a bound"), "{}", err(&bounded));
    }
}

#[test]
fn a_plot_is_written() {
    let path = std::env::temp_dir().join(format!("raddle-compare-{}.svg", std::process::id()));
    let file = path.to_str().unwrap();
    let output = compare(&["fib", "--algorithms", "optimal,dpor", "--plot", file]);
    let svg = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<polyline").count(), 2);
    for part in ["optimal", "dpor", "fib, size 2", "classes seen, % of all 140"] {
        assert!(svg.contains(part), "{part} is missing in\n{svg}");
    }
}

#[test]
fn the_programs_are_listed() {
    let text = out(&compare(&["--list"]));
    let listed: Vec<Value> = serde_json::from_str(&out(&compare(&["--list", "--json"]))).unwrap();
    assert_eq!(listed.iter().filter(|e| !e["bug"].is_null()).count(), 10);
    for example in &listed {
        let name = example["name"].as_str().unwrap();
        assert!(text.lines().any(|l| l.split(' ').next() == Some(name)), "{name} is missing in\n{text}");
    }
}

#[test]
fn a_wrong_command_line_has_exit_code_2_and_says_what_would_be_right() {
    for (args, says) in [
        (&[][..], "EXAMPLE"),
        (&["conter"][..], "no example `conter`: is `counter` meant?"),
        (&["counter", "--algorithms", "sauce"][..], "there is no algorithm `sauce`; there are: "),
        (&["counter", "--algorithms", "optimal,"][..], "there is no algorithm ``"),
        (&["counter", "--orders", "sideways"][..], "there is no order `sideways`"),
        (&["counter", "--bounds", "lemons=2"][..], "the kinds are depth"),
        (&["counter", "--bounds", "3..1"][..], "nothing between"),
        (&["counter", "--plan", "optimal#x"][..], "is not a seed"),
        (&["counter", "--size", "1000"][..], "sizes from 1 to 64"),
        (&["counter", "--fixed"][..], "has no bug"),
        (&["counter", "--max-seconds", "0"][..], "seconds above 0"),
        (&["counter", "--max-executions", "0"][..], "0 is not in 1.."),
        (&["counter", "--plot", "/no/such/folder/x.svg"][..], "cannot write /no/such/folder/x.svg"),
        (&["counter", "--scale", "log"][..], "--plot"),
    ] {
        let output = compare(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", out(&output));
        assert!(err(&output).contains(says), "{args:?}: {}", err(&output));
        assert!(!err(&output).contains("panicked"), "{args:?}: {}", err(&output));
    }
}

#[test]
fn the_help_teaches() {
    let text = out(&compare(&["--help"]));
    for part in ["over bound", "--bounds 0..3", "Exit codes:", "--plot fib.svg", "classes"] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn c_text_is_searched_as_automata_in_the_ten_ways_of_flanagan_and_godefroid() {
    let file = std::env::temp_dir().join(format!("raddle-automata-{}.c", std::process::id()));
    let text = "#include <pthread.h>\n#include <assert.h>\nint x; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
        void *f(void *p) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); return 0; }\n\
        int main(void) { pthread_t a, b, c; pthread_create(&a, 0, f, 0); pthread_create(&b, 0, f, 0);\n\
        pthread_create(&c, 0, f, 0); pthread_join(a, 0); pthread_join(b, 0); pthread_join(c, 0);\n\
        assert(x == EXPECTED); return 0; }\n";
    std::fs::write(&file, text).unwrap();
    let path = file.to_str().unwrap();
    let (code, all) = json(&["--automata", path, "-DEXPECTED=3"]);
    let rows = all["rows"].as_array().unwrap();
    let row = |plan: &str| rows.iter().find(|r| r["plan"] == plan).unwrap_or_else(|| panic!("{plan}: {all}"));
    assert_eq!(code, Some(0), "{all}");
    for plan in ["optimal", "source", "epor", "dpor"] {
        assert_eq!(row(plan)["executions"], 6, "three threads take a lock in six orders: {plan}");
    }
    let ways = ["tree", "tree+sleep", "tree+static", "tree+static+sleep"];
    let memory = ["states", "states+sleep", "states+static", "states+static+sleep"];
    let steps = |plan: &str| row(plan)["steps"].as_u64().unwrap();
    for plan in ways.iter().chain(&memory).chain(&["dpor", "dpor-no-sleep"]) {
        assert_eq!(row(plan)["verdict"], "verified", "{plan}");
    }
    assert!(steps("tree+sleep") < steps("tree") && steps("tree+static") <= steps("tree"), "{all}");
    assert!(row("states")["reached"].as_u64() < row("tree")["reached"].as_u64(), "{all}");
    assert_eq!(
        row("states")["reached"],
        row("states+sleep")["reached"],
        "sleep sets leave out steps, not states"
    );
    let (code, all) = json(&["--automata", path, "-DEXPECTED=2", "--algorithms", "optimal"]);
    assert_eq!((code, all["rows"].as_array().unwrap().len()), (Some(1), 1), "{all}");
    assert_eq!(all["rows"][0]["failure"]["kind"], "assertion");
    std::fs::write(&file, "float f; int main(void) { f = f * 2.0f; return 0; }").unwrap();
    let refused = compare(&["--automata", path]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(err(&refused).contains(":1: "), "{}", err(&refused));
    std::fs::remove_file(&file).unwrap();
}
