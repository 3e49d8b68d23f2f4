//! Fibers and their pooled stacks.

use crate::emergency;
use corosensei::stack::{DefaultStack, Stack};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether there may be code on stacks.
static EXECUTABLE: AtomicBool = AtomicBool::new(false);

/// Stacks that are made from now on may hold code: a program with functions inside functions jumps there.
pub fn make_stacks_executable() {
    EXECUTABLE.store(true, Ordering::Relaxed);
}

/// What a suspended fiber is told when it runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    /// Go on.
    Go,
    /// Unwind: the execution is given up.
    Unwind,
    /// End: the fiber, which waits for a body, is not needed any more.
    Retire,
}

/// Why a fiber suspended itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// It is another thread's turn.
    Waits,
    /// Its body returned or was unwound. It can run another one.
    Ended,
}

/// How a fiber ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It was retired.
    Done,
    /// It ran out of stack.
    StackOverflow,
    /// It was interrupted in its own code, because the search has to stop.
    Interrupted,
    /// Its code cannot continue; see [`crate::crash`].
    Crashed,
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) use crate::switch::{Fiber, Yielder as FiberYielder};
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub(crate) type Fiber = corosensei::Coroutine<Resume, Said, Exit, DefaultStack>;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub(crate) type FiberYielder = corosensei::Yielder<Resume, Said>;

/// The payload with which a fiber is unwound.
pub(crate) struct Abandoned;

/// Stack that an operation may use for the search, on top of what the test asked for.
const RESERVE: usize = 64 * 1024;
/// An operation that finds less than this reports that there is no more stack.
const RED_ZONE: usize = 48 * 1024;
/// Addresses below the stacks of a program in machine code that have no memory: its frames may be larger than a page, and it need not
/// touch each page on the way down.
const GUARD: usize = 64 << 20;
/// How many stacks an OS thread keeps between checks.
const KEPT: usize = 512;

thread_local! {
    static POOL: Cell<Vec<DefaultStack>> = const { Cell::new(Vec::new()) };
}

/// The stacks of a session, taken from the OS thread's pool and given back.
pub(crate) struct Stacks {
    free: Vec<DefaultStack>,
}

impl Stacks {
    pub(crate) fn take() -> Stacks {
        Stacks { free: POOL.with(|p| p.take()) }
    }

    /// A stack with room for `size` bytes besides our own, and hardly more: whether code runs out of stack must not depend on
    /// what ran before.
    pub(crate) fn get(&mut self, size: usize) -> DefaultStack {
        let guard = extra_guard();
        let wanted = size + RESERVE + guard;
        let slack = 2 * page_size();
        match self.free.iter().rposition(|s| (wanted..wanted + slack).contains(&(usable(s) + guard))) {
            Some(i) => self.free.swap_remove(i),
            None => {
                let stack = DefaultStack::new(wanted).unwrap_or_else(|e| {
                    emergency::die(&format!("there is no memory for one more stack of {size} bytes: {e}"))
                });
                if guard > 0 {
                    let bottom = stack.limit().get() + page_size();
                    // SAFETY: the pages are the lowest ones of the stack that was made just now.
                    let code = unsafe { libc::mprotect(bottom as *mut libc::c_void, guard, libc::PROT_NONE) };
                    if code != 0 {
                        emergency::die(&format!("there is no memory for one more stack of {size} bytes"));
                    }
                }
                if EXECUTABLE.load(Ordering::Relaxed) {
                    let all = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
                    let bottom = stack.limit().get() + page_size() + guard;
                    // SAFETY: the pages are those of the stack that was made just now, without its guard.
                    let code = unsafe { libc::mprotect(bottom as *mut libc::c_void, usable(&stack), all) };
                    if code != 0 {
                        emergency::die("the system allows no code on stacks, and the program needs that");
                    }
                }
                stack
            }
        }
    }

    #[inline]
    pub(crate) fn put(&mut self, stack: DefaultStack) {
        if self.free.len() < KEPT {
            self.free.push(stack);
        }
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        let mine = std::mem::take(&mut self.free);
        let _ = POOL.try_with(|p| p.set(mine));
    }
}

fn page_size() -> usize {
    static PAGE: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    // SAFETY: `sysconf` has no preconditions.
    *PAGE.get_or_init(|| unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize)
}

/// How much of a stack is kept free of memory, besides a page.
fn extra_guard() -> usize {
    if crate::front::front().is_some() { GUARD } else { 0 }
}

fn usable(stack: &DefaultStack) -> usize {
    stack.base().get() - stack.limit().get() - page_size() - extra_guard()
}

/// The address below which an operation on this stack must not start.
pub(crate) fn floor(stack: &DefaultStack) -> usize {
    stack.limit().get() + page_size() + extra_guard() + RED_ZONE
}
