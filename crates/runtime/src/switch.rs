//! Fibers for x86-64 Linux, with a switch that a processor can predict.
//!
//! A processor takes each `ret` to go back behind the latest `call` that has not returned. A fiber that goes on in the middle of
//! an operation returns from calls that it made before it was suspended, so a switch that itself is a `call` one way and a `ret`
//! the other way throws these guesses off twice a turn, and a turn is short here. This one jumps both ways: the calls seen last are
//! those of the fiber that ran before, which is commonly in the same operation.
//!
//! Panics do not cross a switch: what comes out of the body of a fiber is carried over by hand. A backtrace ends at the bottom of
//! the fiber.
//!
//! **Invariant:** the stack of a fiber is neither freed nor given away while something is on it. A fiber that is dropped in the
//! middle of its body leaks.

use crate::fiber::{Exit, Resume, Said};
use corosensei::CoroutineResult;
use corosensei::stack::{DefaultStack, Stack};
use corosensei::trap::TrapHandlerRegs;
use std::any::Any;
use std::arch::{asm, naked_asm};
use std::cell::{Cell, UnsafeCell};
use std::mem::ManuallyDrop;
use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;

/// What a fiber runs.
type Body = Box<dyn FnMut(&Yielder, Resume) -> Exit>;

/// What a fiber and whoever resumes it share, and the way from inside a fiber back to the one that resumed it.
pub(crate) struct Yielder {
    /// The stack pointer of the fiber while it is suspended.
    fiber: Cell<usize>,
    /// That of whoever resumed it while it runs.
    parent: Cell<usize>,
    /// Stays here while it runs: a fiber that is reset in the middle of it must not lose it.
    body: UnsafeCell<Body>,
    /// It was resumed for the first time.
    begun: Cell<bool>,
    /// The body has returned, or was left.
    done: Cell<bool>,
    /// The fiber whose call of [`Fiber::resume`] comes back next: this one, or the first of those that handed over to each other.
    first: Cell<*const Yielder>,
    /// What came out of a body instead of a result, for that call.
    panic: Cell<Option<Box<dyn Any + Send>>>,
}

/// A thread of control on a stack of its own.
pub(crate) struct Fiber {
    stack: ManuallyDrop<DefaultStack>,
    shared: NonNull<Yielder>,
}

// What is said by a switch.
const WAITS: usize = 0;
const ENDED: usize = 1;
const DONE: usize = 2;
const STACK_OVERFLOW: usize = 3;
const PANICKED: usize = 4;
const INTERRUPTED: usize = 5;
const CRASHED: usize = 6;

const GO: usize = 0;
const UNWIND: usize = 1;
const RETIRE: usize = 2;

fn told(value: usize) -> Resume {
    match value {
        GO => Resume::Go,
        UNWIND => Resume::Unwind,
        _ => Resume::Retire,
    }
}

fn returns(exit: Exit) -> usize {
    match exit {
        Exit::Done => DONE,
        Exit::StackOverflow => STACK_OVERFLOW,
        Exit::Interrupted => INTERRUPTED,
        Exit::Crashed => CRASHED,
    }
}

/// Goes on where the stack pointer `to` was left, with `value`. Comes back when somebody goes on at what is put into `from`, with
/// the value that is given there.
///
/// # Safety
///
/// `from` may be written. `to` was left by this function, or made by [`Fiber::with_stack`], and nobody went on there since.
#[inline(always)]
unsafe fn switch(from: *mut usize, to: usize, value: usize) -> usize {
    let told;
    // SAFETY: by the contract the other stack has the same three words on top as this one. All registers are given up but the two
    // that the compiler keeps to itself, which are saved.
    unsafe {
        asm!(
            "push rbp",
            "push rbx",
            "lea rax, [rip + 2f]",
            "push rax",
            "mov [rsi], rsp",
            "mov rsp, rdx",
            "pop rax",
            "jmp rax",
            "2:",
            "pop rbx",
            "pop rbp",
            inlateout("rdi") value => told,
            in("rsi") from,
            in("rdx") to,
            lateout("r12") _,
            lateout("r13") _,
            lateout("r14") _,
            lateout("r15") _,
            clobber_abi("sysv64"),
        );
    }
    told
}

/// Where a fiber begins: its [`Yielder`] lies on top of the stack, and the first value is in `rdi`.
///
/// # Safety
///
/// Only reached by [`switch`].
#[unsafe(naked)]
unsafe extern "sysv64" fn start() {
    naked_asm!(
        ".cfi_startproc",
        // There is nothing above.
        ".cfi_undefined rip",
        "xor ebp, ebp",
        "mov rsi, [rsp]",
        "call {run}",
        "ud2",
        ".cfi_endproc",
        run = sym run,
    )
}

