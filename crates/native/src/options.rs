//! What the variables `RADDLE_*` say to this front end alone; the rest is the library's.

use std::sync::OnceLock;

/// What is done about accesses that are not atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Races {
    /// A race is a failure. Whoever has none needs no scheduling points there.
    Report,
    /// They are taken to have no races.
    Ignore,
    /// They are steps, as if they were atomic.
    Sync,
}

/// Whether freed addresses are given out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// Never.
    Off,
    /// In a second search, if the first one finds nothing and sees that it may matter.
    Second,
    /// From the start, with every candidate.
    All,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) reuse: Reuse,
    pub(crate) races: Races,
    /// Accesses to volatile variables are atomic operations with relaxed order.
    pub(crate) volatile_is_atomic: bool,
    /// A process that ends with another code than 0 is a failure.
    pub(crate) exit_codes: bool,
}

static OPTIONS: OnceLock<Options> = OnceLock::new();

/// The options, read at the start.
#[inline]
pub(crate) fn options() -> &'static Options {
    // Whoever is asked before `check` was called gets what is usual in place of what is wrong.
    OPTIONS.get_or_init(|| Options {
        races: races().unwrap_or(Races::Report),
        volatile_is_atomic: volatile().unwrap_or(false),
        reuse: reuse().unwrap_or(Reuse::Second),
        exit_codes: flag("RADDLE_EXIT_CODES", true).unwrap_or(true),
    })
}

/// Says what is wrong with them, if anything is. Nothing may be said where they are first asked for: to say it is to ask for them.
pub(crate) fn check() -> Result<(), String> {
    races()?;
    volatile()?;
    reuse()?;
    flag("RADDLE_EXIT_CODES", true)?;
    Ok(())
}

fn reuse() -> Result<Reuse, String> {
    match std::env::var("RADDLE_REUSE").as_deref() {
        Err(_) => Ok(Reuse::Second),
        Ok("off") => Ok(Reuse::Off),
        Ok("all") => Ok(Reuse::All),
        Ok(other) => Err(format!("RADDLE_REUSE is set to {other:?}; it can be `off` or `all`")),
    }
}

fn races() -> Result<Races, String> {
    match std::env::var("RADDLE_RACES").as_deref() {
        Err(_) | Ok("report") => Ok(Races::Report),
        Ok("ignore") => Ok(Races::Ignore),
        Ok("sync") => Ok(Races::Sync),
        Ok(other) => Err(format!("RADDLE_RACES is set to {other:?}; it can be `report`, `ignore` or `sync`")),
    }
}

fn volatile() -> Result<bool, String> {
    match std::env::var("RADDLE_VOLATILE").as_deref() {
        Err(_) | Ok("plain") => Ok(false),
        Ok("atomic") => Ok(true),
        Ok(other) => Err(format!("RADDLE_VOLATILE is set to {other:?}; it can be `plain` or `atomic`")),
    }
}

fn flag(name: &str, default: bool) -> Result<bool, String> {
    match std::env::var(name).as_deref() {
        Err(_) | Ok("") => Ok(default),
        Ok("1" | "true" | "yes" | "on") => Ok(true),
        Ok("0" | "false" | "no" | "off") => Ok(false),
        Ok(other) => Err(format!("{name} is set to {other:?}; say 1 or 0")),
    }
}
