//! `raddle verify --outline`, `--atomic` and `--races`, from outside.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A file with a C program, removed in the end.
struct Source(PathBuf);

impl Source {
    fn new(name: &str, text: &str) -> Source {
        let path = std::env::temp_dir().join(format!("raddle-outline-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Source(path)
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn raddle(source: &Source, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_raddle")).arg("verify").args(words).arg(&source.0).output().unwrap()
}

/// The exit code and what was printed.
fn says(source: &Source, words: &[&str]) -> (i32, String) {
    let out = raddle(source, words);
    let text = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    (out.status.code().unwrap(), text)
}

const MAX: &str = "#define BIG(x) ((x) > 1000)
/*@ requires n > 0 && \\valid(a + (0 .. n - 1));
  @ ensures \\forall integer j; 0 <= j < n ==> a[j] <= \\result;
  @ ensures \\exists integer j; 0 <= j < n && a[j] == \\result; */
int max(int *a, int n) {
  int m = a[0];
  //@ loop invariant 1 <= i <= n;
  //@ loop invariant \\forall integer j; 0 <= j < i ==> a[j] <= m;
  //@ loop invariant \\exists integer j; 0 <= j < i && a[j] == m;
  for (int i = 1; i < n; i++) {
    if (a[i] > m) m = a[i];
  }
  return m;
}
";

#[test]
fn an_outline_that_holds_is_counted_and_one_that_does_not_is_shown_with_places_and_values() {
    let fine = Source::new("max.c", MAX);
    let (code, text) = says(&fine, &["--outline"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("all hold: 4 conditions (4 triples)"), "{text}");
    let wrong = Source::new("max-wrong.c", &MAX.replace("a[i] > m", "a[i] < m"));
    let (code, text) = says(&wrong, &["--outline"]);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("max-wrong.c:8  loop invariant \\forall integer j; 0 <= j < i ==> a[j] <= m"),
        "{text}"
    );
    assert!(text.contains("step     ") && text.contains("max-wrong.c:11  if (a[i] < m) m = a[i];"), "{text}");
    assert!(text.contains("example  ") && text.contains("m = "), "{text}");
    let (code, text) = says(&wrong, &["--outline", "--json"]);
    assert_eq!(code, 1);
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["verdict"], "fails");
    assert_eq!(json["counts"]["triples"], 4);
    let failing = json["conditions"].as_array().unwrap().iter().find(|c| c["status"] == "fails").unwrap();
    assert_eq!(failing["claimed"]["line"], 8);
    assert!(failing["example"]["before"].as_object().unwrap().contains_key("m"), "{failing}");
}

#[test]
fn a_malformed_annotation_is_refused_with_file_line_and_what_was_expected() {
    for (text, part) in [
        (
            "int x;\n//@ requires x >;\nint f(void) { return x; }\n",
            "bad.c:2: expected an expression, found `;`",
        ),
        ("//@ ensures y == 1;\nint f(int x) { return x; }\n", "bad.c:1: `y` is not known here"),
        (
            "int f(int x) {\n  while (x > 0) x--;\n  //@ assert x <= 0;\n  return x;\n}\n",
            "bad.c:2: expected a `loop invariant`",
        ),
        ("int f(int x) { return x; }\n", "there are no annotations"),
    ] {
        let (code, says) = says(&Source::new("bad.c", text), &["--outline"]);
        assert_eq!(code, 2, "{says}");
        assert!(says.starts_with("error: ") && says.contains(part), "{text}: {says}");
    }
}

const COUNTER: &str = "#include <pthread.h>
int x;
pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
void *A(void *p) {
  L0: //@ assert (B@M0 ==> x == 0) && (B@M1 ==> x == 1);
  pthread_mutex_lock(&l);
  int t = x;
  x = t + 1;
  pthread_mutex_unlock(&l);
  L1: //@ assert (B@M0 ==> x == 1) && (B@M1 ==> x == 2);
  return 0;
}
void *B(void *p) {
  M0: //@ assert (A@L0 ==> x == 0) && (A@L1 ==> x == 1);
  pthread_mutex_lock(&l);
  int t = x;
  x = t + 1;
  pthread_mutex_unlock(&l);
  M1: //@ assert (A@L0 ==> x == 1) && (A@L1 ==> x == 2);
  return 0;
}
//@ ensures x == 2;
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, A, 0);
  pthread_create(&b, 0, B, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
";

#[test]
fn threads_need_annotations_only_where_they_can_be_interrupted() {
    let (code, text) = says(&Source::new("counter.c", COUNTER), &["--outline"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("8 conditions (2 sequential, 4 non-interference, 1 initial, 1 final)"), "{text}");
    let open = COUNTER.replace("pthread_mutex_lock(&l);", "").replace("pthread_mutex_unlock(&l);", "");
    let (code, text) = says(&Source::new("open.c", &open), &["--outline"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("taken as \\true") && text.contains("FAILS"), "{text}");
}

fn bank(withdraw: &str) -> String {
    format!(
        "#include <pthread.h>
pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
int balance; //@ guarded_by l;

//@ atomic;
void deposit(int x) {{
  pthread_mutex_lock(&l);
  int r = balance;
  balance = r + x;
  pthread_mutex_unlock(&l);
}}
//@ atomic;
int get(void) {{
  pthread_mutex_lock(&l);
  int r = balance;
  pthread_mutex_unlock(&l);
  return r;
}}
//@ atomic;
void withdraw(int x) {{
{withdraw}
}}
void *f(void *p) {{ deposit(10); return 0; }}
void *g(void *p) {{ withdraw(5); int r = get(); return 0; }}
int main(void) {{
  pthread_t a, b;
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, g, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}}
"
    )
}

#[test]
fn the_account_is_atomic_and_a_withdrawal_in_two_parts_is_broken_by_a_run() {
    let one =
        "  pthread_mutex_lock(&l);\n  int r = balance;\n  balance = r - x;\n  pthread_mutex_unlock(&l);";
    let (code, text) = says(&Source::new("bank.c", &bank(one)), &["--atomic"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("R B B L = A") && text.contains("R B L = A"), "{text}");
    assert!(text.contains("balance") && text.contains("by l, as declared"), "{text}");
    let two = "  int r = get();\n  pthread_mutex_lock(&l);\n  balance = r - x;\n  pthread_mutex_unlock(&l);";
    let broken = Source::new("broken.c", &bank(two));
    let (code, text) = says(&broken, &["--atomic"]);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("NOT ATOMIC") && text.contains("`withdraw`") && text.contains("is interrupted"),
        "{text}"
    );
    assert!(text.contains("> f") && text.contains("> g"), "{text}");
    let json: Value = serde_json::from_str(&says(&broken, &["--atomic", "--json"]).1).unwrap();
    assert_eq!(json["verdict"], "fails");
    let withdraw = json["functions"].as_array().unwrap().iter().find(|f| f["name"] == "withdraw").unwrap();
    assert_eq!((&withdraw["atomic"], &withdraw["mover"]), (&Value::from(false), &Value::from("C")));
    assert_eq!(withdraw["accesses"].as_array().unwrap().len(), 3);
    let bare = bank("  balance = balance - x;");
    let (code, text) = says(&Source::new("bare.c", &bare), &["--atomic"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("NOT GUARDED") && text.contains("accessed without it"), "{text}");
}

#[test]
fn races_are_listed_by_locks_and_by_executions_side_by_side() {
    let program = |lock: &str, unlock: &str| {
        format!(
            "#include <pthread.h>\nint x, y;\npthread_mutex_t l;\nvoid *f(void *p) {{\n  {lock}\n  x = x + 1;\n  {unlock}\n  return 0;\n}}\n\
             int main(void) {{\n  pthread_t a, b;\n  y = 1;\n  pthread_create(&a, 0, f, 0);\n  pthread_create(&b, 0, f, 0);\n  return 0;\n}}\n"
        )
    };
    let open = Source::new("race.c", &program("", ""));
    let (code, text) = says(&open, &["--races"]);
    assert_eq!(code, 1, "{text}");
    let row = text.lines().find(|l| l.starts_with("x ")).unwrap();
    assert!(row.contains("RACE?") && row.ends_with("RACE"), "{text}");
    assert!(text.matches("race.c:6").count() >= 2, "both places: {text}");
    let json: Value = serde_json::from_str(&says(&open, &["--races", "--json"]).1).unwrap();
    assert_eq!(json["verdict"], "race");
    let locked = Source::new("no-race.c", &program("pthread_mutex_lock(&l);", "pthread_mutex_unlock(&l);"));
    let (code, text) = says(&locked, &["--races"]);
    assert_eq!(code, 0, "{text}");
    let row = text.lines().find(|l| l.starts_with("x ")).unwrap();
    assert!(row.contains("under l") && row.ends_with("none"), "{text}");
}

#[test]
fn what_is_declared_atomic_races_where_it_is_accessed_as_if_it_were_not() {
    let program = |access: &str| {
        format!(
            "#include <pthread.h>\n#include <stdatomic.h>\n#include <string.h>\natomic_int a; struct s {{ atomic_int n; }} s;\nvoid *f(void *p) {{ {access} return 0; }}\n\
             int main(void) {{ pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_create(&b, 0, f, 0);\n\
             pthread_join(a, 0); pthread_join(b, 0); return 0; }}\n"
        )
    };
    for (name, access, code) in [
        ("plainly.c", "(*(int *)&a)++;", 1),
        ("pointer.c", "int *q = (int *)&a; *q = 1;", 1),
        ("set.c", "memset((void *)&s, 0, sizeof s);", 1),
        ("copy.c", "struct s t = { 0 }; s = t;", 1),
        ("atomically.c", "atomic_int *q = &a; (*q)++;", 0),
        ("builtin.c", "__sync_fetch_and_add((int *)&a, 1);", 0),
    ] {
        let source = Source::new(name, &program(access));
        let (found, text) = says(&source, &["--races"]);
        assert_eq!(found, code, "{access}: {text}");
        let (_, text) = says(&source, &["--svcomp", "--property", "no-data-race"]);
        assert!(text.starts_with(if code == 1 { "FALSE" } else { "TRUE" }), "{access}: {text}");
    }
}

#[test]
fn accesses_to_a_union_may_be_to_different_bytes() {
    let program = |second: &str| {
        format!(
            "#include <pthread.h>\nunion {{ unsigned u; unsigned char b[4]; }} x;\nvoid *f(void *p) {{ x.b[0] = 1; return 0; }}\n\
             void *g(void *p) {{ {second} return 0; }}\nint main(void) {{ pthread_t a, b; pthread_create(&a, 0, f, 0);\n\
             pthread_create(&b, 0, g, 0); pthread_join(a, 0); pthread_join(b, 0); return 0; }}\n"
        )
    };
    let (code, text) = says(&Source::new("bytes.c", &program("x.b[1] = 1;")), &["--races"]);
    assert!(code == 3 && text.contains("perhaps to different bytes of a union"), "{text}");
    let (code, text) = says(&Source::new("all-bytes.c", &program("x.u = 1;")), &["--races"]);
    assert!(code == 1 && text.contains("nothing orders these two\n"), "{text}");
}

#[test]
fn blocks_in_one_step_do_not_change_the_answer_and_can_be_turned_off() {
    let plain = "#include <pthread.h>\n#include <assert.h>\nint x;\npthread_mutex_t l;\n\
        void *f(void *p) { pthread_mutex_lock(&l); int t = x; x = t + 1; pthread_mutex_unlock(&l); return 0; }\n\
        int main(void) { pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_create(&b, 0, f, 0);\n\
        pthread_join(a, 0); pthread_join(b, 0); assert(x == 2); return 0; }\n";
    let states = |words: &[&str], source: &Source| {
        let (code, text) = says(source, words);
        let json: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"));
        (code, json["counts"]["states"].as_u64().unwrap())
    };
    let safe = Source::new("safe.c", plain);
    let (with, few) = states(&["--engine", "explicit", "--json"], &safe);
    let (without, many) = states(&["--engine", "explicit", "--json", "--no-merge"], &safe);
    assert_eq!((with, without), (0, 0));
    assert!(few < many, "{few} states of {many}");
    let broken = Source::new(
        "broken-counter.c",
        &plain.replace("pthread_mutex_lock(&l);", "").replace("pthread_mutex_unlock(&l);", ""),
    );
    let (code, text) = says(&broken, &[]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("assertion in `main`: x == 2"), "{text}");
}
