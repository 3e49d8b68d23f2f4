//! Orders other than depth-first: best-first sees what every interleaving shows, whatever it prefers; samples are what
//! they say.

mod support;

use explore::{
    BestFirst, Budget, Decision, Delta, End, Executed, Explorer, MemorySpill, Meter, Names, ObjectId,
    Options, Plan, Progress, Promise, Replay, Schedule, Site, Spent, ThreadId, View,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use support::{Program, Shown, Stmt::*, execute, random_program};

/// Names as the programs of this file have them: a place by thread and statement, an object by its number.
#[derive(Debug)]
struct Known;

impl Names for Known {
    fn site(&self, site: Site) -> Option<String> {
        Some(format!("thread{}:{}", site.0 >> 16, site.0 >> 4 & 0xfff))
    }

    fn object(&self, object: ObjectId) -> Option<String> {
        Some(format!("var{}", object.0))
    }
}

fn plan(order: &str) -> Plan {
    Plan { order: order.parse().unwrap(), names: Some(Arc::new(Known)), ..Plan::default() }
}

fn everything(order: &str) -> Plan {
    Plan { algorithm: Some(explore::algorithm("none").unwrap()), ..plan(order) }
}

fn bounded(order: &str, preemptions: u32) -> Plan {
    Plan { bounds: vec![format!("preemptions={preemptions}").parse().unwrap()], ..plan(order) }
}

/// Counts the preemptions of the execution that a search runs.
struct Counting<'a> {
    search: &'a mut dyn Progress,
    preemptions: u32,
    /// Those right after a yield.
    polite: u32,
}

impl Explorer for Counting<'_> {
    fn begin(&mut self) {
        (self.preemptions, self.polite) = (0, 0);
        self.search.begin();
    }
    fn next_thread(&mut self, view: &View<'_>) -> Decision {
        let d = self.search.next_thread(view);
        if let (Decision::Run(t), Some(c)) = (d, view.current) {
            let preempts = t != c && view.enabled.contains(c);
            self.preemptions += (preempts && !view.yielded.contains(c)) as u32;
            self.polite += (preempts && view.yielded.contains(c)) as u32;
        }
        d
    }
    fn ordered(&mut self, before: ThreadId, after: ThreadId) {
        self.search.ordered(before, after);
    }
    fn next_option(&mut self, options: Options<'_>) -> u32 {
        self.search.next_option(options)
    }
    fn executed(&mut self, event: Executed<'_>) {
        self.search.executed(event);
    }
    fn end(&mut self, end: End, view: &View<'_>) -> bool {
        self.search.end(end, view)
    }
    fn divergence(&self) -> Option<&explore::Divergence> {
        self.search.divergence()
    }
}

/// One execution of a search.
#[derive(Clone, Debug, PartialEq)]
struct Ran {
    shown: Shown,
    preemptions: u32,
    polite: u32,
}

/// Runs a search to its end, or for at most `most` executions.
fn run(p: &Program, search: &mut dyn Progress, most: usize) -> Vec<Ran> {
    let mut all = Vec::new();
    loop {
        let mut counting = Counting { search, preemptions: 0, polite: 0 };
        let (shown, again) = execute(p, &mut counting);
        let (preemptions, polite) = (counting.preemptions, counting.polite);
        all.push(Ran { shown: shown.expect("no execution is cut"), preemptions, polite });
        if !again || all.len() >= most {
            return all;
        }
    }
}

fn sample(p: &Program, plan: &Plan, most: usize) -> Vec<Ran> {
    run(p, &mut *plan.search(Meter::unlimited()).unwrap(), most)
}

/// What was run, in no order: threads, and the class, which tells outcomes apart.
fn schedules(ran: &[Ran]) -> Vec<(Vec<u16>, u64)> {
    let mut all: Vec<_> = ran.iter().map(|r| (r.shown.order.clone(), r.shown.class)).collect();
    all.sort();
    all
}

fn classes(ran: &[Ran]) -> BTreeSet<u64> {
    ran.iter().map(|r| r.shown.class).collect()
}

