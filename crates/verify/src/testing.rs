//! Random programs for the tests of this crate.

#[path = "../../model/tests/support/small.rs"]
mod small;

use model::{Action, Assign, Builder, ErrorKind, Order, Place, Program, Transition, Type};
pub(crate) use small::Rng;

/// The types of pthreads, so that no preprocessor is needed.
pub(crate) const PRELUDE: &str = "typedef unsigned long pthread_t; typedef struct { int dummy; } pthread_mutex_t; \
    typedef struct { int dummy; } pthread_cond_t; _Bool __VERIFIER_nondet_bool(void);";

/// Reads a program after a prelude, which is on its first line.
pub(crate) fn read(text: &str) -> Program {
    match model::read_text("test.c", &format!("{PRELUDE} {text}"), &model::Options::default()) {
        Ok(p) => p,
        Err(e) => panic!("{e}\n{text}"),
    }
}

/// The text of a random program of two or three threads with finitely many states: locks, branches, inputs, loops, assertions.
pub(crate) fn random_text(seed: u64) -> String {
    let mut g = Rng(seed);
    let threads = 2 + g.below(2);
    let mut text = String::from("int x, y, a[2]; pthread_mutex_t m, n;\n");
    let mut left = if threads == 2 { 7 } else { 6 };
    for t in 0..threads {
        text += &format!("void *f{t}(void *p) {{ int r = 0;\n");
        let forever = g.below(4) == 0;
        if forever {
            text += "while (1) {\n";
        }
        for _ in 0..1 + g.below(3) {
            if left == 0 {
                break;
            }
            left -= 1;
            let v = ["x", "y", "a[0]", "a[r & 1]"][g.below(4) as usize];
            let k = g.below(3);
            let lock = ["m", "n"][g.below(2) as usize];
            text += &match g.below(13) {
                0 => format!("{v} = {k};\n"),
                1 => format!("r = {v};\n"),
                2 => format!("{v} = (r + {k}) % 3;\n"),
                3 => format!("if ({v} == {k}) x = ({k} + 1) % 3;\n"),
                4 => format!("pthread_mutex_lock(&{lock}); {v} = r; pthread_mutex_unlock(&{lock});\n"),
                5 => format!("r = {v}; if (r < 2) {v} = r + 1;\n"),
                6 | 10 => format!("if ({v} == {}) reach_error();\n", 1 + k % 2),
                11 => format!("r = {v}; if (r == {k} && y == 1) reach_error();\n"),
                12 => "pthread_mutex_lock(&n); pthread_mutex_lock(&m); x = 1; pthread_mutex_unlock(&m); pthread_mutex_unlock(&n);\n"
                    .to_owned(),
                7 => "if (__VERIFIER_nondet_bool()) r = 1;\n".to_owned(),
                8 => format!("r = __sync_fetch_and_or(&{v}, 1);\n"),
                _ => format!(
                    "pthread_mutex_lock(&m); pthread_mutex_lock(&{lock}); pthread_mutex_unlock(&{lock}); pthread_mutex_unlock(&m);\n"
                ),
            };
        }
        text += if forever { "} return 0; }\n" } else { "return 0; }\n" };
    }
    text += "int main(void) { pthread_t t;\n";
    for t in 0..threads {
        text += &format!("pthread_create(&t, 0, f{t}, 0);\n");
    }
    text + "return 0; }\n"
}

/// The program of [`random_text`].
pub(crate) fn random(seed: u64) -> Program {
    read(&random_text(seed))
}

/// `t := x; t := t + 1; x := t` in so many threads, perhaps under a lock. If it is checked, the step that ends a thread counts it, and
/// where all have ended with another number in x a thread fails.
pub(crate) fn increments(threads: i32, locked: bool, checked: bool) -> Program {
    let mut b = Builder::new();
    b.check_locks(false);
    let x = b.shared("x", Type::INT, 0);
    let done = b.shared("done", Type::INT, 0);
    let l = b.mutex("l");
    for _ in 0..threads {
        let t = b.thread("T");
        let tmp = b.local(t, "t", Type::INT, 0);
        if locked {
            b.lock(t, l);
        }
        let read = b.value(x);
        b.assign(t, tmp, read);
        let (old, one) = (b.value(tmp), b.terms().int(1));
        let more = b.terms().add(old, one);
        b.assign(t, tmp, more);
        let mut writes = vec![Assign { place: Place::scalar(x), value: old }];
        if checked {
            let count = b.value(done);
            let value = b.terms().add(count, one);
            writes.push(Assign { place: Place::scalar(done), value });
        }
        let yes = b.terms().boolean(true);
        b.then(t, yes, writes);
        if locked {
            b.unlock(t, l);
        }
        if checked {
            let (count, sum, all) = (b.value(done), b.value(x), b.terms().int(threads));
            let (ended, lost) = (b.terms().eq(count, all), b.terms().ne(sum, all));
            let guard = b.terms().and(ended, lost);
            let (from, to) = (b.here(t), b.error_location(t, ErrorKind::Assertion, "an increment is lost"));
            let span = b.span();
            let (assigns, havoc) = (vec![], vec![]);
            b.edge(
                t,
                Transition {
                    from,
                    to,
                    guard,
                    assigns,
                    havoc,
                    action: Action::Atomic,
                    span,
                    order: Order::Unsaid,
                    operand: 0,
                    fences: model::Fences::default(),
                },
            );
        }
    }
    b.finish()
}
