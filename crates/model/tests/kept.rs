//! Executions begin where they part from the one before: what is kept must be what running again from the start would come to.

mod support;

use explore::{
    Decision, Divergence, End, Executed, Explorer, Meter, Options, Plan, Progress, ThreadId, View,
};
use model::{Program, Runner, State, Step};
use support::{Rng, read};

/// A search that never says what comes again, so that every execution is run from the start.
struct FromTheStart<'s>(&'s mut dyn Progress);

impl Explorer for FromTheStart<'_> {
    fn begin(&mut self) {
        self.0.begin();
    }

    fn next_thread(&mut self, view: &View<'_>) -> Decision {
        self.0.next_thread(view)
    }

    fn ordered(&mut self, before: ThreadId, after: ThreadId) {
        self.0.ordered(before, after);
    }

    fn next_option(&mut self, options: Options<'_>) -> u32 {
        self.0.next_option(options)
    }

    fn executed(&mut self, event: Executed<'_>) {
        self.0.executed(event);
    }

    fn end(&mut self, end: End, view: &View<'_>) -> bool {
        self.0.end(end, view)
    }

    fn divergence(&self) -> Option<&Divergence> {
        self.0.divergence()
    }
}

/// All executions: how each ended, its steps, and its last state.
fn all(p: &Program, algorithm: &str, from_the_start: bool) -> Vec<(End, Vec<Step>, State)> {
    let mut runner = Runner::new(p).unwrap();
    runner.most_spurious = 1;
    let mut search = Plan::of(algorithm).unwrap().search(Meter::unlimited()).unwrap();
    let mut executions = runner.executions();
    let mut out = Vec::new();
    loop {
        let done = if from_the_start {
            executions.next(&mut FromTheStart(&mut *search)).unwrap()
        } else {
            executions.next(&mut *search).unwrap()
        };
        out.push((done.end, done.run.to_vec(), done.state.clone()));
        if !done.again || out.len() == 300 {
            return out;
        }
    }
}

const STEPS: [&str; 14] = [
    "x = x + 1;",
    "y = x;",
    "if (x > y) z = z + 1;",
    "pthread_mutex_lock(&m); x = y + 1; pthread_mutex_unlock(&m);",
    "if (pthread_mutex_trylock(&m) == 0) { y = 2; pthread_mutex_unlock(&m); }",
    "pthread_mutex_lock(&m); while (!ready) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m);",
    "pthread_mutex_lock(&m); ready = 1; pthread_cond_broadcast(&c); pthread_mutex_unlock(&m);",
    "pthread_mutex_lock(&m); ready = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);",
    "if (__VERIFIER_nondet_bool()) z = 1;",
    "__sync_fetch_and_add(&z, 2);",
    "while (!x) ;",
    "for (int i = 0; i < 12; i++) a[i] = i;",
    "sem_post(&s);",
    "sem_wait(&s);",
];

#[test]
fn what_is_kept_is_what_running_again_comes_to() {
    let mut rng = Rng(7);
    let (mut executions, mut long) = (0, 0);
    for case in 0..60 {
        let mut body = || (0..1 + rng.below(4)).map(|_| rng.of(&STEPS)).collect::<Vec<_>>().join(" ");
        let (one, two, late) = (body(), body(), body());
        let p = read(&format!(
            "int x, y, z, ready, a[12]; pthread_mutex_t m; pthread_cond_t c; sem_t s; _Bool __VERIFIER_nondet_bool(void);
             void *one(void *p) {{ {one} return 0; }}
             void *late(void *p) {{ {late} return 0; }}
             void *two(void *p) {{ pthread_t t; pthread_create(&t, 0, late, 0); {two} pthread_join(t, 0); z = 0; return 0; }}
             int main(void) {{ pthread_t t, u; pthread_create(&t, 0, one, 0); pthread_create(&u, 0, two, 0);
               pthread_join(t, 0); x = x + y; pthread_join(u, 0); return z; }}"
        ));
        for algorithm in ["none", "source", "optimal", "epor", "dpor"] {
            let (kept, again) = (all(&p, algorithm, false), all(&p, algorithm, true));
            assert_eq!(kept, again, "case {case}, {algorithm}: {one} | {two} | {late}");
            executions += kept.len();
            long += kept.iter().filter(|e| e.1.len() > 24).count();
        }
    }
    assert!(executions > 10_000 && long > 1_000, "{executions} executions, {long} of them long");
}

#[test]
fn of_a_long_execution_little_is_kept_and_it_is_enough() {
    // More steps than there is room for, so that what is kept lies further and further apart.
    let p = read(
        "int x, a[4]; void *f(void *p) { for (int i = 0; i < 1500; i++) a[i % 4] = i; x = 1; return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x = 2; pthread_join(t, 0); return x; }",
    );
    let (kept, again) = (all(&p, "optimal", false), all(&p, "optimal", true));
    assert_eq!(kept.len(), 2);
    assert_eq!(kept, again);
}

const LOOPS: [&str; 12] = [
    "for (int i = 0; i < 6; i++) { int to = q[me] & 1; __sync_fetch_and_add(&c[to], 1); }",
    "for (int i = 0; i < 5; i++) __sync_fetch_and_add(&c[0], 1);",
    "for (int i = 0; i < 5; i++) own[me] = own[me] + 1;",
    "for (int i = 0; i < 5; i++) { int v = c[1]; own[me] = v; }",
    "for (int i = 0; i < 6; i++) c[i & 1] = i;",
    "for (int i = 0; i < 4; i++) if (!__sync_bool_compare_and_swap(&c[0], i, i + 1)) k = k + 1;",
    "for (int i = 0; i < 4; i++) k = k + __sync_fetch_and_add(&c[1], k);",
    "q[1 - me] = me;",
    "if (k > 2) c[0] = k;",
    "while (own[me] < 4) own[me] = own[me] + 1;",
    "while (q[0] == 1 && q[1] == 1) ;",
    "own[1 - me] = 7;",
];

#[test]
fn steps_that_are_not_interpreted_again_are_what_they_were() {
    let mut rng = Rng(11);
    let (mut executions, mut long) = (0, 0);
    for case in 0..80 {
        let mut body = || (0..1 + rng.below(3)).map(|_| rng.of(&LOOPS)).collect::<Vec<_>>().join(" ");
        let (one, two) = (body(), body());
        let p = read(&format!(
            "int c[2], q[2] = {{ 0, 1 }}, own[2];
             void *one(void *p) {{ int me = 0, k = 0; {one} return 0; }}
             void *two(void *p) {{ int me = 1, k = 0; {two} return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, one, 0); pthread_create(&t, 0, two, 0); return 0; }}"
        ));
        for algorithm in ["epor", "epor-sh"] {
            let (kept, again) = (all(&p, algorithm, false), all(&p, algorithm, true));
            assert_eq!(kept, again, "case {case}, {algorithm}: {one} | {two}");
            executions += kept.len();
            long += kept.iter().filter(|e| e.1.len() > 24).count();
        }
    }
    assert!(executions > 5_000 && long > 2_000, "{executions} executions, {long} of them long");
}
