//! Channels with std's names and signatures.
//!
//! ```
//! use raddle::sync::mpsc;
//!
//! raddle::check(|| {
//!     let (sender, receiver) = mpsc::channel();
//!     let other = raddle::thread::spawn({
//!         let sender = sender.clone();
//!         move || sender.send(1).unwrap()
//!     });
//!     sender.send(2).unwrap();
//!     drop(sender);
//!     // Ends when all senders are gone.
//!     assert_eq!(receiver.iter().sum::<i32>(), 3);
//!     other.join().unwrap();
//! });
//! ```
//!
//! A channel is one object of the runtime, whose word has the numbers of messages sent and taken; the messages themselves are in
//! a queue here. A thread puts a message in, or takes one, in the same turn as its step, so the queue always agrees with the
//! word.
//!
//! In a trace an end of a channel is dropped where it was made: the place of a drop is not known.

use crate::object::{Step, live};
use explore::semantics::Channel;
use explore::{Op, OpKind};
use runtime::{Class, Done, Handle, Place};
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc as Real;
use std::time::Duration;

pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

/// A channel, shared by its ends.
struct Shared<T> {
    handle: Handle,
    capacity: u64,
    /// Messages with their numbers, oldest first.
    queue: UnsafeCell<VecDeque<(u64, T)>>,
}

// SAFETY: the queue owns messages that one thread puts in and another takes out: `T: Send`.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: the queue is touched only in `with_queue`, right after a step of a controlled thread or when its execution is given up.
// Controlled threads of one execution never run at the same time, and steps outside of an execution panic.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn new(capacity: u64) -> Real<Shared<T>> {
        Real::new(Shared { handle: Handle::new(), capacity, queue: UnsafeCell::new(VecDeque::new()) })
    }

    #[inline(always)]
    fn step(&self, kind: OpKind, b: u64, place: Place) -> Done {
        let one_sender = Channel { senders: 1, ..Channel::default() };
        Step::new(kind, &self.handle, Class::Channel, place)
            .initial(one_sender.pack())
            .operands(self.capacity, b)
            .run()
    }

    /// A step of a destructor, which may run where there are none.
    fn quiet_step(&self, kind: OpKind, place: Place) {
        if live() {
            self.step(kind, 0, place);
        }
    }

    fn with_queue<R>(&self, f: impl FnOnce(&mut VecDeque<(u64, T)>) -> R) -> R {
        // SAFETY: no step and no code of `T` runs in `f`, so nobody else has a reference to the queue; see `Sync`.
        f(unsafe { &mut *self.queue.get() })
    }

    fn push(&self, number: u64, message: T) {
        self.with_queue(|queue| queue.push_back((number, message)));
    }

    /// The message that a step just took. None while the execution is given up, when steps do nothing.
    fn pop(&self, number: u64) -> Option<T> {
        let (sent_as, message) = self.with_queue(VecDeque::pop_front)?;
        debug_assert!(sent_as == number || !live(), "messages leave the queue in the order of their numbers");
        Some(message)
    }

    fn send(&self, message: T, place: Place) -> Result<(), SendError<T>> {
        let sent = self.step(OpKind::Send, 0, place);
        if !sent.ok {
            return Err(SendError(message));
        }
        self.push(sent.value, message);
        if self.capacity == 0 && !self.step(OpKind::SendDone, sent.value, place).ok {
            // The receiver went without taking it.
            let back = self.with_queue(|queue| {
                let at = queue.iter().position(|(number, _)| *number == sent.value)?;
                queue.remove(at)
            });
            if let Some((_, message)) = back {
                return Err(SendError(message));
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn try_send(&self, message: T, place: Place) -> Result<(), TrySendError<T>> {
        let sent = self.step(OpKind::TrySend, 0, place);
        match (sent.ok, sent.value) {
            (true, number) => {
                self.push(number, message);
                Ok(())
            }
            (false, 1) => Err(TrySendError::Full(message)),
            (false, _) => Err(TrySendError::Disconnected(message)),
        }
    }
}

/// Makes a channel without a limit.
#[must_use]
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (shared, made) = (Shared::new(Op::UNBOUNDED), Place::caller());
    (Sender { shared: shared.clone(), made }, Receiver { shared, made, not_sync: PhantomData })
}

/// Makes a channel for at most `bound` messages: who sends one more waits. With 0, who sends waits until the message is taken.
///
/// ```
/// use raddle::sync::mpsc;
///
/// raddle::check(|| {
///     let (sender, receiver) = mpsc::sync_channel(1);
///     let other = raddle::thread::spawn(move || (1..=3).for_each(|n| sender.send(n).unwrap()));
///     assert_eq!(receiver.into_iter().collect::<Vec<_>>(), [1, 2, 3]);
///     other.join().unwrap();
/// });
/// ```
#[must_use]
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let (shared, made) = (Shared::new(bound as u64), Place::caller());
    (SyncSender { shared: shared.clone(), made }, Receiver { shared, made, not_sync: PhantomData })
}

/// The end of a [`channel`] that sends.
pub struct Sender<T> {
    shared: Real<Shared<T>>,
    made: Place,
}

impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}

