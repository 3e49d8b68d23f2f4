//! Programs whose numbers of executions are known from elsewhere, as C text.

mod support;

use support::{executions, read, search};

fn program(name: &str, n: u32) -> String {
    match name {
        "ainc" => format!(
            "atomic_int x; void *f(void *a) {{ atomic_fetch_add(&x, 1); return 0; }}
             int main(void) {{ pthread_t t[{n}]; for (int i = 0; i < {n}; i++) pthread_create(&t[i], 0, f, 0);
             for (int i = 0; i < {n}; i++) pthread_join(t[i], 0); return 0; }}"
        ),
        "binc" => format!(
            "atomic_int x, y; void *f(void *a) {{ atomic_fetch_add(&x, 1); y++; return 0; }}
             int main(void) {{ pthread_t t[{n}]; for (int i = 0; i < {n}; i++) pthread_create(&t[i], 0, f, 0);
             for (int i = 0; i < {n}; i++) pthread_join(t[i], 0); return 0; }}"
        ),
        "readers" => format!(
            "atomic_int x; void *w(void *a) {{ x = 42; return 0; }} void *r(void *a) {{ int t = x; return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, w, 0);
             for (int i = 0; i < {n}; i++) pthread_create(&t, 0, r, 0); return 0; }}"
        ),
        "lastzero" => format!(
            "atomic_int a[{m}];
             void *reader(void *p) {{ int i = {n}; while (atomic_load(&a[i]) != 0) i--; return 0; }}
             void *writer(void *p) {{ int j = (int)(long)p; atomic_store(&a[j], atomic_load(&a[j - 1]) + 1); return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, reader, 0);
             for (long i = 1; i <= {n}; i++) pthread_create(&t, 0, writer, (void *)i); return 0; }}",
            m = n + 1
        ),
        "indexer" => format!(
            "atomic_int table[128];
             void *f(void *p) {{ int tid = (int)(long)p; int m = 0, w, h;
               while (m < 4) {{ w = (++m) * 11 + tid; h = (w * 7) % 128;
                 while (!__sync_bool_compare_and_swap(&table[h], 0, w)) h = (h + 1) % 128; }} return 0; }}
             int main(void) {{ pthread_t t; for (long i = 0; i < {n}; i++) pthread_create(&t, 0, f, (void *)i); return 0; }}"
        ),
        "filesystem" => format!(
            "pthread_mutex_t locki[32], lockb[26]; int inode[32]; bool busy[26];
             void *f(void *p) {{ int tid = (int)(long)p; int i = tid % 32, b;
               pthread_mutex_lock(&locki[i]);
               if (inode[i] == 0) {{ b = (i * 2) % 26;
                 while (1) {{ pthread_mutex_lock(&lockb[b]);
                   if (!busy[b]) {{ busy[b] = 1; inode[i] = b + 1; pthread_mutex_unlock(&lockb[b]); break; }}
                   pthread_mutex_unlock(&lockb[b]); b = (b + 1) % 26; }} }}
               pthread_mutex_unlock(&locki[i]); return 0; }}
             int main(void) {{ pthread_t t; for (long i = 0; i < {n}; i++) pthread_create(&t, 0, f, (void *)i); return 0; }}"
        ),
        "fib_bench" => format!(
            "atomic_int i = 1, j = 1;
             void *t1(void *p) {{ for (int k = 0; k < {n}; k++) i = i + j; return 0; }}
             void *t2(void *p) {{ for (int k = 0; k < {n}; k++) j = j + i; return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, t1, 0); pthread_create(&t, 0, t2, 0);
                              int a = i; int b = j; return 0; }}"
        ),
        "sigma" => format!(
            "atomic_int a[{n} + 1], index;
             void *f(void *p) {{ a[index] = 1; return 0; }}
             int main(void) {{ pthread_t t;
             for (int i = 0; i < {n}; i++) {{ index = index + 1; pthread_create(&t, 0, f, 0); }} return 0; }}"
        ),
        "casrot" => format!(
            "atomic_int x;
             void *f(void *p) {{ int i = (int)(long)p, e = i - 1; atomic_compare_exchange_strong(&x, &e, i); return 0; }}
             int main(void) {{ pthread_t t; for (long i = 1; i <= {n}; i++) pthread_create(&t, 0, f, (void *)i); return 0; }}"
        ),
        "writers" => format!(
            "atomic_int x; void *w(void *p) {{ x = (int)(long)p; return 0; }} void *r(void *p) {{ int t = x; return 0; }}
             int main(void) {{ pthread_t t; for (long i = 1; i <= {n}; i++) pthread_create(&t, 0, w, (void *)i);
             pthread_create(&t, 0, r, 0); return 0; }}"
        ),
        other => panic!("there is no `{other}`"),
    }
}

