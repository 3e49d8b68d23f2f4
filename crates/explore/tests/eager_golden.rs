//! The programs of Metzler (2020), chapter 3 and appendix A, with their numbers.
//!
//! Counts are those of the classes: of the published numbers the ones for source-DPOR are exact, those for eager search are
//! not always (Ring Extended (3), Last Zero (10), Indexer (16), Branching (9) and above).

mod models;

use explore::{Meter, Plan, Stats};
use models::{
    Model, Seen, address, assign, assign_address, compare_exchange, count, look, search, search_as, store,
    straight, test,
};

const EAGER: [&str; 2] = ["epor", "epor-sh"];

/// One writer, and readers.
fn readers_writers(n: usize) -> Model {
    let threads = (0..n).map(|t| straight(vec![if t == 0 { store(0, 1) } else { look(0) }])).collect();
    Model { memory: vec![0], threads }
}

/// Each thread copies its word to the next, so many times.
fn ring(n: usize, times: usize) -> Model {
    let threads = (0..n).map(|t| straight(vec![assign((t + 1) % n, t); times])).collect();
    Model { memory: vec![0; n], threads }
}

/// Twice: if its word is 0 a thread writes the next.
fn branching(n: usize) -> Model {
    let thread = |t: usize| -> models::Code {
        Box::new(move |got| {
            let mut at = 0;
            for _ in 0..2 {
                let Some(word) = got.get(at) else { return Some(test(t)) };
                at += 1;
                if *word == 0 {
                    if got.len() == at {
                        return Some(store((t + 1) % n, 1));
                    }
                    at += 1;
                }
            }
            None
        })
    };
    Model { memory: vec![0; n], threads: (0..n).map(thread).collect() }
}

/// Two threads count what their own pointer points at, then redirect the other's.
fn shared_pointer(n: usize) -> Model {
    let thread = |t: usize| -> models::Code {
        Box::new(move |got| match got.len() {
            k if k < 2 * n && k % 2 == 0 => Some(address(t)),
            k if k < 2 * n => Some(count(got[k - 1] as usize)),
            k if k == 2 * n => Some(store(1 - t, 2 + t as u64)),
            _ => None,
        })
    };
    Model { memory: vec![2, 3, 0, 0], threads: (0..2).map(thread).collect() }
}

/// Each thread puts four messages into a hash table.
fn indexer(n: usize) -> Model {
    let thread = |t: usize| -> models::Code {
        Box::new(move |got| {
            let mut answers = got.iter();
            for m in 1..=4 {
                let w = m * 11 + t;
                let mut h = w * 7 % 128;
                loop {
                    match answers.next() {
                        None => return Some(compare_exchange(h, 0, w as u64)),
                        Some(0) => break,
                        Some(_) => h = (h + 1) % 128,
                    }
                }
            }
            None
        })
    };
    Model { memory: vec![0; 128], threads: (0..n).map(thread).collect() }
}

/// Writers that add to a word what is in the one before, and a reader that looks for a zero.
fn last_zero(n: usize) -> Model {
    let mut threads: Vec<models::Code> = (1..n)
        .map(|j| -> models::Code {
            Box::new(move |got| match got.len() {
                0 => Some(look(j - 1)),
                1 => Some(store(j, got[0] + 1)),
                _ => None,
            })
        })
        .collect();
    threads.push(Box::new(move |got| {
        (got.last() != Some(&0) && got.len() + 1 < n).then(|| test(got.len() + 1))
    }));
    Model { memory: vec![0; n], threads }
}

/// The same as in the literature: the reader comes from the other end.
fn last_zero_downwards(n: usize) -> Model {
    let mut model = last_zero(n);
    model.threads.pop();
    model.threads.push(Box::new(move |got| {
        (got.last() != Some(&0) && got.len() < n).then(|| test(n - 1 - got.len()))
    }));
    model
}

/// Checks that both forms complete each class once, `expected` in all, and gives their numbers.
fn traces(name: &str, model: &Model, expected: u64) -> [Stats; 2] {
    EAGER.map(|a| {
        let keep = expected <= 1_000;
        let seen = search(model, a, keep);
        assert_eq!(seen.stats.executions, expected, "{name}: traces of {a}");
        if keep {
            assert_eq!(seen.classes.len() as u64, expected, "{name}: classes of {a}");
        }
        seen.stats
    })
}

