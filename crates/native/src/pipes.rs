//! Descriptors between threads of the program: pipes, socket pairs, event and timer descriptors.
//!
//! Each queue is one object of the search, and all that is done to it happens here, in user space: nothing waits in the kernel. The
//! word of the object says how much can be read, in the low half, and how much can be written, in the high half. A read that
//! blocks is a step that is enabled when there is something to read, or nobody left to write; a write likewise. A write happens
//! before the reads that come after it; reads order nothing.
//!
//! The kernel has a placeholder for each descriptor (opened with `O_PATH`), so that numbers are taken as usual, and a function that is
//! not modelled fails with `EBADF`. To close a descriptor while another thread may use it is reported.
//!
//! A timer descriptor that is armed may be found expired at any time. `poll`, `select` and `epoll_wait` are in `poll`.

use crate::libc::objects::{self, Finding, Part, Use};
use crate::modules::{self, Owner};
use crate::own_state::FIRST_OWN;
use crate::real::real;
use crate::shim::{Call, call, export, return_address};
use crate::sync::{On, not_modelled, with_errno};
use crate::{access, files, time};
use explore::{CaveatKind, FailureKind, MemoryOrder, OpKind};
use runtime::{Class, Done, Request};
use std::collections::VecDeque;
use std::ffi::{c_int, c_uint};

/// What a pipe holds, and what is written to it in one step.
const PIPE: usize = 65536;
const ATOMIC: usize = 4096;
/// Linux keeps the bytes of a pipe in buffers of a page. A write adds to the last buffer if the bytes fit there, and takes new ones
/// otherwise, so a pipe can be full that holds fewer bytes.
const PAGE: usize = 4096;
const PAGES: usize = PIPE / PAGE;
/// What one direction of a socket pair holds.
const SOCKET: usize = 212_992;
/// In either half of a word: nobody is left at the other end.
const GONE: u64 = 1 << 31;
const MOST: u64 = GONE - 1;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Pipe,
    Socket,
    Event { semaphore: bool },
    Timer,
    Epoll,
}

/// What descriptors lead to: one direction of a pipe or a socket pair, a counter, a timer, or a list of descriptors.
pub(crate) struct Queue {
    pub(crate) kind: Kind,
    place: usize,
    bytes: VecDeque<u8>,
    capacity: usize,
    /// The sizes of messages, where their borders are kept.
    packets: Option<VecDeque<usize>>,
    /// The buffers of a pipe: where the bytes that are left begin in each, and where they end.
    pages: VecDeque<(usize, usize)>,
    /// The writing end was closed with bytes that it had not read: the next read at the end fails.
    reset: bool,
    /// The value of an event descriptor, whether a timer is armed, or how often a list has changed.
    pub(crate) count: u64,
    /// When the timer expires, and how far expirations are apart.
    due: u64,
    interval: u64,
    clock: libc::clockid_t,
    /// How often it was found not expired.
    not_yet: u32,
    writers: u32,
    readers: u32,
    /// How often something came, and how often something was taken: events of edge-triggered waits.
    pub(crate) arrived: u64,
    pub(crate) left: u64,
}

/// A descriptor in a list of `epoll`.
#[derive(Clone, Copy)]
pub(crate) struct Item {
    pub(crate) fd: c_int,
    pub(crate) open: usize,
    pub(crate) events: u32,
    pub(crate) data: u64,
    /// The events that were reported last, by [`Queue::arrived`] and [`Queue::left`].
    pub(crate) reported: (u64, u64),
    /// It was reported once, and that was all that was asked for.
    pub(crate) off: bool,
}

/// An open file description.
pub(crate) struct Open {
    pub(crate) kind: Kind,
    pub(crate) input: Option<usize>,
    pub(crate) output: Option<usize>,
    nonblocking: bool,
    /// `SOCK_STREAM` and so on; 0 for what is not a socket.
    socket: c_int,
    /// What stands for its flags.
    flags: usize,
    pub(crate) descriptors: u32,
    pub(crate) items: Vec<Item>,
}

#[derive(Clone, Copy)]
struct Slot {
    open: usize,
    /// What stands for this descriptor, until it is closed.
    place: usize,
}

pub(crate) struct State {
    pub(crate) queues: Vec<Queue>,
    pub(crate) opens: Vec<Open>,
    slots: Vec<Option<Slot>>,
    /// By thread: how many places it has taken.
    made: [u16; explore::MAX_THREADS],
    /// Bytes on their way from a queue to the program, by thread.
    scratch: Vec<Vec<u8>>,
}

static mut STATE: State = State {
    queues: Vec::new(),
    opens: Vec::new(),
    slots: Vec::new(),
    made: [0; explore::MAX_THREADS],
    scratch: Vec::new(),
};

pub(crate) fn state() -> &'static mut State {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step.
    unsafe { &mut *(&raw mut STATE) }
}