/// Program, size, complete executions under sequential consistency.
const CLASSES: &[(&str, u32, u64)] = &[
    ("ainc", 3, 6),
    ("ainc", 4, 24),
    ("binc", 3, 36),
    ("binc", 4, 576),
    ("readers", 2, 4),
    ("readers", 4, 16),
    ("readers", 8, 256),
    ("lastzero", 1, 2),
    ("lastzero", 2, 5),
    ("lastzero", 3, 12),
    ("lastzero", 4, 28),
    ("lastzero", 5, 64),
    ("indexer", 11, 1),
    ("indexer", 12, 8),
    ("indexer", 13, 64),
    ("indexer", 14, 512),
    ("indexer", 15, 4096),
    ("filesystem", 13, 1),
    ("filesystem", 14, 2),
    ("filesystem", 16, 8),
    ("fib_bench", 2, 140),
    ("fib_bench", 3, 1698),
    ("sigma", 2, 3),
    ("sigma", 3, 15),
    ("sigma", 4, 105),
    ("casrot", 2, 2),
    ("casrot", 3, 5),
    ("casrot", 5, 43),
    ("writers", 3, 24),
    ("writers", 5, 720),
];

#[test]
fn optimal_takes_one_execution_for_each_class_of_the_golden_programs() {
    for (name, n, classes) in CLASSES {
        let p = read(&program(name, *n));
        let seen = search(&p, "optimal", &[]);
        assert_eq!((seen.stats.executions, seen.stats.blocked), (*classes, 0), "{name}({n})\n{p}");
        assert!(seen.finished);
    }
}

#[test]
fn every_complete_algorithm_sees_the_same_final_states() {
    // The many threads of these are too much for searches that complete a class more than once.
    let wide = |name: &str| matches!(name, "indexer" | "filesystem");
    for (name, n, classes) in CLASSES.iter().filter(|c| c.2 <= 43 && !wide(c.0)) {
        let p = read(&program(name, *n));
        let all = search(&p, "optimal", &[]).finals;
        for algorithm in
            ["source", "dpor", "dpor-no-sleep", "dpor-per-thread", "epor", "epor-sh", "nidhugg-dpor", "bpor"]
        {
            let seen = search(&p, algorithm, &[]);
            assert!(seen.finished, "{name}({n}) {algorithm}");
            assert_eq!(seen.finals, all, "{name}({n}) {algorithm}");
            if !matches!(algorithm, "dpor-no-sleep" | "dpor-per-thread" | "bpor") {
                assert_eq!(seen.stats.executions, *classes, "{name}({n}) {algorithm}");
            }
        }
    }
}

#[test]
fn executions_within_preemptions_are_counted_as_elsewhere() {
    let rows: &[(&str, u32, &[u64])] = &[
        ("readers", 4, &[16, 16]),
        ("lastzero", 3, &[12, 12]),
        ("binc", 3, &[6, 24, 36]),
        ("sigma", 2, &[2, 3]),
        ("sigma", 3, &[6, 14, 15]),
        ("sigma", 4, &[24, 82, 104, 105]),
        ("fib_bench", 2, &[2, 13, 49, 114, 139, 140]),
        ("casrot", 5, &[43, 43]),
    ];
    for (name, n, counts) in rows {
        let p = read(&program(name, *n));
        for (k, count) in counts.iter().enumerate() {
            let seen = search(&p, "lazy-bpor", &[&format!("preemptions={k}")]);
            assert_eq!(seen.stats.executions, *count, "{name}({n}) within {k}");
        }
    }
}

#[test]
fn source_sets_may_block_where_optimal_does_not() {
    // The plain cycle of three threads: each reads one variable and writes the next.
    let p = read(
        "atomic_int x, y, z;
         void *a(void *p) { int t = x; y = 1; return 0; }
         void *b(void *p) { int t = y; z = 1; return 0; }
         void *c(void *p) { int t = z; x = 1; return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, a, 0); pthread_create(&t, 0, b, 0);
                          pthread_create(&t, 0, c, 0); return 0; }",
    );
    assert_eq!(executions(&p, "optimal"), executions(&p, "source"));
}

#[test]
fn the_ten_configurations_of_the_first_paper_order_as_it_says() {
    use model::{Interpreter, Reach, Reduction};
    for (name, n) in [("indexer", 1), ("filesystem", 2)] {
        let p = read(&program(name, n));
        let run = Interpreter::new(&p);
        let mut steps = std::collections::BTreeMap::new();
        for reduction in [Reduction::None, Reduction::Static] {
            for sleep in [false, true] {
                for stateful in [false, true] {
                    let how = Reach { reduction, sleep, stateful, ..Reach::default() };
                    let found = how.search(&run).unwrap();
                    assert!(found.finished && found.errors == 0 && found.deadlocks == 0, "{name} {how:?}");
                    steps.insert((reduction == Reduction::Static, sleep, stateful), found.transitions);
                }
            }
        }
        for (way, count) in &steps {
            let (fixed, sleep, stateful) = *way;
            // Whatever a search does more, it takes no more steps for it.
            assert!(
                !fixed || *count <= steps[&(false, sleep, stateful)],
                "{name}: persistent sets, {steps:?}"
            );
            assert!(!sleep || *count <= steps[&(fixed, false, stateful)], "{name}: sleep sets, {steps:?}");
            assert!(
                !stateful || *count <= steps[&(fixed, sleep, false)],
                "{name}: memory of states, {steps:?}"
            );
        }
        let dynamic = search(&p, "dpor", &[]).stats;
        assert_eq!(dynamic.executions, 1, "{name}: one path");
        assert!(dynamic.steps <= steps[&(true, true, true)], "{name}: {} of {steps:?}", dynamic.steps);
    }
}