fn states(ran: &[Ran]) -> BTreeSet<&str> {
    ran.iter().map(|r| r.shown.state.as_str()).collect()
}

const PRIORITIES: [&str; 9] = [
    "best-first",
    "best-first=random",
    "best-first=random,preemptions",
    "best-first=sleep",
    "best-first=sleep,random",
    "best-first=variable=var1,random",
    "best-first=method=thread1",
    "best-first=preemptions,random",
    "random-coverage",
];

/// Interleavings of a program, if there are not too many.
fn oracle(p: &Program, most: usize) -> Option<Vec<Ran>> {
    let mut search = Plan::of("none").unwrap().search(Meter::unlimited()).unwrap();
    let all = run(p, &mut *search, most);
    search.finished().then_some(all)
}

/// Runs a best-first search to its end.
fn to_the_end(p: &Program, plan: &Plan, seed: u64) -> (Vec<Ran>, BestFirst) {
    let mut search = BestFirst::new(plan, Meter::unlimited()).unwrap();
    let ran = run(p, &mut search, 60_000);
    assert!(search.finished(), "{} on seed {seed} does not end: {p:#?}", plan.order);
    assert_eq!(search.nodes(), 1, "{} on seed {seed}: only the root is left", plan.order);
    (ran, search)
}

/// Compares the reduced search with every interleaving on programs from these seeds; gives how many were compared.
fn compare_reduced(seeds: std::ops::Range<u64>) -> u64 {
    let mut compared = 0;
    for seed in seeds {
        let p = Program { numbered: seed % 3 == 0, ..random_program(seed) };
        let Some(all) = oracle(&p, 2_000) else { continue };
        compared += 1;
        let algorithm = if seed % 2 == 0 { "dpor-no-sleep" } else { "dpor-per-thread" };
        for order in PRIORITIES {
            let plan = Plan { algorithm: Some(explore::algorithm(algorithm).unwrap()), seed, ..plan(order) };
            let (ran, search) = to_the_end(&p, &plan, seed);
            assert_eq!(classes(&ran), classes(&all), "{order}, {algorithm}, seed {seed}: {p:#?}");
            assert_eq!(states(&ran), states(&all), "{order}, {algorithm}, seed {seed}: {p:#?}");
            assert!(ran.len() <= all.len(), "{order}, {algorithm}, seed {seed}");
            let different: BTreeSet<_> = schedules(&ran).into_iter().collect();
            assert_eq!(different.len(), ran.len(), "{order}, {algorithm}, seed {seed}: nothing is run twice");
            assert_eq!(search.promise(), Promise::Everything);
        }
    }
    compared
}

#[test]
fn with_any_priority_the_reduced_search_sees_what_every_interleaving_shows() {
    let compared = compare_reduced(0..1_500);
    assert!(compared > 700, "only {compared} programs were small enough to compare");
}

#[test]
#[ignore = "takes minutes: 20,000 programs on demand"]
fn with_any_priority_the_reduced_search_sees_what_every_interleaving_shows_on_20_000_programs() {
    let mut seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(2_000_000u64);
    let mut compared = 0;
    while compared < 20_000 {
        compared += compare_reduced(seed..seed + 1_000);
        seed += 1_000;
        eprintln!("{compared} programs compared, up to seed {seed}");
    }
}

#[test]
fn with_any_priority_the_unreduced_search_runs_exactly_what_depth_first_runs() {
    let mut compared = 0;
    for seed in 10_000..10_500 {
        let p = random_program(seed);
        let Some(all) = oracle(&p, 800) else { continue };
        compared += 1;
        let expected = schedules(&all);
        for order in PRIORITIES.into_iter().chain(["best-first=dpor", "best-first=dpor,sleep,random"]) {
            let (ran, _) = to_the_end(&p, &Plan { seed, ..everything(order) }, seed);
            assert_eq!(schedules(&ran), expected, "{order}, seed {seed}: {p:#?}");
        }
    }
    assert!(compared > 200, "only {compared} programs were small enough to compare");
}

