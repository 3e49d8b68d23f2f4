//! What to check and how far: [`check`], [`Config`], and the `RADDLE_*` variables.

use crate::spill::FileSpill;
use explore::{
    BadPlan, Budget, Caveat, Limit, Meter, Order, Plan, Progress, Promise, Report, Schedule, Spent, Stats,
    Stop, StopReason, UnknownAlgorithm, Verdict,
};
use runtime::{Completed, Found, Labels, Settings};
use std::borrow::Cow;
use std::fmt::Display;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Runs `test` under every schedule whose outcome can differ, once each, and panics with a report if one fails.
///
/// The closure is run again and again, so it must make what it needs anew each time, and do the same whenever its threads are
/// scheduled the same way. Everything runs on the calling OS thread.
///
/// ```
/// use raddle::sync::atomic::{AtomicU32, Ordering};
/// use raddle::thread;
///
/// raddle::check(|| {
///     let hits = AtomicU32::new(0);
///     thread::scope(|s| {
///         s.spawn(|| hits.fetch_add(1, Ordering::Relaxed));
///         s.spawn(|| hits.fetch_add(1, Ordering::Relaxed));
///     });
///     assert_eq!(hits.into_inner(), 2);
/// });
/// ```
///
/// # Panics
///
/// If an execution fails: the message is the report, with the trace and the token that runs it again.
#[track_caller]
pub fn check(test: impl Fn()) {
    Config::new().check(test);
}

/// How to check: the algorithm, how much to spend, and what to explore.
///
/// Each setting has a `RADDLE_*` variable of the same name that overrides it, so that a test can be run in another way without
/// editing it: `RADDLE_MAX_SECONDS=60 cargo test`.
///
/// ```
/// use raddle::sync::atomic::{AtomicBool, Ordering};
/// use raddle::{Config, Verdict, thread};
///
/// let report = Config::new().algorithm("source").quiet(true).run(|| {
///     let flag = AtomicBool::new(false);
///     thread::scope(|s| {
///         s.spawn(|| flag.store(true, Ordering::SeqCst));
///         flag.load(Ordering::SeqCst);
///     });
/// });
/// assert_eq!(report.verdict, Verdict::Verified, "{:?}", report.caveats);
/// assert_eq!(report.stats.executions, 2);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a configuration does nothing until `run` or `check`"]
pub struct Config {
    pub(crate) plan: Plan,
    pub(crate) budget: Budget,
    pub(crate) settings: Settings,
    replay: Option<Schedule>,
    follow: Option<explore::Guide>,
    quiet: bool,
    progress: Option<Arc<File>>,
    /// What the caller knows that the search leaves out.
    caveats: Vec<Caveat>,
    last_words: Option<fn(Report)>,
    /// Look in the executable for types that are not ours.
    scan: bool,
    /// The bound on spurious events in a row grows by itself.
    deepens: bool,
}

/// Time limits above this are none.
const MOST_SECONDS: f64 = 1e9;

impl Default for Config {
    fn default() -> Self {
        Config::new()
    }
}

impl Config {
    /// The defaults: the optimal search, no limits but on the length of one execution.
    pub fn new() -> Config {
        Config {
            plan: Plan::default(),
            budget: Budget::default(),
            settings: Settings::default(),
            replay: None,
            follow: None,
            quiet: false,
            progress: None,
            caveats: Vec::new(),
            last_words: None,
            scan: true,
            deepens: true,
        }
    }

    /// Searches with this algorithm; `raddle algorithms` lists them. `RADDLE_ALGORITHM`.
    ///
    /// # Panics
    ///
    /// If there is none of this name; see [`Config::try_algorithm`].
    #[track_caller]
    pub fn algorithm(self, name: &str) -> Config {
        match self.try_algorithm(name) {
            Ok(config) => config,
            Err(e) => panic!("{e}"),
        }
    }

    /// The same, for names that come from outside.
    pub fn try_algorithm(mut self, name: &str) -> Result<Config, UnknownAlgorithm> {
        self.plan.algorithm = Some(explore::algorithm(name)?);
        Ok(self)
    }

    /// Searches within a bound: `preemptions=2`, or `preemptions=0..` for one bound after the other until nothing is cut.
    /// More than one bound may be given: every execution must be within all. `RADDLE_BOUND`, several with commas.
    ///
    /// # Panics
    ///
    /// If the text is not a bound; see [`Config::try_bound`].
    #[track_caller]
    pub fn bound(self, bound: &str) -> Config {
        match self.try_bound(bound) {
            Ok(config) => config,
            Err(e) => panic!("{e}"),
        }
    }

    /// The same, for text that comes from outside.
    pub fn try_bound(mut self, bound: &str) -> Result<Config, BadPlan> {
        self.plan.bounds.push(bound.parse()?);
        Ok(self)
    }

    /// Which optimisations a search by `bpor` has: `tr` (transitive reduction), `at` (alternative thread), `ro` (release), `bo`
    /// (bound), `ss` (sleep sets), several with commas, or `all`, which they are unless set, or `none`. `RADDLE_OPTIMISATIONS`.
    ///
    /// # Panics
    ///
    /// If the text names something else.
    #[track_caller]
    pub fn optimisations(mut self, which: &str) -> Config {
        match which.parse() {
            Ok(which) => self.plan.optimisations = which,
            Err(e) => panic!("{e}"),
        }
        self
    }

