//! Waiting for one of several descriptors: `poll`, `select`, `epoll_wait`.
//!
//! A wait looks at one descriptor after the other, as the kernel does, a step each. If nothing is ready it waits, in one step, until one of
//! the words that it has seen differs. A wait without a time limit that only asks what can be read waits first: then there is
//! one order less to explore. A wait with a time limit looks once: to wait first and find something later is to run later, and to
//! find nothing is to time out (see `mutex` for timed locks).
//!
//! What is found ready is taken to be published: what was done before the write happens before what follows the wait.

use crate::pipes::{self, Item, Kind, change, look, state};
use crate::real::real;
use crate::shim::{Call, call, export};
use crate::sync::{not_modelled, with_errno};
use crate::{access, files, time};
use explore::MemoryOrder;
use runtime::{Handle, Patience};
use std::ffi::{c_int, c_short};

/// The most descriptors of one wait. They are kept on the stack: a thread may never come back from a step.
const MOST: usize = 64;

const IN: u32 = libc::POLLIN as u32 | libc::POLLRDNORM as u32 | libc::POLLRDHUP as u32;
const ALWAYS: u32 = libc::POLLERR as u32 | libc::POLLHUP as u32 | libc::POLLNVAL as u32;

/// How long a wait lasts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limit {
    Never,
    Now,
    After(u64),
}

impl Limit {
    fn of_milliseconds(n: c_int) -> Limit {
        match n {
            n if n < 0 => Limit::Never,
            0 => Limit::Now,
            n => Limit::After(n as u64 * 1_000_000),
        }
    }

    fn of_time(t: *const libc::timespec) -> Limit {
        // SAFETY: the program hands in a time or nothing.
        match unsafe { t.as_ref() } {
            None => Limit::Never,
            Some(t) if t.tv_sec == 0 && t.tv_nsec == 0 => Limit::Now,
            Some(t) => Limit::After(
                (t.tv_sec.max(0) as u64)
                    .saturating_mul(1_000_000_000)
                    .saturating_add(t.tv_nsec.max(0) as u64),
            ),
        }
    }
}