impl<T> Sender<T> {
    /// Sends a message; never waits.
    ///
    /// # Errors
    ///
    /// Gives the message back if the receiver is gone.
    #[track_caller]
    pub fn send(&self, t: T) -> Result<(), SendError<T>> {
        self.shared.send(t, Place::caller())
    }
}

impl<T> Clone for Sender<T> {
    #[track_caller]
    fn clone(&self) -> Sender<T> {
        let made = Place::caller();
        self.shared.step(OpKind::AddSender, 0, made);
        Sender { shared: self.shared.clone(), made }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.shared.quiet_step(OpKind::DropSender, self.made);
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

/// The end of a [`sync_channel`] that sends.
pub struct SyncSender<T> {
    shared: Real<Shared<T>>,
    made: Place,
}

impl<T> UnwindSafe for SyncSender<T> {}
impl<T> RefUnwindSafe for SyncSender<T> {}

impl<T> SyncSender<T> {
    /// Sends a message; waits while there is no room.
    ///
    /// # Errors
    ///
    /// Gives the message back if the receiver is gone.
    #[track_caller]
    pub fn send(&self, t: T) -> Result<(), SendError<T>> {
        self.shared.send(t, Place::caller())
    }

    /// Sends a message if there is room, or, on a channel of capacity 0, if the receiver waits.
    ///
    /// # Errors
    ///
    /// Gives the message back if there is no room, or if the receiver is gone.
    #[inline(always)]
    #[track_caller]
    pub fn try_send(&self, t: T) -> Result<(), TrySendError<T>> {
        self.shared.try_send(t, Place::caller())
    }
}

impl<T> Clone for SyncSender<T> {
    #[track_caller]
    fn clone(&self) -> SyncSender<T> {
        let made = Place::caller();
        self.shared.step(OpKind::AddSender, 0, made);
        SyncSender { shared: self.shared.clone(), made }
    }
}

impl<T> Drop for SyncSender<T> {
    fn drop(&mut self) {
        self.shared.quiet_step(OpKind::DropSender, self.made);
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncSender").finish_non_exhaustive()
    }
}

/// The end of a channel that receives. Not `Sync`, as std's.
pub struct Receiver<T> {
    shared: Real<Shared<T>>,
    made: Place,
    not_sync: PhantomData<std::cell::Cell<()>>,
}

impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

impl<T> Receiver<T> {
    #[inline(always)]
    fn try_take(&self, place: Place) -> Result<T, TryRecvError> {
        let taken = self.shared.step(OpKind::TryRecv, 0, place);
        match (taken.ok, taken.value) {
            (true, number) => self.shared.pop(number).ok_or(TryRecvError::Empty),
            (false, 1) => Err(TryRecvError::Disconnected),
            (false, _) => Err(TryRecvError::Empty),
        }
    }

    /// On a channel of capacity 0, lets senders that do not wait know that somebody does.
    fn announce(&self, place: Place) {
        if self.shared.capacity == 0 {
            self.shared.step(OpKind::RecvReady, 0, place);
        }
    }

    /// Takes a message if there is one.
    ///
    /// # Errors
    ///
    /// Fails if there is none; says whether one may still come.
    #[inline(always)]
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.try_take(Place::caller())
    }

    /// Takes a message; waits for one while a sender lives.
    ///
    /// # Errors
    ///
    /// Fails if there is no message and no sender.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let place = Place::caller();
        self.announce(place);
        let taken = self.shared.step(OpKind::Recv, 0, place);
        if taken.ok { self.shared.pop(taken.value).ok_or(RecvError) } else { Err(RecvError) }
    }

    /// Takes a message, or times out: both are explored, however long the time is. Whoever waits for a hundred years or more waits for ever.
    ///
    /// # Errors
    ///
    /// Fails if there was no message; says whether one may still come.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let place = Place::caller();
        if runtime::is_for_ever(timeout, place) {
            return self.recv().map_err(|RecvError| RecvTimeoutError::Disconnected);
        }
        runtime::clock_start_wait(crate::time::nanoseconds(timeout));
        self.announce(place);
        // A message that comes while it waits is one that came before a single look.
        self.try_take(place).map_err(|error| match error {
            TryRecvError::Empty => {
                runtime::clock_end_wait();
                RecvTimeoutError::Timeout
            }
            TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
        })
    }

    /// Messages until all senders are gone.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { rx: self }
    }

    /// Messages until there is none.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { rx: self }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.shared.quiet_step(OpKind::DropReceiver, self.made);
        if self.shared.capacity > 0 {
            // As std does, what nobody will take is dropped now. A sender that waits on a channel of capacity 0 takes its message
            // back itself.
            let messages = self.shared.with_queue(std::mem::take);
            drop(messages);
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { rx: self }
    }
}

/// Messages until all senders are gone; made by [`Receiver::iter`].
#[derive(Debug)]
pub struct Iter<'a, T: 'a> {
    rx: &'a Receiver<T>,
}

/// Messages until there is none; made by [`Receiver::try_iter`].
#[derive(Debug)]
pub struct TryIter<'a, T: 'a> {
    rx: &'a Receiver<T>,
}

/// Messages until all senders are gone; made by [`Receiver::into_iter`].
#[derive(Debug)]
pub struct IntoIter<T> {
    rx: Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.recv().ok()
    }
}
