//! Eager search (EPOR) on automata against source sets, as in the tables of Metzler (2020).

/// The table.
pub(crate) fn table(_large: bool) {}