const PLACES: usize = 512;
/// The addresses that stand for queues and descriptors.
static PLACE: [u64; PLACES] = [0; PLACES];
/// Who takes which place, the same in all executions: the thread and the how many-th of it. Allocated, so that processes share it where
/// executions have their own.
static mut TAKEN: *mut Vec<(u16, u16, &'static str)> = std::ptr::null_mut();

/// Called before the first execution.
pub(crate) fn prepare() {
    // SAFETY: nothing else runs yet.
    unsafe { TAKEN = Box::leak(Box::default()) };
}

/// An execution begins: nothing is open.
#[inline]
pub(crate) fn begin() {
    let state = state();
    if !state.opens.is_empty() {
        state.queues.clear();
        state.opens.clear();
        state.slots.clear();
        state.made = [0; explore::MAX_THREADS];
    }
}

/// What a queue or a descriptor is called in reports.
pub(crate) fn name_of(address: usize) -> Option<String> {
    let i = address.checked_sub(&raw const PLACE as usize)? / size_of::<u64>();
    // SAFETY: as in `state`; `prepare` was called before the first execution.
    let taken = unsafe { &*TAKEN };
    let (.., what) = taken.get(i).filter(|_| i < PLACES)?;
    let number = taken[..i].iter().filter(|t| t.2 == *what).count();
    Some(format!("{what} #{}", number + 1))
}

fn new_place(what: &'static str, call: Call) -> usize {
    let thread = runtime::current();
    let made = &mut state().made[thread.index()];
    *made += 1;
    let key = (thread.0, *made, what);
    // SAFETY: as in `name_of`.
    let taken = unsafe { &mut *TAKEN };
    let i = taken.iter().position(|t| *t == key).unwrap_or_else(|| {
        taken.push(key);
        taken.len() - 1
    });
    if i >= PLACES {
        not_modelled("a program that opens more than 200 pipes and other descriptors", call);
    }
    i
}

fn at_place(place: usize) -> On {
    On::new(&raw const PLACE[place] as usize, Class::Channel)
}

impl Queue {
    pub(crate) fn on(&self) -> On {
        at_place(self.place)
    }

    /// The largest write that fits in one step, of a pipe at most the pages that are free.
    fn room(&self) -> usize {
        if self.kind != Kind::Pipe {
            return self.capacity - self.bytes.len();
        }
        match PAGES - self.pages.len() {
            0 => self.room_in_page(),
            free => free * PAGE,
        }
    }

    /// How much fits into the last page.
    fn room_in_page(&self) -> usize {
        self.pages.back().map_or(0, |page| PAGE - page.1)
    }

    /// Puts as much of `n` bytes into a pipe as fits, as Linux does: how much. `starts` says whether they are the first of a write: only
    /// those are added to a page that others have begun.
    fn fill(&mut self, n: usize, starts: bool) -> usize {
        let mut left = n;
        let odd = n % PAGE;
        if starts && odd > 0 && odd <= self.room_in_page() {
            if let Some(page) = self.pages.back_mut() {
                page.1 += odd;
            }
            left -= odd;
        }
        while left > 0 && self.pages.len() < PAGES {
            let bytes = left.min(PAGE);
            self.pages.push_back((0, bytes));
            left -= bytes;
        }
        n - left
    }

    /// Takes bytes out of the pages of a pipe.
    fn drain_pages(&mut self, mut n: usize) {
        while let Some(page) = self.pages.front_mut().filter(|_| n > 0) {
            let bytes = n.min(page.1 - page.0);
            page.0 += bytes;
            n -= bytes;
            if page.0 == page.1 {
                self.pages.pop_front();
            }
        }
    }

    /// Whether writes fail. A socket may be shut down by its own side.
    fn is_broken(&self) -> bool {
        self.readers == 0 || self.kind == Kind::Socket && self.writers == 0
    }

    /// The word of its object.
    fn word(&self) -> u64 {
        let (low, high) = match self.kind {
            Kind::Pipe | Kind::Socket => {
                let gone = |is: bool| if is { GONE } else { 0 };
                (
                    self.bytes.len() as u64 | gone(self.writers == 0),
                    self.room() as u64 | gone(self.is_broken()),
                )
            }
            Kind::Event { .. } => (self.count.min(MOST), (u64::MAX - 1 - self.count).min(MOST)),
            Kind::Timer => (self.count, 0),
            Kind::Epoll => (self.count & MOST, 0),
        };
        low | high << 32
    }

    /// The word while there is nothing to read.
    pub(crate) fn empty_word(&self) -> u64 {
        match self.kind {
            Kind::Pipe | Kind::Socket => (self.capacity as u64) << 32,
            Kind::Event { .. } => MOST << 32,
            Kind::Timer | Kind::Epoll => 0,
        }
    }

    /// Events for `poll`, as a descriptor sees them that reads from it.
    pub(crate) fn in_events(&self) -> u32 {
        let data = match self.kind {
            Kind::Pipe | Kind::Socket => !self.bytes.is_empty(),
            Kind::Event { .. } => self.count > 0,
            Kind::Timer => self.count > 0,
            Kind::Epoll => false,
        };
        let ended = matches!(self.kind, Kind::Pipe | Kind::Socket) && self.writers == 0;
        let readable = libc::POLLIN as u32 | libc::POLLRDNORM as u32;
        let of_end = match self.kind {
            Kind::Socket => readable | libc::POLLRDHUP as u32,
            _ => libc::POLLHUP as u32,
        };
        (if data { readable } else { 0 })
            | if ended { of_end } else { 0 }
            | if self.reset { libc::POLLERR as u32 } else { 0 }
    }

    /// Whether a socket can neither read from this queue, nor write to `output`.
    pub(crate) fn hangs_up(&self, output: &Queue) -> bool {
        self.kind == Kind::Socket && self.writers == 0 && output.is_broken()
    }

    /// Whether nothing more will come.
    pub(crate) fn has_ended(&self) -> bool {
        self.writers == 0
    }

    /// The same for one that writes to it.
    pub(crate) fn out_events(&self) -> u32 {
        let writable = libc::POLLOUT as u32 | libc::POLLWRNORM as u32;
        match self.kind {
            Kind::Pipe if self.readers == 0 => {
                libc::POLLERR as u32 | if self.room() >= ATOMIC { writable } else { 0 }
            }
            // Both directions are closed if the one that is read is, too: then there is `POLLHUP`.
            Kind::Socket if self.is_broken() => writable,
            Kind::Pipe | Kind::Socket if self.room() >= ATOMIC => writable,
            Kind::Event { .. } if self.count < u64::MAX - 1 => writable,
            _ => 0,
        }
    }
}

/// A step on a queue, which does `change` when its turn has come and `guard` is met.
pub(crate) fn step(
    kind: OpKind,
    queue: usize,
    guard: u64,
    order: MemoryOrder,
    call: Call,
    change: impl FnOnce(&mut Queue),
) -> Done {
    let on = state().queues[queue].on();
    let request = Request {
        kind,
        object: &on.entry().handle,
        class: on.class,
        initial: 0,
        a: 0,
        b: guard,
        order,
        place: call.place,
    };
    runtime::transfer(&request, call.state, |_| {
        let queue = &mut state().queues[queue];
        change(queue);
        queue.word()
    })
}

/// Whether a signal interrupts a call that waits until `guard` is met.
fn is_interrupted(queue: usize, guard: u64, call: Call) -> bool {
    crate::signals::is_interrupted(false, || !explore::semantics::meets(look(queue, call), guard), call)
}

/// A step that is always enabled.
pub(crate) fn change(queue: usize, order: MemoryOrder, call: Call, change: impl FnOnce(&mut Queue)) {
    step(OpKind::Transfer, queue, 0, order, call, change);
}

/// A step that looks at a queue; gives its word.
pub(crate) fn look(queue: usize, call: Call) -> u64 {
    let on = state().queues[queue].on();
    on.step_with(OpKind::Load, 0, 0, MemoryOrder::Acquire, call).value
}

fn new_queue(kind: Kind, capacity: usize, call: Call) -> usize {
    let what = match kind {
        Kind::Pipe => "pipe",
        Kind::Socket => "socket",
        Kind::Event { .. } => "eventfd",
        Kind::Timer => "timerfd",
        Kind::Epoll => "epoll",
    };
    let queue = Queue {
        kind,
        place: new_place(what, call),
        bytes: VecDeque::new(),
        capacity,
        packets: None,
        pages: VecDeque::new(),
        reset: false,
        count: 0,
        due: 0,
        interval: 0,
        clock: 0,
        not_yet: 0,
        writers: 1,
        readers: 1,
        arrived: 0,
        left: 0,
    };
    queue.on().put(queue.word(), call);
    state().queues.push(queue);
    state().queues.len() - 1
}

/// A number for a descriptor, from the kernel: the lowest that is free.
fn new_descriptor(open: usize, least: c_int, cloexec: bool, call: Call) -> c_int {
    objects::making_descriptor(call);
    let placeholder = libc::O_PATH | if cloexec { libc::O_CLOEXEC } else { 0 };
    // SAFETY: system calls on a path that exists and on descriptors of our own.
    let fd = unsafe {
        let fd = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, c"/".as_ptr(), placeholder) as c_int;
        if fd >= least || fd < 0 {
            fd
        } else {
            let moved = libc::syscall(libc::SYS_fcntl, fd, libc::F_DUPFD, least) as c_int;
            libc::syscall(libc::SYS_close, fd);
            moved
        }
    };
    if fd < 0 {
        return with_errno(libc::EMFILE);
    }
    files::opened();
    enter(fd, open, call);
    objects::made_descriptor(fd, call);
    fd
}

fn enter(fd: c_int, open: usize, call: Call) {
    let place = new_place("descriptor", call);
    let state = state();
    let i = fd as usize;
    if state.slots.len() <= i {
        state.slots.resize(i + 1, None);
    }
    state.slots[i] = Some(Slot { open, place });
    state.opens[open].descriptors += 1;
}