    /// Searches in this order: `depth-first` unless set. `RADDLE_ORDER`; `raddle algorithms` lists them.
    ///
    /// - `best-first=P,..` takes the best of all open executions, by up to four priorities of which the first weighs
    ///   most: `preemptions` (fewer first; `best-first` alone), `dpor` (those in the backtrack set of their state),
    ///   `sleep` (those not in its sleep set), `random`, `method=NAME` (the next step is at a place whose
    ///   `file:line:column` has NAME in it), `variable=NAME` (the next step is on an object whose name in reports, such
    ///   as `atomic #2`, or the place where it was first used, has NAME in it). It explores what `dpor-no-sleep` does,
    ///   or what `dpor-per-thread` or `none` does if that is the algorithm; with `dpor` or within the bound
    ///   `preemptions=N` every interleaving. It is complete once nothing is open.
    /// - `random-coverage` is `best-first=random`.
    /// - `random` (each step any enabled thread), `urw` (about uniform over interleavings), `pct=D` (bugs of depth D
    ///   with a probability that the report states; 3 unless set) and `pos` (spreads over happens-before classes) draw
    ///   executions until the budget is spent, or 10,000 of them without one. The report says what that promises, and
    ///   the seed.
    /// - `portfolio` shares the budget out among these and `random-coverage`.
    ///
    /// ```
    /// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
    /// use raddle::{Config, Verdict, thread};
    ///
    /// let report = Config::new().order("pos").seed(7).max_executions(100).quiet(true).run(|| {
    ///     let n = AtomicU32::new(0);
    ///     thread::scope(|s| {
    ///         s.spawn(|| n.fetch_add(1, SeqCst));
    ///         n.fetch_add(1, SeqCst);
    ///     });
    /// });
    /// assert_eq!(report.verdict, Verdict::Incomplete);
    /// assert!(report.guarantee.starts_with("no failure in 100 executions"), "{}", report.guarantee);
    /// assert!(report.guarantee.contains("seed 7"));
    /// ```
    ///
    /// # Panics
    ///
    /// If there is no such order; see [`Config::try_order`].
    #[track_caller]
    pub fn order(self, order: &str) -> Config {
        match self.try_order(order) {
            Ok(config) => config,
            Err(e) => panic!("{e}"),
        }
    }

    /// The same, for text that comes from outside.
    pub fn try_order(mut self, order: &str) -> Result<Config, BadPlan> {
        self.plan.order = order.parse()?;
        Ok(self)
    }

    /// Random orders start from this number: with the same one they run the same executions again. `RADDLE_SEED`; 1
    /// unless set.
    pub fn seed(mut self, seed: u64) -> Config {
        self.plan.seed = seed;
        self
    }

    /// How many open executions a best-first order keeps in memory; more go to a temporary file, which is removed at
    /// the end. It changes nothing else. `RADDLE_FRINGE_LIMIT`; 1,000,000 unless set.
    pub fn fringe_limit(mut self, n: usize) -> Config {
        self.plan.fringe_limit = n;
        self
    }

    /// Stops after so many executions. `RADDLE_MAX_EXECUTIONS`.
    pub fn max_executions(mut self, n: u64) -> Config {
        self.budget.executions = Some(n);
        self
    }

    /// Stops after so much time. `RADDLE_MAX_SECONDS`.
    pub fn max_time(mut self, time: Duration) -> Config {
        self.budget.seconds = Some(time.as_secs_f64());
        self
    }

    /// An execution that takes more steps than this stops the search, and the verdict is `incomplete`, unless its threads are found to
    /// repeat themselves for ever, which is a livelock. `RADDLE_MAX_STEPS`; 100,000 unless set.
    pub fn max_steps(mut self, n: u64) -> Config {
        self.settings.max_steps = n;
        self
    }

    /// An execution that spawns more threads than this stops the search, and the verdict is `incomplete`. `RADDLE_MAX_THREADS`; as many as there can be, 128,
    /// unless set.
    pub fn max_threads(mut self, n: usize) -> Config {
        self.settings.max_threads = n;
        self
    }

    /// The stack of each thread, in bytes. `RADDLE_STACK_SIZE`; 2 MiB unless set, as in the standard library.
    pub fn stack_size(mut self, bytes: usize) -> Config {
        self.settings.stack_size = bytes;
        self
    }

    /// Continues after a failure and reports all failures that differ. Where a thread fails it stops, and the other threads continue.
    /// `RADDLE_KEEP_GOING`.
    pub fn keep_going(mut self, yes: bool) -> Config {
        self.settings.keep_going = yes;
        self
    }

