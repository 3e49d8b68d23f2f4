//! Controlled threads: the program under test runs here, one step at a time.
//!
//! Threads are fibers on pooled stacks, all on the OS thread that called the check. Each operation on a shared object is
//! a *step*: the thread announces it, the search ([`explore::Explorer`]) says which thread goes next, and when it is this
//! one's turn the step is applied to the object's state ([`explore::semantics`]). The decision runs inline in the announcing
//! fiber; when the same thread goes on, there is no switch at all.
//!
//! This crate decides nothing about schedules.

//!
//! # Who does what
//!
//! A [`Session`] is one check: it holds the numbering of threads and runs one execution after another
//! ([`Session::run_once`]); [`check`] drives it with a search and turns what failed into full reports. Everything else
//! here is called by the types that a test uses, from inside a controlled thread.
//!
//! # Rules inside
//!
//! All state of an execution is in one `Execution`, reached through a pointer of the OS thread. A fiber may be
//! suspended in the middle of an operation while others run, so no reference into the execution is held where a
//! suspension can happen: functions that can suspend take the raw pointer, all others take `&mut self`.

mod alien;
mod blocked;
mod callers;
mod caveats;
mod clock;
mod context;
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")), allow(dead_code))]
mod crash;
mod cycles;
mod driver;
mod emergency;
mod execution;
mod fiber;
mod foreign;
mod frees;
mod front;
mod heap;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
pub mod imports;
mod labels;
mod lent;
mod lifetimes;
mod limits;
mod livelock;
mod locals;
mod memory;
mod objects;
mod orders;
mod outside;
mod owners;
mod panics;
mod polling;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
mod quarantine;
#[cfg(not(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64")))]
mod quarantine {
    //! Nothing is held back on this system.
    pub(crate) struct Quarantine;
    impl Quarantine {
        pub(crate) fn is_available() -> bool {
            false
        }
        pub(crate) fn new(_gives_back: bool) -> Quarantine {
            Quarantine
        }
    }
}
mod races;
mod record;
mod rwlock;
mod session;
mod shadow;
mod signals;
mod spin;
mod statics;
mod std_locals;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod switch;
mod sync;
mod threads;
mod time;
mod turns;
mod watch;
mod watchdog;

pub use alien::alien_uses;
pub use caveats::{caveat, caveat_at, compares_addresses, compares_freed, take_back};
pub use clock::{TimeShares, cpu_seconds};
pub use cycles::Rule;
pub use driver::{Completed, DEEPENING, Found, Settings, check, follow, replay};
pub use fiber::make_stacks_executable;
pub use foreign::{
    class_of, end_looking, ends_spuriously, enter_block, forget_caveats, has_blocks, have_blocks,
    have_interrupts, hush, is_in_use, leave_block, name_thread, peek, put_word, stack_of, wait_for_any,
    wait_for_signal, wait_in, wait_once, wait_while,
};
pub use front::{Crashed, Front, Part, Place, set_front};
pub use heap::{Tracked, address_is_kept, allocate, free, is_allocated, track, untrack};
pub use labels::Labels;
pub use lent::{cell_ends, cell_lend, cell_lends_elements};
pub use lifetimes::{object_ends, object_gone, object_owned};
pub use limits::{
    END_AFTER, INTERRUPT_AFTER, SIGNALS as STOP_SIGNALS, end_process, is_stopping, set_last_words,
    stop_for_signal, stop_for_time, stopped_by_signal, write_last_words,
};
pub use locals::thread_local;
pub use memory::{
    LocalState, StackSpot, Touching, choose_address, ended_stack, exchange_part, execution_number,
    exit_process, forget_accesses, forget_holders, frames_end, had_order, in_execution, in_program, is_alone,
    is_looking, is_queued, label, last_place, leave_thread, looking_flag, may_be_on_stack, next_child,
    on_memory, on_other_stack, on_own_stack, only_read, record_end, record_free, record_plain, records_plain,
    restart_soon, session_number, settle, stack_spot, step_in, steps_in_program, thread_of_stack,
    thread_path, touch, transfer, write_later, yield_in,
};
pub use objects::Handle;
pub use orders::{is_concurrent, is_weak, ordered_access, ordered_fence, ordered_step};
pub use outside::OneCheck;
pub use owners::arc_drops_value;
pub use polling::{Modes, changed, unchanged, unlock};
pub use races::{
    CellHandle, cell_access, forget_cell, is_met, is_unordered, let_own_stores_go_on,
    let_plain_accesses_order, steps_taken, touch_cell,
};
pub use rwlock::{rw_attempt, rw_reads, rw_tries_to_read, rw_writes};
pub use session::{Once, Session};
pub use shadow::{Accessed, Shadow};
pub use statics::{data, data_of_lock};
pub use sync::{
    Ended, active, assume, choose, choose_signal, enter_count, fail, is_for_ever, local_step, notify, prune,
    rmw, step, stop_here, stop_repeating, take_word, tearing_down, wait,
};
pub use threads::{
    Body, Task, closure_ended, current, detached, is_finished, join, owners_leave, panic_passed_on,
    panicking, park, spawn, thread_name, unpark, value_dropped,
};
pub use watch::cell_data;

pub use time::{
    Patience, clock_decide_patiently, clock_end_wait, clock_limit, clock_now, clock_pass, clock_reach,
    clock_read, clock_read_in, clock_sleep_patiently, clock_start_wait, clock_wait_ended, take_time_passed,
};

use explore::{MemoryOrder, OpKind};

/// What an object is, for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Class {
    /// An atomic.
    Atomic,
    /// A mutex.
    Mutex,
    /// A reader-writer lock.
    RwLock,
    /// A condition variable.
    Condvar,
    /// A channel.
    Channel,
    /// A barrier.
    Barrier,
    /// A counted reference.
    Arc,
    /// A cell whose accesses are checked for races.
    Cell,
    /// A once-only initialisation.
    Once,
    /// The life of a thread.
    Thread,
    /// The token of a thread.
    Token,
    /// The version of what a lock guards.
    Version,
    /// The heap, or an address on it that may be given out again.
    Heap,
    /// A semaphore.
    Semaphore,
    /// A variable that is not atomic.
    Variable,
}

/// What a step gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The value that was read, or whatever [`explore::semantics::apply`] says.
    pub value: u64,
    /// Whether it succeeded.
    pub ok: bool,
}

/// What to do to which object; see [`OpKind`] for the operands.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The kind.
    pub kind: OpKind,
    /// The object.
    pub object: &'a Handle,
    /// What it is, for reports.
    pub class: Class,
    /// Its word if this execution has not met it.
    pub initial: u64,
    /// First operand.
    pub a: u64,
    /// Second operand.
    pub b: u64,
    /// Memory order.
    pub order: MemoryOrder,
    /// Where.
    pub place: Place,
}

/// Marks a branch that is seldom taken. The compiler then moves it away from the code around it, most of which runs in each execution: the
/// instructions of an execution fit the first cache of a processor only if little else lies between them.
#[cold]
#[inline(never)]
pub(crate) fn seldom() {
    // A call without any effect would be left out.
    std::hint::black_box(());
}