fn new_open(kind: Kind, input: Option<usize>, output: Option<usize>, flags: c_int) -> usize {
    let nonblocking = flags & libc::O_NONBLOCK != 0;
    // Places are the same in all executions.
    let place = |q: Option<usize>| q.map_or(0, |q| state().queues[q].place as u64 + 1);
    let flags = objects::key_of_file(FLAGS, place(input) << 32 | place(output));
    objects::name(flags, || "the flags of a descriptor".to_owned());
    let items = Vec::new();
    state().opens.push(Open { kind, input, output, nonblocking, socket: 0, flags, descriptors: 0, items });
    state().opens.len() - 1
}

/// In place of the number of a device, for the keys of flags.
const FLAGS: u64 = (1 << 62) + 100;

/// Uses the flags of an open file, which its descriptors share.
fn use_flags(open: usize, how: Use, call: Call) {
    let key = state().opens[open].flags;
    objects::together(&[Part { key, how, finding: Finding::Unordered }], call);
}

/// Looks at whether calls on an open file wait.
fn is_nonblocking(open: usize, call: Call) -> bool {
    use_flags(open, Use::Look, call);
    state().opens[open].nonblocking
}

fn of_program() -> bool {
    runtime::in_execution() && !matches!(modules::owner(return_address()), Some(Owner::Raddle | Owner::Libc))
}

/// What a descriptor is open on, if that is modelled.
#[inline]
pub(crate) fn open_of(fd: c_int) -> Option<usize> {
    let state = state();
    if state.opens.is_empty() || !runtime::in_execution() {
        return None;
    }
    let slot = state.slots.get(usize::try_from(fd).ok()?)?.as_ref()?;
    Some(slot.open)
}

/// The same for a descriptor that is about to be used.
pub(crate) fn used(fd: c_int, call: Call) -> Option<usize> {
    let open = open_of(fd)?;
    if let Some(slot) = state().slots[fd as usize] {
        at_place(slot.place).used(call);
    }
    Some(open)
}

extern "C" fn pipe_here(out: *mut c_int) -> c_int {
    if !of_program() {
        return real!(pipe(out): fn(*mut c_int) -> c_int);
    }
    new_pipe(out, 0, call())
}

extern "C" fn pipe2_here(out: *mut c_int, flags: c_int) -> c_int {
    if !of_program() {
        return real!(pipe2(out, flags): fn(*mut c_int, c_int) -> c_int);
    }
    if flags & !(libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_DIRECT) != 0 {
        return with_errno(libc::EINVAL);
    }
    let call = call();
    if flags & libc::O_DIRECT != 0 {
        not_modelled("a pipe with O_DIRECT", call);
    }
    new_pipe(out, flags, call)
}

fn new_pipe(out: *mut c_int, flags: c_int, call: Call) -> c_int {
    runtime::settle();
    let queue = new_queue(Kind::Pipe, PIPE, call);
    let ends =
        [new_open(Kind::Pipe, Some(queue), None, flags), new_open(Kind::Pipe, None, Some(queue), flags)];
    pair(ends, flags & libc::O_CLOEXEC != 0, out, call)
}

fn pair(ends: [usize; 2], cloexec: bool, out: *mut c_int, call: Call) -> c_int {
    access::access(out as usize, 8, true, call);
    for (i, open) in ends.into_iter().enumerate() {
        let fd = new_descriptor(open, 0, cloexec, call);
        if fd < 0 {
            return fd;
        }
        // SAFETY: the program hands in room for two descriptors.
        unsafe { out.add(i).write(fd) };
    }
    0
}

/// The kernel's types of sockets have lower numbers.
const SOCK_MAX: c_int = 11;

extern "C" fn socketpair_here(domain: c_int, kind: c_int, protocol: c_int, out: *mut c_int) -> c_int {
    if !of_program() {
        return real!(socketpair(domain, kind, protocol, out): fn(c_int, c_int, c_int, *mut c_int) -> c_int);
    }
    let call = call();
    runtime::settle();
    let flags = kind & (libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC);
    let kind = kind & !flags;
    if domain != libc::AF_UNIX {
        // The kernel knows which error it is; hardly any other domain has pairs.
        let code = real!(socketpair(domain, kind | flags, protocol, out): fn(c_int, c_int, c_int, *mut c_int) -> c_int);
        if code == 0 {
            not_modelled("a pair of sockets of this domain", call);
        }
        return code;
    }
    // The kernel makes a socket for datagrams of a raw one.
    let kind = if kind == libc::SOCK_RAW { libc::SOCK_DGRAM } else { kind };
    if !(0..SOCK_MAX).contains(&kind) {
        return with_errno(libc::EINVAL);
    }
    if protocol != 0 && protocol != libc::PF_UNIX {
        return with_errno(libc::EPROTONOSUPPORT);
    }
    if !matches!(kind, libc::SOCK_STREAM | libc::SOCK_DGRAM | libc::SOCK_SEQPACKET) {
        return with_errno(libc::ESOCKTNOSUPPORT);
    }
    let queues = [new_queue(Kind::Socket, SOCKET, call), new_queue(Kind::Socket, SOCKET, call)];
    if kind != libc::SOCK_STREAM {
        queues.iter().for_each(|q| state().queues[*q].packets = Some(VecDeque::new()));
    }
    let [a, b] = queues;
    let ends =
        [new_open(Kind::Socket, Some(a), Some(b), flags), new_open(Kind::Socket, Some(b), Some(a), flags)];
    ends.iter().for_each(|open| state().opens[*open].socket = kind);
    pair(ends, flags & libc::SOCK_CLOEXEC != 0, out, call)
}

extern "C" fn eventfd_here(initial: c_uint, flags: c_int) -> c_int {
    if !of_program() {
        return real!(eventfd(initial, flags): fn(c_uint, c_int) -> c_int);
    }
    if flags & !(libc::EFD_SEMAPHORE | libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) != 0 {
        return with_errno(libc::EINVAL);
    }
    let call = call();
    runtime::settle();
    let queue = new_queue(Kind::Event { semaphore: flags & libc::EFD_SEMAPHORE != 0 }, 0, call);
    let entry = &mut state().queues[queue];
    entry.count = u64::from(initial);
    entry.on().put(entry.word(), call);
    let kind = state().queues[queue].kind;
    let open = new_open(kind, Some(queue), Some(queue), flags);
    new_descriptor(open, 0, flags & libc::EFD_CLOEXEC != 0, call)
}

extern "C" fn timerfd_create_here(clock: libc::clockid_t, flags: c_int) -> c_int {
    if !of_program() {
        return real!(timerfd_create(clock, flags): fn(libc::clockid_t, c_int) -> c_int);
    }
    let has_timers = matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC | libc::CLOCK_BOOTTIME)
        || matches!(clock, libc::CLOCK_REALTIME_ALARM | libc::CLOCK_BOOTTIME_ALARM);
    if !has_timers || flags & !(libc::TFD_CLOEXEC | libc::TFD_NONBLOCK) != 0 {
        return with_errno(libc::EINVAL);
    }
    let call = call();
    runtime::settle();
    let queue = new_queue(Kind::Timer, 0, call);
    state().queues[queue].clock = clock;
    let open = new_open(Kind::Timer, Some(queue), None, flags);
    new_descriptor(open, 0, flags & libc::TFD_CLOEXEC != 0, call)
}