    /// Explores so many spurious wake-ups, spurious failures and timeouts in a row, by one thread on one object, where the test can tell them
    /// apart (it counts them, for example). Where it cannot, as in a loop that waits for a condition, any number is explored. 0
    /// turns spurious wake-ups and failures off. Without this the bound grows, 1, 2, 4, 8, while that costs less than ten seconds.
    /// `RADDLE_SPURIOUS`.
    ///
    /// ```
    /// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
    /// use raddle::{Config, Verdict};
    ///
    /// let report = Config::new().quiet(true).run(|| {
    ///     let (x, mut failures) = (AtomicU32::new(0), 0);
    ///     while x.compare_exchange_weak(0, 1, SeqCst, SeqCst).is_err() {
    ///         failures += 1;
    ///         assert!(failures < 3, "three spurious failures in a row");
    ///     }
    /// });
    /// assert_eq!(report.verdict, Verdict::Failure);
    /// ```
    pub fn spurious(mut self, most: u32) -> Config {
        self.settings.spurious = most;
        self.deepens = false;
        self
    }

    /// How timed waits on condition variables, timed parks and sleeps end: `any`, at any time; or `patient`, only when nothing else can
    /// run, the earliest limit first. Readings of the clock are then late only when nothing else can run, too. `patient=1h` is patient
    /// with limits of at least an hour (also `ms`, `s`, `m`). By default only limits of a hundred years and more are patient. The report
    /// names patience. `RADDLE_TIMEOUTS`.
    ///
    /// # Panics
    ///
    /// If the text is neither.
    #[track_caller]
    pub fn timeouts(self, how: &str) -> Config {
        match self.try_timeouts(how) {
            Ok(config) => config,
            Err(e) => panic!("{e}"),
        }
    }

    /// The same, for text that comes from outside.
    pub fn try_timeouts(mut self, how: &str) -> Result<Config, String> {
        self.settings.patient = patience(how)?;
        Ok(self)
    }

    /// Explores that waits and parks may end spuriously. On unless turned off. `RADDLE_SPURIOUS_WAKEUPS`.
    pub fn spurious_wakeups(mut self, yes: bool) -> Config {
        self.settings.spurious_wakeups = yes;
        self
    }

    /// Explores that `compare_exchange_weak` may fail spuriously. On unless turned off. `RADDLE_SPURIOUS_FAILURES`.
    pub fn spurious_failures(mut self, yes: bool) -> Config {
        self.settings.spurious_cas = yes;
        self
    }

    /// How often each thread may read a late time in an execution: a reading of [`time`](crate::time) gives the same time as before,
    /// or a late one. 1 unless set. `RADDLE_LATE`.
    pub fn late(mut self, times: u32) -> Config {
        self.settings.late = times;
        self
    }

    /// Reports an `Arc` that is never given back, memory of [`alloc`](crate::alloc) that is never freed, and a thread that nobody joins
    /// and that never ends. On unless turned off. `RADDLE_LEAKS`.
    pub fn leaks(mut self, yes: bool) -> Config {
        self.settings.leaks = yes;
        self
    }

    /// Lets a thread that can only look again at what it has seen wait for a change. On unless turned off.
    /// `RADDLE_SPIN_LOOPS`.
    pub fn spin_loops(mut self, yes: bool) -> Config {
        self.settings.spin_loops = yes;
        self
    }

    /// Lets a thread give way to the others after so many turns in a row of a loop that saw no change; 0 for never. Executions with more such turns
    /// are left out, which the report says. So are executions with more rounds in a row of a loop that takes its changes back while others
    /// see them. Unless set, the number is 32, or 3 where that takes too long (1 where threads step back from each other in very many ways),
    /// and is raised while the search stays short. `RADDLE_TURNS`.
    pub fn turns(mut self, turns: u32) -> Config {
        self.settings.turns = Some(turns);
        self
    }

    /// Reports threads that can repeat themselves for ever under some fair schedules as a livelock, also where other fair schedules end
    /// that. Otherwise that is the caveat `may-not-end`, and only a livelock from which no fair schedule was seen to lead out is a
    /// failure. `RADDLE_LIVELOCKS`: `all` or `confirmed`.
    pub fn all_livelocks(mut self, yes: bool) -> Config {
        self.settings.all_livelocks = yes;
        self
    }

    /// Looks for a schedule with fewer preemptions before it reports a failure. On unless turned off. `RADDLE_SHRINK`.
    pub fn shrink(mut self, yes: bool) -> Config {
        self.settings.shrink = yes;
        self
    }

    /// Ends the process with a report when a test takes no step for so long: it is blocked in something that raddle does not
    /// control. `None` waits for ever. `RADDLE_WATCHDOG`, in seconds, 0 for none; 10 s unless set.
    pub fn watchdog(mut self, after: Option<Duration>) -> Config {
        self.settings.watchdog = after;
        self
    }

    /// Runs one execution only: the one that a report's token names. `RADDLE_REPLAY`.
    ///
    /// # Panics
    ///
    /// If the text is not a token.
    #[track_caller]
    pub fn replay(mut self, token: &str) -> Config {
        match token.parse() {
            Ok(schedule) => self.replay = Some(schedule),
            Err(e) => panic!("{e}"),
        }
        self
    }

    /// Prints nothing. `RADDLE_QUIET`.
    pub fn quiet(mut self, yes: bool) -> Config {
        self.quiet = yes;
        self
    }

    /// Stops threads that repeat themselves by another rule, which is wrong: for tests that have to notice.
    #[doc(hidden)]
    pub fn loop_rule(mut self, rule: runtime::Rule) -> Config {
        self.settings.rule = rule;
        self
    }

