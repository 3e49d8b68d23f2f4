//! A pointer to a variable of a thread that is read later is not said to point to nothing.

use model::{ErrorKind, Interpreter, Program, Wrong};

fn read(text: &str) -> Program {
    let prelude = "typedef unsigned long pthread_t; ";
    model::read_text("p.c", &format!("{prelude}{text}"), &model::Options::default())
        .unwrap_or_else(|e| panic!("{e}"))
}

/// Every kind of error that a run can end with.
fn errors(p: &Program) -> Vec<ErrorKind> {
    let run = Interpreter::new(p);
    let (mut open, mut seen) = (vec![run.initial()], std::collections::HashSet::new());
    let mut found = Vec::new();
    while let Some(s) = open.pop() {
        if let Some(Wrong::Error { kind, .. }) = run.error(&s) {
            if !found.contains(&kind) {
                found.push(kind);
            }
            continue;
        }
        for t in p.thread_ids() {
            for (_, next) in run.successors(&s, t).unwrap() {
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
    }
    found
}

#[test]
fn what_points_to_a_local_of_a_later_thread_goes_beyond_what_was_read() {
    let p = read(
        "int *tail; void *f(void *a) { int node = 0; int *before = __sync_lock_test_and_set(&tail, &node); \
         if (before) *before = 1; return 0; } \
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, f, 0); return 0; }",
    );
    assert_eq!(errors(&p), [ErrorKind::Bound]);
}

#[test]
fn null_is_followed_nowhere_whatever_is_read_later() {
    let p = read(
        "int *tail; void *f(void *a) { int node = 0; int *before = tail; tail = &node; *before = 1; return 0; } \
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, f, 0); return 0; }",
    );
    assert!(errors(&p).contains(&ErrorKind::InvalidPointer));
}