#[test]
fn within_a_bound_exactly_the_interleavings_with_so_few_preemptions_are_run() {
    let mut compared = 0;
    for seed in 20_000..20_600 {
        let mut p = random_program(seed);
        if seed % 4 == 0 {
            p.threads[1].insert(1, Yield);
        }
        let Some(all) = oracle(&p, 800) else { continue };
        compared += 1;
        for preemptions in 0..3 {
            let within: Vec<_> =
                all.iter().filter(|r| r.preemptions + r.polite <= preemptions).cloned().collect();
            for order in ["best-first=dpor,random", "best-first=sleep", "best-first", "random-coverage"] {
                let (ran, search) = to_the_end(&p, &Plan { seed, ..bounded(order, preemptions) }, seed);
                assert_eq!(
                    schedules(&ran),
                    schedules(&within),
                    "{order}, {preemptions}, seed {seed}: {p:#?}"
                );
                let nothing_cut = within.len() == all.len();
                match search.promise() {
                    Promise::Everything => assert!(nothing_cut),
                    Promise::Within(what) => {
                        assert!(!nothing_cut);
                        assert!(what.starts_with(&format!("{preemptions} preemption")), "{what}");
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }
    assert!(compared > 250, "only {compared} programs were small enough to compare");
}

/// Two threads of two writes to different places each (Coons 2013, figure 3.3).
fn figure_3_3() -> Program {
    Program::of(vec![vec![Write(2, 1), Write(3, 1)], vec![Write(4, 1), Write(5, 1)]])
}

#[test]
fn the_execution_tree_of_figure_3_3_has_six_nodes() {
    let delta = |step, thread| Delta { step, thread: ThreadId(thread), outcome: None };
    let expected: BTreeMap<Vec<u16>, Vec<Delta>> = [
        (vec![0, 0, 1, 1], vec![]),
        (vec![1, 1, 0, 0], vec![delta(0, 1)]),
        (vec![1, 0, 0, 1], vec![delta(0, 1), delta(1, 0)]),
        (vec![1, 0, 1, 0], vec![delta(0, 1), delta(1, 0), delta(2, 1)]),
        (vec![0, 1, 1, 0], vec![delta(1, 1)]),
        (vec![0, 1, 0, 1], vec![delta(1, 1), delta(2, 0)]),
    ]
    .into();
    for order in PRIORITIES {
        let mut search = BestFirst::new(&everything(order), Meter::unlimited()).unwrap();
        let mut tree = BTreeMap::new();
        loop {
            let deltas = search.deltas().to_vec();
            let (shown, again) = execute(&figure_3_3(), &mut search);
            tree.insert(shown.unwrap().order, deltas);
            if !again {
                break;
            }
        }
        assert_eq!(tree, expected, "{order}");
        assert_eq!((search.stats().executions, search.nodes()), (6, 1), "{order}");
    }
    // With a reduction there is one class, and the root alone.
    assert_eq!(sample(&figure_3_3(), &plan("best-first"), 10).len(), 1);
}

#[test]
fn coons_programs_take_as_many_executions_as_depth_first() {
    // Lost update with a main thread that forks and joins: 251 interleavings, 220 with the last dependent event of each
    // thread.
    let child = || vec![Read(0, 0), WriteReg(0, 0, 1)];
    let p = Program {
        threads: vec![vec![Spawn(1), Spawn(2), Join(1), Join(2), Read(0, 0)], child(), child()],
        spawned: vec![1, 2],
        count: 2,
        ..Program::default()
    };
    let count = |algorithm: &str, order: &str| {
        let plan = Plan { algorithm: Some(explore::algorithm(algorithm).unwrap()), ..plan(order) };
        to_the_end(&p, &plan, 0).0.len()
    };
    for order in ["best-first", "random-coverage", "best-first=sleep"] {
        assert_eq!(count("none", order), 251);
        assert_eq!(count("dpor-per-thread", order), 220);
        let depth_first = support::search(&p, "dpor-no-sleep", u64::MAX).executions as usize;
        assert_eq!(count("dpor-no-sleep", order), depth_first, "{order}");
    }
}

#[test]
fn executions_come_in_the_order_of_their_preemptions() {
    let p = Program::of(vec![vec![Add(0); 3], vec![Add(0); 3], vec![Add(0), Add(1)]]);
    let counts = |order: &str| -> Vec<u32> {
        sample(&p, &everything(order), usize::MAX).iter().map(|r| r.preemptions).collect()
    };
    assert!(counts("best-first").is_sorted());
    assert!(counts("best-first=preemptions,random").is_sorted());
    assert!(!counts("best-first=random").is_sorted());
    // To let another thread go on after a yield is no preemption, and the default does.
    let p = Program::of(vec![vec![Add(0), Yield, Add(0)], vec![Add(0), Yield, Add(0)]]);
    let ran = sample(&p, &everything("best-first"), usize::MAX);
    assert!(ran.iter().map(|r| r.preemptions).is_sorted());
    assert_eq!((ran[0].shown.order.as_slice(), ran[0].preemptions), (&[0, 0, 1, 1, 1, 0][..], 0));
}

/// How many executions are run until so many classes have been seen, on the mean of some seeds.
fn until_seen(p: &Program, order: &str, all: usize) -> usize {
    let mut total = 0;
    for seed in 0..20 {
        let mut search = Plan { seed, ..everything(order) }.search(Meter::unlimited()).unwrap();
        let mut seen = BTreeSet::new();
        while seen.len() < all {
            seen.insert(execute(p, &mut *search).0.unwrap().class);
            total += 1;
        }
    }
    total / 20
}

#[test]
fn backtrack_sets_and_sleep_sets_lead_to_new_classes_first() {
    let private = |x: u8, race| vec![Add(x), Add(x), Add(x), race];
    let p = Program::of(vec![private(4, Add(0)), private(5, Add(0)), private(6, Add(0))]);
    let all = sample(&p, &plan("best-first"), usize::MAX);
    assert_eq!(classes(&all).len(), 6);
    let count = |order| until_seen(&p, order, 6);
    let (dpor, sleep, plain) =
        (count("best-first=dpor"), count("best-first=sleep"), count("best-first=variable=none"));
    let chance = count("best-first=random");
    assert!(dpor <= all.len() && dpor < chance, "dpor {dpor}, chance {chance}");
    assert!(4 * dpor < plain, "dpor {dpor}, neither {plain}");
    assert!(4 * sleep < plain, "sleep {sleep}, neither {plain}");
}

#[test]
fn what_is_in_backtrack_sets_is_run_before_anything_else() {
    // So the beginning of the unreduced search is a reduced search, also where a later execution asks for an
    // alternative that was made earlier.
    let (mut compared, mut late) = (0, 0);
    for seed in 40_000..40_400 {
        let p = random_program(seed);
        let Some(all) = oracle(&p, 800) else { continue };
        let reduced = sample(&p, &plan("best-first=variable=none"), usize::MAX).len();
        if reduced == all.len() {
            continue;
        }
        compared += 1;
        let first = sample(&p, &everything("best-first=dpor"), reduced);
        late += (classes(&first) != classes(&all)) as u32;
    }
    assert!(compared > 100, "{compared}");
    assert_eq!(late, 0, "of {compared}");
}

#[test]
fn steps_on_a_named_variable_or_at_a_named_place_come_first() {
    let p = Program::of(vec![vec![Add(0), Add(1)], vec![Add(0)], vec![Add(1)]]);
    // From each state of the first execution, the thread whose step bears the name is tried before the other one.
    let first = |order: &str| {
        let mut search = BestFirst::new(&everything(order), Meter::unlimited()).unwrap();
        run(&p, &mut search, 1);
        search.deltas()[0].thread.0
    };
    assert_eq!(first("best-first=variable=var1"), 2);
    assert_eq!(first("best-first=method=thread1:0"), 1);
    assert_eq!(first("best-first=method=thread2:0"), 2);
    let seen =
        |order: &str| sample(&p, &everything(order), 4).iter().map(|r| r.shown.order[0]).collect::<Vec<_>>();
    assert_ne!(seen("best-first=method=thread2:0"), seen("best-first=method=thread1:0"));
}

#[test]
fn memory_goes_with_open_executions_and_not_with_those_that_were_run() {
    let p = Program::of(vec![vec![Add(0); 5], vec![Add(1); 5], vec![Add(0)]]);
    let mut search = BestFirst::new(&everything("best-first=sleep"), Meter::unlimited()).unwrap();
    let ran = run(&p, &mut search, usize::MAX).len();
    assert_eq!(ran, 2_772);
    // A step has at most two alternatives, and at a time one branch of eleven steps is open: a few dozen nodes.
    let mut depth_first_like =
        BestFirst::new(&everything("best-first=variable=nothing"), Meter::unlimited()).unwrap();
    run(&p, &mut depth_first_like, usize::MAX);
    let most = depth_first_like.most_nodes();
    assert!(most <= 3 * 11, "{most} nodes for {ran} executions");
    assert_eq!((depth_first_like.nodes(), search.nodes()), (1, 1));
    assert!(search.most_nodes() < ran);
}

#[test]
fn a_small_fringe_spills_and_runs_the_same_executions_in_the_same_order() {
    let p = Program::of(vec![vec![Add(0), Choose(2, 0), Add(1)], vec![Add(0), Add(1)], vec![Add(0), Add(1)]]);
    for (order, all) in [
        ("best-first", true),
        ("best-first=random", true),
        ("best-first=sleep,random", true),
        ("best-first", false),
        ("best-first=preemptions,random", false),
    ] {
        let spill = Arc::new(MemorySpill::default());
        let big = if all { everything(order) } else { plan(order) };
        let small = Plan { fringe_limit: 6, spill: Some(spill.clone()), ..big.clone() };
        let (expected, _) = to_the_end(&p, &big, 0);
        let (ran, _) = to_the_end(&p, &small, 0);
        assert!(expected.len() > 20 && spill.written() > 4, "{order}: {} batches", spill.written());
        assert_eq!(spill.kept(), 0);
        assert_eq!(ran, expected, "{order}");
    }
}

#[test]
fn a_program_that_does_something_else_when_its_prefix_is_run_again_is_refused() {
    let before = Program::of(vec![vec![Add(0), Add(1), Add(0)], vec![Add(0), Add(1)]]);
    let mut refused = 0;
    for (k, after) in [
        Program::of(vec![vec![Add(2), Add(1), Add(0)], vec![Add(0), Add(1)]]),
        Program::of(vec![vec![Add(0), Add(1), Add(0)], vec![Read(0, 0), Add(1)]]),
        Program::of(vec![vec![Add(0), Cas(1, 3, 4, 0), Add(0)], vec![Add(0), Add(1)]]),
        Program::of(vec![vec![Add(0)], vec![]]),
    ]
    .into_iter()
    .enumerate()
    {
        for order in ["best-first", "best-first=random", "best-first=sleep"] {
            for runs in [1, 3] {
                let mut search = BestFirst::new(&plan(order), Meter::unlimited()).unwrap();
                run(&before, &mut search, runs);
                let mut counting = Changed { search: &mut search, diverged: false };
                while !counting.diverged && execute(&after, &mut counting).1 {}
                assert!(search.divergence().is_some() != search.finished(), "{order}, program {k}");
                refused += search.divergence().is_some() as u32;
            }
        }
    }
    assert!(refused >= 20, "{refused} of 24 were noticed");
}

/// Notices that a search has stopped because of a divergence, of which the interpreter knows nothing.
struct Changed<'a> {
    search: &'a mut BestFirst,
    diverged: bool,
}

impl Explorer for Changed<'_> {
    fn begin(&mut self) {
        self.search.begin();
    }
    fn next_thread(&mut self, view: &View<'_>) -> Decision {
        let d = self.search.next_thread(view);
        self.diverged |= self.search.divergence().is_some();
        d
    }
    fn ordered(&mut self, before: ThreadId, after: ThreadId) {
        self.search.ordered(before, after);
    }
    fn next_option(&mut self, options: Options<'_>) -> u32 {
        self.search.next_option(options)
    }
    fn executed(&mut self, event: Executed<'_>) {
        self.search.executed(event);
    }
    fn end(&mut self, end: End, view: &View<'_>) -> bool {
        self.search.end(end, view) && !self.diverged
    }
}

const SAMPLES: [&str; 6] = ["random", "urw", "pct", "pct=2", "pos", "portfolio"];

#[test]
fn the_same_seed_draws_the_same_executions() {
    let p = Program::of(vec![
        vec![Add(0), Choose(3, 0), Add(1)],
        vec![Add(0), Add(1)],
        vec![Add(1), CasWeak(0, 1, 2, 0)],
    ]);
    for order in SAMPLES.into_iter().chain(["random-coverage", "best-first=random"]) {
        let draw = |seed| sample(&p, &Plan { seed, ..plan(order) }, 60);
        assert_eq!(draw(7), draw(7), "{order}");
        assert_ne!(draw(7), draw(8), "{order}");
    }
}

#[test]
fn a_schedule_of_any_order_runs_again() {
    let p = Program::of(vec![
        vec![Add(0), Choose(3, 0), Wait(0, 0)],
        vec![Critical(0, vec![Add(1)]), NotifyOne(0), CasWeak(0, 1, 2, 0)],
        vec![Add(0), Wait(0, 0), Add(1)],
    ]);
    for order in SAMPLES.into_iter().chain(PRIORITIES) {
        let mut search = plan(order).search(Meter::unlimited()).unwrap();
        for n in 0..40 {
            let (shown, again) = execute(&p, &mut *search);
            let token = search.schedule().to_string();
            let mut replay = Replay::strict(token.parse::<Schedule>().unwrap());
            let (replayed, _) = execute(&p, &mut replay);
            assert_eq!(replayed, shown, "{order}, execution {n}");
            if !again {
                break;
            }
        }
    }
}

#[test]
fn samples_say_what_they_are_and_stop() {
    let p = Program::of(vec![vec![Add(0)], vec![Add(0)]]);
    for order in ["random", "urw", "pct", "pos"] {
        let mut search = Plan { seed: 42, ..plan(order) }.search(Meter::unlimited()).unwrap();
        assert_eq!(run(&p, &mut *search, usize::MAX).len(), 10_000, "{order}");
        let Promise::Nothing(says) = search.promise() else { panic!("{order} promises too much") };
        assert!(says.contains("seed 42") && says.contains("2 happens-before classes seen"), "{says}");
        assert!(says.contains("without a budget"), "{says}");
        assert_eq!(search.spent(), Some(Spent::Executions(10_000)));
        assert!(!search.finished());

        let budget = Meter::new(Budget { executions: Some(20), seconds: None }, Box::new(|| 0.0));
        let mut search = plan(order).search(budget).unwrap();
        assert_eq!(run(&p, &mut *search, usize::MAX).len(), 20, "{order}");
        let Promise::Nothing(says) = search.promise() else { panic!("{order} promises too much") };
        assert!(!says.contains("without a budget"), "{says}");
    }
}

#[test]
fn a_portfolio_whose_systematic_part_ends_has_seen_everything() {
    let p = Program::of(vec![vec![Add(0); 3], vec![Add(0); 3]]);
    let mut search = plan("portfolio").search(Meter::unlimited()).unwrap();
    let ran = run(&p, &mut *search, usize::MAX);
    assert!(search.finished());
    assert_eq!(search.promise(), Promise::Everything);
    assert_eq!((classes(&ran).len(), search.stats().executions), (20, ran.len() as u64));

    // A larger one does not end within its budget, and says who found what.
    let p = Program::of(vec![vec![Add(0); 4]; 4]);
    let budget = Meter::new(Budget { executions: Some(1_000), seconds: None }, Box::new(|| 0.0));
    let mut search = Plan { seed: 5, ..plan("portfolio") }.search(budget).unwrap();
    let ran = run(&p, &mut *search, usize::MAX);
    assert_eq!(ran.len(), 1_000);
    let Promise::Nothing(says) = search.promise() else { panic!("it promises too much") };
    let of = |name: &str| -> u64 {
        let rest = says.split(&format!("{name} found ")).nth(1).unwrap();
        rest.split(" in ")
            .nth(1)
            .unwrap()
            .chars()
            .take_while(char::is_ascii_digit)
            .collect::<String>()
            .parse()
            .unwrap()
    };
    let runs = ["random", "urw", "pct=3", "pos", "random-coverage"].map(of);
    assert_eq!(runs.iter().sum::<u64>(), 1_000, "{says}");
    assert!(runs.iter().all(|n| *n >= 60), "everybody has a share: {says}");
    // Here every interleaving is a class: what prefers many changes of threads finds more than few priorities do.
    assert!(runs[2] < runs[1], "{says}");
    assert!(says.contains("seed 5"), "{says}");
}

/// How far a distribution over so many outcomes is from the uniform one: half the sum of differences.
fn distance_from_uniform(counts: &BTreeMap<Vec<u16>, u64>, outcomes: u64) -> f64 {
    let total: u64 = counts.values().sum();
    let seen: f64 = counts.values().map(|n| (*n as f64 / total as f64 - 1.0 / outcomes as f64).abs()).sum();
    (seen + (outcomes - counts.len() as u64) as f64 / outcomes as f64) / 2.0
}

fn by_order(ran: &[Ran]) -> BTreeMap<Vec<u16>, u64> {
    ran.iter().fold(BTreeMap::new(), |mut all, r| {
        *all.entry(r.shown.order.clone()).or_default() += 1;
        all
    })
}

#[test]
fn urw_is_closer_to_uniform_than_a_random_walk() {
    // One thread of one step, one of nine: ten interleavings, and a random walk takes the short thread first half of
    // the time.
    let skewed = Program::of(vec![vec![Add(0)], vec![Add(0); 9]]);
    // Three threads of two, four and one steps: 7! / (2! 4! 1!) = 105 interleavings.
    let three = Program::of(vec![vec![Add(0); 2], vec![Add(0); 4], vec![Add(0)]]);
    for (p, outcomes) in [(skewed, 10), (three, 105)] {
        let distance =
            |order: &str| distance_from_uniform(&by_order(&sample(&p, &plan(order), 10_000)), outcomes);
        let (walk, urw) = (distance("random"), distance("urw"));
        assert!(urw < 0.05, "urw is {urw} away from uniform");
        assert!(3.0 * urw < walk, "urw {urw}, random walk {walk}");
    }
}

#[test]
fn urw_counts_the_steps_of_threads_that_are_yet_to_be_spawned() {
    // The first thread does little, but spawns one that does much: with its own steps alone it would be drawn late.
    let p = |silent| Program {
        threads: vec![vec![Add(0), Spawn(2), Add(0)], vec![Add(0); 4], vec![Add(0); 6]],
        spawned: vec![2],
        silent,
        count: 2,
        ..Program::default()
    };
    for silent in [false, true] {
        let ran = sample(&p(silent), &plan("urw"), 6_000);
        let first = ran.iter().filter(|r| r.shown.order[0] == 0).count() as f64 / ran.len() as f64;
        // 2 of its own (or 3), 6 of the child (or 8), against 4: two thirds and more; without the child it would be
        // about a third.
        assert!(first > 0.6, "silent {silent}: {first}");
    }
}

/// The share of executions whose final value of a variable is what a bug leaves there.
fn share(p: &Program, order: &str, n: usize, buggy: impl Fn(&Shown) -> bool) -> f64 {
    sample(p, &plan(order), n).iter().filter(|r| buggy(&r.shown)).count() as f64 / n as f64
}

#[test]
fn pct_finds_a_bug_of_a_depth_at_least_as_often_as_its_bound_says() {
    // Depth 1: the second thread must come first. n = 2.
    let p = Program::of(vec![vec![Write(0, 1)], vec![Read(0, 0)]]);
    let found = share(&p, "pct=1", 4_000, |s| s.order == [1, 0]);
    assert!(found >= 0.95 * 0.5, "{found}");

    // Depth 2: a lost update. n = 2, k = 4: at least 1/8.
    let lost = vec![Read(0, 0), WriteReg(0, 0, 1)];
    let p = Program::of(vec![lost.clone(), lost]);
    let found = share(&p, "pct=2", 4_000, |s| s.state.contains("Var(0): 1"));
    assert!(found >= 0.125, "{found}");

    // Depth 3: one write of the second thread between the first two of the first, and one between the next two. n = 2,
    // k = 6: at least 1/72.
    let p = Program::of(vec![vec![Add(0); 3], vec![Add(0); 3]]);
    let found = share(&p, "pct=3", 8_000, |s| s.order[..4] == [0, 1, 0, 0] || s.order[..4] == [1, 0, 1, 1]);
    assert!(found >= 1.0 / 72.0, "{found}");
    // Without changes of priorities there is none.
    assert_eq!(share(&p, "pct=1", 500, |s| s.order[..2] == [0, 1]), 0.0);
}

#[test]
fn pct_states_its_bound_for_what_it_has_measured() {
    let p = Program::of(vec![vec![Add(0); 2], vec![Add(0); 3]]);
    let mut search = plan("pct=2").search(Meter::unlimited()).unwrap();
    run(&p, &mut *search, 101);
    let Promise::Nothing(says) = search.promise() else { panic!("it promises too much") };
    // n = 2, k = 5.
    assert!(says.contains("depth 2") && says.contains("1/(n k^1) = 0.100"), "{says}");
    assert!(says.contains("n = 2 threads and k = 5 steps"), "{says}");
}

#[test]
fn pct_lets_others_go_when_a_thread_yields() {
    // A thread that looks, yields and looks again, whatever its priority, must let the writer come.
    let spin = || vec![Read(0, 0), Yield, Read(0, 0), Yield, Read(0, 1)];
    let p = Program::of(vec![spin(), vec![Write(0, 1)]]);
    let found = share(&p, "pct=1", 500, |s| s.order == [0, 0, 1, 0, 0, 0]);
    assert!((0.4..0.6).contains(&found), "{found}");
}

#[test]
fn pos_has_the_probabilities_of_the_paper() {
    // A write against eight private steps and a read: the write keeps the number it drew, so it is the lowest of ten as
    // often as any of them. A random walk would have to toss heads nine times.
    let mut reader = vec![Add(1); 8];
    reader.push(Read(0, 0));
    let p = Program::of(vec![vec![Write(0, 1)], reader]);
    let last = |order| share(&p, order, 10_000, |s| s.order[9] == 0);
    let (pos, walk) = (last("pos"), last("random"));
    assert!((0.09..0.11).contains(&pos), "{pos}");
    assert!(walk < 0.005, "{walk}");
    // Where the steps race it draws again after each of them: 1/2, 1/4, 1/8 and 1/8 for its four places.
    let p = Program::of(vec![vec![Add(0)], vec![Add(0); 3]]);
    for (place, expected) in [(0, 0.5), (1, 0.25), (2, 0.125), (3, 0.125)] {
        let found = share(&p, "pos", 10_000, |s| s.order[place] == 0);
        assert!((found - expected).abs() < 0.015, "place {place}: {found}");
    }
}

#[test]
fn every_class_of_a_small_program_is_drawn_sooner_or_later_and_nothing_else() {
    let mut compared = 0;
    for seed in 30_000..30_080 {
        let p = random_program(seed);
        let Some(all) = oracle(&p, 200) else { continue };
        compared += 1;
        for order in ["pos", "random", "urw"] {
            let ran = sample(&p, &plan(order), 4_000);
            let missed = classes(&all).difference(&classes(&ran)).count();
            assert_eq!(missed, 0, "{order} misses some of {} on seed {seed}", classes(&all).len());
            assert!(classes(&ran).is_subset(&classes(&all)), "{order}, seed {seed}");
        }
    }
    assert!(compared > 30);
}