    /// For a process with a front end: called in place of the rest of the process if a search that has to stop does not.
    #[doc(hidden)]
    pub fn last_words(mut self, tell: fn(Report)) -> Config {
        self.last_words = Some(tell);
        self
    }

    /// Says how a long search is doing on this terminal, also where nothing else is printed. On standard error unless
    /// [quiet](Config::quiet). What is no terminal is left alone.
    pub fn progress_on(mut self, terminal: Option<Arc<File>>) -> Config {
        self.progress = terminal;
        self
    }

    /// Names something that the caller knows the search leaves out. It stands in the report, and weakens its verdict as
    /// [`CaveatKind::weakens`](explore::CaveatKind::weakens) says.
    pub fn caveat(mut self, caveat: Caveat) -> Config {
        caveat.add_to(&mut self.caveats);
        self
    }

    /// Looks in the machine code that the test can reach for types of std, which the search does not see, and names them in the report.
    /// On unless turned off; nothing is looked for where raddle is not the one that runs the program's code. `RADDLE_SCAN`.
    pub fn scan(mut self, yes: bool) -> Config {
        self.scan = yes;
        self
    }

    /// What the variables `RADDLE_*` say, over what this configuration says. [`Config::run`] and [`Config::check`] do this by
    /// themselves and panic where it cannot be done; here a wrong value, or a plan whose parts do not go together, is an error
    /// that says which. [`Config::compare`] does not do it.
    pub fn try_environment(self) -> Result<Config, String> {
        let config = self.read_environment()?;
        match config.prepared(&config.plan).0.search(Meter::unlimited()) {
            Err(BadPlan(why)) if config.replay.is_none() => Err(why),
            _ => Ok(config),
        }
    }

    /// Checks `test`, prints the report, and panics if something is wrong.
    ///
    /// A result that says less than `verified` is also written where the output of a passing test is not captured, as one line.
    ///
    /// # Panics
    ///
    /// If an execution fails, or if the search stopped early and was not given a budget ([`Config::max_executions`],
    /// [`Config::max_time`]).
    #[track_caller]
    pub fn check(self, test: impl Fn()) {
        let config = self.with_environment();
        let report = config.search(&test, entry(&test));
        let stopped = report.stopped.as_ref().map(|s| s.reason);
        if report.verdict == Verdict::Failure || stopped == Some(StopReason::Limit) {
            panic!("{}", render(&report));
        }
        if matches!(stopped, Some(StopReason::Interrupt | StopReason::CpuLimit)) {
            // Ctrl-C is for the whole process, whatever else it is to test.
            runtime::end_process(&render(&report));
        }
        if report.verdict == Verdict::Incomplete && !config.may_stop_early() {
            panic!(
                "{}the check stopped early without a budget (Config::max_seconds, Config::max_executions), so the test fails",
                render(&report)
            );
        }
        if !config.quiet {
            eprint!("{}", render(&report));
            if matches!(report.verdict, Verdict::Incomplete | Verdict::NoFailureWithCaveats) {
                say_uncaptured(&report);
            }
        }
    }

    /// Whether the search was told when to stop, or runs a part of the executions on purpose.
    fn may_stop_early(&self) -> bool {
        let Budget { executions, seconds } = self.budget;
        executions.is_some()
            || seconds.is_some()
            || self.replay.is_some()
            || self.follow.is_some()
            || self.plan.order.is_sampling()
    }

    /// Checks `test` and gives the report. Prints it too, unless [`Config::quiet`].
    #[track_caller]
    pub fn run(self, test: impl Fn()) -> Report {
        let config = self.with_environment();
        let report = config.search(&test, entry(&test));
        if !config.quiet {
            eprint!("{}", render(&report));
        }
        report
    }

    /// `entry` is the address of a function that calls the test.
    fn search(&self, test: &dyn Fn(), entry: usize) -> Report {
        let _check = runtime::OneCheck::of(test);
        let start = Instant::now();
        let meter = || Meter::new(self.budget, Box::new(move || start.elapsed().as_secs_f64()));
        let stop_at =
            self.budget.seconds.map(|s| start + Duration::from_secs_f64(s.clamp(0.0, MOST_SECONDS)));
        if let Some(guide) = &self.follow {
            let settings = Settings { stop_at, ..self.settings.clone() };
            let found = runtime::follow(&settings, guide, test);
            return self.of_one(start, "follow", "one execution, along a guide", found);
        }
        if let Some(schedule) = &self.replay {
            let settings = Settings { shrink: false, keep_going: false, stop_at, ..self.settings.clone() };
            let mut search = self.prepared(&self.plan).0.search(meter()).unwrap_or_else(|e| panic!("{e}"));
            let found = runtime::replay(&settings, schedule, &mut *search, test);
            return self.of_one(start, "replay", "one execution, the one replayed", found);
        }
        let (plan, mut settings) = self.prepared(&self.plan);
        if stop_at.is_some() {
            settings.to_mut().stop_at = stop_at;
        }
        if self.budget.executions.is_some() {
            settings.to_mut().limited = true;
        }
        let mut search = plan.search(meter()).unwrap_or_else(|e| panic!("{e}"));
        let mut ticker = Ticker::new(self.quiet, self.progress.clone(), start);
        let seen: *const dyn Progress = &raw const *search;
        let words = |stop: &Stop| {
            if let Some(tell) = self.last_words {
                // SAFETY: the search lives longer than these words are set. They are called while it is stuck, and the process ends
                // afterwards.
                tell(self.conclude(
                    start,
                    &plan,
                    unsafe { &*seen },
                    Found { stopped: Some(stop.clone()), ..Found::default() },
                ));
            }
        };
        let mut found = runtime::set_last_words(&words, || {
            runtime::check(&settings, &mut *search, test, &mut |s| ticker.tick(s))
        });
        if found.refused_option && self.deepens {
            self.deepen(&plan, &settings, start, test, &mut ticker, &mut found, &mut search);
        }
        ticker.clear();
        if found.failures.is_empty() && self.scan {
            runtime::alien_uses(entry).into_iter().for_each(|c| c.add_to(&mut found.caveats));
        }
        self.conclude(start, &plan, &*search, found)
    }

