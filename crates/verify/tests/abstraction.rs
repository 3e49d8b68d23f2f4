//! The abstraction of Qadeer's lectures: loops over unbounded numbers, and one predicate that says whether the lock is held.

mod support;

use model::{Action, Assign, Builder, ErrorKind, LocationId, Place, Program, Transition, Type};
use support::{run, within};
use verify::Verdict;

/// `for (i = 0; i < n; i++) { acquire; while (x != y) { release; acquire; } y = f(x); release; }`. Each operation on the lock asks first
/// whether that is allowed. `swapped` is the operation that is the other one.
fn compute(swapped: Option<usize>) -> Program {
    let mut b = Builder::new();
    let locked = b.shared("m", Type::BOOL, 0);
    let t = b.thread("compute");
    let [i, n, x, y] = [("i", 0), ("n", i128::from(i32::MAX)), ("x", 0), ("y", 0)]
        .map(|(name, v)| b.local(t, name, Type::INT, v));
    let entry = b.here(t);
    let at: Vec<LocationId> = std::iter::once(entry).chain((1..7).map(|_| b.location(t))).collect();
    let edge = |b: &mut Builder, from: LocationId, to: LocationId, guard, assigns, havoc: Vec<Place>| {
        let span = b.span();
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
                order: model::Order::Unsaid,
                operand: 0,
                fences: model::Fences::default(),
            },
        );
    };
    let (vi, vn, vx, vy) = (b.value(i), b.value(n), b.value(x), b.value(y));
    let (less, same) = (b.terms().lt(vi, vn), b.terms().eq(vx, vy));
    let (over, differ) = (b.terms().not(less), b.terms().not(same));
    edge(&mut b, at[0], at[1], less, vec![], vec![]);
    edge(&mut b, at[0], at[6], over, vec![], vec![]);
    edge(&mut b, at[2], at[3], differ, vec![], vec![]);
    edge(&mut b, at[2], at[5], same, vec![], vec![]);
    let operation =
        |b: &mut Builder, number: usize, from: usize, to: usize, acquire: bool, more: Vec<Assign>, havoc| {
            let acquire = acquire != (swapped == Some(number));
            let held = b.value(locked);
            let free = b.terms().not(held);
            let (fine, wrong) = if acquire { (free, held) } else { (held, free) };
            let value = b.terms().boolean(acquire);
            let mut assigns = vec![Assign { place: Place::scalar(locked), value }];
            assigns.extend(more);
            let error = b.error_location(t, ErrorKind::Assertion, "the lock is used against its rules");
            edge(b, at[from], at[to], fine, assigns, havoc);
            edge(b, at[from], error, wrong, vec![], vec![]);
        };
    // Whoever had the lock before may have changed x and y.
    let inputs = || [x, y].map(Place::scalar).to_vec();
    operation(&mut b, 1, 1, 2, true, vec![], inputs());
    operation(&mut b, 2, 3, 4, false, vec![], vec![]);
    operation(&mut b, 3, 4, 2, true, vec![], inputs());
    let one = b.terms().int(1);
    let next = Assign { place: Place::scalar(i), value: b.terms().add(vi, one) };
    operation(&mut b, 4, 5, 0, false, vec![next], vec![Place::scalar(y)]);
    b.go_on_at(t, at[6]);
    b.finish()
}

#[test]
fn four_operations_on_a_lock_are_right_with_one_predicate_and_seven_abstract_states() {
    let p = compute(None);
    let wrong = |l: &model::Location| matches!(l.kind, model::LocationKind::Error { .. });
    assert_eq!(p.threads[0].locations.iter().filter(|l| wrong(l)).count(), 4, "four assertions");
    let out = run("predabs", &p, &within(10_000));
    assert_eq!(out.verdict.name(), "safe", "{:?}", out.verdict);
    assert_eq!(out.count("predicates"), Some(1));
    assert_eq!(out.count("states"), Some(7));
}

#[test]
fn each_operation_that_is_swapped_is_found_on_a_shortest_run() {
    for (number, steps) in [(1, 2), (2, 4), (3, 5), (4, 4)] {
        let Verdict::Unsafe(trace) = run("predabs", &compute(Some(number)), &within(10_000)).verdict else {
            panic!("operation {number} is wrong");
        };
        assert_eq!(trace.steps.len(), steps, "operation {number}");
    }
}