/// # Safety
///
/// Called once, at the bottom of the fiber that `shared` belongs to.
unsafe extern "sysv64" fn run(how: usize, shared: *const Yielder) -> ! {
    // SAFETY: what is shared outlives the fiber; it is only reached through shared references.
    let shared = unsafe { &*shared };
    shared.begun.set(true);
    // SAFETY: nobody else uses the body while the fiber lives, and it is called once.
    let body = unsafe { &mut *shared.body.get() };
    let said = match std::panic::catch_unwind(AssertUnwindSafe(|| body(shared, told(how)))) {
        Ok(exit) => returns(exit),
        Err(panic) => {
            // SAFETY: whoever waits in `resume` has the fiber that was resumed.
            unsafe { (*shared.first.get()).panic.set(Some(panic)) };
            PANICKED
        }
    };
    // SAFETY: this is the fiber, and the body is gone.
    unsafe { shared.leave(said) }
}

/// Where a fiber goes on that was interrupted for good.
///
/// # Safety
///
/// Runs as the fiber that `shared` belongs to, on its stack, on which nothing is of use any more.
unsafe extern "sysv64" fn interrupted(shared: *const Yielder, said: usize) -> ! {
    // SAFETY: by the contract.
    unsafe { (*shared).leave(said) }
}

impl Yielder {
    /// Goes back to whoever resumed the fiber; returns when it is resumed again.
    #[inline(always)]
    pub(crate) fn suspend(&self, said: Said) -> Resume {
        let said = match said {
            Said::Waits => WAITS,
            Said::Ended => ENDED,
        };
        // SAFETY: only code that runs on the fiber has its yielder, so it was resumed, and `parent` is where that is waited for.
        told(unsafe { switch(self.fiber.as_ptr(), self.parent.get(), said) })
    }

    /// Lets another fiber go on, which must be suspended; returns when this one is resumed again, or handed over to. Whoever resumed this
    /// one waits for whatever that one says.
    ///
    /// # Panics
    ///
    /// If the other one is done.
    #[inline(always)]
    pub(crate) fn hand_over(&self, to: &Fiber) -> Resume {
        let other = to.shared();
        assert!(!other.done.get(), "a fiber that is done cannot go on");
        other.parent.set(self.parent.get());
        other.first.set(self.first.get());
        // SAFETY: as in `suspend` and in `resume`: this fiber runs, and the other one does not.
        told(unsafe { switch(self.fiber.as_ptr(), other.fiber.get(), GO) })
    }

    /// Goes back for the last time.
    ///
    /// # Safety
    ///
    /// Called on the fiber, with nothing on its stack that must be dropped.
    unsafe fn leave(&self, said: usize) -> ! {
        self.done.set(true);
        // SAFETY: as in `suspend`.
        unsafe { switch(self.fiber.as_ptr(), self.parent.get(), said) };
        // Nobody resumes a fiber that is done.
        std::process::abort()
    }
}

impl Fiber {
    /// A fiber that will run `body` with its yielder and the first word that it is told.
    pub(crate) fn with_stack(
        stack: DefaultStack,
        body: impl FnMut(&Yielder, Resume) -> Exit + 'static,
    ) -> Fiber {
        let shared = NonNull::from(Box::leak(Box::new(Yielder {
            fiber: Cell::new(0),
            parent: Cell::new(0),
            body: UnsafeCell::new(Box::new(body)),
            begun: Cell::new(false),
            done: Cell::new(false),
            first: Cell::new(std::ptr::null()),
            panic: Cell::new(None),
        })));
        let top = (stack.base().get() - 32) & !15;
        // SAFETY: nothing is on the stack, and there is room for far more than two words. A `call` at `top` is aligned as it must be.
        unsafe {
            *(top as *mut usize) = shared.as_ptr() as usize;
            *((top - 8) as *mut usize) = start as *const () as usize;
            shared.as_ref().fiber.set(top - 8);
        }
        Fiber { stack: ManuallyDrop::new(stack), shared }
    }

    fn shared(&self) -> &Yielder {
        // SAFETY: it is freed with this fiber.
        unsafe { self.shared.as_ref() }
    }

