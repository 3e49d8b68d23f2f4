//! What the runtime asks of the program.

use crate::table::Entry;
use crate::{shim, start, threads};
use explore::ThreadId;
use runtime::{Class, Front, Handle};

/// Marks the names of what the program synchronises with.
const SYNC: u64 = 1 << 63;

pub(crate) struct Program;

/// The place in the program's own code that a call comes from: `site`, or, for calls out of the standard library, the frame of
/// the program that led there.
#[inline]
pub(crate) fn user_site(site: usize, _frame: usize) -> usize {
    site
}

impl Front for Program {
    fn place(&self, address: usize) -> String {
        format!("{address:#x}")
    }

    fn name_of(&self, handle: &Handle) -> u64 {
        // SAFETY: handles of this process lie in entries, as their first field.
        let entry = unsafe { &*(std::ptr::from_ref(handle).cast::<Entry>()) };
        entry.address as u64 | if entry.is_sync { SYNC } else { 0 }
    }

    fn object(&self, name: u64, _class: Class) -> Option<String> {
        (name != 0).then(|| format!("{:#x}", name & !SYNC))
    }

    fn value(&self, _name: u64, _word: u64) -> Option<String> {
        None
    }

    fn begin(&self) {
        start::restore();
        threads::begin();
        shim::begin();
    }

    fn end(&self) {
        shim::end();
    }

    fn switch(&self, _to: Option<ThreadId>) {}

    fn failed(&self, what: &str) {
        let what = std::ffi::CString::new(what.replace('\0', " ")).unwrap_or_default();
        crate::report_out::raddle_failure_found(what.as_ptr());
    }
}
