//! Programs with known answers: those of Qadeer's lectures, of Metzler's thesis, and of the paper on Impact for threads.

mod support;

use model::{Builder, Program, ThreadId, TransitionId, Type};
use support::small::increments;
use support::{PRELUDE, read, run, within};
use verify::{Certificate, Options, Tree, TreeEdge, TreeNode, Verdict};

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
    for engine in ["explicit", "bmc", "impact", "impact-monotonic"] {
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
    for engine in [
        "explicit",
        "bmc",
        "impact",
        "impact-monotonic",
        "bdd",
        "bdd-backward",
        "contexts",
        "predabs",
        "portfolio",
    ] {
        let Verdict::Unsafe(trace) = run(engine, &p, &within(5000)).verdict else { panic!("{engine}") };
        // The branch is taken, x is written, and the other thread looks. What main does to make them is left out.
        let mut steps: Vec<u16> = trace.steps.iter().map(|s| s.thread.0).filter(|t| *t > 0).collect();
        steps.dedup_by(|a, b| *a == 2 && *b == 2);
        assert_eq!(steps, [1, 1, 2], "{engine}");
    }
}

/// The program of the paper on Impact for threads as automata, T1: 0: if (*) 1: x = 1; 2: x = 0 and T2: 0: assert(x == 0). T2 is the
/// first in the order of threads.
fn trap() -> Program {
    let mut b = Builder::new();
    let x = b.shared("x", Type::INT, 0);
    let (t2, t1) = (b.thread("T2"), b.thread("T1"));
    let (yes, zero, one, now) = (b.terms().boolean(true), b.terms().int(0), b.terms().int(1), b.value(x));
    let set = |value| vec![model::Assign { place: model::Place::scalar(x), value }];
    let (at, written, reset, end) = (b.here(t1), b.location(t1), b.location(t1), b.location(t1));
    b.step(t1, at, written, yes, Vec::new());
    b.step(t1, at, reset, yes, Vec::new());
    b.step(t1, written, reset, yes, set(one));
    b.step(t1, reset, end, yes, set(zero));
    b.set_kind(t1, end, model::LocationKind::End);
    let (at, end) = (b.here(t2), b.location(t2));
    let error = b.error_location(t2, model::ErrorKind::Assertion, "x == 0");
    let (fine, wrong) = (b.terms().eq(now, zero), b.terms().ne(now, zero));
    b.step(t2, at, end, fine, Vec::new());
    b.step(t2, at, error, wrong, Vec::new());
    b.set_kind(t2, end, model::LocationKind::End);
    b.finish()
}

#[test]
fn a_node_that_covers_another_follows_the_threads_of_both() {
    // After the branch T2 is skipped: it went before. After x = 1 it is not; but the node there is covered by the one after the branch
    // without a write, which has to follow T2 for it: one expansion.
    let p = trap();
    let out = run("impact-monotonic", &p, &within(5000));
    let Verdict::Unsafe(trace) = &out.verdict else { panic!("{:?}", out.verdict) };
    let names: Vec<&str> = trace.steps.iter().map(|s| &p.thread(s.thread).name[..]).collect();
    assert_eq!(names, ["T1", "T1", "T2"]);
    assert_eq!(out.count("cover expansions"), Some(1));
}

