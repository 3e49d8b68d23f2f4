//! Programs to compare searches with: ten bugs that people write, each with its repair, and programs of the literature whose
//! counts are known.
//!
//! Every program has a size. Small ones can be searched in full; a large one cannot, but its bug is still there, so that it shows
//! which search gets to a bug first.
//!
//! ```
//! use examples::{Variant, example};
//! let example = example("torn-pair").unwrap();
//! let report = example.config().run(example.program(example.small, Variant::Correct));
//! assert!(report.passed());
//! ```

mod bugs;
mod programs;

use raddle::{Config, FailureKind};

/// Which variant of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// As it should be.
    Correct,
    /// With its bug.
    Buggy,
}

/// A program.
#[derive(Clone, Copy)]
pub struct Example {
    /// Its name.
    pub name: &'static str,
    /// What it does and, if it has a bug, what that is.
    pub about: &'static str,
    /// What goes wrong in the buggy variant. A program without a bug is the same in both variants.
    pub bug: Option<FailureKind>,
    /// A size that every complete search gets through.
    pub small: usize,
    /// A size that is out of reach of a complete search, or, without a bug, one that takes a while.
    pub large: usize,
    /// The sizes it is made for.
    pub sizes: (usize, usize),
    run: fn(usize, Variant),
}

impl std::fmt::Debug for Example {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Example").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Example {
    /// The program, to be given to [`Config::run`] or [`Config::compare`].
    ///
    /// # Panics
    ///
    /// If the program is not made for this size.
    pub fn program(&self, size: usize, variant: Variant) -> impl Fn() + use<> {
        let (least, most) = self.sizes;
        assert!((least..=most).contains(&size), "`{}` has sizes from {least} to {most}", self.name);
        let run = self.run;
        move || run(size, variant)
    }

    /// How it is to be searched: waits do not end for no reason, so that the numbers are those of the program as written.
    pub fn config(&self) -> Config {
        Config::new().quiet(true).spurious_wakeups(false).spurious_failures(false)
    }
}

macro_rules! table {
    ($($name:literal, $bug:expr, $small:literal, $large:literal, $sizes:expr, $run:expr, $about:literal;)*) => {
        &[$(Example {
            name: $name, about: $about, bug: $bug, small: $small, large: $large, sizes: $sizes, run: $run,
        }),*]
    };
}

static TABLE: &[Example] = table! {
    "lost-wakeup", Some(FailureKind::Deadlock), 2, 6, (1, 32), bugs::lost_wakeup,
        "workers wait for a start signal; the flag is looked at before the lock is taken, so the signal can come in between";
    "aba", Some(FailureKind::Assertion), 1, 4, (1, 16), bugs::aba,
        "a stack without locks; its top is compared by index alone, so a node that was away and is back looks unchanged";
    "double-checked", Some(FailureKind::Assertion), 2, 6, (2, 32), bugs::double_checked,
        "a value is made on first use; the flag is set before the value is written, and the fast path trusts the flag";
    "torn-pair", Some(FailureKind::Assertion), 2, 6, (1, 32), bugs::torn_pair,
        "two numbers that are always equal are changed in two critical sections; a reader can come in between";
    "upgrade", Some(FailureKind::Deadlock), 2, 5, (2, 32), bugs::upgrade,
        "readers become writers without letting go; two that do so at once wait for each other";
    "barrier", Some(FailureKind::Deadlock), 2, 4, (2, 16), bugs::barrier,
        "a barrier for many rounds that lets everybody go before it counts from zero again; who is quick is not counted";
    "ticket-lock", Some(FailureKind::DataRace), 2, 6, (1, 32), bugs::ticket_lock,
        "a lock with tickets that start again too early; two threads can hold the same ticket";
    "lost-update", Some(FailureKind::Assertion), 2, 5, (2, 16), bugs::lost_update,
        "a queue for many producers, one of which moves the end in two steps; what others put there in between is lost";
    "missed-signal", Some(FailureKind::Deadlock), 2, 5, (2, 16), bugs::missed_signal,
        "who puts into a queue wakes a consumer only if one waits, and forgets that there may be two";
    "order", Some(FailureKind::Panic), 2, 6, (1, 32), bugs::order,
        "threads are started before what they use is there";
    "counter", None, 3, 6, (1, 64), programs::counter,
        "two threads add to one atomic, size times each";
    "mutex", None, 4, 7, (1, 64), programs::mutex,
        "threads lock one mutex, once each";
    "readers", None, 4, 8, (1, 64), programs::readers,
        "one thread writes, the others read (Abdulla et al., POPL 2014)";
    "lastzero", None, 4, 10, (1, 31), programs::last_zero,
        "one thread looks for the last zero while the others fill an array (Abdulla et al., POPL 2014)";
    "fib", None, 2, 3, (1, 16), programs::fib,
        "two threads add to each other while main looks on (SV-COMP)";
    "filesystem", None, 14, 16, (1, 26), programs::file_system,
        "threads give blocks to inodes (Flanagan, Godefroid, POPL 2005)";
    "indexer", None, 12, 13, (1, 15), programs::indexer,
        "threads put messages into a hash table (Flanagan, Godefroid, POPL 2005)";
};

/// Every program: the ten with a bug first.
pub fn all() -> &'static [Example] {
    TABLE
}

/// The program with this name.
pub fn example(name: &str) -> Option<&'static Example> {
    TABLE.iter().find(|e| e.name == name)
}
