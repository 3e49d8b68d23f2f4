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
    Options { races }
}