extern "C" fn timerfd_settime_here(
    fd: c_int,
    flags: c_int,
    new: *const libc::itimerspec,
    old: *mut libc::itimerspec,
) -> c_int {
    let call = call();
    let Some(open) = used(fd, call) else {
        return real!(timerfd_settime(fd, flags, new, old):
            fn(c_int, c_int, *const libc::itimerspec, *mut libc::itimerspec) -> c_int);
    };
    if new.is_null() {
        return with_errno(libc::EFAULT);
    }
    access::access(new as usize, size_of::<libc::itimerspec>(), false, call);
    // SAFETY: the program hands in a time.
    let new = unsafe { *new };
    let is_valid = time::is_duration(&new.it_value) && time::is_duration(&new.it_interval);
    if !is_valid || flags & !(libc::TFD_TIMER_ABSTIME | libc::TFD_TIMER_CANCEL_ON_SET) != 0 {
        return with_errno(libc::EINVAL);
    }
    let Some(queue) = state().opens[open].input.filter(|q| state().queues[*q].kind == Kind::Timer) else {
        return with_errno(libc::EINVAL);
    };
    let clock = state().queues[queue].clock;
    let absolute = (flags & libc::TFD_TIMER_ABSTIME != 0).then_some(clock);
    let due = time::due(&new.it_value, absolute);
    let interval = time::due(&new.it_interval, None).saturating_sub(time::now());
    if new.it_interval.tv_sec != 0 || new.it_interval.tv_nsec != 0 {
        let text = "a timer descriptor with an interval was explored with one expiration for each read";
        runtime::caveat_at(CaveatKind::Clock, text, call.place);
    }
    let armed = new.it_value.tv_sec != 0 || new.it_value.tv_nsec != 0;
    change(queue, MemoryOrder::Release, call, |q| {
        q.count = u64::from(armed);
        q.due = due;
        q.not_yet = 0;
        q.interval = interval;
        q.arrived += 1;
    });
    if !old.is_null() {
        access::access(old as usize, size_of::<libc::itimerspec>(), true, call);
        // SAFETY: the program hands in a place.
        unsafe { old.write_bytes(0, 1) };
    }
    0
}

/// Takes one expiration of a timer.
fn expire(queue: &mut Queue) {
    time::at_least(queue.due);
    if queue.interval == 0 {
        queue.count = 0;
    } else {
        queue.due += queue.interval;
    }
}

/// Whether a timer that is armed is found expired by a thread that does not wait for it.
///
/// It may be found not expired so often: a loop that looks would never end otherwise.
pub(crate) fn is_expired(queue: usize, call: Call) -> bool {
    const NOT_YET: u32 = 2;
    if state().queues[queue].not_yet == NOT_YET {
        let text = "a timer descriptor was found not expired at most twice after it was set";
        runtime::caveat_at(CaveatKind::Clock, text, call.place);
        return true;
    }
    let is_expired = runtime::choose(2, call.place) == 1;
    state().queues[queue].not_yet += u32::from(!is_expired);
    is_expired
}

fn scratch() -> &'static mut Vec<u8> {
    let all = &mut state().scratch;
    let i = runtime::current().index();
    if all.len() <= i {
        all.resize_with(i + 1, Vec::new);
    }
    &mut all[i]
}

const DONT_WAIT: c_int = libc::MSG_DONTWAIT;
const IS_SOCKET: c_int = 1 << 30;

/// Reads from a descriptor, if it is modelled.
pub(crate) fn read_from(fd: c_int, buffer: usize, n: usize, flags: c_int, call: Call) -> Option<isize> {
    let open = used(fd, call)?;
    runtime::settle();
    let nonblocking = is_nonblocking(open, call);
    let Open { kind, input, .. } = state().opens[open];
    let fail = |code| Some(with_errno(code) as isize);
    let Some(queue) = input else { return fail(libc::EBADF) };
    if kind == Kind::Epoll {
        return fail(libc::EINVAL);
    }
    if n > isize::MAX as usize {
        return fail(libc::EFAULT);
    }
    if flags & IS_SOCKET != 0 && kind != Kind::Socket {
        return fail(libc::ENOTSOCK);
    }
    if flags & !(DONT_WAIT | IS_SOCKET | libc::MSG_NOSIGNAL | libc::MSG_WAITALL | libc::MSG_CMSG_CLOEXEC) != 0
    {
        not_modelled("a receive with these flags", call);
    }
    let wait = !nonblocking && flags & DONT_WAIT == 0;
    let is_number = matches!(kind, Kind::Event { .. } | Kind::Timer);
    if is_number && n < 8 {
        return fail(libc::EINVAL);
    }
    // `recv` looks for a message all the same.
    if n == 0 && flags & IS_SOCKET == 0 {
        return Some(0);
    }
    let is_datagram = state().opens[open].socket == libc::SOCK_DGRAM;
    if kind == Kind::Timer && !wait && (look(queue, call) == 0 || !is_expired(queue, call)) {
        return fail(libc::EAGAIN);
    }
    let all = flags & libc::MSG_WAITALL != 0 && wait;
    let mut got = 0;
    loop {
        if wait && is_interrupted(queue, 1, call) {
            return if got > 0 { Some(got as isize) } else { fail(libc::EINTR) };
        }
        let how = if wait { OpKind::Transfer } else { OpKind::TryTransfer };
        let (mut is_reset, mut is_closed) = (false, false);
        let done = step(how, queue, 1, MemoryOrder::Acquire, call, |q| {
            let out = scratch();
            out.clear();
            match q.kind {
                Kind::Event { semaphore } => {
                    let value = if semaphore { 1 } else { q.count };
                    q.count -= value;
                    out.extend_from_slice(&value.to_ne_bytes());
                }
                Kind::Timer => {
                    expire(q);
                    out.extend_from_slice(&1u64.to_ne_bytes());
                }
                _ => {
                    is_closed = match &q.packets {
                        Some(packets) => packets.is_empty(),
                        None => q.bytes.is_empty(),
                    };
                    // What of a message has no room is lost; bytes of a stream stay.
                    // Messages that are left come after the error.
                    is_reset = q.packets.is_some() && std::mem::take(&mut q.reset);
                    match q.packets.as_mut().filter(|_| !is_reset).and_then(VecDeque::pop_front) {
                        None if is_reset => {}
                        Some(size) => out.extend(q.bytes.drain(..size).take(n - got)),
                        None => {
                            is_reset |= is_closed && std::mem::take(&mut q.reset);
                            let bytes = q.bytes.len().min(n - got);
                            out.extend(q.bytes.drain(..bytes));
                            q.drain_pages(bytes);
                        }
                    }
                }
            }
            q.left += 1;
        });
        if is_reset && got == 0 {
            return fail(libc::ECONNRESET);
        }
        if done.ok && is_closed && is_datagram {
            // A read waits for ever, or for another sender.
            not_modelled("a read from a datagram socket whose other end is closed", call);
        }
        if !done.ok {
            return if got > 0 { Some(got as isize) } else { fail(libc::EAGAIN) };
        }
        let bytes = scratch().len();
        if bytes > 0 {
            access::access(buffer + got, bytes, true, call);
            // SAFETY: the program hands in room for `n` bytes, of which these are at most the rest.
            unsafe { std::ptr::copy_nonoverlapping(scratch().as_ptr(), (buffer + got) as *mut u8, bytes) };
        }
        got += bytes;
        if !all || got == n || bytes == 0 {
            return Some(got as isize);
        }
    }
}

