//! `raddle verify --engine imc --schedules DIR --art FILE`, from outside.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory, removed in the end.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let path = std::env::temp_dir().join(format!("raddle-schedules-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Dir(path)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// One slot: the producer fails where it is full, the consumer where it is empty.
const SLOT: &str = "#include <pthread.h>\nvoid reach_error(void);\nint full;\npthread_mutex_t m;\n\
    void *produce(void *p) {\n  while (1) {\n    pthread_mutex_lock(&m);\n    if (full) reach_error();\n    full = 1;\n    \
    pthread_mutex_unlock(&m);\n  }\n  return 0;\n}\n\
    void *consume(void *p) {\n  while (1) {\n    pthread_mutex_lock(&m);\n    if (!full) reach_error();\n    full = 0;\n    \
    pthread_mutex_unlock(&m);\n  }\n  return 0;\n}\n\
    int main(void) {\n  pthread_t a, b;\n  pthread_create(&a, 0, produce, 0);\n  pthread_create(&b, 0, consume, 0);\n  \
    pthread_join(a, 0);\n  pthread_join(b, 0);\n  return 0;\n}\n";

fn verify(file: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_raddle")).arg("verify").arg(file).args(words).output().unwrap()
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn schedules_counterexamples_and_the_tree_are_written() {
    let dir = Dir::new("written");
    let file = dir.0.join("slot.c");
    std::fs::write(&file, SLOT).unwrap();
    let (out, tree, dot) = (dir.0.join("out"), dir.0.join("tree.json"), dir.0.join("tree.dot"));
    let path = |p: &Path| p.to_str().unwrap().to_owned();
    let words = ["--engine", "imc", "--schedules", &path(&out), "--art", &path(&tree)];
    let done = verify(&file, &words);
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(done.status.code(), Some(1), "{text}{}", String::from_utf8_lossy(&done.stderr));
    assert!(
        text.starts_with("partially-safe: imc (")
            && text.contains("schedules that keep it safe: 1; without one:"),
        "{text}"
    );

    let schedule = json(&out.join("schedule-001.json"));
    assert_eq!(schedule["format"], "raddle-schedule-1");
    assert_eq!(schedule["threads"], serde_json::json!(["main", "produce", "consume"]));
    let nodes = schedule["nodes"].as_array().unwrap();
    // Followed along its first steps it lets both go in turn, for ever.
    let (mut at, mut order) = (0, Vec::new());
    for _ in 0..60 {
        let step = &nodes[at]["next"][0];
        assert!(step["at"].as_str().unwrap().contains("slot.c:"), "{step}");
        if step["action"] == "lock" {
            order.push(step["thread"].as_u64().unwrap());
        }
        at = step["to"].as_u64().unwrap() as usize;
    }
    assert!(order.len() > 5 && order.iter().enumerate().all(|(i, t)| *t == 1 + i as u64 % 2), "{order:?}");

    // The same in sections: each step is there, and somebody waits for another thread.
    let sections = schedule["sections"].as_array().unwrap();
    let (mut at, mut order, mut waits) =
        (schedule["first_sections"][0].as_u64().unwrap() as usize, Vec::new(), 0);
    for _ in 0..12 {
        for e in sections[at]["events"].as_array().unwrap() {
            let thread = e["thread"].as_u64().unwrap();
            waits += e["after"].as_array().map_or(0, Vec::len);
            if thread > 0 && order.last() != Some(&thread) {
                order.push(thread);
            }
        }
        let next = sections[at]["next"].as_array().unwrap();
        assert_eq!(next.len(), 1, "nothing is decided: {}", sections[at]);
        at = next[0].as_u64().unwrap() as usize;
    }
    assert!(order.ends_with(&[1, 2, 1, 2]) && waits > 5, "{order:?}, {waits}");

    let wrong = json(&out.join("counterexample-001.json"));
    assert_eq!(wrong["program"], schedule["program"]);
    assert!(!wrong["steps"].as_array().unwrap().is_empty());

    let tree = json(&tree);
    assert_eq!(tree["program"], schedule["program"]);
    let kinds = |kind: &str| tree["nodes"].as_array().unwrap().iter().filter(|n| n["kind"] == kind).count();
    assert!(kinds("followed") > 3 && kinds("wrong") > 0, "{tree}");
    // What goes round for ever does so because one node stands for another, also after other schedules were tried in vain.
    let covers = |n: &&Value| n["kind"] == "covered" && n["covered_by"].is_u64();
    assert!(tree["nodes"].as_array().unwrap().iter().any(|n| covers(&n)), "{tree}");
    let drawn = verify(&file, &["--engine", "imc", "--art", &path(&dot)]);
    assert_eq!(drawn.status.code(), Some(1));
    let picture = std::fs::read_to_string(&dot).unwrap();
    assert!(picture.starts_with("digraph art {") && picture.contains("n0 -> n1"), "{picture}");
    assert!(picture.contains("ERROR") && picture.contains("style=dotted"), "{picture}");
}

#[test]
fn schedules_of_another_engine_are_refused() {
    let dir = Dir::new("refused");
    let file = dir.0.join("slot.c");
    std::fs::write(&file, SLOT).unwrap();
    let refused =
        verify(&file, &["--engine", "explicit", "--schedules", dir.0.join("out").to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--engine imc"));
    assert!(!dir.0.join("out").exists());
}
