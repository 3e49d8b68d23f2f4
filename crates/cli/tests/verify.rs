//! `raddle verify`, from outside: verdicts and exit codes, certificates in files, witnesses, solvers, and runs that the compiled
//! program follows.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory of a test, which is empty when the test starts.
struct Place(PathBuf);

impl Place {
    fn with(test: &str, files: &[(&str, &str)]) -> Place {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("verify-{test}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("tmp")).unwrap();
        for (name, text) in files {
            fs::write(path.join(name), text).unwrap();
        }
        Place(path)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os().filter(|(n, _)| n.to_string_lossy().starts_with("RADDLE_")) {
            command.env_remove(name);
        }
        // Cargo has libraries looked for where an older build of ours may lie.
        command.env_remove("LD_LIBRARY_PATH");
        for name in ["CC", "CXX", "MAKEFLAGS", "CARGO_MAKEFLAGS", "MFLAGS"] {
            command.env_remove(name);
        }
        command.env("RADDLE_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        command.env("TMPDIR", self.0.join("tmp")).current_dir(&self.0);
        command
    }

    fn run(&self, args: &[&str]) -> (i32, String) {
        let output = self.command(env!("CARGO_BIN_EXE_raddle")).args(args).output().unwrap();
        (output.status.code().unwrap_or(-1), both(&output))
    }

    fn verify(&self, args: &[&str]) -> (i32, String) {
        self.run(&[&["verify"], args].concat())
    }

    fn json(&self, args: &[&str]) -> (i32, Value) {
        let output = self
            .command(env!("CARGO_BIN_EXE_raddle"))
            .args(["verify", "--json"])
            .args(args)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {}", both(&output)));
        (output.status.code().unwrap_or(-1), value)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }
}

fn both(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Two threads count up to five under a lock, for ever.
const SAFE: &str = "\
#include <assert.h>
#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int x;
void *f(void *p)
{
    while (1) {
        pthread_mutex_lock(&m);
        if (x < 5)
            x = x + 1;
        pthread_mutex_unlock(&m);
    }
    return 0;
}
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, f, 0);
    pthread_create(&b, 0, f, 0);
    int r = x;
    assert(r <= 5);
    return 0;
}
";

/// A lost update: two threads add one without a lock.
const LOST: &str = "\
#include <assert.h>
#include <pthread.h>
int x;
void *f(void *p)
{
    int r = x;
    x = r + 1;
    return 0;
}
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, f, 0);
    pthread_create(&b, 0, f, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(x == 2);
    return 0;
}
";

/// A flag is taken back between two looks at it. Small enough for every engine.
const UNSET: &str = "\
#include <assert.h>
#include <pthread.h>
_Bool ready, wrong;
void *f(void *p)
{
    ready = 1;
    if (!ready)
        wrong = 1;
    return 0;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, f, 0);
    ready = 0;
    pthread_join(t, 0);
    assert(!wrong);
    return 0;
}
";

const DEADLOCK: &str = "\
#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
int x;
void *f(void *p)
{
    pthread_mutex_lock(&m);
    pthread_mutex_lock(&n);
    x++;
    pthread_mutex_unlock(&n);
    pthread_mutex_unlock(&m);
    return 0;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, f, 0);
    pthread_mutex_lock(&n);
    pthread_mutex_lock(&m);
    x++;
    pthread_mutex_unlock(&m);
    pthread_mutex_unlock(&n);
    pthread_join(t, 0);
    return 0;
}
";

/// Goes wrong for one input of four thousand million, and one order.
const INPUT: &str = "\
#include <assert.h>
#include <pthread.h>
extern int __VERIFIER_nondet_int(void);
extern _Bool __VERIFIER_nondet_bool(void);
int x, seen;
void *f(void *p)
{
    int v = __VERIFIER_nondet_int();
    if (__VERIFIER_nondet_bool())
        x = v;
    return 0;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, f, 0);
    int r = x;
    if (r == 123456789)
        seen = 1;
    pthread_join(t, 0);
    assert(!seen);
    return 0;
}
";

/// A thread is signalled before what it waits for has come about, and does not look again.
const NO_LOOP: &str = "\
#include <assert.h>
#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int ready;
void *f(void *p)
{
    pthread_mutex_lock(&m);
    if (!ready)
        pthread_cond_wait(&c, &m);
    assert(ready);
    pthread_mutex_unlock(&m);
    return 0;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, f, 0);
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    pthread_join(t, 0);
    return 0;
}
";

#[test]
fn a_safe_program_is_proved_and_the_integers_are_named() {
    let place = Place::with("safe", &[("safe.c", SAFE)]);
    let (code, text) = place.verify(&["safe.c"]);
    assert_eq!(code, 0, "{text}");
    // Its flags are plain variables, so their accesses race.
    assert!(text.starts_with("safe with caveats: ") && text.contains("the proof was checked"), "{text}");
    assert!(text.contains("integers: bit-vectors"), "{text}");
    let (code, value) = place.json(&["safe.c", "--engine", "impact"]);
    assert_eq!(
        (code, value["verdict"].as_str(), value["engine"].as_str()),
        (0, Some("safe"), Some("impact"))
    );
    assert_eq!(
        (value["certificate"].as_str(), value["integers"].as_str()),
        (Some("merged"), Some("bit-vectors"))
    );
    assert_eq!(value["spurious_wakeups"], true);
}