#[test]
fn readers_and_a_writer_are_one_section() {
    for n in 2..=12 {
        for s in traces(&format!("Readers-Writers ({n})"), &readers_writers(n), 1 << (n - 1)) {
            let n = n as u64;
            assert_eq!((s.race_checks, s.unsatisfiable, s.blocked), (n * (n - 1) / 2, 0, 0));
        }
    }
}

#[test]
fn a_ring_has_two_orientations_that_are_cycles() {
    for n in 2..=12 {
        let expected = if n == 2 { 2 } else { (1 << n) - 2 };
        for s in traces(&format!("Ring ({n})"), &ring(n, 1), expected) {
            let n = n as u64;
            let cycles = if n == 2 { 0 } else { 2 };
            assert_eq!((s.race_checks, s.unsatisfiable, s.blocked), (n * (n - 1) / 2, cycles, 0));
        }
    }
}

#[test]
fn an_extended_ring_has_many_orientations_that_are_cycles_and_short_sections_have_few() {
    let rows = [
        (2, 6, 6, 10),
        (3, 90, 15, 4_006),
        (4, 786, 28, 64_750),
        (5, 5_730, 45, 1_042_846),
        (6, 38_466, 66, 16_738_750),
    ];
    for (n, expected, checks, cycles) in rows {
        let [long, short] = traces(&format!("Ring Extended ({n})"), &ring(n, 2), expected);
        assert_eq!((long.race_checks, long.unsatisfiable, long.blocked), (checks, cycles, 0));
        // A ring, and then another one after each of its traces.
        assert_eq!(short.unsatisfiable, if n == 2 { 0 } else { (2 << n) - 2 });
    }
}

#[test]
fn branching_has_its_traces() {
    for (n, expected) in [11, 28, 103, 311, 1_010, 3_165, 10_063].into_iter().enumerate() {
        let [long, short] = traces(&format!("Branching ({})", n + 2), &branching(n + 2), expected);
        assert_eq!((long.unsatisfiable, short.unsatisfiable), (1, 0));
        assert!(long.race_checks < short.race_checks);
    }
}

#[test]
fn shared_pointers_have_their_traces() {
    for n in [1, 2, 3, 5, 10, 20, 50] {
        traces(&format!("Shared Pointer ({n})"), &shared_pointer(n), 2 * n as u64 + 1);
    }
}

#[test]
fn the_indexer_has_its_traces() {
    for (n, expected) in [(10, 1), (11, 1), (12, 8), (13, 64), (14, 512), (15, 4_096)] {
        traces(&format!("Indexer ({n})"), &indexer(n), expected);
    }
}

#[test]
fn last_zero_has_its_traces() {
    for n in 2..=11 {
        traces(&format!("Last Zero ({n})"), &last_zero(n), n as u64 * (1 << (n - 2)));
    }
    for (n, expected) in [2, 5, 12, 28, 64].into_iter().enumerate() {
        traces(&format!("Last Zero downwards ({})", n + 2), &last_zero_downwards(n + 2), expected);
    }
}

#[test]
fn eager_search_looks_at_fewer_pairs_than_source_sets() {
    let rows: [(&str, Model); 4] = [
        ("Indexer (13)", indexer(13)),
        ("Last Zero (7)", last_zero(7)),
        ("Shared Pointer (10)", shared_pointer(10)),
        ("Branching (6)", branching(6)),
    ];
    for (name, model) in rows {
        let [eager, source] = ["epor", "source"].map(|a| search(&model, a, false).stats);
        assert_eq!(eager.executions, source.executions, "{name}");
        assert!(
            eager.race_checks < source.race_checks,
            "{name}: {} {}",
            eager.race_checks,
            source.race_checks
        );
    }
    // Section 3.1 and appendix A.
    let dependency_checks = |m: &Model| search(m, "epor", false).stats.dependency_checks;
    assert_eq!(dependency_checks(&readers_writers(3)), 8);
    assert_eq!(dependency_checks(&ring(2, 1)), 2);
    assert_eq!(dependency_checks(&ring(2, 2)), 9);
    assert_eq!(dependency_checks(&indexer(11)), 880);
}

