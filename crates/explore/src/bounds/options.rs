//! The five optimisations of bounded partial-order reduction, each of which can be switched off.

use crate::plan::BadPlan;
use std::fmt;
use std::str::FromStr;

/// Which optimisations of `bpor` are on (Coons 2013, chapter 6). As text: `tr,at,ro,bo,ss`, or `none`.
///
/// ```
/// use explore::Optimisations;
/// let some: Optimisations = "tr,ss".parse().unwrap();
/// assert!(some.transitive && some.sleep && !some.bound);
/// assert_eq!(some.to_string(), "tr,ss");
/// assert_eq!(Optimisations::NONE.to_string(), "none");
/// assert_eq!("all".parse(), Ok(Optimisations::ALL));
/// assert!("tr,xx".parse::<Optimisations>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optimisations {
    /// `tr`: no points for dependences that follow from others.
    pub transitive: bool,
    /// `at`: where a thread is blocked, one that leads to it instead of all.
    pub alternative: bool,
    /// `ro`: no points between steps that are never enabled together.
    pub release: bool,
    /// `bo`: points that are there for the bound alone wait until it was met below.
    pub bound: bool,
    /// `ss`: sleep sets.
    pub sleep: bool,
}

impl Optimisations {
    /// All of them.
    pub const ALL: Optimisations =
        Optimisations { transitive: true, alternative: true, release: true, bound: true, sleep: true };
    /// None of them.
    pub const NONE: Optimisations =
        Optimisations { transitive: false, alternative: false, release: false, bound: false, sleep: false };

    fn switches(&mut self) -> [(&'static str, &mut bool); 5] {
        [
            ("tr", &mut self.transitive),
            ("at", &mut self.alternative),
            ("ro", &mut self.release),
            ("bo", &mut self.bound),
            ("ss", &mut self.sleep),
        ]
    }
}

impl Default for Optimisations {
    fn default() -> Self {
        Optimisations::ALL
    }
}

impl fmt::Display for Optimisations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut copy = *self;
        let on: Vec<_> = copy.switches().into_iter().filter(|(_, on)| **on).map(|(name, _)| name).collect();
        f.write_str(&if on.is_empty() { "none".to_owned() } else { on.join(",") })
    }
}

impl FromStr for Optimisations {
    type Err = BadPlan;

    fn from_str(s: &str) -> Result<Optimisations, BadPlan> {
        match s.trim() {
            "all" => return Ok(Optimisations::ALL),
            "none" => return Ok(Optimisations::NONE),
            _ => {}
        }
        let mut out = Optimisations::NONE;
        for name in s.split(',').map(str::trim) {
            let mut switches = out.switches();
            let Some((_, on)) = switches.iter_mut().find(|(n, _)| *n == name) else {
                let known = "tr, at, ro, bo, ss (or all, or none)";
                return Err(BadPlan(format!("there is no optimisation `{name}`; there are: {known}")));
            };
            **on = true;
        }
        Ok(out)
    }
}