/// Writes to a descriptor, if it is modelled.
pub(crate) fn write_to(fd: c_int, buffer: usize, n: usize, flags: c_int, call: Call) -> Option<isize> {
    if n > 0 && open_of(fd).is_some() {
        access::access(buffer, n, false, call);
    }
    write_known(fd, buffer, n, flags, call)
}

/// Writes bytes; the access to them was made.
fn write_known(fd: c_int, buffer: usize, n: usize, flags: c_int, call: Call) -> Option<isize> {
    let open = used(fd, call)?;
    runtime::settle();
    let nonblocking = is_nonblocking(open, call);
    let Open { kind, output, .. } = state().opens[open];
    let fail = |code| Some(with_errno(code) as isize);
    let Some(queue) = output else {
        return fail(if kind == Kind::Pipe { libc::EBADF } else { libc::EINVAL });
    };
    if flags & IS_SOCKET != 0 && kind != Kind::Socket {
        return fail(libc::ENOTSOCK);
    }
    if flags & !(DONT_WAIT | IS_SOCKET | libc::MSG_NOSIGNAL) != 0 {
        not_modelled("a send with these flags", call);
    }
    let wait = !nonblocking && flags & DONT_WAIT == 0;
    let how = if wait { OpKind::Transfer } else { OpKind::TryTransfer };
    if let Kind::Event { .. } = kind {
        if n < 8 {
            return fail(libc::EINVAL);
        }
        // SAFETY: the program hands in eight bytes.
        let value = unsafe { (buffer as *const u64).read_unaligned() };
        if value == u64::MAX {
            return fail(libc::EINVAL);
        }
        if value > MOST {
            not_modelled("a number of more than 31 bits that is written to an event descriptor", call);
        }
        if wait && is_interrupted(queue, value << 32, call) {
            return fail(libc::EINTR);
        }
        let done = step(how, queue, value << 32, MemoryOrder::Release, call, |q| {
            q.count += value;
            q.arrived += 1;
        });
        return if done.ok { Some(8) } else { fail(libc::EAGAIN) };
    }
    let is_packet = state().queues[queue].packets.is_some();
    let is_datagram = state().opens[open].socket == libc::SOCK_DGRAM;
    let is_reset = |q: usize| state().queues[q].reset;
    if is_packet && state().opens[open].input.is_some_and(is_reset) {
        not_modelled("a write to a socket whose other end was closed with messages left", call);
    }
    if is_packet && n > SOCKET {
        return fail(libc::EMSGSIZE);
    }
    if n == 0 && !is_packet {
        return Some(0);
    }
    let mut sent = 0;
    loop {
        let least = match kind {
            _ if is_packet || n <= ATOMIC => n,
            // The part that does not fill a page may fit into the last one. The rest needs new pages.
            Kind::Pipe if sent == 0 && !n.is_multiple_of(PAGE) => n % PAGE,
            Kind::Pipe => PAGE,
            _ => 1,
        };
        if wait && is_interrupted(queue, (least as u64) << 32, call) {
            return if sent > 0 { Some(sent as isize) } else { fail(libc::EINTR) };
        }
        let (mut broken, mut now) = (false, 0);
        let done = step(how, queue, (least as u64) << 32, MemoryOrder::Release, call, |q| {
            broken = q.is_broken();
            if !broken {
                now = match q.kind {
                    Kind::Pipe => q.fill(n - sent, sent == 0),
                    _ => (n - sent).min(q.room()),
                };
                // SAFETY: the program hands in `n` bytes.
                let bytes = unsafe { std::slice::from_raw_parts((buffer + sent) as *const u8, now) };
                q.bytes.extend(bytes);
                if let Some(packets) = &mut q.packets {
                    packets.push_back(now);
                }
                q.arrived += 1;
            }
        });
        if !done.ok {
            return if sent > 0 { Some(sent as isize) } else { fail(libc::EAGAIN) };
        }
        if broken && is_datagram {
            return fail(libc::ECONNREFUSED);
        }
        if broken {
            // Sockets of messages send no signal.
            if flags & libc::MSG_NOSIGNAL == 0 && !is_packet {
                crate::signals::broken_pipe(call);
            }
            return if sent > 0 { Some(sent as isize) } else { fail(libc::EPIPE) };
        }
        sent += now;
        if sent == n {
            return Some(n as isize);
        }
    }
}

/// One descriptor fewer of an open file.
fn release(open: usize, call: Call) {
    state().opens[open].descriptors -= 1;
    if state().opens[open].descriptors > 0 {
        return;
    }
    let Open { kind, input, output, .. } = state().opens[open];
    if matches!(kind, Kind::Pipe | Kind::Socket) {
        // As in the kernel, the other end cannot write any more when it finds that nothing more will come.
        let mut unread = false;
        if let Some(q) = input {
            change(q, MemoryOrder::Release, call, |q| {
                unread = kind == Kind::Socket && !q.bytes.is_empty();
                q.readers = 0;
                q.left += 1;
            });
        }
        if let Some(q) = output {
            change(q, MemoryOrder::Release, call, |q| {
                q.writers = 0;
                q.reset = unread;
                q.arrived += 1;
            });
        }
    }
}

/// Takes a descriptor out of the table, if it is modelled, and frees its number if that is wanted.
fn forget(fd: c_int, frees: bool, call: Call) -> bool {
    if open_of(fd).is_none() {
        return false;
    }
    runtime::settle();
    let Some(slot) = state().slots[fd as usize] else { return false };
    at_place(slot.place).ended("it is closed", FailureKind::LockMisuse, call);
    state().slots[fd as usize] = None;
    if frees {
        // SAFETY: a placeholder of ours.
        unsafe { libc::syscall(libc::SYS_close, fd) };
    }
    release(slot.open, call);
    true
}

extern "C" fn close_here(fd: c_int) -> c_int {
    // Where a call comes from is only asked for descriptors of ours: to find out may read files, and close them.
    if runtime::in_execution() && open_of(fd).is_some() {
        let call = call();
        // The number is free from this step on; what it led to is released afterwards.
        objects::closing_descriptor(fd, call);
        return if forget(fd, true, call) { 0 } else { with_errno(libc::EBADF) };
    }
    if fd >= FIRST_OWN && of_program() {
        return with_errno(libc::EBADF);
    }
    real!(close(fd): fn(c_int) -> c_int)
}

/// Closes a descriptor on behalf of a call of the program that closes several.
pub(crate) fn close_for(fd: c_int, call: Call) {
    files::note_changed(fd);
    objects::closing_descriptor(fd, call);
    if !forget(fd, true, call) {
        crate::file_locks::closing(fd, call);
        real!(close(fd): fn(c_int) -> c_int);
    }
}

extern "C" fn dup_here(fd: c_int) -> c_int {
    match open_of(fd) {
        Some(_) => copy(fd, 0, false),
        None => {
            files::note_opened();
            let call = of_program().then(call);
            if let Some(call) = call {
                crate::libc::keeping_errno(|| objects::making_descriptor(call));
            }
            let new = real!(dup(fd): fn(c_int) -> c_int);
            if let Some(call) = call {
                crate::libc::keeping_errno(|| objects::made_descriptor(new, call));
            }
            new
        }
    }
}