#[test]
fn a_section_may_end_with_a_value_that_decides_anything() {
    // Each of two threads writes twice and then reads what the other wrote: nothing need be known of the values.
    let side = |mine: usize, other: usize| straight(vec![store(mine, 1), store(mine, 2), test(other)]);
    let model = Model { memory: vec![0; 2], threads: vec![side(0, 1), side(1, 0)] };
    for s in traces("store buffering", &model, 5).iter().take(1) {
        // Four conflicts; all six steps are compared with each other once, and with nothing again.
        assert_eq!((s.race_checks, s.unsatisfiable), (15, (1 << 4) - 5));
    }
}

/// The rows of appendix A that are too large for every day, by program.
fn large_rows(which: &str) -> Vec<(String, Model, u64)> {
    let name = |n: usize| format!("{which} ({n})");
    match which {
        "Readers-Writers" => (13..=20).map(|n| (name(n), readers_writers(n), 1 << (n - 1))).collect(),
        "Ring" => (13..=21).map(|n| (name(n), ring(n, 1), (1 << n) - 2)).collect(),
        "Branching" => {
            let rows = [(9, 31_780), (10, 100_651), (11, 318_363)];
            rows.into_iter().map(|(n, traces)| (name(n), branching(n), traces)).collect()
        }
        "Indexer" => vec![(name(16), indexer(16), 32_768)],
        "Last Zero" => (12..=16).map(|n| (name(n), last_zero(n), n as u64 * (1 << (n - 2)))).collect(),
        "Shared Pointer" => {
            [30, 40, 60, 70, 80, 90, 100].map(|n| (name(n), shared_pointer(n), 2 * n as u64 + 1)).into()
        }
        _ => panic!("there is no program {which}"),
    }
}

#[test]
#[ignore = "takes long: the largest rows"]
fn the_largest_rows_have_their_traces() {
    let all = ["Shared Pointer", "Indexer", "Branching", "Last Zero", "Readers-Writers", "Ring"];
    let only = std::env::var("ROWS").ok();
    for which in all.into_iter().filter(|w| only.as_deref().is_none_or(|o| o == *w)) {
        for (name, model, expected) in large_rows(which) {
            let start = std::time::Instant::now();
            traces(&name, &model, expected);
            eprintln!("{name}: {expected} traces, {:.1?}", start.elapsed());
        }
    }
}

#[test]
#[ignore = "takes long: the largest rows"]
fn the_largest_extended_rings_have_their_traces() {
    // With long sections the author had no numbers for 7 and 8 either: there are 2^28 and 2^32 systems. Only short ones are run.
    for (n, expected) in [(7, 247_170), (8, 1_548_546)] {
        let seen = search(&ring(n, 2), "epor-sh", false);
        assert_eq!(
            (seen.stats.executions, seen.stats.unsatisfiable),
            (expected, (2 << n) - 2),
            "Ring Extended ({n})"
        );
    }
}

#[test]
fn source_sets_look_at_as_many_pairs_as_published() {
    let checks = |m: &Model| search(m, "source", false).stats.race_checks;
    let published = [2, 12, 47, 153, 449, 1_233, 3_233, 8_193, 20_225, 48_897, 116_225];
    assert_eq!(std::array::from_fn(|n| checks(&readers_writers(n + 2))), published);
    // For more it depends on which of several threads is taken first.
    assert_eq!([2, 3, 4, 5].map(|n| checks(&ring(n, 1))), [2, 18, 80, 275]);
    assert_eq!([2, 3, 4].map(|n| checks(&ring(n, 2))), [34, 1_029, 14_734]);
    assert_eq!(checks(&indexer(11)), 946);
}

