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

#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) races: Races,
    /// A process that ends with another code than 0 is a failure.
    pub(crate) exit_codes: bool,
}

static OPTIONS: OnceLock<Options> = OnceLock::new();

/// The options, read at the start.
#[inline]
pub(crate) fn options() -> &'static Options {
    OPTIONS.get_or_init(read)
}

fn read() -> Options {
    let races = match std::env::var("RADDLE_RACES").as_deref() {
        Err(_) | Ok("report") => Races::Report,
        Ok("ignore") => Races::Ignore,
        Ok("sync") => Races::Sync,
        Ok(other) => crate::start::usage(&format!(
            "RADDLE_RACES is set to {other:?}; it can be `report`, `ignore` or `sync`"
        )),
    };
    Options { races, exit_codes: flag("RADDLE_EXIT_CODES", false) }
}

fn flag(name: &str, default: bool) -> bool {
    match std::env::var(name).as_deref() {
        Err(_) => default,
        Ok("1" | "true" | "yes" | "on") => true,
        Ok("0" | "false" | "no" | "off" | "") => false,
        Ok(other) => crate::start::usage(&format!("{name} is set to {other:?}; say 1 or 0")),
    }
}