fn copy(fd: c_int, least: c_int, cloexec: bool) -> c_int {
    let call = call();
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a system call with a place for the limit.
    unsafe { libc::syscall(libc::SYS_prlimit64, 0, libc::RLIMIT_NOFILE, 0, &raw mut limit) };
    if u64::try_from(least).is_ok_and(|n| n < limit.rlim_cur) {
    } else if used(fd, call).is_some() {
        return with_errno(libc::EINVAL);
    }
    match used(fd, call) {
        Some(open) => new_descriptor(open, least, cloexec, call),
        None => with_errno(libc::EBADF),
    }
}

extern "C" fn dup2_here(old: c_int, new: c_int) -> c_int {
    copy_to(old, new, 0, false)
}

extern "C" fn dup3_here(old: c_int, new: c_int, flags: c_int) -> c_int {
    if old == new {
        return with_errno(libc::EINVAL);
    }
    copy_to(old, new, flags, true)
}

/// `dup2` and `dup3` by the kernel.
fn copy_by_kernel(old: c_int, new: c_int, flags: c_int, is_dup3: bool) -> c_int {
    // SAFETY: as the program called it.
    unsafe {
        if is_dup3 {
            libc::syscall(libc::SYS_dup3, old, new, flags) as c_int
        } else {
            libc::syscall(libc::SYS_dup2, old, new) as c_int
        }
    }
}

fn copy_to(old: c_int, new: c_int, flags: c_int, is_dup3: bool) -> c_int {
    // Nothing is known of the program's code before the first execution, and standard input is replaced then.
    if !runtime::in_execution() {
        return copy_by_kernel(old, new, flags, is_dup3);
    }
    let is_programs = of_program();
    let call = call();
    if new >= FIRST_OWN && is_programs {
        return with_errno(libc::EBADF);
    }
    if is_programs {
        crate::libc::keeping_errno(|| objects::making_descriptor(call));
    }
    let modelled = used(old, call);
    if modelled.is_some() && old == new {
        return if is_dup3 { with_errno(libc::EINVAL) } else { new };
    }
    if modelled.is_some() && (0..=2).contains(&new) {
        not_modelled("a standard stream that is redirected to a pipe of the program", call);
    }
    files::note_changed(new);
    forget(new, false, call);
    files::note_opened();
    if is_programs && open_of(new).is_none() {
        crate::libc::keeping_errno(|| crate::file_locks::closing(new, call));
    }
    // A placeholder is copied like any descriptor.
    let fd = copy_by_kernel(old, new, flags, is_dup3);
    if fd >= 0
        && let Some(open) = modelled
    {
        files::opened();
        enter(fd, open, call);
    }
    if is_programs {
        crate::libc::keeping_errno(|| objects::made_descriptor(fd, call));
    }
    // The number of a system call's error is in `errno` already.
    fd
}

extern "C" fn fcntl_here(fd: c_int, command: c_int, argument: usize) -> c_int {
    if open_of(fd).is_none() {
        let locked =
            if of_program() { crate::file_locks::control(fd, command, argument, call()) } else { None };
        return locked
            .unwrap_or_else(|| real!(fcntl(fd, command, argument): fn(c_int, c_int, usize) -> c_int));
    }
    let call = call();
    let Some(open) = used(fd, call) else { return with_errno(libc::EBADF) };
    match command {
        libc::F_GETFL => use_flags(open, Use::Look, call),
        libc::F_SETFL => use_flags(open, Use::Change, call),
        libc::F_GETFD => crate::libc::descriptor_flags(fd, Use::Look, call),
        libc::F_SETFD => crate::libc::descriptor_flags(fd, Use::Change, call),
        _ => {}
    }
    let open = &mut state().opens[open];
    match command {
        libc::F_GETFL => {
            let mode = match (open.kind, open.output) {
                (Kind::Pipe, Some(_)) => libc::O_WRONLY,
                (Kind::Pipe, None) => libc::O_RDONLY,
                _ => libc::O_RDWR,
            };
            mode | if open.nonblocking { libc::O_NONBLOCK } else { 0 }
        }
        libc::F_SETFL => {
            open.nonblocking = argument as c_int & libc::O_NONBLOCK != 0;
            0
        }
        libc::F_DUPFD => copy(fd, argument as c_int, false),
        libc::F_DUPFD_CLOEXEC => copy(fd, argument as c_int, true),
        libc::F_GETFD | libc::F_SETFD => {
            real!(fcntl(fd, command, argument): fn(c_int, c_int, usize) -> c_int)
        }
        libc::F_GETPIPE_SZ => match open.input.or(open.output) {
            Some(q) if open.kind == Kind::Pipe => state().queues[q].capacity as c_int,
            _ => with_errno(libc::EBADF),
        },
        _ => not_modelled("this command of `fcntl` on a pipe", call),
    }
}

extern "C" fn ioctl_here(fd: c_int, request: libc::c_ulong, argument: usize) -> c_int {
    if open_of(fd).is_none() {
        return real!(ioctl(fd, request, argument): fn(c_int, libc::c_ulong, usize) -> c_int);
    }
    let call = call();
    let Some(open) = used(fd, call) else { return with_errno(libc::EBADF) };
    match (request, state().opens[open].input) {
        (libc::FIONBIO, _) => {
            access::access(argument, 4, false, call);
            use_flags(open, Use::Change, call);
            // SAFETY: the program hands in a number.
            state().opens[open].nonblocking = unsafe { *(argument as *const c_int) } != 0;
            0
        }
        (libc::FIONREAD, _) if matches!(state().opens[open].kind, Kind::Event { .. } | Kind::Timer) => {
            with_errno(libc::ENOTTY)
        }
        (libc::FIONREAD, Some(queue)) if state().opens[open].kind != Kind::Epoll => {
            look(queue, call);
            let n = state().queues[queue].bytes.len() as c_int;
            access::access(argument, 4, true, call);
            // SAFETY: the program hands in a place for the number.
            unsafe { (argument as *mut c_int).write(n) };
            0
        }
        _ => not_modelled("this request of `ioctl` on a pipe", call),
    }
}

extern "C" fn shutdown_here(fd: c_int, how: c_int) -> c_int {
    let call = call();
    let Some(open) = used(fd, call) else {
        return real!(shutdown(fd, how): fn(c_int, c_int) -> c_int);
    };
    let Open { kind, input, output, .. } = state().opens[open];
    if kind != Kind::Socket {
        return with_errno(libc::ENOTSOCK);
    }
    if !(libc::SHUT_RD..=libc::SHUT_RDWR).contains(&how) {
        return with_errno(libc::EINVAL);
    }
    if state().opens[open].socket == libc::SOCK_DGRAM {
        not_modelled("`shutdown` of a datagram socket", call);
    }
    if how != libc::SHUT_WR
        && let Some(q) = input
    {
        change(q, MemoryOrder::Release, call, |q| {
            (q.readers, q.writers) = (0, 0);
            q.arrived += 1;
        });
    }
    if how != libc::SHUT_RD
        && let Some(q) = output
    {
        change(q, MemoryOrder::Release, call, |q| {
            q.writers = 0;
            q.arrived += 1;
        });
    }
    0
}

