//! Thread-locals.

use crate::cell::{Cell, RefCell};
use std::cell::{Cell as StdCell, RefCell as StdRefCell};
use std::error::Error;
use std::fmt;

/// A thread-local: each thread of each execution has its own value, made on first use and dropped when the thread ends. Made by
/// [`thread_local!`](crate::thread_local).
pub struct LocalKey<T: 'static> {
    key: fn() -> *const (),
    init: fn() -> T,
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(key: fn() -> *const (), init: fn() -> T) -> LocalKey<T> {
        LocalKey { key, init }
    }

    /// Gives the value to `f`.
    ///
    /// # Panics
    ///
    /// Panics if the value is being dropped or has been.
    #[track_caller]
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        match self.try_with(f) {
            Ok(r) => r,
            Err(error) => {
                panic!("cannot access a Thread Local Storage value during or after destruction: {error:?}")
            }
        }
    }

    /// Gives the value to `f`.
    ///
    /// # Errors
    ///
    /// Fails if the value is being dropped or has been.
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        let value = runtime::thread_local((self.key)(), self.init).ok_or(AccessError)?;
        // SAFETY: the value belongs to the running thread and lives until the thread ends, which it does not during the call; it is
        // reached through shared references only. Its type is the one this key was made with, and the key's address is its own.
        Ok(f(unsafe { &*value }))
    }
}

/// Implements the methods that std has for keys of its cells, for std's cells and those of [`crate::cell`].
macro_rules! cells {
    ($($cell:ident, $ref_cell:ident;)*) => {$(
        impl<T: 'static> LocalKey<$cell<T>> {
            /// Writes the value.
            #[track_caller]
            pub fn set(&'static self, value: T) {
                self.with(|cell| cell.set(value));
            }

            /// Reads the value.
            #[track_caller]
            pub fn get(&'static self) -> T
            where
                T: Copy,
            {
                self.with(|cell| cell.get())
            }

            /// Takes the value and leaves the default.
            #[track_caller]
            pub fn take(&'static self) -> T
            where
                T: Default,
            {
                self.with(|cell| cell.take())
            }

            /// Writes the value and gives the old one.
            #[track_caller]
            pub fn replace(&'static self, value: T) -> T {
                self.with(|cell| cell.replace(value))
            }
        }

        impl<T: 'static> LocalKey<$ref_cell<T>> {
            /// Gives the value to `f`.
            ///
            /// # Panics
            ///
            /// Panics if it is borrowed for writing.
            #[track_caller]
            pub fn with_borrow<F, R>(&'static self, f: F) -> R
            where
                F: FnOnce(&T) -> R,
            {
                self.with(|cell| f(&cell.borrow()))
            }

            /// Gives the value to `f` for writing.
            ///
            /// # Panics
            ///
            /// Panics if it is borrowed.
            #[track_caller]
            pub fn with_borrow_mut<F, R>(&'static self, f: F) -> R
            where
                F: FnOnce(&mut T) -> R,
            {
                self.with(|cell| f(&mut cell.borrow_mut()))
            }

            /// Writes the value.
            ///
            /// # Panics
            ///
            /// Panics if it is borrowed.
            #[track_caller]
            pub fn set(&'static self, value: T) {
                self.with(|cell| *cell.borrow_mut() = value);
            }

            /// Takes the value and leaves the default.
            ///
            /// # Panics
            ///
            /// Panics if it is borrowed.
            #[track_caller]
            pub fn take(&'static self) -> T
            where
                T: Default,
            {
                self.with(|cell| cell.take())
            }

            /// Writes the value and gives the old one.
            ///
            /// # Panics
            ///
            /// Panics if it is borrowed.
            #[track_caller]
            pub fn replace(&'static self, value: T) -> T {
                self.with(|cell| cell.replace(value))
            }
        }
    )*};
}
cells! {
    StdCell, StdRefCell;
    Cell, RefCell;
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// The value of a thread-local is being dropped, or has been.
#[non_exhaustive]
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct AccessError;

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessError").finish()
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt("already destroyed", f)
    }
}

impl Error for AccessError {}

/// Declares thread-locals, with std's syntax.
///
/// ```
/// use std::cell::Cell;
///
/// raddle::thread_local! {
///     static COUNT: Cell<u32> = const { Cell::new(1) };
///     pub static NAME: String = "thread".to_owned();
/// }
///
/// raddle::check(|| {
///     COUNT.set(5);
///     // Another thread has its own.
///     let other = raddle::thread::spawn(|| COUNT.get());
///     assert_eq!(other.join().unwrap(), 1);
///     assert_eq!(COUNT.get(), 5);
///     NAME.with(|name| assert_eq!(name, "thread"));
/// });
/// ```
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = const $init:block; $($rest:tt)*) => {
        $crate::thread_local!(@one [$(#[$attr])*] $vis $name, $t, const { $init });
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = const $init:block) => {
        $crate::thread_local!(@one [$(#[$attr])*] $vis $name, $t, const { $init });
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = $init:expr; $($rest:tt)*) => {
        $crate::thread_local!(@one [$(#[$attr])*] $vis $name, $t, $init);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = $init:expr) => {
        $crate::thread_local!(@one [$(#[$attr])*] $vis $name, $t, $init);
    };
    (@one [$($attr:tt)*] $vis:vis $name:ident, $t:ty, $init:expr) => {
        $($attr)*
        $vis const $name: $crate::thread::LocalKey<$t> = {
            fn key() -> *const () {
                // Something whose address is this local's own.
                static RADDLE_KEY: ::std::sync::atomic::AtomicU8 = ::std::sync::atomic::AtomicU8::new(0);
                ::std::ptr::from_ref(&RADDLE_KEY).cast()
            }
            fn init() -> $t {
                $init
            }
            $crate::thread::LocalKey::new(key, init)
        };
    };
}