    /// Runs it until it suspends itself or returns, or, if it hands over to another one, until that one does. Must not be called by a fiber.
    ///
    /// # Panics
    ///
    /// If it is done, or if its body panics.
    #[inline(always)]
    pub(crate) fn resume(&mut self, how: Resume) -> CoroutineResult<Said, Exit> {
        let shared = self.shared();
        assert!(!shared.done.get(), "a fiber that is done cannot go on");
        shared.first.set(shared);
        let how = match how {
            Resume::Go => GO,
            Resume::Unwind => UNWIND,
            Resume::Retire => RETIRE,
        };
        // SAFETY: it is suspended, or was just made: while it runs, whoever has this reference waits here.
        match unsafe { switch(shared.parent.as_ptr(), shared.fiber.get(), how) } {
            WAITS => CoroutineResult::Yield(Said::Waits),
            ENDED => CoroutineResult::Yield(Said::Ended),
            last => self.returned(last),
        }
    }

    #[cold]
    fn returned(&self, last: usize) -> CoroutineResult<Said, Exit> {
        if let Some(panic) = self.shared().panic.take() {
            std::panic::resume_unwind(panic);
        }
        CoroutineResult::Return(match last {
            DONE => Exit::Done,
            INTERRUPTED => Exit::Interrupted,
            CRASHED => Exit::Crashed,
            _ => Exit::StackOverflow,
        })
    }

    /// Ends it wherever it is: nothing on its stack is dropped.
    ///
    /// # Safety
    ///
    /// Nobody needs what is on its stack any more.
    pub(crate) unsafe fn force_reset(&mut self) {
        self.shared().done.set(true);
    }

    /// The stack of a fiber that is done.
    pub(crate) fn into_stack(self) -> DefaultStack {
        assert!(self.shared().done.get(), "a fiber needs its stack until it is done");
        let mut fiber = ManuallyDrop::new(self);
        // SAFETY: the fiber is not used any more, so each is taken once.
        unsafe {
            drop(Box::from_raw(fiber.shared.as_ptr()));
            ManuallyDrop::take(&mut fiber.stack)
        }
    }

    /// The way out for a fiber that was interrupted because it ran out of stack.
    pub(crate) fn trap_handler(&self) -> Trap<'_> {
        Trap(self)
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        let shared = self.shared();
        if shared.done.get() || !shared.begun.get() {
            // SAFETY: nothing is on the stack: the body is gone, or was never begun. Each is dropped once.
            unsafe {
                drop(Box::from_raw(self.shared.as_ptr()));
                ManuallyDrop::drop(&mut self.stack);
            }
        }
    }
}

/// See [`Fiber::trap_handler`].
pub(crate) struct Trap<'a>(&'a Fiber);