    /// The report of one execution that was chosen.
    fn of_one(&self, start: Instant, name: &str, spent: &str, found: Found) -> Report {
        let stats = Stats { executions: 1, ..Stats::default() };
        let caveats = self.caveats.clone();
        let verdict = Verdict::of(!found.failures.is_empty(), false, &Promise::Everything, &caveats);
        let spent = found.stopped.as_ref().map_or_else(|| spent.to_owned(), |s| self.spent(s));
        Report {
            verdict,
            guarantee: report::guarantee(verdict, &Promise::Everything, &stats, Some(&spent), None, &caveats),
            algorithm: name.to_owned(),
            bound: None,
            memory: "sc".to_owned(),
            stats,
            rounds: Vec::new(),
            caveats,
            warnings: Vec::new(),
            failures: found.failures,
            stopped: found.stopped,
            seconds: start.elapsed().as_secs_f64(),
        }
    }

    /// What ended a search early, in words that follow "gave up after".
    fn spent(&self, stop: &Stop) -> String {
        match stop.reason {
            StopReason::Time => report::spent(Spent::Seconds(self.budget.seconds.unwrap_or_default())),
            StopReason::Limit => "an execution that could not go on".to_owned(),
            StopReason::Interrupt | StopReason::CpuLimit => stop.text.clone(),
        }
    }

    /// The report of a search.
    fn conclude(&self, start: Instant, plan: &Plan, search: &dyn Progress, found: Found) -> Report {
        let Found { mut failures, caveats: noted, mut stopped, .. } = found;
        let mut caveats = noted;
        if !self.caveats.is_empty() {
            let noted = std::mem::replace(&mut caveats, self.caveats.clone());
            noted.into_iter().for_each(|c| c.add_to(&mut caveats));
        }
        let finished = search.finished() && stopped.is_none() || found.completed.is_some();
        let (stats, promise, rounds) = match found.completed {
            Some(Completed { stats, promise, rounds, .. }) => (stats, promise, rounds),
            None => (search.stats(), search.promise(), search.rounds().to_vec()),
        };
        if let Some(Spent::Seconds(_)) = search.spent()
            && stopped.is_none()
            && !finished
        {
            let text = "the time limit".to_owned();
            stopped = Some(Stop {
                reason: StopReason::Time,
                text,
                location: None,
                thread: None,
                replay: String::new(),
            });
        }
        let spent = match &stopped {
            Some(stop) => Some(self.spent(stop)),
            None => search.spent().map(report::spent),
        };
        failures.sort_by_key(|f| f.kind == explore::FailureKind::Leak);
        // Rounds may run the same execution again; what is covered is what the last one covers.
        let last = rounds.last().filter(|r| r.complete).map_or(stats.executions, |r| r.covered);
        let counted = Stats { executions: if finished { last } else { stats.executions }, ..stats };
        if finished && failures.is_empty() && stats.executions == 0 {
            name_nothing_checked(&stats, &mut caveats);
        }
        let verdict = Verdict::of(!failures.is_empty(), finished, &promise, &caveats);
        let bounds: Vec<String> = self.plan.bounds.iter().map(Limit::to_string).collect();
        let mut guarantee =
            report::guarantee(verdict, &promise, &counted, spent.as_deref(), search.estimate(), &caveats);
        if let (Verdict::Incomplete, Promise::Within(bound), Some(_)) =
            (verdict, &promise, rounds.iter().find(|r| r.complete))
        {
            guarantee = format!("no failure within {bound} (complete for that bound); {guarantee}");
        }
        if self.settings.keep_going && verdict == Verdict::Failure {
            guarantee += "; what a thread would do after its failure was not explored";
        }
        Report {
            verdict,
            guarantee,
            algorithm: name_of(plan),
            bound: (!bounds.is_empty()).then(|| bounds.join(",")),
            memory: "sc".to_owned(),
            stats,
            rounds,
            caveats,
            warnings: warnings(verdict, &stats),
            failures,
            stopped,
            seconds: start.elapsed().as_secs_f64(),
        }
    }