#[test]
fn sections_ask_as_often_whether_steps_depend_as_published_for_each_size_alone() {
    // The counter of the thesis was never set back between sizes: section 3.1 has 8 for three readers and writers, appendix A has 10,
    // which is 8 and the 2 for two; and so on up to 20. These are the differences.
    let checks = |m: &Model| search(m, "epor", false).stats.dependency_checks;
    let published = [2, 8, 23, 59, 144, 342, 797, 1_829, 4_142, 9_272, 20_547];
    assert_eq!(std::array::from_fn(|n| checks(&readers_writers(n + 2))), published, "Readers-Writers");
    let published = [9, 117, 1_506, 15_102, 127_361];
    assert_eq!(std::array::from_fn(|n| checks(&ring(n + 2, 2))), published, "Ring Extended");
    // From nine threads on it depends on which of several threads is taken first.
    let published = [2, 9, 32, 96, 258, 641, 1_502];
    assert_eq!(std::array::from_fn(|n| checks(&ring(n + 2, 1))), published, "Ring");
}

/// Source sets that count what is asked without clocks.
fn pairwise() -> Plan {
    Plan { pairwise: true, ..Plan::of("source").unwrap() }
}

#[test]
fn source_sets_without_clocks_ask_as_often_whether_steps_depend_as_published_for_each_size_alone() {
    let checks = |m: &Model| search_as(m, &pairwise(), false).stats.dependency_checks;
    // Appendix A has 3, 28, 148, 607, ...; these are the differences, and section 3.1 has the 25.
    let published = [3, 25, 120, 459, 1_548, 4_814, 14_138, 39_778, 108_226, 286_594, 742_146];
    assert_eq!(std::array::from_fn(|n| checks(&readers_writers(n + 2))), published, "Readers-Writers");
    assert_eq!([2, 3, 4].map(|n| checks(&ring(n, 1))), [3, 36, 208], "Ring");
    assert_eq!([2, 3].map(|n| checks(&ring(n, 2))), [41, 2_223], "Ring Extended");
    assert_eq!(checks(&indexer(11)), 880, "Indexer");
    // Other rows depend on what the thesis leaves open:
    // - Which of the steps that were found to be after another is followed first. In Branching (2), with the race checks that are published,
    //   last in first out has 180; first in first out has 182, if steps that were found already are asked for again, as there; published
    //   are 181. In Ring Extended (4), where every order of threads has the published race checks, it is 41,248 and 44,328; published are
    //   42,213. In Shared Pointer the published numbers are no polynomial in the size, neither for SDPOR nor for EPOR (their second
    //   differences go down and up again), as those of an order by threads or by places would be: it looks like a hash table's.
    // - From Ring (5) and Branching (3) on, which thread is explored next, and which one is added to a backtrack set: so even race checks
    //   differ. Ring (5), (6) and (7) have 275, 813 and 2283. Tried for both: lowest, highest, next and last on the ring, nearest,
    //   farthest, first in, last in, with races from the front and from the back; none has all three. Random choices have 269 to 279
    //   for (5), and 798 to 860 for (6).
    for (model, races, published) in [(branching(2), 155, 181), (ring(4, 2), 14_734, 42_213)] {
        let seen = search_as(&model, &pairwise(), false).stats;
        assert_eq!(seen.race_checks, races);
        assert!(seen.dependency_checks.abs_diff(published) <= published / 30, "{}", seen.dependency_checks);
    }
}

#[test]
fn counting_pairs_changes_no_other_number() {
    for (name, model) in [("Branching", branching(4)), ("Last Zero", last_zero(5)), ("Indexer", indexer(12))]
    {
        let (plain, pairs) = (search(&model, "source", true), search_as(&model, &pairwise(), true));
        assert!(pairs.stats.dependency_checks > plain.stats.dependency_checks, "{name}");
        let without = |s: Stats| Stats { dependency_checks: 0, ..s };
        assert_eq!(without(plain.stats), without(pairs.stats), "{name}");
        assert_eq!(plain.classes, pairs.classes, "{name}");
    }
}

#[test]
fn only_source_sets_depth_first_count_pairs() {
    let refused = |plan: &str| {
        let plan = Plan { pairwise: true, ..plan.parse().unwrap() };
        plan.search(Meter::unlimited()).map(|_| ()).unwrap_err().to_string()
    };
    assert!(refused("optimal").contains("take `source`"));
    assert!(refused("source/random").contains("pair by pair"), "{}", refused("source/random"));
    assert!(refused("source@preemptions=1").contains("bound"));
}