impl Trap<'_> {
    /// Ends the fiber with this exit.
    ///
    /// # Safety
    ///
    /// The caller runs on this fiber. What is on its stack leaks.
    pub(crate) unsafe fn leave(&self, exit: Exit) -> ! {
        // SAFETY: by the contract.
        unsafe { interrupted(self.0.shared.as_ptr(), returns(exit)) }
    }

    /// Whether an address lies in the stack of the fiber, the pages at its end included that must not be touched.
    pub(crate) fn stack_ptr_in_bounds(&self, address: usize) -> bool {
        (self.0.stack.limit().get()..self.0.stack.base().get()).contains(&address)
    }

    /// The registers with which the fiber is to go on, so that it ends with what `exit` says.
    ///
    /// # Safety
    ///
    /// The fiber was interrupted, and will go on with these. What is on its stack leaks.
    pub(crate) unsafe fn setup_trap_handler(&self, exit: impl FnOnce() -> Exit) -> TrapHandlerRegs {
        // As if it had just been called.
        let rsp = ((self.0.stack.base().get() - 32) & !15) - 8;
        TrapHandlerRegs {
            rip: interrupted as *const () as u64,
            rsp: rsp as u64,
            rbp: 0,
            rdi: self.0.shared.as_ptr() as u64,
            rsi: returns(exit()) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack() -> DefaultStack {
        DefaultStack::new(64 * 1024).expect("memory for a small stack")
    }

    #[test]
    fn words_go_both_ways_and_the_stack_comes_back_at_the_end() {
        let mut fiber = Fiber::with_stack(stack(), |yielder, first| {
            assert_eq!(first, Resume::Go);
            assert_eq!(yielder.suspend(Said::Waits), Resume::Unwind);
            assert_eq!(yielder.suspend(Said::Ended), Resume::Retire);
            Exit::Done
        });
        assert_eq!(fiber.resume(Resume::Go), CoroutineResult::Yield(Said::Waits));
        assert_eq!(fiber.resume(Resume::Unwind), CoroutineResult::Yield(Said::Ended));
        assert_eq!(fiber.resume(Resume::Retire), CoroutineResult::Return(Exit::Done));
        let mut next = Fiber::with_stack(fiber.into_stack(), |_, _| Exit::StackOverflow);
        assert_eq!(next.resume(Resume::Go), CoroutineResult::Return(Exit::StackOverflow));
    }

    #[test]
    fn a_panic_of_the_body_comes_out_where_the_fiber_was_resumed() {
        let mut fiber = Fiber::with_stack(stack(), |yielder, _| {
            yielder.suspend(Said::Waits);
            std::panic::resume_unwind(Box::new(7u8))
        });
        assert_eq!(fiber.resume(Resume::Go), CoroutineResult::Yield(Said::Waits));
        let panic = std::panic::catch_unwind(AssertUnwindSafe(|| fiber.resume(Resume::Go)));
        assert_eq!(panic.expect_err("it panics").downcast_ref::<u8>(), Some(&7));
        drop(fiber.into_stack());
    }

    #[test]
    fn fibers_hand_over_to_each_other_and_what_the_last_one_says_comes_back_to_who_resumed_the_first() {
        use std::rc::Rc;
        let second: Rc<Cell<*const Fiber>> = Rc::new(Cell::new(std::ptr::null()));
        let first: Rc<Cell<*const Fiber>> = Rc::new(Cell::new(std::ptr::null()));
        let (to_second, to_first) = (second.clone(), first.clone());
        let mut a = Fiber::with_stack(stack(), move |yielder, _| {
            for _ in 0..10 {
                // SAFETY: the other fiber is alive, below, and suspended.
                assert_eq!(yielder.hand_over(unsafe { &*to_second.get() }), Resume::Go);
            }
            std::panic::resume_unwind(Box::new(8u8))
        });
        let mut b = Fiber::with_stack(stack(), move |yielder, _| {
            let mut turns = 0;
            loop {
                turns += 1;
                if turns == 5 {
                    // The next word comes from below.
                    assert_eq!(yielder.suspend(Said::Ended), Resume::Unwind);
                }
                // SAFETY: as above.
                assert_eq!(yielder.hand_over(unsafe { &*to_first.get() }), Resume::Go);
            }
        });
        first.set(&raw const a);
        second.set(&raw const b);
        assert_eq!(a.resume(Resume::Go), CoroutineResult::Yield(Said::Ended), "said by the second one");
        let panic = std::panic::catch_unwind(AssertUnwindSafe(|| b.resume(Resume::Unwind)));
        assert_eq!(panic.expect_err("the first one panics").downcast_ref::<u8>(), Some(&8));
        drop(a.into_stack());
        // SAFETY: what is on its stack is two pointers and a count.
        unsafe { b.force_reset() };
        drop(b.into_stack());
    }

    #[test]
    fn a_fiber_that_never_ran_drops_its_body_and_one_in_the_middle_leaks_what_it_has() {
        let count = std::rc::Rc::new(());
        let held = count.clone();
        drop(Fiber::with_stack(stack(), move |_, _| {
            assert!(std::rc::Rc::strong_count(&held) > 0);
            Exit::Done
        }));
        assert_eq!(std::rc::Rc::strong_count(&count), 1);
        let held = count.clone();
        let mut fiber = Fiber::with_stack(stack(), move |yielder, _| {
            yielder.suspend(Said::Waits);
            assert!(std::rc::Rc::strong_count(&held) > 0);
            Exit::Done
        });
        assert_eq!(fiber.resume(Resume::Go), CoroutineResult::Yield(Said::Waits));
        drop(fiber);
        assert_eq!(std::rc::Rc::strong_count(&count), 2);
    }

    #[test]
    fn many_fibers_keep_their_values_over_switches() {
        let mut fibers: Vec<Fiber> = (0..8u64)
            .map(|k| {
                Fiber::with_stack(stack(), move |yielder, _| {
                    let mut sum = [k; 16];
                    let mut f = k as f64 + 0.5;
                    for _ in 0..100 {
                        yielder.suspend(Said::Waits);
                        sum.iter_mut().for_each(|s| *s = s.wrapping_mul(3) + k);
                        f += 1.0;
                    }
                    let mut expected = k;
                    (0..100).for_each(|_| expected = expected.wrapping_mul(3) + k);
                    assert!(sum.iter().all(|s| *s == expected) && f == k as f64 + 100.5);
                    Exit::Done
                })
            })
            .collect();
        for _ in 0..100 {
            for fiber in &mut fibers {
                assert_eq!(fiber.resume(Resume::Go), CoroutineResult::Yield(Said::Waits));
            }
        }
        for fiber in &mut fibers {
            assert_eq!(fiber.resume(Resume::Go), CoroutineResult::Return(Exit::Done));
        }
    }
}