    /// A complete search has refused a thread an option because of the bound on options in a row: searches again with greater bounds,
    /// as long as that costs little, and keeps the last search that was complete, or one that failed.
    #[expect(clippy::too_many_arguments, reason = "the parts of one search, which its caller has")]
    #[cold]
    fn deepen(
        &self,
        plan: &Plan,
        settings: &Settings,
        start: Instant,
        test: &dyn Fn(),
        ticker: &mut Ticker,
        found: &mut runtime::Found,
        search: &mut Box<dyn Progress>,
    ) {
        let mut run = search.stats().executions;
        for spurious in runtime::DEEPENING.into_iter().filter(|n| *n > settings.spurious) {
            let over = start.elapsed().as_secs_f64() > DEEPER_SECONDS || run >= DEEPER_EXECUTIONS;
            if over
                || found.stopped.is_some()
                || !found.refused_option
                || !found.failures.is_empty()
                || !(search.finished() || found.completed.is_some())
            {
                return;
            }
            let executions = self.budget.executions.unwrap_or(u64::MAX).min(DEEPER_EXECUTIONS);
            let seconds = self.budget.seconds.unwrap_or(f64::MAX).min(DEEPER_SECONDS);
            let budget = Budget { executions: Some(executions.saturating_sub(run)), seconds: Some(seconds) };
            let meter = Meter::new(budget, Box::new(move || start.elapsed().as_secs_f64()));
            let Ok(mut deeper) = plan.search(meter) else { return };
            let stop_at =
                settings.stop_at.into_iter().chain([start + Duration::from_secs_f64(DEEPER_SECONDS)]).min();
            let settings = Settings { spurious, stop_at, ..settings.clone() };
            let more = runtime::check(&settings, &mut *deeper, test, &mut |s| ticker.tick(s));
            run += deeper.stats().executions;
            let finished = deeper.finished() || more.completed.is_some();
            if more.failures.is_empty() && (!finished || more.stopped.is_some()) {
                return;
            }
            (*found, *search) = (more, deeper);
        }
    }

    /// A plan with what it needs from outside, and settings that go with it. A check may take a few microseconds: what the usual
    /// order does not need is not made.
    pub(crate) fn prepared<'a>(&'a self, plan: &'a Plan) -> (Cow<'a, Plan>, Cow<'a, Settings>) {
        let (mut plan, mut settings) = (Cow::Borrowed(plan), Cow::Borrowed(&self.settings));
        if !plan.bounds.is_empty() || plan.order.is_sampling() {
            let settings = settings.to_mut();
            settings.samples = plan.order.is_sampling();
            settings.bounded = !plan.bounds.is_empty();
            if self.deepens && plan.order.is_sampling() {
                settings.spurious = 8;
            }
        }
        if plan.order.is_sampling() && settings.turns.is_none() {
            // Nothing is complete, so no number of turns is tried after another.
            settings.to_mut().turns = Some(32);
        }
        if plan.order != Order::DepthFirst {
            plan.to_mut().spill = Some(Arc::new(FileSpill::default()));
        }
        if plan.order.needs_names() {
            let labels = Arc::new(Labels::default());
            plan.to_mut().names = Some(labels.clone());
            settings.to_mut().labels = Some(labels);
        }
        (plan, settings)
    }

    /// What the variables say, over what the program says.
    ///
    /// Whether there are any is looked up once in a process: a test of a few microseconds would pay for it each time.
    fn with_environment(self) -> Config {
        self.read_environment().unwrap_or_else(|why| panic!("{why}"))
    }

    fn read_environment(mut self) -> Result<Config, String> {
        static ANY: OnceLock<bool> = OnceLock::new();
        if !ANY.get_or_init(|| {
            std::env::vars_os().any(|(name, _)| name.as_encoded_bytes().starts_with(b"RADDLE_"))
        }) {
            return Ok(self);
        }
        if let Some(name) = variable::<String>("RADDLE_ALGORITHM")? {
            let algorithm = explore::algorithm(&name).map_err(|e| bad("RADDLE_ALGORITHM", &name, &e))?;
            self.plan.algorithm = Some(algorithm);
        }
        if let Some(bounds) = variable::<String>("RADDLE_BOUND")? {
            let parsed: Result<Vec<Limit>, _> = bounds.split(',').map(str::parse).collect();
            self.plan.bounds = parsed.map_err(|e| bad("RADDLE_BOUND", &bounds, &e))?;
        }
        set(&mut self.plan.optimisations, "RADDLE_OPTIMISATIONS")?;
        if let Some(order) = variable::<Order>("RADDLE_ORDER")? {
            self.plan.order = order;
        }
        set(&mut self.plan.seed, "RADDLE_SEED")?;
        set(&mut self.plan.fringe_limit, "RADDLE_FRINGE_LIMIT")?;
        if let Some(token) = variable::<String>("RADDLE_REPLAY")? {
            self.replay = Some(token.parse().map_err(|e| bad("RADDLE_REPLAY", &token, &e))?);
        }
        if let Some(path) = variable::<String>("RADDLE_FOLLOW")? {
            let text = std::fs::read_to_string(&path).map_err(|e| bad("RADDLE_FOLLOW", &path, &e))?;
            self.follow = Some(text.parse().map_err(|e: String| bad("RADDLE_FOLLOW", &path, &e))?);
        }
        self.budget.executions = variable("RADDLE_MAX_EXECUTIONS")?.or(self.budget.executions);
        if let Some(seconds) = variable::<f64>("RADDLE_MAX_SECONDS")? {
            if Duration::try_from_secs_f64(seconds).is_err() {
                let text = variable::<String>("RADDLE_MAX_SECONDS")?.unwrap_or_default();
                return Err(bad("RADDLE_MAX_SECONDS", &text, &"say a number of seconds"));
            }
            self.budget.seconds = Some(seconds);
        }
        let s = &mut self.settings;
        set(&mut s.max_steps, "RADDLE_MAX_STEPS")?;
        set(&mut s.max_threads, "RADDLE_MAX_THREADS")?;
        set(&mut s.stack_size, "RADDLE_STACK_SIZE")?;
        if s.stack_size > MOST_STACK {
            let why = format!("say at most {MOST_STACK} bytes");
            return Err(bad("RADDLE_STACK_SIZE", &s.stack_size.to_string(), &why));
        }
        set(&mut s.late, "RADDLE_LATE")?;
        s.turns = variable("RADDLE_TURNS")?.or(s.turns);
        if let Some(which) = variable::<String>("RADDLE_LIVELOCKS")? {
            s.all_livelocks = match which.as_str() {
                "all" => true,
                "confirmed" => false,
                _ => return Err(bad("RADDLE_LIVELOCKS", &which, &"say all or confirmed")),
            };
        }
        set_flag(&mut s.keep_going, "RADDLE_KEEP_GOING")?;
        set_flag(&mut s.spurious_wakeups, "RADDLE_SPURIOUS_WAKEUPS")?;
        set_flag(&mut s.spurious_cas, "RADDLE_SPURIOUS_FAILURES")?;
        if let Some(most) = variable("RADDLE_SPURIOUS")? {
            s.spurious = most;
            self.deepens = false;
        }
        if let Some(how) = variable::<String>("RADDLE_TIMEOUTS")? {
            s.patient = patience(&how).map_err(|e| bad("RADDLE_TIMEOUTS", &how, &e))?;
        }
        set_flag(&mut s.leaks, "RADDLE_LEAKS")?;
        set_flag(&mut s.spin_loops, "RADDLE_SPIN_LOOPS")?;
        set_flag(&mut s.shrink, "RADDLE_SHRINK")?;
        set_flag(&mut self.scan, "RADDLE_SCAN")?;
        set_flag(&mut self.quiet, "RADDLE_QUIET")?;
        if let Some(seconds) = variable::<u64>("RADDLE_WATCHDOG")? {
            s.watchdog = (seconds > 0).then(|| Duration::from_secs(seconds));
        }
        Ok(self)
    }
}

