//! Programs with known answers: those of Qadeer's lectures, of Metzler's thesis, and of the paper on Impact for threads.

mod support;

use model::Program;
use support::small::increments;
use support::{PRELUDE, read, run, within};
use verify::{Options, Verdict};

const COUNTER: &str = "int x; pthread_mutex_t l;
    void *f(void *a) { LOCK int t = x; t = t + 1; x = t; UNLOCK return 0; }
    int main(void) { pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_create(&b, 0, f, 0);
      pthread_join(a, 0); pthread_join(b, 0); assert(x == 2); return 0; }";

fn counter(locked: bool) -> Program {
    let (lock, unlock) =
        if locked { ("pthread_mutex_lock(&l);", "pthread_mutex_unlock(&l);") } else { ("", "") };
    read(&COUNTER.replace("UNLOCK", unlock).replace("LOCK", lock))
}

#[test]
fn the_states_of_the_lectures_are_counted_as_there() {
    // Without locks the slides have 22 states of two threads and 175 of three; with one, 21.
    for (threads, locked, states, transitions) in
        [(2, false, 22, Some(28)), (3, false, 175, Some(288)), (2, true, 21, Some(20))]
    {
        let p = increments(threads, locked);
        let out = run("explicit", &p, &within(10_000));
        assert_eq!(out.count("states"), Some(states), "{threads} threads, locked: {locked}");
        assert_eq!(out.count("transitions"), transitions, "{threads} threads, locked: {locked}");
    }
}

#[test]
fn two_increments_are_wrong_without_a_lock_and_right_with_one() {
    for engine in ["explicit", "bmc", "impact"] {
        assert_eq!(run(engine, &counter(false), &within(5000)).verdict.name(), "unsafe", "{engine}");
        let out = run(engine, &counter(true), &within(5000));
        assert_eq!(out.verdict.name(), "safe", "{engine} {:?}", out.verdict);
    }
}

#[test]
fn explicit_and_bounded_search_find_shortest_traces() {
    let p = counter(false);
    let length = |engine| match run(engine, &p, &within(5000)).verdict {
        Verdict::Unsafe(t) => t.steps.len(),
        other => panic!("{engine}: {other:?}"),
    };
    assert_eq!(length("explicit"), length("bmc"));
}

#[test]
fn a_cover_does_not_hide_what_another_thread_sees() {
    // Wachter, Kroening, Ouaknine: with partial-order reduction and covers taken lightly this is missed.
    let p = read(
        "int x; void *f(void *a) { if (__VERIFIER_nondet_bool()) x = 1; x = 0; return 0; }
         void *g(void *a) { assert(x == 0); return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0); return 0; }",
    );
    for engine in ["explicit", "bmc", "impact", "bdd", "bdd-backward", "contexts", "predabs", "portfolio"] {
        let Verdict::Unsafe(trace) = run(engine, &p, &within(5000)).verdict else { panic!("{engine}") };
        // The branch is taken, x is written, and the other thread looks. What main does to make them is left out.
        let mut steps: Vec<u16> = trace.steps.iter().map(|s| s.thread.0).filter(|t| *t > 0).collect();
        steps.dedup_by(|a, b| *a == 2 && *b == 2);
        assert_eq!(steps, [1, 1, 2], "{engine}");
    }
}

#[test]
fn two_locks_taken_the_other_way_round_deadlock_and_in_one_order_do_not() {
    let text = |second: &str, first: &str| {
        read(&format!(
            "pthread_mutex_t m, n;
             void *f(void *a) {{ while (1) {{ pthread_mutex_lock(&m); pthread_mutex_lock(&n);
               pthread_mutex_unlock(&n); pthread_mutex_unlock(&m); }} return 0; }}
             void *g(void *a) {{ while (1) {{ pthread_mutex_lock(&{first}); pthread_mutex_lock(&{second});
               pthread_mutex_unlock(&n); pthread_mutex_unlock(&m); }} return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0);
               pthread_join(t, 0); return 0; }}"
        ))
    };
    let options = Options { deadlocks: true, ..within(5000) };
    for engine in ["explicit", "impact"] {
        assert_eq!(run(engine, &text("m", "n"), &options).verdict.name(), "unsafe", "{engine}");
        assert_eq!(run(engine, &text("n", "m"), &options).verdict.name(), "safe", "{engine}");
        let none = Options { deadlocks: false, ..options.clone() };
        assert_eq!(run(engine, &text("m", "n"), &none).verdict.name(), "safe", "{engine}");
    }
}