#[test]
fn a_proof_without_the_expansion_of_a_cover_is_refused() {
    // What an engine without it would find of that program. Everything else in it is as it should be.
    let p = trap();
    let x = p.var_named("x").unwrap();
    let mut terms = p.terms.clone();
    let (now, zero) = (terms.var(x, Type::INT), terms.int(0));
    let (yes, is_zero) = (terms.boolean(true), terms.eq(now, zero));
    let node = |at: [u32; 2], label, covered_by, edges: &[(u16, u32, usize)]| {
        let edge = |(t, e, to): &(u16, u32, usize)| TreeEdge {
            thread: ThreadId(*t),
            transition: TransitionId(*e),
            to: *to,
        };
        let locations = at.map(model::LocationId).into();
        TreeNode { locations, label, covered_by, only: None, edges: edges.iter().map(edge).collect() }
    };
    // T2: at 0, 1 at its end. T1: at 0, 1 before x = 1, 2 before x = 0, 3 at its end.
    let mut tree = Tree {
        terms,
        monotonic: true,
        nodes: vec![
            node([0, 0], is_zero, None, &[(0, 0, 1), (1, 0, 2), (1, 1, 3)]),
            node([1, 0], yes, None, &[(1, 0, 4), (1, 1, 5)]),
            node([0, 1], yes, None, &[(1, 2, 6)]),
            node([0, 2], yes, None, &[(1, 3, 7)]),
            node([1, 1], yes, None, &[(1, 2, 8)]),
            node([1, 2], yes, None, &[(1, 3, 9)]),
            node([0, 2], yes, Some(3), &[]),
            node([0, 3], is_zero, None, &[(0, 0, 9)]),
            node([1, 2], yes, Some(5), &[]),
            node([1, 3], yes, None, &[]),
        ],
    };
    let check = |tree: &Tree| verify::check(&p, &within(100), &Certificate::Tree(tree.clone()));
    let why = check(&tree).unwrap_err().to_string();
    assert!(why.contains("from node 3 at"), "{why}");
    // It is refused for that alone: if nobody covered the node after x = 1, that one would have to follow T2 itself.
    tree.nodes[6] = node([0, 2], yes, None, &[(1, 3, 7)]);
    let why = check(&tree).unwrap_err().to_string();
    assert!(why.contains("from node 6 at"), "{why}");
    // Threads may be skipped if the proof says so, and only then; and not for two reasons.
    let p = counter(true);
    let Verdict::Safe(Certificate::Tree(tree)) = run("impact-monotonic", &p, &within(5000)).verdict else {
        panic!("a tree proves it");
    };
    let check = |tree: Tree| verify::check(&p, &within(5000), &Certificate::Tree(tree));
    assert!(check(tree.clone()).is_ok());
    assert!(check(Tree { monotonic: false, ..tree.clone() }).is_err());
    let mut both = tree;
    both.nodes[0].only = Some(ThreadId(0));
    assert!(check(both).unwrap_err().to_string().contains("two reductions"));
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
    for engine in ["explicit", "impact", "impact-monotonic"] {
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
    let Verdict::Safe(Certificate::Tree(tree)) = run("impact", &p, &within(5000)).verdict else {
        panic!("a tree proves it");
    };
    let options = within(5000);
    let mut refused = 0;
    for n in 0..tree.nodes.len() {
        let mut broken = tree.clone();
        let yes = broken.terms.boolean(true);
        broken.nodes[n].label = yes;
        refused += usize::from(verify::check(&p, &options, &Certificate::Tree(broken)).is_err());
        let mut broken = tree.clone();
        if broken.nodes[n].edges.pop().is_some() && broken.nodes[n].covered_by.is_none() {
            let found = verify::check(&p, &options, &Certificate::Tree(broken));
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

#[test]
fn a_proof_that_is_too_long_to_check_is_not_believed_and_no_mistake() {
    // All runs are short, and there are more inputs than are tried one by one.
    let p = read(
        "int x; int main(void) { x = __VERIFIER_nondet_int(); int t = x; assert((t & 1) <= 1); return 0; }",
    );
    let bmc = (verify::engine("bmc").unwrap().make)();
    let out = verify::verify_checked(&*bmc, &p, &within(100));
    let Verdict::Unknown(verify::Unknown::Cannot(why)) = out.verdict else { panic!("{:?}", out.verdict) };
    assert!(why.contains("cannot be checked"), "{why}");
}

#[test]
fn numbers_of_64_bits_are_divided() {
    // What is left while dividing has one bit more than the operands.
    let p = read(
        "unsigned long x, y; int main(void) { x = __VERIFIER_nondet_bool() ? 3 : 7; y = __VERIFIER_nondet_bool() ? 3 : 2;
         unsigned long q = x / y, r = x % y; assert(q * y + r == x && q <= 3 && r <= 1); return 0; }",
    );
    for engine in ["explicit", "bdd", "bdd-backward", "impact"] {
        assert_eq!(run(engine, &p, &within(5000)).verdict.name(), "safe", "{engine}");
    }
}