/// Stacks are not larger than this: the addresses of a process have room for many of them.
const MOST_STACK: usize = 1 << 36;

/// The address of a function that calls the test.
fn entry<F: Fn()>(_test: &F) -> usize {
    fn call<F: Fn()>(test: &F) {
        test();
    }
    call::<F> as fn(&F) as usize
}

/// Searches with greater bounds on spurious events in a row end after so much time, or so many executions, in all.
const DEEPER_SECONDS: f64 = 10.0;
const DEEPER_EXECUTIONS: u64 = 100_000;

/// From which length on timed waits are patient: `any`, `patient` or `patient=DURATION`.
fn patience(text: &str) -> Result<Option<Duration>, String> {
    let why = || {
        format!(
            "{text:?} does not say how timed waits end: any, patient, or patient=DURATION such as patient=1h"
        )
    };
    match text.split_once('=') {
        None if text == "any" => Ok(None),
        None if text == "patient" => Ok(Some(Duration::ZERO)),
        Some(("patient", duration)) => {
            let digits = duration.find(|c: char| !c.is_ascii_digit()).unwrap_or(duration.len());
            let (number, unit) = duration.split_at(digits);
            let n: u64 = number.parse().map_err(|_| why())?;
            let seconds = |each: u64| n.checked_mul(each).map(Duration::from_secs).ok_or_else(why);
            match unit {
                "ms" => Ok(Some(Duration::from_millis(n))),
                "s" => seconds(1).map(Some),
                "m" | "min" => seconds(60).map(Some),
                "h" => seconds(3600).map(Some),
                _ => Err(why()),
            }
        }
        _ => Err(why()),
    }
}

/// The algorithm, and the order where it is not the usual one. Orders that draw executions leave none out, so they
/// stand alone.
fn name_of(plan: &Plan) -> String {
    match &plan.order {
        Order::DepthFirst => plan.algorithm().name.to_owned(),
        order if order.is_sampling() => order.to_string(),
        order => format!("{}, {order}", plan.algorithm().name),
    }
}

/// No execution of a complete search counts: names what kept all of them from their ends.
#[cold]
fn name_nothing_checked(stats: &Stats, caveats: &mut Vec<Caveat>) {
    // Threads that repeat themselves are stopped, because other executions show what they can still do. There are none here.
    if stats.pruned > 0 {
        let text = "no execution ends: in each one, threads repeat what they did before and see no change";
        Caveat::new(explore::CaveatKind::MayNotEnd, text).add_to(caveats);
    }
    if stats.assumed > 0 {
        let text = "nothing was checked: no execution satisfies the assumptions";
        Caveat::new(explore::CaveatKind::Inputs, text).add_to(caveats);
    }
    if stats.over_bound > 0 {
        let text = "nothing was checked: no execution ends within the bound";
        Caveat::new(explore::CaveatKind::Depth, text).add_to(caveats);
    }
}