/// What a wait waits for: objects, each with a word that it may have while nothing happens.
struct Words {
    list: [(Option<&'static Handle>, u64); 2 * MOST + 1],
    count: usize,
}

impl Words {
    fn new() -> Words {
        Words { list: [(None, 0); 2 * MOST + 1], count: 0 }
    }

    fn add(&mut self, queue: usize, word: u64) {
        if self.count < self.list.len() {
            self.list[self.count] = (Some(&state().queues[queue].on().entry().handle), word);
            self.count += 1;
        }
    }

    fn all(&self) -> impl Iterator<Item = (&'static Handle, u64)> {
        self.list[..self.count].iter().filter_map(|(h, w)| h.map(|h| (h, *w)))
    }

    /// Waits until one of the words differs. Says whether a signal interrupts it.
    fn wait(&self, call: Call) -> bool {
        if self.is_interrupted(call) {
            return true;
        }
        crate::signals::point_before(call);
        runtime::wait_for_any(self.all(), call.place);
        false
    }

    /// Whether a signal interrupts the wait.
    fn is_interrupted(&self, call: Call) -> bool {
        let same = |(object, word): (&'static Handle, u64)| {
            let request = runtime::Request {
                kind: explore::OpKind::Load,
                object,
                class: runtime::Class::Channel,
                initial: 0,
                a: 0,
                b: 0,
                order: MemoryOrder::Acquire,
                place: call.place,
            };
            runtime::step_in(&request, call.state).value == word
        };
        crate::signals::is_interrupted(true, || self.all().all(same), call)
    }
}

/// One descriptor of a wait, and what was found.
#[derive(Clone, Copy)]
struct Asked {
    open: usize,
    events: u32,
    found: u32,
    is_timer: bool,
    counts: (u64, u64),
}

impl Asked {
    const NONE: Asked = Asked { open: usize::MAX, events: 0, found: 0, is_timer: false, counts: (0, 0) };

    /// Whether it can wait before it looks: it waits for something to read alone.
    fn reads_only(&self) -> bool {
        self.open == usize::MAX
            || self.events & !(IN | ALWAYS) == 0 && state().opens[self.open].input.is_some()
    }

    /// Looks at its queues.
    fn look(&mut self, words: &mut Words, call: Call) {
        self.found = 0;
        if self.open == usize::MAX {
            return;
        }
        let (kind, input, output) = {
            let open = &state().opens[self.open];
            (open.kind, open.input, open.output)
        };
        if kind == Kind::Epoll {
            not_modelled("a list of `epoll` in another wait", call);
        }
        self.is_timer = kind == Kind::Timer;
        // A descriptor for both of an event counter has one queue.
        if let Some(q) = input {
            words.add(q, look(q, call));
            self.found |= state().queues[q].in_events();
            self.counts.0 = state().queues[q].arrived;
            if output == input {
                self.found |= state().queues[q].out_events();
                self.counts.1 = state().queues[q].left;
            }
        }
        let is_closed = input.is_some_and(|q| kind == Kind::Socket && state().queues[q].has_ended());
        let asks = self.events & !IN != 0 || input.is_none() || is_closed;
        if let Some(q) = output.filter(|_| output != input && asks) {
            words.add(q, look(q, call));
            self.found |= state().queues[q].out_events();
            self.counts.1 = state().queues[q].left;
            if input.is_some_and(|i| state().queues[i].hangs_up(&state().queues[q])) {
                self.found |= libc::POLLHUP as u32;
            }
        }
        self.found &= self.events | ALWAYS;
    }
}

/// Timers that are armed may have expired or not; if nothing else is ready and the wait has no end, one has.
fn settle_timers(asked: &mut [Asked], limit: Limit, call: Call) {
    let others = asked.iter().any(|a| a.found != 0 && !a.is_timer);
    let mut any = others;
    let armed = asked.iter().filter(|a| a.is_timer && a.found != 0).count();
    let mut seen = 0;
    for a in asked.iter_mut().filter(|a| a.is_timer && a.found != 0) {
        seen += 1;
        let must = limit == Limit::Never && !any && seen == armed;
        let queue = state().opens[a.open].input.unwrap_or_default();
        if must || pipes::is_expired(queue, call) {
            any = true;
        } else {
            a.found = 0;
        }
    }
}

/// A wait with a limit. Where the limit is patient, the wait has no end, or it looks once when nothing else can run.
fn within<R>(limit: Limit, call: Call, is_nothing: impl Fn(&R) -> bool, wait: impl FnOnce(Limit) -> R) -> R {
    let Limit::After(n) = limit else { return wait(limit) };
    match runtime::clock_decide_patiently(n, call.place) {
        Patience::Impatient => wait(limit),
        Patience::Waits => {
            let found = wait(Limit::Never);
            runtime::clock_wait_ended();
            found
        }
        Patience::TimesOut => {
            let found = wait(Limit::Now);
            if !is_nothing(&found) {
                // What is ready has ended the wait in another execution.
                runtime::prune();
            }
            found
        }
    }
}

/// Waits for descriptors; says how many were found. `None` if a signal interrupts the wait.
fn wait(asked: &mut [Asked], limit: Limit, call: Call) -> Option<usize> {
    within(limit, call, |found| *found == Some(0), |limit| wait_until(asked, limit, call))
}

/// Waits for descriptors, or looks at them.
fn wait_until(asked: &mut [Asked], limit: Limit, call: Call) -> Option<usize> {
    runtime::settle();
    if limit == Limit::Never && asked.iter().all(Asked::reads_only) {
        let mut words = Words::new();
        for a in asked.iter().filter(|a| a.open != usize::MAX) {
            if let Some(q) = state().opens[a.open].input {
                words.add(q, state().queues[q].empty_word());
            }
        }
        if words.count > 0 && words.wait(call) {
            return None;
        }
    }
    loop {
        let mut words = Words::new();
        for a in asked.iter_mut() {
            a.look(&mut words, call);
        }
        settle_timers(asked, limit, call);
        let found = asked.iter().filter(|a| a.found != 0).count();
        match limit {
            _ if found > 0 => return Some(found),
            Limit::Never if words.wait(call) => return None,
            Limit::Never => {}
            Limit::Now => return Some(0),
            Limit::After(_) if words.is_interrupted(call) => return None,
            Limit::After(n) => {
                time::pass(n);
                return Some(0);
            }
        }
    }
}

/// Whether a descriptor that is not modelled is ready, by the kernel. It is not waited for.
fn outside(fd: c_int, events: c_short) -> c_short {
    let mut one = libc::pollfd { fd, events, revents: 0 };
    // SAFETY: a valid descriptor set of one.
    unsafe { libc::syscall(libc::SYS_poll, &raw mut one, 1, 0) };
    one.revents
}

fn refuse(what: &str, call: Call) -> ! {
    not_modelled(&format!("`{what}` that waits for something from outside the program"), call)
}

/// `poll` in an execution.
fn poll_in(fds: *mut libc::pollfd, n: usize, limit: Limit, what: &str, call: Call) -> c_int {
    if n > MOST {
        not_modelled("a wait for more than 64 descriptors", call);
    }
    access::access(fds as usize, n * size_of::<libc::pollfd>(), false, call);
    let mut asked = [Asked::NONE; MOST];
    let mut others = [0; MOST];
    let (mut modelled, mut ready) = (0, 0);
    for i in 0..n {
        // SAFETY: the program hands in so many.
        let one = unsafe { *fds.add(i) };
        match pipes::used(one.fd, call) {
            Some(open) => {
                asked[i] = Asked { open, events: one.events as u32 & 0xffff, ..Asked::NONE };
                modelled += 1;
            }
            None if one.fd < 0 => {}
            None => {
                others[i] = outside(one.fd, one.events);
                ready += (others[i] != 0) as usize;
            }
        }
    }
    let limit_now = if ready > 0 { Limit::Now } else { limit };
    if modelled == 0 && limit_now == Limit::Never {
        refuse(what, call);
    }
    if modelled == 0 && limit_now != Limit::Now {
        crate::time::let_others_run(call);
    }
    let Some(found) = wait(&mut asked[..n], limit_now, call) else { return with_errno(libc::EINTR) };
    access::access(fds as usize, n * size_of::<libc::pollfd>(), true, call);
    for i in 0..n {
        // SAFETY: as above.
        unsafe { (*fds.add(i)).revents = asked[i].found as c_short | others[i] };
    }
    (found + ready) as c_int
}

extern "C" fn poll_here(fds: *mut libc::pollfd, n: libc::nfds_t, timeout: c_int) -> c_int {
    if !pipes::is_programs() {
        return real!(poll(fds, n, timeout): fn(*mut libc::pollfd, libc::nfds_t, c_int) -> c_int);
    }
    poll_in(fds, n as usize, Limit::of_milliseconds(timeout), "poll", call())
}

extern "C" fn ppoll_here(
    fds: *mut libc::pollfd,
    n: libc::nfds_t,
    timeout: *const libc::timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    if !pipes::is_programs() {
        return real!(ppoll(fds, n, timeout, mask):
            fn(*mut libc::pollfd, libc::nfds_t, *const libc::timespec, *const libc::sigset_t) -> c_int);
    }
    if !time::may_be_limit(timeout) {
        return with_errno(libc::EINVAL);
    }
    let call = call();
    no_mask(mask as usize, "ppoll", call);
    poll_in(fds, n as usize, Limit::of_time(timeout), "ppoll", call)
}

fn no_mask(mask: usize, what: &str, call: Call) {
    if mask != 0 {
        not_modelled(&format!("`{what}` with a mask of signals"), call);
    }
}

type Set = *mut libc::fd_set;

fn in_set(set: Set, fd: c_int) -> bool {
    // SAFETY: the program hands in a set or nothing.
    !set.is_null() && unsafe { libc::FD_ISSET(fd, set) }
}

fn select_in(n: c_int, sets: [Set; 3], limit: Limit, what: &str, call: Call) -> c_int {
    let mut fds = [libc::pollfd { fd: -1, events: 0, revents: 0 }; MOST];
    let mut count = 0;
    for fd in 0..n {
        let wanted = [libc::POLLIN, libc::POLLOUT, libc::POLLPRI];
        let events = (0..3).filter(|i| in_set(sets[*i], fd)).fold(0, |e, i| e | wanted[i]);
        if events != 0 {
            if count == MOST {
                not_modelled("a wait for more than 64 descriptors", call);
            }
            fds[count] = libc::pollfd { fd, events, revents: 0 };
            count += 1;
        }
    }
    for set in sets.into_iter().filter(|s| !s.is_null()) {
        access::access(set as usize, (n as usize).div_ceil(64) * 8, true, call);
    }
    // Our own list lies on the stack of the thread, where nobody else looks.
    if poll_in(fds.as_mut_ptr(), count, limit, what, call) < 0 {
        return -1;
    }
    let mut all = 0;
    for one in &fds[..count] {
        let of = [
            libc::POLLIN | libc::POLLHUP | libc::POLLERR | libc::POLLRDNORM,
            libc::POLLOUT | libc::POLLERR | libc::POLLWRNORM,
            libc::POLLPRI,
        ];
        for i in 0..3 {
            if in_set(sets[i], one.fd) {
                if one.revents & of[i] != 0 {
                    all += 1;
                } else {
                    // SAFETY: as in `in_set`.
                    unsafe { libc::FD_CLR(one.fd, sets[i]) };
                }
            }
        }
    }
    all
}

extern "C" fn select_here(n: c_int, a: Set, b: Set, c: Set, timeout: *mut libc::timeval) -> c_int {
    if !pipes::is_programs() {
        return real!(select(n, a, b, c, timeout): fn(c_int, Set, Set, Set, *mut libc::timeval) -> c_int);
    }
    if n < 0 {
        return with_errno(libc::EINVAL);
    }
    // SAFETY: the program hands in a time or nothing.
    if unsafe { timeout.as_ref() }.is_some_and(|t| t.tv_sec < 0 || t.tv_usec < 0) {
        return with_errno(libc::EINVAL);
    }
    let call = call();
    // SAFETY: the program hands in a time or nothing.
    let limit = match unsafe { timeout.as_ref() } {
        None => Limit::Never,
        Some(t) => {
            let t = libc::timespec { tv_sec: t.tv_sec, tv_nsec: t.tv_usec * 1000 };
            Limit::of_time(&raw const t)
        }
    };
    select_in(n, [a, b, c], limit, "select", call)
}

extern "C" fn pselect_here(
    n: c_int,
    a: Set,
    b: Set,
    c: Set,
    timeout: *const libc::timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    if !pipes::is_programs() {
        return real!(pselect(n, a, b, c, timeout, mask):
            fn(c_int, Set, Set, Set, *const libc::timespec, *const libc::sigset_t) -> c_int);
    }
    if n < 0 || !time::may_be_limit(timeout) {
        return with_errno(libc::EINVAL);
    }
    let call = call();
    no_mask(mask as usize, "pselect", call);
    select_in(n, [a, b, c], Limit::of_time(timeout), "pselect", call)
}

extern "C" fn epoll_create_here(size: c_int) -> c_int {
    if !pipes::is_programs() {
        return real!(epoll_create(size): fn(c_int) -> c_int);
    }
    if size <= 0 {
        return with_errno(libc::EINVAL);
    }
    pipes::new_list(0, call())
}

extern "C" fn epoll_create1_here(flags: c_int) -> c_int {
    if !pipes::is_programs() {
        return real!(epoll_create1(flags): fn(c_int) -> c_int);
    }
    if flags & !libc::EPOLL_CLOEXEC != 0 {
        return with_errno(libc::EINVAL);
    }
    pipes::new_list(flags, call())
}

/// The list of a descriptor of `epoll`, and the queue that stands for it.
fn list_of(fd: c_int, call: Call) -> Result<(usize, usize), c_int> {
    match pipes::used(fd, call) {
        None => Err(if files::is_open(fd) { libc::EINVAL } else { libc::EBADF }),
        Some(open) => match (state().opens[open].kind, state().opens[open].input) {
            (Kind::Epoll, Some(queue)) => Ok((open, queue)),
            _ => Err(libc::EINVAL),
        },
    }
}

extern "C" fn epoll_ctl_here(list: c_int, what: c_int, fd: c_int, event: *const libc::epoll_event) -> c_int {
    if pipes::open_of(list).is_none() && pipes::open_of(fd).is_some() {
        return with_errno(if files::is_open(list) { libc::EINVAL } else { libc::EBADF });
    }
    if pipes::open_of(list).is_none() {
        return real!(epoll_ctl(list, what, fd, event): fn(c_int, c_int, c_int, *const libc::epoll_event) -> c_int);
    }
    if list == fd {
        return with_errno(libc::EINVAL);
    }
    let call = call();
    if pipes::open_of(fd).is_none() && !files::is_open(fd) {
        return with_errno(libc::EBADF);
    }
    let (own, queue) = match list_of(list, call) {
        Ok(found) => found,
        Err(code) => return with_errno(code),
    };
    let Some(open) = pipes::used(fd, call) else {
        return match files::is_regular(fd) {
            Some(true) => with_errno(libc::EPERM),
            Some(false) => refuse("epoll_ctl", call),
            None => with_errno(libc::EBADF),
        };
    };
    if state().opens[open].kind == Kind::Epoll {
        not_modelled("a list of `epoll` in another one", call);
    }
    let (mut events, mut data) = (0, 0);
    if what != libc::EPOLL_CTL_DEL {
        access::access(event as usize, size_of::<libc::epoll_event>(), false, call);
        // SAFETY: the program hands in an event.
        unsafe { (events, data) = ((*event).events, (*event).u64) };
    }
    let mut code = 0;
    change(queue, MemoryOrder::AcqRel, call, |q| {
        let items = &mut state().opens[own].items;
        let known = items.iter().position(|i| i.fd == fd && i.open == open);
        let item = Item { fd, open, events, data, reported: (u64::MAX, u64::MAX), off: false };
        match (what, known) {
            (libc::EPOLL_CTL_ADD, None) => items.push(item),
            (libc::EPOLL_CTL_ADD, Some(_)) => code = libc::EEXIST,
            (libc::EPOLL_CTL_MOD, Some(i)) => items[i] = item,
            (libc::EPOLL_CTL_DEL, Some(i)) => {
                items.remove(i);
            }
            (libc::EPOLL_CTL_MOD | libc::EPOLL_CTL_DEL, None) => code = libc::ENOENT,
            _ => code = libc::EINVAL,
        }
        q.count += u64::from(code == 0);
    });
    with_errno(code)
}

const EDGE: u32 = libc::EPOLLET as u32;
const ONCE: u32 = libc::EPOLLONESHOT as u32;

/// `epoll_wait` in an execution.
fn epoll_in(list: c_int, out: *mut libc::epoll_event, most: c_int, limit: Limit, call: Call) -> c_int {
    within(limit, call, |found| *found == 0, |limit| epoll_until(list, out, most, limit, call))
}

fn epoll_until(list: c_int, out: *mut libc::epoll_event, most: c_int, limit: Limit, call: Call) -> c_int {
    let (own, queue) = match list_of(list, call) {
        Ok(found) => found,
        Err(code) => return with_errno(code),
    };
    if most <= 0 || most as usize > c_int::MAX as usize / size_of::<libc::epoll_event>() {
        return with_errno(libc::EINVAL);
    }
    runtime::settle();
    loop {
        let version = look(queue, call);
        let mut items = [None::<Item>; MOST];
        let count = state().opens[own].items.len();
        if count > MOST {
            not_modelled("a wait for more than 64 descriptors", call);
        }
        for (i, item) in state().opens[own].items.iter().enumerate() {
            let open = &state().opens[item.open];
            items[i] = Some(*item).filter(|item| open.descriptors > 0 && !item.off);
        }
        let mut asked = [Asked::NONE; MOST];
        for i in 0..count {
            if let Some(item) = items[i] {
                asked[i] = Asked { open: item.open, events: item.events & 0xffff, ..Asked::NONE };
            }
        }
        let plain = items[..count].iter().flatten().all(|i| i.events & EDGE == 0);
        if limit == Limit::Never && plain && asked[..count].iter().all(Asked::reads_only) {
            let mut words = Words::new();
            words.add(queue, version);
            for a in asked[..count].iter().filter(|a| a.open != usize::MAX) {
                if let Some(q) = state().opens[a.open].input {
                    words.add(q, state().queues[q].empty_word());
                }
            }
            if words.wait(call) {
                return with_errno(libc::EINTR);
            }
        }
        let mut words = Words::new();
        words.add(queue, version);
        for a in &mut asked[..count] {
            a.look(&mut words, call);
        }
        let is_news = |item: &Item, a: &Asked| item.events & EDGE == 0 || item.reported != a.counts;
        for i in 0..count {
            if items[i].is_some_and(|item| !is_news(&item, &asked[i])) {
                asked[i].found = 0;
            }
        }
        settle_timers(&mut asked[..count], limit, call);
        let mut left = most as usize;
        for a in &mut asked[..count] {
            if a.found != 0 && left == 0 {
                a.found = 0;
            }
            left -= (a.found != 0) as usize;
        }
        let found = most as usize - left;
        let remembers = (0..count)
            .any(|i| asked[i].found != 0 && items[i].is_some_and(|item| item.events & (EDGE | ONCE) != 0));
        if found > 0 && remembers {
            // Another thread that waits may have had the same events meanwhile.
            change(queue, MemoryOrder::AcqRel, call, |q| {
                for i in 0..count {
                    let Some(item) = items[i].filter(|_| asked[i].found != 0) else { continue };
                    let now =
                        state().opens[own].items.iter_mut().find(|n| n.fd == item.fd && n.open == item.open);
                    match now {
                        Some(now) if !now.off && is_news(now, &asked[i]) => {
                            now.reported = asked[i].counts;
                            now.off = now.events & ONCE != 0;
                            q.count += u64::from(now.off);
                        }
                        _ => asked[i].found = 0,
                    }
                }
            });
        }
        let found = asked[..count].iter().filter(|a| a.found != 0).count();
        if found > 0 {
            access::access(out as usize, found * size_of::<libc::epoll_event>(), true, call);
            let events = (0..count).filter(|i| asked[*i].found != 0);
            for (k, i) in events.enumerate() {
                let event = libc::epoll_event { events: asked[i].found, u64: items[i].map_or(0, |i| i.data) };
                // SAFETY: the program hands in room for `most` events.
                unsafe { out.add(k).write_unaligned(event) };
            }
            return found as c_int;
        }
        match limit {
            Limit::Never if words.wait(call) => return with_errno(libc::EINTR),
            Limit::Never => {}
            Limit::Now => return 0,
            Limit::After(_) if words.is_interrupted(call) => return with_errno(libc::EINTR),
            Limit::After(n) => {
                time::pass(n);
                return 0;
            }
        }
    }
}

extern "C" fn epoll_wait_here(
    list: c_int,
    out: *mut libc::epoll_event,
    most: c_int,
    timeout: c_int,
) -> c_int {
    if !runtime::in_execution() {
        return real!(epoll_wait(list, out, most, timeout): fn(c_int, *mut libc::epoll_event, c_int, c_int) -> c_int);
    }
    epoll_in(list, out, most, Limit::of_milliseconds(timeout), call())
}

extern "C" fn epoll_pwait_here(
    list: c_int,
    out: *mut libc::epoll_event,
    most: c_int,
    timeout: c_int,
    mask: *const libc::sigset_t,
) -> c_int {
    let call = call();
    if !runtime::in_execution() {
        return real!(epoll_pwait(list, out, most, timeout, mask):
            fn(c_int, *mut libc::epoll_event, c_int, c_int, *const libc::sigset_t) -> c_int);
    }
    no_mask(mask as usize, "epoll_pwait", call);
    epoll_in(list, out, most, Limit::of_milliseconds(timeout), call)
}

extern "C" fn epoll_pwait2_here(
    list: c_int,
    out: *mut libc::epoll_event,
    most: c_int,
    timeout: *const libc::timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    let call = call();
    if !runtime::in_execution() {
        return real!(epoll_pwait2(list, out, most, timeout, mask):
            fn(c_int, *mut libc::epoll_event, c_int, *const libc::timespec, *const libc::sigset_t) -> c_int);
    }
    if !time::may_be_limit(timeout) {
        return with_errno(libc::EINVAL);
    }
    no_mask(mask as usize, "epoll_pwait2", call);
    epoll_in(list, out, most, Limit::of_time(timeout), call)
}

export! {
    poll => poll_here;
    ppoll => ppoll_here;
    select => select_here;
    pselect => pselect_here;
    epoll_create => epoll_create_here;
    epoll_create1 => epoll_create1_here;
    epoll_ctl => epoll_ctl_here;
    epoll_wait => epoll_wait_here;
    epoll_pwait => epoll_pwait_here;
    epoll_pwait2 => epoll_pwait2_here;
}