/// The same as [`shared_pointer`] with the steps of the loop's counter, which touch nothing that is shared: it is set, counted up each
/// time, and compared once more than that. Here that is a read of a word of the thread's own.
fn shared_pointer_with_counters(n: usize) -> Model {
    let thread = |t: usize| -> models::Code {
        Box::new(move |got| match got.len().checked_sub(1) {
            Some(k) if k < 3 * n => Some(match k % 3 {
                0 => address(t),
                1 => count(got[k] as usize),
                _ => look(4 + t),
            }),
            Some(k) if k == 3 * n + 1 => Some(store(1 - t, 2 + t as u64)),
            Some(k) if k > 3 * n + 1 => None,
            _ => Some(look(4 + t)),
        })
    };
    Model { memory: vec![2, 3, 0, 0, 0, 0], threads: (0..2).map(thread).collect() }
}

#[test]
fn source_sets_look_at_as_many_pairs_as_published_where_counters_are_steps_too() {
    // Statements on locals are events in the thesis; in automata of C text they are joined to the step before. That is why its numbers are
    // higher for programs with loops. For two threads nothing else is left open, so they can be compared.
    let published = [(10, 32_777), (20, 225_737), (30, 722_897), (40, 1_668_257), (50, 3_205_817)];
    for (n, checks) in published {
        let seen = search(&shared_pointer_with_counters(n), "source", false).stats;
        assert_eq!((seen.executions, seen.race_checks), (2 * n as u64 + 1, checks), "Shared Pointer ({n})");
    }
    // A writer, and a reader that comes down from the last word and counts.
    let last_zero = Model {
        memory: vec![0; 3],
        threads: vec![
            Box::new(|got| match got.len() {
                0 => Some(look(0)),
                1 => Some(store(1, got[0] + 1)),
                _ => None,
            }),
            Box::new(|got| match got {
                [] => Some(test(1)),
                [0] => None,
                [_] => Some(look(2)),
                [_, _] => Some(test(0)),
                _ => None,
            }),
        ],
    };
    let seen = search(&last_zero, "source", false).stats;
    assert_eq!((seen.executions, seen.race_checks, seen.dependency_checks), (2, 13, 9), "Last Zero (2)");
    let pairs = search_as(&last_zero, &pairwise(), false).stats;
    assert_eq!(pairs, seen, "Last Zero (2): no race has a step between");
    let seen = search(&last_zero, "epor", false).stats;
    assert_eq!((seen.executions, seen.race_checks), (2, 10), "Last Zero (2)");
}

/// Figure 3.2, with the address read in a step of its own, and with what `y` is at first.
fn figure_3_2(first: u64) -> Model {
    let (x, y, z) = (0, 2, 3);
    Model {
        memory: vec![0, 0, first, 0],
        threads: vec![
            Box::new(move |got| match got.len() {
                0 => Some(store(y, 0)),
                1 => Some(address(y)),
                2 => Some(store(x + got[1] as usize, 1)),
                _ => None,
            }),
            Box::new(move |got| match got {
                [] => Some(test(x)),
                [0] => Some(store(z, 1)),
                _ => None,
            }),
            straight(vec![store(y, 1)]),
        ],
    }
}

#[test]
fn the_program_of_figure_3_2_has_five_traces() {
    for y in [0, 1] {
        traces("figure 3.2", &figure_3_2(y), 5);
    }
}

#[test]
fn an_address_that_is_read_in_a_step_of_its_own_loses_no_state() {
    // x[m3 % 2] := 2 || m3 := m1 || m1 := 1; m0 := 1
    let model = Model {
        memory: vec![0; 4],
        threads: vec![
            Box::new(|got| match got.len() {
                0 => Some(address(3)),
                1 => Some(store(got[0] as usize % 2, 2)),
                _ => None,
            }),
            straight(vec![assign_address(3, 1)]),
            straight(vec![store(1, 1), store(0, 1)]),
        ],
    };
    traces("indexed write", &model, 7);
    let states = |seen: Seen| -> std::collections::BTreeSet<String> {
        seen.states.iter().map(|s| s.split(']').next().unwrap_or_default().to_string()).collect()
    };
    let all = states(search(&model, "none", true));
    assert_eq!(all.len(), 5);
    EAGER.iter().for_each(|a| assert_eq!(states(search(&model, a, true)), all));
}