#[test]
fn who_is_never_woken_is_stuck_although_it_might_wake_up_for_no_reason() {
    let text = |wake: &str| {
        let options = model::Options { spurious: true, ..model::Options::default() };
        let text = format!(
            "{PRELUDE} pthread_mutex_t m; pthread_cond_t c; int ready;
                 void *w(void *p) {{ pthread_mutex_lock(&m); while (!ready) pthread_cond_wait(&c, &m);
                   pthread_mutex_unlock(&m); return 0; }}
                 int main(void) {{ pthread_t t, u; pthread_create(&t, 0, w, 0); pthread_create(&u, 0, w, 0);
                   pthread_mutex_lock(&m); ready = 1; pthread_cond_{wake}(&c); pthread_mutex_unlock(&m);
                   pthread_join(t, 0); pthread_join(u, 0); return 0; }}"
        );
        model::read_text("test.c", &text, &options).unwrap()
    };
    let options = Options { deadlocks: true, ..within(5000) };
    for engine in ["explicit", "bdd", "contexts", "predabs", "impact", "imc", "portfolio"] {
        // One is woken, and the other one waits for good.
        let found = run(engine, &text("signal"), &options).verdict;
        assert!(!matches!(found, Verdict::Safe(_)), "{engine}");
        if engine != "imc" {
            assert_eq!(found.name(), "unsafe", "{engine}");
        }
        assert_ne!(run(engine, &text("broadcast"), &options).verdict.name(), "unsafe", "{engine}");
    }
}

#[test]
fn peterson_in_endless_loops_is_proved_and_without_flags_refuted() {
    let text = |flags: u32| {
        read(&format!(
            "int flag[2], turn, in;
             void *f(void *a) {{ while (1) {{ flag[0] = {flags}; turn = 1; while (flag[1] && turn == 1) ;
               in = in + 1; assert(in == 1); in = in - 1; flag[0] = 0; }} return 0; }}
             void *g(void *a) {{ while (1) {{ flag[1] = {flags}; turn = 0; while (flag[0] && turn == 0) ;
               in = in + 1; assert(in == 1); in = in - 1; flag[1] = 0; }} return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0); return 0; }}"
        ))
    };
    assert_eq!(run("explicit", &text(1), &within(50_000)).verdict.name(), "safe");
    assert_eq!(run("explicit", &text(0), &within(50_000)).verdict.name(), "unsafe");
    assert_eq!(run("impact", &text(1), &within(5000)).verdict.name(), "safe");
    assert_eq!(run("impact", &text(0), &within(5000)).verdict.name(), "unsafe");
}

#[test]
fn a_proof_with_a_label_taken_away_is_refused() {
    let p = counter(true);
    let Verdict::Safe(verify::Certificate::Tree(tree)) = run("impact", &p, &within(5000)).verdict else {
        panic!("a tree proves it");
    };
    let options = within(5000);
    let mut refused = 0;
    for n in 0..tree.nodes.len() {
        let mut broken = tree.clone();
        let yes = broken.terms.boolean(true);
        broken.nodes[n].label = yes;
        refused += usize::from(verify::check(&p, &options, &verify::Certificate::Tree(broken)).is_err());
        let mut broken = tree.clone();
        if broken.nodes[n].edges.pop().is_some() && broken.nodes[n].covered_by.is_none() {
            let found = verify::check(&p, &options, &verify::Certificate::Tree(broken));
            assert!(found.is_err(), "an edge of node {n} is not needed");
        }
    }
    assert!(refused > tree.nodes.len() / 2, "labels matter: {refused} of {}", tree.nodes.len());
}

#[test]
fn inputs_of_any_width_are_proved_about_where_labels_need_not_speak_of_them() {
    let text = |limit: &str| {
        read(&format!(
            "int total; pthread_mutex_t m;
             void *f(void *a) {{ while (1) {{ int n = __VERIFIER_nondet_int();
               pthread_mutex_lock(&m); if (n > 0 && n < {limit} && total < 10) total = n;
               assert(total < 1000); pthread_mutex_unlock(&m); }} return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, f, 0); return 0; }}"
        ))
    };
    let out = run("impact", &text("100"), &within(2000));
    assert_eq!(out.verdict.name(), "safe", "{:?}", out.verdict);
    let Verdict::Unsafe(trace) = run("impact", &text("2000"), &within(2000)).verdict else {
        panic!("an input of 1000 or more is wrong");
    };
    assert!(trace.steps.iter().flat_map(|s| &s.inputs).any(|n| (1000..2000).contains(n)));
}

#[test]
fn the_portfolio_decides_what_its_engines_decide() {
    let endless = read(&support::producer_consumer(1, 1, 1000));
    let options = within(50_000);
    for (p, verdict) in [(counter(false), "unsafe"), (counter(true), "safe"), (endless, "safe")] {
        assert_eq!(run("portfolio", &p, &options).verdict.name(), verdict);
    }
}