extern "C" fn write_here(fd: c_int, buffer: usize, n: usize) -> isize {
    if open_of(fd).is_some() {
        if n > isize::MAX as usize {
            return with_errno(libc::EFAULT) as isize;
        }
        if let Some(written) = write_to(fd, buffer, n, 0, call()) {
            return written;
        }
    }
    real!(write(fd, buffer, n): fn(c_int, usize, usize) -> isize)
}

extern "C" fn send_here(fd: c_int, buffer: usize, n: usize, flags: c_int) -> isize {
    if open_of(fd).is_some()
        && let Some(written) = write_to(fd, buffer, n, flags | IS_SOCKET, call())
    {
        return written;
    }
    real!(send(fd, buffer, n, flags): fn(c_int, usize, usize, c_int) -> isize)
}

extern "C" fn sendto_here(
    fd: c_int,
    buffer: usize,
    n: usize,
    flags: c_int,
    to: usize,
    length: usize,
) -> isize {
    if open_of(fd).is_some()
        && let Some(written) = write_to(fd, buffer, n, flags | IS_SOCKET, call())
    {
        return written;
    }
    real!(sendto(fd, buffer, n, flags, to, length): fn(c_int, usize, usize, c_int, usize, usize) -> isize)
}

/// Receives from a socket, if it is modelled.
pub(crate) fn receive(fd: c_int, buffer: usize, n: usize, flags: c_int, call: Call) -> Option<isize> {
    read_from(fd, buffer, n, flags | IS_SOCKET, call)
}

/// Where the next [`receive_from`] stores the length of the sender's address.
static mut SENDER: usize = 0;

/// The flags of a `recvfrom`, which asks for the address of the sender if `address` is not null.
pub(crate) fn with_sender(flags: c_int, address: usize, length: usize) -> c_int {
    // SAFETY: one OS thread alone runs code of the program, and `receive_from` comes next.
    unsafe { SENDER = if address == 0 { 0 } else { length } };
    flags
}

/// Receives like [`receive`], for a caller that may ask for the address of the sender. A socket of a pair has none.
pub(crate) fn receive_from(fd: c_int, buffer: usize, n: usize, flags: c_int, call: Call) -> Option<isize> {
    // SAFETY: as above; the read is before any step.
    let length = unsafe { SENDER };
    let got = receive(fd, buffer, n, flags, call)?;
    if got >= 0 && length != 0 {
        access::access(length, 4, false, call);
        access::access(length, 4, true, call);
        // SAFETY: the program hands in a place for a number.
        unsafe { (length as *mut c_uint).write(0) };
    }
    Some(got)
}

fn vectors(fd: c_int, vectors: *const libc::iovec, count: c_int, is_write: bool) -> Option<isize> {
    let open = &state().opens[open_of(fd)?];
    let call = call();
    if (if is_write { open.output } else { open.input }).is_none() && open.kind == Kind::Pipe {
        with_errno(libc::EBADF);
        return Some(-1);
    }
    if crate::libc::streams::number_of_pieces(count as usize) != count as usize {
        with_errno(libc::EINVAL);
        return Some(-1);
    }
    if state().opens[open_of(fd)?].kind != Kind::Pipe && count > 1 {
        not_modelled("`readv` or `writev` with several buffers on a socket", call);
    }
    if is_write && count > 1 {
        // All parts are one write: it is atomic if it is small, and takes pages as one.
        // SAFETY: the program hands in so many vectors, each with its bytes.
        let list = unsafe { std::slice::from_raw_parts(vectors, count as usize) };
        let mut bytes = Vec::new();
        for one in list.iter().filter(|one| one.iov_len > 0) {
            access::access(one.iov_base as usize, one.iov_len, false, call);
            // SAFETY: as above.
            bytes.extend_from_slice(unsafe {
                std::slice::from_raw_parts(one.iov_base as *const u8, one.iov_len)
            });
        }
        return write_known(fd, bytes.as_ptr() as usize, bytes.len(), 0, call);
    }
    let mut all = 0;
    for i in 0..count.max(0) as usize {
        // SAFETY: the program hands in so many vectors.
        let one = unsafe { *vectors.add(i) };
        let how = if is_write { write_to } else { read_from };
        // Only the first part waits for something to read.
        if !is_write && all > 0 {
            let queue = state().opens[open_of(fd)?].input?;
            if state().queues[queue].bytes.is_empty() {
                break;
            }
        }
        let n = how(fd, one.iov_base as usize, one.iov_len, 0, call)?;
        if n < 0 {
            return Some(if all > 0 { all } else { n });
        }
        all += n;
        if (n as usize) < one.iov_len {
            break;
        }
    }
    Some(all)
}

/// The buffers of a list; none if their number is not valid.
///
/// # Safety
///
/// The program hands in a list with so many buffers.
unsafe fn list_of<'a>(list: *const libc::iovec, count: c_int) -> &'a [libc::iovec] {
    match crate::libc::streams::number_of_pieces(count as usize) {
        0 => &[],
        // SAFETY: by the contract.
        n => unsafe { std::slice::from_raw_parts(list, n) },
    }
}

/// `lseek`: pipes and sockets have no offset. That of others is always 0.
extern "C" fn lseek_here(fd: c_int, offset: i64, whence: c_int) -> i64 {
    if let Some(open) = open_of(fd) {
        if !(libc::SEEK_SET..=libc::SEEK_HOLE).contains(&whence) {
            return with_errno(libc::EINVAL).into();
        }
        let has_none = matches!(state().opens[open].kind, Kind::Pipe | Kind::Socket);
        return if has_none { with_errno(libc::ESPIPE).into() } else { 0 };
    }
    real!(lseek(fd, offset, whence): fn(c_int, i64, c_int) -> i64)
}

/// Functions that fail on what is modelled, with the number of the error, and whether that is what they return.
macro_rules! fail_on_modelled {
    ($($function:ident $name:ident $error:ident $returned:literal;)*) => {
        $(extern "C" fn $function(a: usize, b: usize, c: usize, d: usize) -> isize {
            if open_of(a as c_int).is_some() {
                if $returned {
                    return libc::$error as isize;
                }
                return with_errno(libc::$error) as isize;
            }
            real!($name(a, b, c, d): fn(usize, usize, usize, usize) -> isize)
        })*
        export! { $($name => $function;)* }
    };
}

fail_on_modelled! {
    fails_pwrite pwrite ESPIPE false;
    fails_pwrite64 pwrite64 ESPIPE false;
    fails_pwritev pwritev ESPIPE false;
    fails_ftruncate ftruncate EINVAL false;
    fails_ftruncate64 ftruncate64 EINVAL false;
    fails_fsync fsync EINVAL false;
    fails_fdatasync fdatasync EINVAL false;
    fails_fallocate fallocate ESPIPE false;
    fails_posix_fallocate posix_fallocate ESPIPE true;
    fails_posix_fadvise posix_fadvise ESPIPE true;
    fails_fchdir fchdir ENOTDIR false;
}

extern "C" fn isatty_here(fd: c_int) -> c_int {
    if open_of(fd).is_some() {
        with_errno(libc::ENOTTY);
        return 0;
    }
    real!(isatty(fd): fn(c_int) -> c_int)
}

