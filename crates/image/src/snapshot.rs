//! The contents of the program's globals, and putting them back.
//!
//! After [`Snapshot::take`] every page of the regions is write-protected. The first write to a page ever raises a
//! signal, whose handler calls [`on_fault`]: the page's contents, which nobody has changed until now, are saved, and
//! the page becomes *hot*: writable for good, and copied back by every [`Snapshot::restore`]. So a fault happens once
//! per page and process; a restore makes no system call, and what it costs goes by the number of pages that the
//! program writes, not by how many it has.
//!
//! **Invariant:** a page of the regions is either protected, and then has the contents it had when the snapshot was
//! taken, or hot, and then has a saved copy of these. Bytes outside the regions are never restored, also where they
//! share a page.
//!
//! The kernel does not raise a signal when a system call writes to a protected page: the call fails with `EFAULT`.
//! Whoever passes memory of the program to such a call says so first ([`prepare_write`]). The same goes for an
//! alternate signal stack among the globals: the kernel ends a process to which it cannot deliver a signal.
//!
//! A fork copies all of it, protection included, so that each process goes on by itself.

use crate::segments::Region;
use crate::{Error, PAGE, bytes, page_down, page_up, sys};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, compiler_fence};

/// When pages turn hot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// With the first write to them.
    Dirty,
    /// All at once. Needs no signal handler, and pays for every page each time.
    Full,
}

/// The part of a page that is in a region, and the copy of it.
#[derive(Clone, Copy)]
struct Span {
    address: *mut u8,
    saved: *mut u8,
    len: usize,
}

struct Tracked {
    region: Region,
    /// The pages it touches: the first address, and how many.
    first: usize,
    pages: usize,
    /// Saved contents, one page after the other; untouched while a page is cold.
    saved: *mut u8,
    /// One byte a page: 1 when it is hot.
    hot: *mut u8,
}

/// What the program's globals were when it was taken. It lives as long as the process.
pub struct Snapshot {
    tracked: Vec<Tracked>,
    low: usize,
    high: usize,
    /// The hot spans, with room for one for each page of each region.
    spans: *mut Span,
    count: AtomicUsize,
}

// SAFETY: used on one OS thread only (see the crate's rules); `Sync` so that it can be reached from a signal handler.
unsafe impl Sync for Snapshot {}
// SAFETY: as above.
unsafe impl Send for Snapshot {}

static CURRENT: AtomicPtr<Snapshot> = AtomicPtr::new(null_mut());

/// The snapshot that was taken last, if any.
#[inline]
pub fn current() -> Option<&'static Snapshot> {
    // SAFETY: either null, or leaked by `take`.
    unsafe { CURRENT.load(Ordering::Relaxed).as_ref() }
}

/// For the handler of `SIGSEGV`, which must call it first: whether the fault was the first write to a tracked page. The
/// access is then to be tried again.
pub fn on_fault(address: usize) -> bool {
    current().is_some_and(|snapshot| snapshot.on_fault(address))
}

/// Makes sure that the kernel can write to `len` bytes at `address`, for a system call on behalf of the program.
pub fn prepare_write(address: usize, len: usize) {
    if let Some(snapshot) = current() {
        snapshot.prepare_write(address, len);
    }
}

impl Snapshot {
    /// Takes the snapshot of these regions, and makes it the [`current`] one. One that was taken before ends with this.
    ///
    /// # Safety
    ///
    /// The regions must be mapped with the protection that they name for the rest of the process. In the mode
    /// [`Mode::Dirty`] a handler of `SIGSEGV` on an alternate stack must call [`on_fault`].
    pub unsafe fn take(regions: &[Region], mode: Mode) -> Result<&'static Self, Error> {
        if let Some(last) = current() {
            last.release();
        }
        let failed = |what: &str| {
            let what = format!("cannot set up the snapshot ({what})");
            move |error: sys::Errno| Error::new(what, error.0)
        };
        let read_write = libc::PROT_READ | libc::PROT_WRITE;
        let mut tracked = Vec::new();
        let mut all_pages = 0;
        for &region in regions.iter().filter(|region| region.len > 0) {
            let first = page_down(region.start);
            let pages = (page_up(region.end()) - first) / PAGE;
            let saved = sys::map(0, pages * PAGE, read_write).map_err(failed("saved pages"))? as *mut u8;
            let hot = sys::map(0, page_up(pages), read_write).map_err(failed("page table"))? as *mut u8;
            tracked.push(Tracked { region, first, pages, saved, hot });
            all_pages += pages;
        }
        let size = page_up((all_pages * size_of::<Span>()).max(1));
        let spans = sys::map(0, size, read_write).map_err(failed("list of pages"))? as *mut Span;
        let low = tracked.iter().map(|t| t.first).min().unwrap_or(0);
        let high = tracked.iter().map(|t| t.first + t.pages * PAGE).max().unwrap_or(0);
        let snapshot = Box::leak(Box::new(Self { tracked, low, high, spans, count: AtomicUsize::new(0) }));
        CURRENT.store(snapshot, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        match mode {
            Mode::Full => {
                for tracked in &snapshot.tracked {
                    snapshot.heat_region(tracked);
                }
            }
            Mode::Dirty => {
                for t in &snapshot.tracked {
                    // SAFETY: the caller's handler is ready for writes to these pages.
                    unsafe { sys::protect(t.first, t.pages * PAGE, t.region.protection & !libc::PROT_WRITE) }
                        .map_err(failed("write protection"))?;
                }
            }
        }
        Ok(snapshot)
    }