/// What a user should know although nothing failed.
fn warnings(verdict: Verdict, stats: &Stats) -> Vec<String> {
    let mut out = Vec::new();
    if verdict == Verdict::Verified && stats.executions == 1 && stats.threads > 1 && stats.races == 0 {
        out.push(
            "no two threads ever touched the same object in a way that matters: if they should have, see that the code under \
             test uses raddle's types and not std's"
                .to_owned(),
        );
    }
    out
}

/// A report as JSON: one object with the fields `verdict`, `guarantee`, `algorithm`, `executions`, `blocked`, `failures`, ...
///
/// ```
/// let report = raddle::Config::new().quiet(true).run(|| ());
/// assert!(raddle::to_json(&report).contains("\"verdict\": \"verified\""));
/// ```
pub fn to_json(report: &Report) -> String {
    report::json::render(report)
}

fn render(report: &Report) -> String {
    let thread = std::thread::current();
    let mut style = report::Style::for_test(thread.name().filter(|n| *n != "main"));
    style.colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    if std::env::var("RADDLE_TRACE").is_ok_and(|v| v == "full") {
        style.rows = usize::MAX;
    }
    if let Some(width) = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()) {
        style.width = width;
    }
    report::text::render(report, &style)
}

/// Writes what a report says less than `verified` about the test of this thread to standard error where the test harness does not capture it, if it captures the
/// rest.
fn say_uncaptured(report: &Report) {
    let shown = |a: std::ffi::OsString| a == "--nocapture" || a == "--no-capture" || a == "--show-output";
    let thread = std::thread::current();
    let Some(test) = thread.name().filter(|n| *n != "main") else { return };
    if std::env::var_os("RUST_TEST_NOCAPTURE").is_some_and(|v| v != "0") || std::env::args_os().any(shown) {
        return;
    }
    let mut text = format!("raddle: {test}: {}\n", report.guarantee);
    for caveat in report.caveats.iter().filter(|c| c.kind.weakens()) {
        text += &format!("  caveat: {}: {}\n", caveat.kind.name(), caveat.text);
    }
    // Only `eprint!` is captured. Nobody can be told that nothing can be told.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// The value of a variable.
fn variable<T: FromStr<Err: Display>>(name: &str) -> Result<Option<T>, String> {
    let Ok(value) = std::env::var(name) else { return Ok(None) };
    value.trim().parse().map(Some).map_err(|e| bad(name, &value, &e))
}

fn set<T: FromStr<Err: Display>>(setting: &mut T, name: &str) -> Result<(), String> {
    if let Some(value) = variable(name)? {
        *setting = value;
    }
    Ok(())
}

fn set_flag(setting: &mut bool, name: &str) -> Result<(), String> {
    if let Some(value) = variable::<String>(name)? {
        *setting = match value.as_str() {
            "1" | "true" | "yes" | "on" => true,
            "0" | "false" | "no" | "off" | "" => false,
            _ => return Err(bad(name, &value, &"say 1 or 0")),
        };
    }
    Ok(())
}

fn bad(name: &str, value: &str, why: &dyn Display) -> String {
    format!("the variable {name} is set to {value:?}: {why}")
}

/// Says now and then how a long search is doing, on a terminal.
struct Ticker {
    on: bool,
    /// Where, if not on standard error.
    terminal: Option<Arc<File>>,
    start: Instant,
    calls: u32,
    next: Duration,
    shown: bool,
}

impl Ticker {
    const EVERY: Duration = Duration::from_millis(500);

    fn new(quiet: bool, terminal: Option<Arc<File>>, start: Instant) -> Ticker {
        let on = match &terminal {
            Some(terminal) => terminal.is_terminal(),
            None => !quiet && std::io::stderr().is_terminal(),
        };
        Ticker { on, terminal, start, calls: 0, next: Duration::from_secs(2), shown: false }
    }

    fn say(&self, text: &str) {
        match self.terminal.as_deref() {
            // Nobody can be told that nothing can be told.
            Some(mut terminal) => drop(write!(terminal, "\r\x1b[2K{text}")),
            None => eprint!("\r\x1b[2K{text}"),
        }
    }

    fn tick(&mut self, search: &dyn Progress) {
        self.calls = self.calls.wrapping_add(1);
        if !self.on || !self.calls.is_multiple_of(256) {
            return;
        }
        let elapsed = self.start.elapsed();
        if elapsed >= self.next {
            self.next = elapsed + Self::EVERY;
            self.shown = true;
            let n = search.stats().executions;
            let rate = report::short_count(n as f64 / elapsed.as_secs_f64());
            let all = search.estimate().map_or(String::new(), |e| {
                format!(", perhaps {} in all (an estimate)", report::short_count(e))
            });
            self.say(&format!("raddle: {} executions, {rate} a second{all}", report::short_count(n as f64)));
        }
    }

    fn clear(&mut self) {
        if self.shown {
            self.say("");
        }
    }
}
