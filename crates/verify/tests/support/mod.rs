//! What the tests share: C programs, and what is asked of every outcome.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

pub mod corpus;
#[path = "../../../model/tests/support/small.rs"]
pub mod small;

use model::{Interpreter, Program};
use verify::{Budget, Options, Outcome, Verdict, check, engine};

/// The types of pthreads and of C11's atomics, so that no preprocessor is needed.
pub const PRELUDE: &str = "typedef unsigned long pthread_t; typedef struct { int dummy; } pthread_mutex_t; \
    typedef struct { int dummy; } pthread_cond_t; typedef struct { int dummy; } pthread_rwlock_t; \
    typedef struct { int dummy; } pthread_barrier_t; typedef struct { int dummy; } sem_t; \
    typedef _Atomic int atomic_int; typedef _Bool bool; typedef unsigned long size_t; \
    void __VERIFIER_assume(int); int __VERIFIER_nondet_int(void); _Bool __VERIFIER_nondet_bool(void); \
    void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void); void reach_error(void); void assert(int c) { if (!c) reach_error(); }";

/// Reads a program after the prelude, which is on its first line.
pub fn read(text: &str) -> Program {
    match model::read_text("test.c", &format!("{PRELUDE} {text}"), &model::Options::default()) {
        Ok(p) => p,
        Err(e) => panic!("{e}"),
    }
}

/// Runs an engine, and believes nothing: a proof is checked, a trace replayed.
pub fn run(name: &str, p: &Program, options: &Options) -> Outcome {
    let out = (engine(name).unwrap().make)().verify(p, options);
    stands(p, options, &out);
    out
}

/// Whether what an engine answers stands up to being checked.
pub fn stands(p: &Program, options: &Options, out: &Outcome) {
    let name = out.engine;
    match &out.verdict {
        Verdict::Safe(c) => {
            // With time enough on a busy machine too.
            let budget = Budget { seconds: options.budget.seconds.map(|s| 30.0 * s), ..options.budget };
            if let Err(e) = check(p, &Options { budget, ..options.clone() }, c) {
                panic!("{name}: {e}\n{p}");
            }
        }
        Verdict::Unsafe(t) | Verdict::PartiallySafe { trace: t, .. } => {
            let run = Interpreter::new(p);
            let states = run.replay(&t.steps).unwrap_or_else(|e| panic!("{name}: {e}\n{p}"));
            assert_eq!(run.wrong(states.last().unwrap()).as_ref(), Some(&t.wrong), "{name}\n{p}");
        }
        Verdict::Unknown(u) => assert!(!matches!(u, verify::Unknown::Mistake(_)), "{name}: {u}\n{p}"),
    }
}

/// No deadlocks, and a budget of work that no test should need.
pub fn within(work: u64) -> Options {
    Options { deadlocks: false, budget: Budget { seconds: None, work: Some(work) } }
}

/// Producers and consumers of a buffer of `n` cells, each in an endless loop (Metzler 2020, figures 4.2, 4.3, 4.9).
pub fn producer_consumer(producers: u32, consumers: u32, n: u32) -> String {
    let threads = producers + consumers;
    format!(
        "int buffer[{n}]; int count; pthread_mutex_t m;
         void *produce(void *a) {{ int item = 0;
           while (1) {{ pthread_mutex_lock(&m);
             if (count < {n}) {{ buffer[count] = item; count = count + 1; assert(count <= {n}); item++; }}
             pthread_mutex_unlock(&m); }} return 0; }}
         void *consume(void *a) {{ int item;
           while (1) {{ pthread_mutex_lock(&m);
             if (count > 0) {{ count = count - 1; item = buffer[count]; assert(count >= 0); }}
             pthread_mutex_unlock(&m); }} return 0; }}
         int main(void) {{ pthread_t t[{threads}];
           for (int i = 0; i < {producers}; i++) pthread_create(&t[i], 0, produce, 0);
           for (int i = {producers}; i < {threads}; i++) pthread_create(&t[i], 0, consume, 0);
           for (int i = 0; i < {threads}; i++) pthread_join(t[i], 0);
           return 0; }}"
    )
}