/// `accept` on a descriptor that is modelled: none of these sockets listens.
pub(crate) fn accept_from(fd: c_int, _: usize, _: usize, _: c_int, call: Call) -> Option<isize> {
    let open = used(fd, call)?;
    let code = match state().opens[open].socket {
        0 => libc::ENOTSOCK,
        libc::SOCK_DGRAM => libc::EOPNOTSUPP,
        _ => libc::EINVAL,
    };
    Some(with_errno(code) as isize)
}

extern "C" fn readv_here(fd: c_int, list: *const libc::iovec, count: c_int) -> isize {
    if let Some(n) = vectors(fd, list, count, false) {
        return n;
    }
    let of_program = runtime::in_execution() && modules::owner(return_address()) == Some(Owner::Program);
    let call = of_program.then(call);
    // SAFETY: the program hands in that many buffers.
    let buffers = unsafe { list_of(list, if of_program { count } else { 0 }) };
    if let Some(call) = call {
        for b in buffers {
            // The kernel cannot write to pages that are watched.
            image::snapshot::prepare_write(b.iov_base as usize, b.iov_len);
            crate::libc::streams::to_be_filled(fd, b.iov_base as usize, b.iov_len, None, call);
        }
    }
    let result = real!(readv(fd, list, count): fn(c_int, *const libc::iovec, c_int) -> isize);
    let mut left = usize::try_from(result).unwrap_or(0);
    if let Some(call) = call {
        for b in buffers {
            let got = left.min(b.iov_len);
            left -= got;
            crate::libc::streams::filled(b.iov_base as usize, got as isize, call);
        }
    }
    result
}

extern "C" fn writev_here(fd: c_int, list: *const libc::iovec, count: c_int) -> isize {
    vectors(fd, list, count, true)
        .unwrap_or_else(|| real!(writev(fd, list, count): fn(c_int, *const libc::iovec, c_int) -> isize))
}

extern "C" fn eventfd_read_here(fd: c_int, out: usize) -> c_int {
    match open_of(fd).and_then(|_| read_from(fd, out, 8, 0, call())) {
        Some(n) => {
            if n == 8 {
                0
            } else {
                -1
            }
        }
        None => real!(eventfd_read(fd, out): fn(c_int, usize) -> c_int),
    }
}

extern "C" fn eventfd_write_here(fd: c_int, value: u64) -> c_int {
    let here = &raw const value as usize;
    match open_of(fd).and_then(|_| write_to(fd, here, 8, 0, call())) {
        Some(n) => {
            if n == 8 {
                0
            } else {
                -1
            }
        }
        None => real!(eventfd_write(fd, value): fn(c_int, u64) -> c_int),
    }
}

extern "C" fn timerfd_gettime_here(fd: c_int, out: *mut libc::itimerspec) -> c_int {
    if open_of(fd).is_some() {
        not_modelled("`timerfd_gettime`", call());
    }
    real!(timerfd_gettime(fd, out): fn(c_int, *mut libc::itimerspec) -> c_int)
}

macro_rules! refuse_modelled {
    ($($function:ident $name:ident $position:tt;)*) => {
        $(extern "C" fn $function(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> usize {
            let given = [a, b, c, d];
            let fds: &[usize] = &$position;
            if fds.iter().any(|i| open_of(given[*i] as c_int).is_some()) {
                not_modelled(concat!("`", stringify!($name), "` on a pipe or another descriptor of the program"), call());
            }
            real!($name(a, b, c, d, e, f): fn(usize, usize, usize, usize, usize, usize) -> usize)
        })*
        export! { $($name => $function;)* }
    };
}

refuse_modelled! {
    no_fdopen fdopen [0];
    no_splice splice [0, 2];
    no_tee tee [0, 1];
    no_vmsplice vmsplice [0];
    no_sendfile sendfile [0, 1];
    no_sendmsg sendmsg [0];
    no_recvmsg recvmsg [0];
    no_sendmmsg sendmmsg [0];
    no_recvmmsg recvmmsg [0];
}

/// Refuses a function that is not modelled on a descriptor that is.
pub(crate) fn refuse(fd: c_int, name: &str) {
    if open_of(fd).is_some() {
        let name = if name.contains('`') { name.to_owned() } else { format!("`{name}`") };
        not_modelled(&format!("{name} on a pipe or another descriptor of the program"), Call::unknown());
    }
}

/// The description that `fstat` gives of a modelled descriptor.
pub(crate) fn status(fd: c_int, call: Call) -> Option<libc::stat> {
    let open = used(fd, call)?;
    let Open { kind, input, output, .. } = state().opens[open];
    // SAFETY: zero is a valid description.
    let mut about: libc::stat = unsafe { std::mem::zeroed() };
    let (mode, device) = match kind {
        Kind::Pipe => (libc::S_IFIFO | 0o600, 14),
        Kind::Socket => (libc::S_IFSOCK | 0o777, 8),
        _ => not_modelled("`fstat` on a descriptor of events", call),
    };
    // Both ends of a pipe are one file.
    let queue = input.or(output).unwrap_or_default();
    (about.st_mode, about.st_dev) = (mode, device);
    about.st_ino = 100_000 + state().queues[queue].place as u64;
    about.st_nlink = 1;
    about.st_blksize = PAGE as i64;
    // SAFETY: system calls without preconditions.
    unsafe { (about.st_uid, about.st_gid) = (libc::geteuid(), libc::getegid()) };
    Some(about)
}

/// Whether a modelled descriptor is a socket; the error if not.
pub(crate) fn socket(fd: c_int, call: Call) -> Option<Result<c_int, c_int>> {
    let open = used(fd, call)?;
    Some(match state().opens[open].socket {
        0 => Err(libc::ENOTSOCK),
        kind => Ok(kind),
    })
}

/// Takes the pending error of a socket.
pub(crate) fn take_error(fd: c_int, call: Call) -> c_int {
    let Some(queue) = open_of(fd).and_then(|open| state().opens[open].input) else { return 0 };
    let mut is_reset = false;
    change(queue, MemoryOrder::Acquire, call, |q| is_reset = std::mem::take(&mut q.reset));
    if is_reset { libc::ECONNRESET } else { 0 }
}

/// A list for `epoll`.
pub(crate) fn new_list(flags: c_int, call: Call) -> c_int {
    runtime::settle();
    let queue = new_queue(Kind::Epoll, 0, call);
    let open = new_open(Kind::Epoll, Some(queue), None, 0);
    new_descriptor(open, 0, flags & libc::EPOLL_CLOEXEC != 0, call)
}

/// Whether a call comes from the program, in an execution.
pub(crate) fn is_programs() -> bool {
    of_program()
}

export! {
    pipe => pipe_here;
    pipe2 => pipe2_here;
    socketpair => socketpair_here;
    isatty => isatty_here;
    eventfd => eventfd_here;
    eventfd_read => eventfd_read_here;
    eventfd_write => eventfd_write_here;
    timerfd_create => timerfd_create_here;
    timerfd_settime => timerfd_settime_here;
    timerfd_gettime => timerfd_gettime_here;
    close => close_here;
    dup => dup_here;
    dup2 => dup2_here;
    dup3 => dup3_here;
    fcntl => fcntl_here;
    fcntl64 => fcntl_here;
    ioctl => ioctl_here;
    shutdown => shutdown_here;
    write => write_here;
    send => send_here;
    sendto => sendto_here;
    readv => readv_here;
    writev => writev_here;
    lseek => lseek_here;
    lseek64 => lseek_here;
}