    /// Puts back every byte of the regions.
    ///
    /// # Safety
    ///
    /// Nothing may hold a reference into the regions.
    #[inline]
    pub unsafe fn restore(&self) {
        let count = self.count.load(Ordering::Relaxed);
        for index in 0..count {
            // SAFETY: spans below the count are set, their pages are writable, and each copy is as long as its span.
            unsafe {
                let span = *self.spans.add(index);
                bytes::copy(span.address, span.saved, span.len);
            }
        }
    }

    /// Whether an address belongs to a region, and is therefore restored.
    #[inline]
    pub fn is_tracked(&self, address: usize) -> bool {
        (self.low..self.high).contains(&address) && self.tracked.iter().any(|t| t.region.contains(address))
    }

    /// The regions, as they were given: roots for the search of leaks.
    pub fn regions(&self) -> impl Iterator<Item = Region> {
        self.tracked.iter().map(|tracked| tracked.region)
    }

    /// The number of pages that a restore copies.
    pub fn hot_pages(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// See the function [`on_fault`].
    pub fn on_fault(&self, address: usize) -> bool {
        (self.low..self.high).contains(&address) && self.heat(page_down(address))
    }

    /// See the function [`prepare_write`].
    pub fn prepare_write(&self, address: usize, len: usize) {
        if len == 0 {
            return;
        }
        let end = address.saturating_add(len).min(self.high);
        let mut page = page_down(address.max(self.low));
        while page < end {
            self.heat(page);
            page += PAGE;
        }
    }

    /// Makes a page hot. False if it was hot before, or is in no region.
    fn heat(&self, page: usize) -> bool {
        let Some(tracked) = self.save_page(page) else { return false };
        // SAFETY: the page has this protection by right, and every part of it is saved by now.
        if unsafe { sys::protect(page, PAGE, tracked.region.protection) }.is_err() {
            // Too many stretches of different protection for the kernel: the region becomes one.
            self.heat_region(tracked);
        }
        true
    }

    fn heat_region(&self, tracked: &Tracked) {
        for index in 0..tracked.pages {
            self.save_page(tracked.first + index * PAGE);
        }
        // If even this fails the access faults again, is not ours any more, and is reported as what it is.
        // SAFETY: the pages have this protection by right, and every part of them is saved by now.
        let _ = unsafe { sys::protect(tracked.first, tracked.pages * PAGE, tracked.region.protection) };
    }

    /// Saves what is cold of a page, in every region that has a part of it, and says one of those that had.
    fn save_page(&self, page: usize) -> Option<&Tracked> {
        let mut cold = None;
        for tracked in &self.tracked {
            let index = page.wrapping_sub(tracked.first) / PAGE;
            // SAFETY: the index is below the number of pages, which is how many flags there are.
            if index < tracked.pages && unsafe { *tracked.hot.add(index) } == 0 {
                self.save(tracked, index);
                cold = Some(tracked);
            }
        }
        cold
    }

    /// Saves a cold page and lists it as hot.
    fn save(&self, tracked: &Tracked, index: usize) {
        let page = tracked.first + index * PAGE;
        let from = page.max(tracked.region.start);
        let to = (page + PAGE).min(tracked.region.end());
        let count = self.count.load(Ordering::Relaxed);
        // SAFETY: the page is readable, there is a page for the copy, and the list has room for every page of each
        // region.
        unsafe {
            let saved = tracked.saved.add(from - tracked.first);
            bytes::copy(saved, from as *const u8, to - from);
            self.spans.add(count).write(Span { address: from as *mut u8, saved, len: to - from });
            *tracked.hot.add(index) = 1;
        }
        self.count.store(count + 1, Ordering::Relaxed);
    }

    /// Gives the pages their protection back; there is nothing to restore after this.
    fn release(&self) {
        CURRENT.store(null_mut(), Ordering::Relaxed);
        for t in &self.tracked {
            // SAFETY: the pages have this protection by right.
            let _ = unsafe { sys::protect(t.first, t.pages * PAGE, t.region.protection) };
            sys::unmap(t.saved as usize, t.pages * PAGE);
            sys::unmap(t.hot as usize, page_up(t.pages));
        }
        self.count.store(0, Ordering::Relaxed);
    }
}