#[test]
fn an_unsafe_program_comes_with_its_run() {
    let place = Place::with("unsafe", &[("lost.c", LOST)]);
    let (code, text) = place.verify(&["lost.c", "--no-replay"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.starts_with("unsafe: ") && text.contains("assertion in `main`: x == 2"), "{text}");
    assert!(text.contains("lost.c:7") && !text.contains("replay"), "{text}");
    // A column for each thread, without what only the translation has.
    assert!(text.contains("\n  step  main ") && text.contains("✗ assertion"), "{text}");
    assert!(text.contains(" preempts ") && !text.contains('%') && !text.contains(".life"), "{text}");
    let (code, value) = place.json(&["lost.c", "--no-replay"]);
    assert_eq!((code, value["verdict"].as_str()), (1, Some("unsafe")));
    assert!(
        value["trace"].as_array().unwrap().len() > 6 && value["wrong"].as_str().unwrap().contains("x == 2")
    );
}

#[test]
fn what_cannot_be_told_is_unknown_and_what_cannot_be_read_is_refused() {
    let deep = "int f(int n) { return n > 0 ? f(n - 1) : 0; }\nextern int __VERIFIER_nondet_int(void);\n\
                int main(void) { return f(__VERIFIER_nondet_int()); }\n";
    let place = Place::with(
        "unknown",
        &[("deep.c", deep), ("float.c", "\n\ndouble d;\nint main(void) { return d > 1; }\n")],
    );
    let (code, text) = place.verify(&["deep.c", "--seconds", "10"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.starts_with("unknown: ") && text.contains("bound"), "{text}");
    let (code, value) = place.json(&["deep.c", "--seconds", "10"]);
    assert_eq!((code, value["verdict"].as_str()), (3, Some("unknown")));
    assert!(value["reason"].as_str().unwrap().contains("bound"));
    let (code, text) = place.verify(&["float.c"]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("float.c:4"), "{text}");
    for bad in [&["none.c"][..], &["deep.c", "--engine", "magic"], &["deep.c", "--int", "float"], &[]] {
        assert_eq!(place.verify(bad).0, 2, "{bad:?}");
    }
}

#[test]
fn an_engine_that_tries_inputs_one_by_one_finds_what_goes_wrong_with_some_and_proves_nothing_of_many() {
    let right = INPUT.replace("assert(!seen)", "assert(seen < 2)");
    let place = Place::with("wide", &[("input.c", INPUT), ("right.c", &right)]);
    let (code, text) = place.verify(&["input.c", "--engine", "explicit"]);
    assert_eq!(code, 1, "{text}");
    let (code, text) = place.verify(&["right.c", "--engine", "explicit"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("4294967296 values; at most 256 are tried one by one"), "{text}");
}

#[test]
fn waits_may_end_for_no_reason_unless_that_is_left_out() {
    let place = Place::with("spurious", &[("wait.c", NO_LOOP)]);
    let (code, text) = place.verify(&["wait.c", "--no-replay"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("wake"), "{text}");
    let (code, text) = place.verify(&["wait.c", "--no-spurious-wakeups"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("caveat: spurious wake-ups"), "{text}");
}

#[test]
fn a_certificate_is_written_checked_and_refused_for_what_it_does_not_prove() {
    let place = Place::with("certificate", &[("safe.c", SAFE), ("other.c", &SAFE.replace("x < 5", "x < 4"))]);
    let apart: &[&str] = &["--no-merge"];
    let cases = [
        ("explicit", "states", apart),
        ("impact", "tree", apart),
        ("predabs", "invariant", apart),
        ("explicit", "merged", &[]),
    ];
    for (engine, kind, flags) in cases {
        let asked = [&["safe.c", "--engine", engine, "--certificate", "proof.json"], flags].concat();
        let (code, text) = place.verify(&asked);
        assert_eq!(code, 0, "{text}");
        assert!(text.contains(&format!("certificate: proof.json ({kind})")), "{text}");
        let (code, text) = place.verify(&["--check-certificate", "proof.json", "safe.c"]);
        assert_eq!(code, 0, "{engine}: {text}");
        assert!(text.contains("the certificate holds"), "{text}");
        let (code, value) = place.json(&["--check-certificate", "proof.json", "safe.c"]);
        assert_eq!(
            (code, value["certificate"].as_str(), value["kind"].as_str()),
            (0, Some("holds"), Some(kind))
        );

        let (code, text) = place.verify(&["--check-certificate", "proof.json", "other.c"]);
        assert_eq!(code, 1, "{text}");
        assert!(text.contains("of another program"), "{text}");
        // Read in another way it is another program too.
        assert_eq!(place.verify(&["--check-certificate", "proof.json", "safe.c", "--int", "math"]).0, 1);

        let whole = place.read("proof.json");
        place.write("cut.json", &whole[..whole.len() / 2]);
        assert_eq!(place.verify(&["--check-certificate", "cut.json", "safe.c"]).0, 2);
        let mut changed: Value = serde_json::from_str(&whole).unwrap();
        let list = match kind {
            "invariant" => &mut changed["at"],
            "tree" => &mut changed["nodes"],
            "merged" => &mut changed["inner"]["states"],
            _ => &mut changed["states"],
        };
        list.as_array_mut().unwrap().pop();
        place.write("changed.json", &changed.to_string());
        let (code, text) = place.verify(&["--check-certificate", "changed.json", "safe.c"]);
        assert_eq!(code, 1, "{engine}: {text}");
    }
    assert_eq!(place.verify(&["--check-certificate", "none.json", "safe.c"]).0, 2);
    // Nothing is written where nothing is proved.
    place.write("lost.c", LOST);
    assert_eq!(place.verify(&["lost.c", "--no-replay", "--certificate", "no.json"]).0, 1);
    assert!(!place.0.join("no.json").exists());
}

/// A counterexample of the model, as a command for `raddle check` that fails in the same way.
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
fn replays(test: &str, program: &str, args: &[&str], kind: &str, says: &str) -> String {
    let place = Place::with(test, &[("p.c", program)]);
    let (code, value) = place.json(&[&["p.c"], args].concat());
    // One engine also looks for schedules under which nothing happens.
    let verdict = if args.contains(&"imc") { "partially-safe" } else { "unsafe" };
    assert_eq!((code, value["verdict"].as_str()), (1, Some(verdict)), "{value}");
    let command = value["replay"]["command"].as_str().unwrap_or_else(|| panic!("not confirmed: {value}"));
    assert_eq!(value["replay"]["followed"], true, "{value}");
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    assert_eq!(words[..2], ["check", "p.c"]);
    assert_eq!(words[words.len() - 1], value["replay"]["token"].as_str().unwrap());
    let output = place.command(env!("CARGO_BIN_EXE_raddle")).args(&words).arg("--json").output().unwrap();
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", both(&output)));
    assert_eq!(output.status.code(), Some(1), "{report}");
    let failure = &report["failures"][0];
    assert_eq!(failure["kind"].as_str(), Some(kind), "{report}");
    assert!(failure["message"].as_str().unwrap().contains(says), "{report}");
    assert_eq!(report["executions"], 1, "one execution, not a search");
    command.to_owned()
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
#[test]
fn a_lost_update_fails_in_the_compiled_program_too() {
    replays("replay-lost", LOST, &[], "assertion", "x == 2");
}

/// Each engine finds a run of its own.
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
#[test]
fn the_compiled_program_follows_the_run_of_every_engine() {
    let engines = ::verify::engines().iter().map(|e| e.name).filter(|e| *e != "portfolio");
    for engine in engines {
        replays(&format!("replay-{engine}"), UNSET, &["--engine", engine], "assertion", "!wrong");
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
#[test]
fn a_deadlock_happens_in_the_compiled_program_too() {
    replays("replay-deadlock", DEADLOCK, &["--deadlocks"], "deadlock", "");
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
#[test]
fn inputs_are_replayed_with_the_schedule() {
    let command = replays("replay-input", INPUT, &[], "assertion", "!seen");
    assert!(command.contains("--inputs=") && command.contains("123456789"), "{command}");
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
#[test]
fn a_wait_that_ends_for_no_reason_is_replayed() {
    replays("replay-wait", NO_LOOP, &[], "assertion", "ready");
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
#[test]
fn a_race_through_atomic_blocks_and_functions_is_replayed() {
    let program = "\
#include <pthread.h>
extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
extern void abort(void);
void reach_error(void) { abort(); }
int x, y;
void __VERIFIER_atomic_both(void) { x = 1; y = 1; }
void *f(void *p)
{
    int r, s;
    __VERIFIER_atomic_begin();
    r = x;
    s = y;
    __VERIFIER_atomic_end();
    if (r != s)
        y = 7;
    if (r == 1 && s == 1)
        reach_error();
    return 0;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, f, 0);
    __VERIFIER_atomic_both();
    pthread_join(t, 0);
    return 0;
}
";
    replays("replay-blocks", program, &[], "assertion", "reach_error");
}

/// What `gcc -E` makes of a file of the place.
fn preprocessed(place: &Place, from: &str, to: &str) -> String {
    let gcc = place.command("gcc").args(["-E", from, "-o", to]).output().unwrap();
    assert!(gcc.status.success(), "{}", both(&gcc));
    place.read(to)
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
#[test]
fn a_run_of_a_preprocessed_file_is_confirmed_by_the_lines_of_the_file_it_was_made_of() {
    let place = Place::with("preprocessed-replay", &[("p.c", &lost_for_svcomp())]);
    assert!(preprocessed(&place, "p.c", "p.i").contains("# 1 \"p.c\""), "line markers");
    // The original need not be there.
    fs::remove_file(place.0.join("p.c")).unwrap();
    let (code, value) = place.json(&["p.i"]);
    assert_eq!((code, value["verdict"].as_str()), (1, Some("unsafe")), "{value}");
    assert_eq!(value["replay"]["followed"], true, "{value}");
    let failure = value["replay"]["failure"].as_str().unwrap();
    // The call is the failure, whatever the body of `reach_error` does.
    assert!(failure.starts_with("assertion at p.c:18"), "{failure}");
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
#[test]
fn what_the_compiled_program_does_not_notice_is_said_not_to_be_confirmed() {
    let shift = "extern int __VERIFIER_nondet_int(void);\nint main(void) { int n = __VERIFIER_nondet_int(); int x = 1 << n; return x & 0; }\n";
    // It does not link: this function is known to the model alone.
    let lonely = "extern void reach_error(void);\nextern unsigned __VERIFIER_nondet_unsigned_int(void);\n\
                  int main(void) { if (__VERIFIER_nondet_unsigned_int() == 3) reach_error(); return 0; }\n";
    let place = Place::with("unconfirmed", &[("shift.c", shift), ("lonely.c", lonely)]);
    let (code, text) = place.verify(&["shift.c"]);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("not confirmed on the compiled program: a compiled program does not notice"),
        "{text}"
    );
    let (code, text) = place.verify(&["lonely.c"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("not confirmed on the compiled program: it does not compile"), "{text}");
}

const REACH: &str = "extern void abort(void);\nvoid reach_error(void) { abort(); }\n";

/// The lost update in the words of the competition.
fn lost_for_svcomp() -> String {
    let text =
        LOST.replace("#include <assert.h>\n", "").replace("assert(x == 2);", "if (x != 2) reach_error();");
    format!("{REACH}{text}")
}

/// A witness as data.
fn yaml(text: &str) -> yaml_rust2::Yaml {
    let all = yaml_rust2::YamlLoader::load_from_str(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(all.len(), 1, "one document");
    all.into_iter().next().unwrap()
}

/// What every entry must have.
fn metadata(entry: &yaml_rust2::Yaml, kind: &str, file: &str, specification: &str) {
    assert_eq!(entry["entry_type"].as_str(), Some(kind));
    let data = &entry["metadata"];
    assert!(data["format_version"].as_str().unwrap().starts_with("2."), "a text, not a number");
    assert_eq!(data["uuid"].as_str().unwrap().len(), 36);
    let time = data["creation_time"].as_str().unwrap();
    assert!(time.len() == 20 && time.ends_with('Z') && time.as_bytes()[10] == b'T', "{time}");
    assert_eq!(data["producer"]["name"].as_str(), Some("raddle"));
    assert!(data["producer"]["version"].as_str().is_some());
    let task = &data["task"];
    assert_eq!(task["input_files"][0].as_str(), Some(file));
    assert_eq!(task["input_file_hashes"][file].as_str().unwrap().len(), 64);
    assert_eq!(task["specification"].as_str(), Some(specification));
    assert_eq!((task["data_model"].as_str(), task["language"].as_str()), (Some("LP64"), Some("C")));
}

const UNREACH: &str = "CHECK( init(main()), LTL(G ! call(reach_error())) )";

#[test]
fn verdicts_are_those_of_the_competition_on_request() {
    let unsafe_one = lost_for_svcomp();
    let failing = LOST;
    let place = Place::with(
        "svcomp",
        &[("safe.c", SAFE), ("lost.c", &unsafe_one), ("assert.c", failing), ("r.prp", UNREACH)],
    );
    let (code, text) = place.verify(&["safe.c", "--svcomp"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("TRUE (unreach-call)\n") && text.contains("integers: bit-vectors"), "{text}");
    let (code, text) = place.verify(&["lost.c", "--svcomp", "--property", "r.prp", "--witness", "w.yml"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.starts_with("FALSE (unreach-call)\n"), "{text}");
    // An assertion is no call of reach_error: to say FALSE would be wrong, and so would TRUE.
    let (code, text) = place.verify(&["assert.c", "--svcomp", "--witness", "none.yml"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.starts_with("UNKNOWN (unreach-call)\n") && !place.0.join("none.yml").exists(), "{text}");
    assert_eq!(place.verify(&["safe.c", "--svcomp", "--property", "no-overflow"]).0, 2);
    assert_eq!(place.verify(&["safe.c", "--property", "unreach-call"]).0, 2, "only with --svcomp");

    let witness = yaml(&place.read("w.yml"));
    let entry = &witness[0];
    metadata(entry, "violation_sequence", "lost.c", UNREACH);
    let segments = entry["content"].as_vec().unwrap();
    let (mut threads, mut lines) = (Vec::new(), Vec::new());
    for (n, s) in segments.iter().enumerate() {
        let waypoints = s["segment"].as_vec().unwrap();
        assert_eq!(waypoints.len(), 1);
        let w = &waypoints[0]["waypoint"];
        assert_eq!(w["action"].as_str(), Some("follow"));
        let last = n + 1 == segments.len();
        assert_eq!(w["type"].as_str(), Some(if last { "target" } else { "assumption" }));
        assert_eq!(w["constraint"].is_badvalue(), last, "a target has no constraint, an assumption has one");
        assert_eq!(w["location"]["file_name"].as_str(), Some("lost.c"));
        threads.push(w["thread_id"].as_i64().unwrap());
        lines.push(w["location"]["line"].as_i64().unwrap());
    }
    let text = lost_for_svcomp();
    let line = |what: &str| text.lines().position(|l| l.contains(what)).unwrap() as i64 + 1;
    assert_eq!((threads.last(), lines.last()), (Some(&0), Some(&line("reach_error();"))));
    // Both threads read before one of them writes.
    let reads: Vec<usize> = (0..lines.len()).filter(|n| lines[*n] == line("int r = x")).collect();
    let writes: Vec<usize> = (0..lines.len()).filter(|n| lines[*n] == line("x = r + 1")).collect();
    assert!(reads.len() == 2 && writes.len() == 2 && reads[1] < writes[1], "{threads:?} {lines:?}");
    assert!(threads.contains(&1) && threads.contains(&2));
}

#[test]
fn memory_orders_decide_whether_a_flag_hands_data_over() {
    let text = |write: &str, read: &str| {
        format!(
            "#include <pthread.h>\nint x, f;\n\
            void *a(void *p) {{ x = 1; __atomic_store_n(&f, 1, __ATOMIC_{write}); return 0; }}\n\
            void *b(void *p) {{ if (__atomic_load_n(&f, __ATOMIC_{read})) x = 2; return 0; }}\n\
            int main(void) {{ pthread_t t, u; pthread_create(&t, 0, a, 0); pthread_create(&u, 0, b, 0);\n\
            pthread_join(t, 0); pthread_join(u, 0); return 0; }}\n"
        )
    };
    let (ordered, relaxed) = (text("RELEASE", "ACQUIRE"), text("RELAXED", "ACQUIRE"));
    let place = Place::with("orders", &[("ordered.c", &ordered), ("relaxed.c", &relaxed)]);
    let (code, said) = place.verify(&["ordered.c", "--svcomp", "--property", "no-data-race"]);
    assert_eq!((code, said.starts_with("TRUE (no-data-race)")), (0, true), "{said}");
    let (code, said) =
        place.verify(&["relaxed.c", "--svcomp", "--property", "no-data-race", "--witness", "w.yml"]);
    assert_eq!((code, said.starts_with("FALSE (no-data-race)\n`x`\n")), (1, true), "{said}");
    assert!(place.read("w.yml").contains("violation_sequence"));
}

#[test]
fn a_race_is_a_violation_with_two_targets_and_its_absence_is_proved() {
    let place = Place::with(
        "races",
        &[
            ("lost.c", &lost_for_svcomp()),
            (
                "safe.c",
                SAFE.replace("int r = x;", "pthread_mutex_lock(&m); int r = x; pthread_mutex_unlock(&m);")
                    .as_str(),
            ),
        ],
    );
    let (code, text) =
        place.verify(&["lost.c", "--svcomp", "--property", "no-data-race", "--witness", "w.yml"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.starts_with("FALSE (no-data-race)\n`x`\n"), "{text}");
    let witness = yaml(&place.read("w.yml"));
    metadata(&witness[0], "violation_sequence", "lost.c", "CHECK( init(main()), LTL(G ! data-race) )");
    let targets = witness[0]["content"].as_vec().unwrap().last().unwrap()["segment"].as_vec().unwrap();
    assert_eq!(targets.len(), 2);
    let threads: Vec<i64> = targets.iter().map(|t| t["waypoint"]["thread_id"].as_i64().unwrap()).collect();
    assert_ne!(threads[0], threads[1]);
    assert!(targets.iter().all(|t| t["waypoint"]["type"].as_str() == Some("target")));
    let (code, text) = place.verify(&["safe.c", "--svcomp", "--property", "no-data-race"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("TRUE (no-data-race)"), "{text}");
}

#[test]
fn a_proof_is_witnessed_by_invariants_of_loops() {
    let place = Place::with("invariants", &[("safe.c", SAFE)]);
    for engine in ["explicit", "predabs", "impact"] {
        let (code, text) = place.verify(&["safe.c", "--svcomp", "--engine", engine, "--witness", "w.yml"]);
        assert_eq!(code, 0, "{text}");
        let witness = yaml(&place.read("w.yml"));
        // What `impact` finds here is about what its steps leave open.
        let said = usize::from(engine != "impact");
        assert_eq!(witness[0]["content"].as_vec().map(Vec::len), Some(said), "{engine}");
        metadata(&witness[0], "invariant_set", "safe.c", UNREACH);
        for i in witness[0]["content"].as_vec().unwrap() {
            let i = &i["invariant"];
            assert_eq!(
                (i["type"].as_str(), i["format"].as_str()),
                (Some("loop_invariant"), Some("c_expression"))
            );
            assert_eq!(i["location"]["line"].as_i64(), Some(7), "the line of `while`");
            assert!(i["value"].as_str().is_some());
        }
        let value = witness[0]["content"][0]["invariant"]["value"].as_str();
        assert_eq!(value.is_some_and(|v| v.contains("x <= 5")), said > 0, "{engine}: {value:?}");
    }
}

#[test]
fn a_witness_says_what_inputs_return() {
    let program = format!(
        "{REACH}extern int __VERIFIER_nondet_int(void);\nint x;\nint main(void)\n{{\n    x = __VERIFIER_nondet_int();\n    \
         if (x == -77)\n        reach_error();\n    return 0;\n}}\n"
    );
    let place = Place::with("witness-input", &[("p.c", &program)]);
    let (code, text) = place.verify(&["p.c", "--svcomp", "--witness", "w.yml"]);
    assert_eq!(code, 1, "{text}");
    let witness = yaml(&place.read("w.yml"));
    let all = witness[0]["content"].as_vec().unwrap();
    let input = all
        .iter()
        .map(|s| &s["segment"][0]["waypoint"])
        .find(|w| w["type"].as_str() == Some("function_return"));
    let input = input.unwrap_or_else(|| panic!("{}", place.read("w.yml")));
    assert_eq!(input["constraint"]["value"].as_str(), Some("\\result == -77"));
    assert_eq!(input["constraint"]["format"].as_str(), Some("acsl_expression"));
    assert_eq!(input["location"]["line"].as_i64(), Some(7));
}

#[test]
fn the_target_of_a_witness_is_the_call_and_no_thread_is_where_it_never_was() {
    let text = lost_for_svcomp().replace("if (x != 2) reach_error();", "if (x != 2)\n        reach_error();");
    let place = Place::with("witness-target", &[("p.c", &text)]);
    let (code, said) = place.verify(&["p.c", "--svcomp", "--witness", "w.yml"]);
    assert_eq!(code, 1, "{said}");
    let line = |what: &str| text.lines().position(|l| l.contains(what)).unwrap() as i64 + 1;
    let witness = yaml(&place.read("w.yml"));
    let all: Vec<_> =
        witness[0]["content"].as_vec().unwrap().iter().map(|s| &s["segment"][0]["waypoint"]).collect();
    let target = all.last().unwrap();
    assert_eq!(target["type"].as_str(), Some("target"));
    assert_eq!(target["location"]["line"].as_i64(), Some(line("        reach_error();")));
    for w in all.iter().filter(|w| w["thread_id"].as_i64() != Some(0)) {
        let at = w["location"]["line"].as_i64().unwrap();
        let theirs = [line("int r = x"), line("x = r + 1")];
        assert!(theirs.contains(&at), "{at}\n{}", place.read("w.yml"));
    }
}

#[test]
fn a_witness_speaks_of_the_file_that_was_given_and_a_message_of_the_one_it_was_made_of() {
    let place = Place::with("witness-given", &[("p.c", &lost_for_svcomp()), ("q.c", SAFE)]);
    let text = preprocessed(&place, "p.c", "p.i");
    let line = |text: &str, what: &str| text.lines().position(|l| l.contains(what)).unwrap() as i64 + 1;
    for property in ["unreach-call", "no-data-race"] {
        let asked = ["p.i", "--svcomp", "--property", property, "--witness", "w.yml"];
        let (code, said) = place.verify(&asked);
        assert_eq!(code, 1, "{said}");
        let witness = yaml(&place.read("w.yml"));
        let segments = witness[0]["content"].as_vec().unwrap();
        assert!(segments.len() > 2);
        for w in segments.iter().flat_map(|s| s["segment"].as_vec().unwrap()) {
            let at = &w["waypoint"]["location"];
            assert_eq!(at["file_name"].as_str(), Some("p.i"));
            let at = text.lines().nth(at["line"].as_i64().unwrap() as usize - 1).unwrap();
            let ours = ["x", "pthread_", "return"].iter().any(|word| at.contains(word));
            assert!(ours && at.starts_with("    "), "{at}");
        }
        if property == "unreach-call" {
            let target = &segments.last().unwrap()["segment"][0]["waypoint"]["location"];
            assert_eq!(target["line"].as_i64(), Some(line(&text, "reach_error();")));
        }
    }
    let (_, said) = place.verify(&["p.i", "--no-replay", "--witness", "w.yml"]);
    assert!(said.contains("p.c:") && !said.contains("p.i:"), "{said}");

    let text = preprocessed(&place, "q.c", "q.i");
    let (code, said) = place.verify(&["q.i", "--svcomp", "--engine", "explicit", "--witness", "w.yml"]);
    assert_eq!(code, 0, "{said}");
    let witness = yaml(&place.read("w.yml"));
    let found = &witness[0]["content"][0]["invariant"];
    assert_eq!(found["location"]["file_name"].as_str(), Some("q.i"));
    assert_eq!(found["location"]["line"].as_i64(), Some(line(&text, "while (1)")));
    assert!(found["value"].as_str().is_some_and(|v| v.contains("x <= 5")), "{}", place.read("w.yml"));
}

#[test]
fn a_number_of_states_that_was_not_counted_one_by_one_is_rounded() {
    let sums = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/verify/sum_both_ways.c");
    let place = Place::with("rounded", &[]);
    let (code, text) = place.verify(&[sums, "--engine", "bdd"]);
    assert_eq!(code, 0, "{text}");
    let states = text.split(", ").find_map(|w| w.strip_suffix(" states")).unwrap();
    assert!(states.contains('e') && states.parse::<f64>().unwrap() > u64::MAX as f64, "{text}");
    let (_, value) = place.json(&[sums, "--engine", "bdd"]);
    assert!(value["counts"]["states"].as_f64().unwrap() > u64::MAX as f64, "{value}");
    assert!(value["counts"]["nodes"].is_u64(), "{value}");
}

#[test]
fn contexts_go_no_further_than_they_are_told() {
    let place = Place::with("contexts", &[("lost.c", LOST), ("safe.c", SAFE)]);
    let within = |file: &str, most: &str| {
        place.json(&[file, "--engine", "contexts", "--no-replay", "--max-contexts-per-thread", most])
    };
    let (code, value) = within("lost.c", "1");
    assert_eq!((code, value["verdict"].as_str()), (3, Some("unknown")), "{value}");
    let reason = value["reason"].as_str().unwrap();
    assert_eq!(reason, "nothing is wrong with up to 1 contexts a thread");
    assert_eq!(value["counts"]["contexts"], 1, "{value}");
    let found: Vec<i32> = ["2", "3", "9"].iter().map(|most| within("lost.c", most).0).collect();
    assert!(found.contains(&1) && within("safe.c", "9").0 == 0, "{found:?}");
    for bad in [
        &["lost.c", "--max-contexts-per-thread", "2"][..],
        &["lost.c", "--engine", "explicit", "--max-contexts-per-thread", "2"],
        &["lost.c", "--engine", "contexts", "--max-contexts-per-thread", "0"],
        &["lost.c", "--races", "--max-contexts-per-thread", "2"],
    ] {
        let (code, text) = place.verify(bad);
        assert!(code == 2 && text.contains("max-contexts-per-thread"), "{bad:?}: {text}");
    }
}

#[test]
fn mathematical_integers_are_proved_only_where_nothing_overflows() {
    // x grows without end: as bit-vectors it gets below zero, as mathematical integers it does not.
    let grows = format!(
        "{REACH}int x;\nint main(void)\n{{\n    while (1) {{\n        x = x + 1;\n        if (x < 0)\n            reach_error();\n    }}\n}}\n"
    );
    let place = Place::with("math", &[("grows.c", &grows), ("safe.c", SAFE), ("lost.c", LOST)]);
    let (code, value) = place.json(&["safe.c", "--int", "math"]);
    assert_eq!(
        (code, value["verdict"].as_str(), value["integers"].as_str()),
        (0, Some("safe"), Some("mathematical"))
    );
    let (code, text) = place.verify(&["lost.c", "--int=math", "--no-replay"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("integers: mathematical") && !text.contains("bit-vectors\n"), "{text}");
    let jump = grows.replace("x = x + 1;", "x = x + 1000000000;");
    place.write("jump.c", &jump);
    let (code, text) = place.verify(&["jump.c", "--no-replay"]);
    assert_eq!(code, 1, "as bit-vectors it wraps around: {text}");
    let (code, text) = place.verify(&["jump.c", "--int", "math"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("signed arithmetic can overflow") && text.contains("overflow in `main`"), "{text}");
    assert!(text.contains("integers: mathematical"), "{text}");
    // Two constants that wrap to a small one: the sum is checked where it is made, not where it was simplified to.
    let tricky = format!(
        "{REACH}int x;\nint main(void)\n{{\n    int r = x;\n    int s = r + 2147483647 + 2147483647;\n    if (s == -2)\n        reach_error();\n    return 0;\n}}\n"
    );
    place.write("tricky.c", &tricky);
    assert_eq!(place.verify(&["tricky.c", "--no-replay"]).0, 1);
    assert_eq!(place.verify(&["tricky.c", "--int", "math"]).0, 3);
    // What cannot be checked is not proved.
    let atomic = "#include <stdatomic.h>\natomic_int x;\nint main(void) { x++; return 0; }\n";
    place.write("atomic.c", atomic);
    assert_eq!(place.verify(&["atomic.c"]).0, 0);
    let (code, text) = place.verify(&["atomic.c", "--int", "math"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("atomic.c:3") && text.contains("wraps around"), "{text}");
}

#[test]
fn a_preprocessed_file_with_the_real_headers_is_read() {
    let place = Place::with(
        "preprocessed",
        &[(
            "p.c",
            &LOST.replace(
                "#include <assert.h>\n",
                "#include <assert.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <stdint.h>\n",
            ),
        )],
    );
    let gcc = place.command("gcc").args(["-E", "p.c", "-o", "p.i"]).output().unwrap();
    assert!(gcc.status.success(), "{}", both(&gcc));
    assert!(place.read("p.i").contains("__assert_fail"), "the real headers");
    let (code, text) = place.verify(&["p.i", "--no-replay"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("assertion in `main`: x == 2"), "{text}");
    let fixed = SAFE.replace("#include <assert.h>\n", "#include <assert.h>\n#include <stdlib.h>\n");
    place.write("q.c", &fixed);
    assert!(place.command("gcc").args(["-E", "q.c", "-o", "q.i"]).status().unwrap().success());
    let (code, text) = place.verify(&["q.i", "--svcomp"]);
    assert_eq!(code, 0, "{text}");
}

#[test]
fn the_sat_solver_underneath_can_be_chosen_and_is_named() {
    let place = Place::with("sat", &[("safe.c", SAFE), ("lost.c", LOST)]);
    let usual = if cfg!(feature = "cadical") { "cadical" } else { "batsat" };
    let (code, value) = place.json(&["safe.c", "--engine", "impact"]);
    assert_eq!((code, value["solver"].as_str()), (0, Some(usual)), "{value}");
    for (engine, sat) in [("impact", usual), ("impact", "batsat"), ("bmc", usual), ("bmc", "batsat")] {
        let (code, value) = place.json(&["lost.c", "--engine", engine, "--sat", sat, "--no-replay"]);
        assert_eq!((code, value["solver"].as_str()), (1, Some(sat)), "{value}");
        let (code, value) = place.json(&["safe.c", "--engine", "impact", "--sat", sat]);
        assert_eq!((code, value["verdict"].as_str()), (0, Some("safe")), "{value}");
    }
    let (code, text) = place.verify(&["safe.c", "--sat", "minisat"]);
    assert!(code == 2 && text.contains(usual) && text.contains("batsat"), "{text}");
}

#[test]
fn a_certificate_for_which_there_is_no_time_is_neither_held_nor_refused() {
    let place = Place::with("no-time", &[("safe.c", SAFE)]);
    let (code, text) = place.verify(&["safe.c", "--engine", "impact", "--certificate", "proof.json"]);
    assert_eq!(code, 0, "{text}");
    let (code, value) = place.json(&["safe.c", "--check-certificate", "proof.json", "--seconds", "0"]);
    assert_eq!((code, value["certificate"].as_str()), (3, Some("unknown")), "{value}");
    let (code, text) = place.verify(&["safe.c", "--seconds", "0"]);
    assert!(code == 3 && text.contains("0 seconds are over"), "{text}");
}

#[test]
fn a_solver_on_the_path_can_be_asked_instead() {
    let place = Place::with("solver", &[("safe.c", SAFE), ("lost.c", LOST)]);
    let (code, text) = place.verify(&["safe.c", "--solver", "no-such-solver"]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("there is no solver `no-such-solver` on this machine"), "{text}");
    let (code, text) = place.verify(&["safe.c", "--solver", "cat"]);
    assert_eq!(code, 2, "{text}");
    if Command::new("z3").arg("--version").output().is_err() {
        eprintln!("skipped: there is no z3 on this machine");
        return;
    }
    let (code, text) = place.verify(&["safe.c", "--solver", "z3", "--engine", "impact"]);
    assert_eq!(code, 0, "{text}");
    let (code, text) = place.verify(&["lost.c", "--solver", "z3", "--engine", "impact", "--no-replay"]);
    assert_eq!(code, 1, "{text}");
}

#[test]
fn reading_ends_when_the_time_does_and_nothing_is_said_of_what_was_not_read() {
    let text = "int a[300000]; int main(void) { for (int i = 0; i < 300000; i++) a[i] = i; return a[5]; }";
    let place = Place::with("reading", &[("large.c", text)]);
    let start = std::time::Instant::now();
    for property in ["unreach-call", "no-data-race"] {
        let (code, says) = place.verify(&["large.c", "--seconds", "1", "--svcomp", "--property", property]);
        assert_eq!(code, 3, "{says}");
        assert!(says.starts_with(&format!("UNKNOWN ({property})")), "{says}");
    }
    let (code, says) = place.verify(&["large.c", "--seconds", "1"]);
    assert!(code == 3 && says.contains("before the program is read"), "{says}");
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

/// Programs that take long to read, that are nested deep, and that are nested too deep.
fn hard_to_read(test: &str) -> Place {
    let many = "int a[300000]; int main(void) { for (int i = 0; i < 300000; i++) a[i] = i; return a[5]; }";
    let nested =
        |n: usize| format!("int x; int main(void) {{ x = {}x{}; return 0; }}", "(".repeat(n), ")".repeat(n));
    let noted = "/*@ requires n >= 0; ensures \\result == n; */\nint f(int n) { return n; }\n";
    let with_notes = |text: &str| format!("{noted}{text}");
    let files = [
        ("large.c", with_notes(many)),
        ("deep.c", with_notes(&nested(8_000))),
        ("deeper.c", with_notes(&nested(300_000))),
        (
            "sum.c",
            with_notes(&format!("int x; int main(void) {{ x = x{}; return 0; }}", " + x".repeat(300_000))),
        ),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(n, t)| (*n, t.as_str())).collect();
    Place::with(test, &files)
}

#[test]
fn every_question_ends_in_time_and_none_runs_out_of_stack() {
    let place = hard_to_read("hard-to-read");
    for question in ["--races", "--outline", "--atomic", "--no-replay"] {
        let start = std::time::Instant::now();
        let (code, says) = place.verify(&["large.c", question, "--seconds", "1"]);
        assert!(code == 3 && says.contains("before the program is read"), "{question}: {code} {says}");
        assert!(start.elapsed().as_secs() < 20, "{question}: {:?}", start.elapsed());
        let (code, says) = place.verify(&["deep.c", question]);
        assert_eq!(code, 0, "{question}: {says}");
        for file in ["deeper.c", "sum.c"] {
            let (code, says) = place.verify(&[file, question]);
            assert!(code == 2 && says.contains(&format!("{file}:3: ")), "{question}: {code} {says}");
            assert!(says.contains("nested more than"), "{question}: {says}");
        }
    }
    let (code, value) = place.json(&["large.c", "--races", "--seconds", "1"]);
    assert_eq!((code, value["verdict"].as_str()), (3, Some("unknown")));
}

#[test]
fn automata_are_shown_in_time_and_without_running_out_of_stack() {
    let place = hard_to_read("hard-to-show");
    let (code, says) = place.run(&["model", "large.c", "--seconds", "1"]);
    assert!(code == 3 && says.contains("before the program is read"), "{code} {says}");
    let (code, says) = place.run(&["model", "deep.c"]);
    assert!(code == 0 && says.contains("thread 0 main"), "{code} {says}");
    let (code, says) = place.run(&["model", "deeper.c"]);
    assert!(code == 2 && says.contains("deeper.c:3: "), "{code} {says}");
}

#[test]
fn what_does_not_synchronise_hides_no_race() {
    let with = |body: &str, wait: &str| {
        format!(
            "#include <pthread.h>\n#include <semaphore.h>\nint x; sem_t s; pthread_mutex_t m; pthread_rwlock_t l;\n\
             void *f(void *p) {{ {body} return 0; }}\n\
             int main(void) {{ pthread_t t; int v = 0; sem_init(&s, 0, 0); pthread_mutex_init(&m, 0);\n\
             pthread_rwlock_init(&l, 0); pthread_create(&t, 0, f, 0); {wait} pthread_join(t, 0); return 0; }}\n"
        )
    };
    let counted = |order: &str, read: &str| {
        format!(
            "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\nstruct o {{ atomic_int n; int d; }};\n\
             void *f(void *a) {{ struct o *p = a; {read} if (atomic_fetch_sub_explicit(&p->n, 1, {order}) == 1) free(p); return 0; }}\n\
             int main(void) {{ pthread_t t; struct o *p = malloc(sizeof *p); atomic_init(&p->n, 2); p->d = 0;\n\
             pthread_create(&t, 0, f, p); f(p); pthread_join(t, 0); return 0; }}\n"
        )
    };
    let post = "x = 42; sem_post(&s);";
    let cases = [
        ("sem_getvalue", with(post, "sem_getvalue(&s, &v); if (v) x++;"), true),
        ("sem_getvalue in a loop", with(post, "while (!v) sem_getvalue(&s, &v); x++;"), true),
        ("sem_trywait", with(post, "if (!sem_trywait(&s)) x++;"), false),
        ("sem_getvalue, then sem_wait", with(post, "sem_getvalue(&s, &v); sem_wait(&s); x++;"), false),
        (
            "a failed trylock",
            with(
                "x = 42; pthread_mutex_lock(&m);",
                "if (pthread_mutex_trylock(&m)) x++; else pthread_mutex_unlock(&m);",
            ),
            true,
        ),
        (
            "a trylock that succeeds",
            with(
                "pthread_mutex_lock(&m); x = 42; pthread_mutex_unlock(&m);",
                "if (!pthread_mutex_trylock(&m)) { x++; pthread_mutex_unlock(&m); }",
            ),
            false,
        ),
        (
            "a failed tryrdlock",
            with(
                "x = 42; pthread_rwlock_wrlock(&l);",
                "if (pthread_rwlock_tryrdlock(&l)) x++; else pthread_rwlock_unlock(&l);",
            ),
            true,
        ),
        ("a relaxed count that frees", counted("memory_order_relaxed", "int v = p->d; (void)v;"), true),
        ("the same without data", counted("memory_order_relaxed", ""), true),
        ("a count that only releases", counted("memory_order_release", "int v = p->d; (void)v;"), true),
        ("a count that frees", counted("memory_order_acq_rel", "int v = p->d; (void)v;"), false),
    ];
    let place = Place::with("synchronises", &[]);
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(name, program, race)| {
            place.write("sync.c", program);
            let (_, value) = place.json(&["sync.c"]);
            let named =
                value["caveats"].as_array().is_some_and(|all| all.iter().any(|c| c["kind"] == "races"));
            (named != *race).then(|| format!("{name}: {value}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    place.write(
        "sync.c",
        "#include <pthread.h>\n#include <assert.h>\nvoid *f(void *p) { return p; }\n\
         int main(void) { pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_join(a, 0); pthread_create(&b, 0, f, 0);\n\
         assert(!pthread_equal(a, b)); pthread_join(b, 0); return 0; }\n",
    );
    let (_, value) = place.json(&["sync.c"]);
    let told = &value["caveats"][0];
    assert_eq!((&told["kind"], &told["places"][0]), (&"reuse".into(), &"sync.c:5".into()), "{value}");
}
