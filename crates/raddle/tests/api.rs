//! Every public stable item of `std::sync`, `std::sync::atomic`, `std::sync::mpsc` and `std::thread`, and what became of it here.
//!
//! * A `same` row gives the type of the item once; it is compiled against std and against raddle, so both have the item and
//!   with that type.
//! * A `differs` row says why, and gives the type here.
//! * A `missing` row says why. For functions and constants it is compiled in a way that fails as soon as raddle has them.
//!
//! That no item of std is left out, and none is made up, is checked against std's own documentation by
//! `the_table_has_what_std_has`, which is ignored by default: it needs the component `rust-docs`.

#![allow(deprecated, reason = "std still has these items, so they are compared")]
#![allow(clippy::incompatible_msrv, reason = "the table is that of the newest std")]
#![allow(
    clippy::type_complexity,
    clippy::missing_const_for_thread_local,
    reason = "types are what this is about"
)]

use std::collections::{BTreeMap, BTreeSet};

/// What became of an item of std.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Same,
    Differs(&'static str),
    Missing(&'static str),
}

/// The table: rows of `same`, `differs` and `missing`.
macro_rules! table {
    (
        prelude { $($prelude:item)* }
        same { $($same:literal: $same_type:ty = $same_item:expr;)* }
        differs { $($differs:literal because $why:literal: $differs_type:ty = $differs_item:expr;)* }
        missing { $($missing:literal because $why_missing:literal;)* }
    ) => {
        mod in_std {
            #![allow(dead_code, unused_imports)]
            use std::{sync, thread, thread_local};
            $($prelude)*
            pub(crate) fn compiles() {
                $(let _: $same_type = $same_item;)*
            }
        }

        mod in_raddle {
            #![allow(dead_code, unused_imports)]
            use raddle::{sync, thread, thread_local};
            $($prelude)*
            pub(crate) fn compiles() {
                $(let _: $same_type = $same_item;)*
                $(let _: $differs_type = $differs_item;)*
            }
        }

        fn table() -> Vec<(&'static str, Fate)> {
            vec![
                $(($same, Fate::Same),)*
                $(($differs, Fate::Differs($why)),)*
                $(($missing, Fate::Missing($why_missing)),)*
            ]
        }
    };
}

/// The rows of an atomic integer.
macro_rules! integer_rows {
    ($($module:ident $atomic:ident $int:ident)*) => {
        $(
            mod $module {
                table! {
                    prelude {
                        use sync::atomic::{$atomic as A, Ordering as O};
                    }
                    same {
                        "new": &'static A = { static NEW: A = A::new(1); &NEW };
                        "get_mut": fn(&mut A) -> &mut $int = A::get_mut;
                        "load": fn(&A, O) -> $int = A::load;
                        "store": fn(&A, $int, O) = A::store;
                        "swap": fn(&A, $int, O) -> $int = A::swap;
                        "compare_exchange": fn(&A, $int, $int, O, O) -> Result<$int, $int> = A::compare_exchange;
                        "compare_exchange_weak": fn(&A, $int, $int, O, O) -> Result<$int, $int> = A::compare_exchange_weak;
                        "fetch_add": fn(&A, $int, O) -> $int = A::fetch_add;
                        "fetch_sub": fn(&A, $int, O) -> $int = A::fetch_sub;
                        "fetch_and": fn(&A, $int, O) -> $int = A::fetch_and;
                        "fetch_nand": fn(&A, $int, O) -> $int = A::fetch_nand;
                        "fetch_or": fn(&A, $int, O) -> $int = A::fetch_or;
                        "fetch_xor": fn(&A, $int, O) -> $int = A::fetch_xor;
                        "fetch_max": fn(&A, $int, O) -> $int = A::fetch_max;
                        "fetch_min": fn(&A, $int, O) -> $int = A::fetch_min;
                        "fetch_update": fn(&A, O, O, fn($int) -> Option<$int>) -> Result<$int, $int> = A::fetch_update;
                        "try_update": fn(&A, O, O, fn($int) -> Option<$int>) -> Result<$int, $int> = A::try_update;
                        "update": fn(&A, O, O, fn($int) -> $int) -> $int = A::update;
                        "impl Default": fn() -> A = A::default;
                        "impl From": fn($int) -> A = A::from;
                        "impl Debug": fn(&A, &mut std::fmt::Formatter<'_>) -> std::fmt::Result = <A as std::fmt::Debug>::fmt;
                    }
                    differs {
                        "into_inner" because "not const: the current value is in the runtime": fn(A) -> $int = A::into_inner;
                        "as_ptr" because "what is done through the pointer is a caveat: the value is in the runtime, and the memory follows it":
                            fn(&A) -> *mut $int = A::as_ptr;
                        "from_ptr" because "not const, and an atomic of our own that stands for the memory: it takes what was written there":
                            unsafe fn(*mut $int) -> &'static A = A::from_ptr;
                    }
                    missing {
                        "compare_and_swap" because "deprecated since Rust 1.50, and compare_exchange does it";
                    }
                }
                use super::Fate;

                pub(super) fn rows() -> Vec<(String, Fate)> {
                    in_std::compiles();
                    in_raddle::compiles();
                    absent();
                    super::named(concat!("sync::atomic::", stringify!($atomic)), table())
                }

                /// Compiles only while the methods are missing: an inherent one would be taken before the trait's.
                fn absent() {
                    use super::{Absent, IsAbsent};
                    type A = raddle::sync::atomic::$atomic;
                    let _: fn() -> IsAbsent = A::compare_and_swap;
                }
            }
        )*

        fn integers() -> Vec<(String, Fate)> {
            let mut rows = Vec::new();
            $(rows.extend($module::rows());)*
            rows
        }
    };
}

integer_rows! {
    i8 AtomicI8 i8 u8 AtomicU8 u8 i16 AtomicI16 i16 u16 AtomicU16 u16 i32 AtomicI32 i32 u32 AtomicU32 u32
    i64 AtomicI64 i64 u64 AtomicU64 u64 isize AtomicIsize isize usize AtomicUsize usize
}

fn named(path: &str, rows: Vec<(&'static str, Fate)>) -> Vec<(String, Fate)> {
    let all = rows.into_iter().map(|(name, fate)| (format!("{path}::{name}"), fate));
    std::iter::once((path.to_owned(), Fate::Same)).chain(all).collect()
}

/// A method that is found when there is no inherent one of its name.
struct IsAbsent;
macro_rules! absent_methods {
    ($($name:ident)*) => {
        #[allow(dead_code, reason = "only their names are used")]
        trait Absent {
            $(fn $name() -> IsAbsent { IsAbsent })*
        }
        impl<T: ?Sized> Absent for T {}
    };
}
absent_methods!(compare_and_swap);

/// Constants that are found when there are none of their names in raddle: two globs with one name are an error.
mod absent_constants {
    use super::IsAbsent;
    pub(crate) const ATOMIC_BOOL_INIT: IsAbsent = IsAbsent;
    pub(crate) const ATOMIC_ISIZE_INIT: IsAbsent = IsAbsent;
    pub(crate) const ATOMIC_USIZE_INIT: IsAbsent = IsAbsent;
}

fn absent() {
    use absent_constants::*;
    use raddle::sync::atomic::*;
    let _ = [ATOMIC_BOOL_INIT, ATOMIC_ISIZE_INIT, ATOMIC_USIZE_INIT];
    let _: fn() -> IsAbsent = AtomicBool::compare_and_swap;
    let _: fn() -> IsAbsent = AtomicPtr::<u8>::compare_and_swap;
}

table! {
    prelude {
        use std::any::Any;
        use std::borrow::{Borrow, Cow};
        use std::cell::{Cell, RefCell};
        use std::ffi::{CStr, CString, OsStr, OsString};
        use std::fmt;
        use std::io;
        use std::mem::MaybeUninit;
        use std::num::NonZero;
        use std::ops::{Deref, DerefMut};
        use std::panic::{RefUnwindSafe, UnwindSafe};
        use std::path::{Path, PathBuf};
        use std::pin::Pin;
        use std::time::Duration;
        use sync::atomic::{AtomicBool, AtomicPtr, Ordering as O};
        use sync::{
            Arc, Barrier, BarrierWaitResult, Condvar, LazyLock, LockResult, Mutex, MutexGuard, Once, OnceLock, OnceState,
            PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult, WaitTimeoutResult, Weak,
        };
        use sync::mpsc::{
            self, Receiver, RecvError, RecvTimeoutError, SendError, Sender, SyncSender, TryRecvError, TrySendError,
        };
        use thread::{AccessError, Builder, JoinHandle, LocalKey, Scope, ScopedJoinHandle, Thread, ThreadId};

        /// In each static stands a `const` constructor.
        mod statics {
            use super::*;
            pub(crate) static ATOMIC_BOOL: AtomicBool = AtomicBool::new(true);
            pub(crate) static ATOMIC_PTR: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
            pub(crate) static MUTEX: Mutex<Vec<u8>> = Mutex::new(Vec::new());
            pub(crate) static RW_LOCK: RwLock<Option<Box<u8>>> = RwLock::new(None);
            pub(crate) static CONDVAR: Condvar = Condvar::new();
            pub(crate) static BARRIER: Barrier = Barrier::new(3);
            pub(crate) static ONCE: Once = Once::new();
            pub(crate) static ONCE_LOCK: OnceLock<String> = OnceLock::new();
            pub(crate) static LAZY_LOCK: LazyLock<String> = LazyLock::new(String::new);
            pub(crate) static WEAK: Weak<String> = Weak::new();
            pub(crate) static ONCE_INIT: Once = sync::ONCE_INIT;
        }
        thread_local! {
            #[allow(missing_docs)]
            pub static PLAIN: Cell<u8> = Cell::new(1);
            static CONST: RefCell<u8> = const { RefCell::new(1) };
            pub(crate) static LAST: String = String::new()
        }
        thread_local!();
        thread_local!(static ONE: u8 = 1);

        type Predicate = fn(&mut u8) -> bool;
        fn is_iterator<T: Iterator<Item = u8>>() {}
        fn is_error<T: std::error::Error>() {}
        fn is_debug<T: fmt::Debug>() {}
        fn is_display<T: fmt::Display>() {}
        fn is_default<T: Default>() {}
        fn is_clone<T: Clone>() {}
        fn is_copy<T: Copy>() {}
        fn is_eq<T: Eq>() {}
        fn is_hash<T: std::hash::Hash>() {}
        fn is_ord<T: Ord>() {}
        fn is_from<T: From<F>, F>() {}
        fn derefs_to<T: Deref<Target = U>, U: ?Sized>() {}
        fn derefs_mut<T: DerefMut<Target = U>, U: ?Sized>() {}
    }
    same {
        // std::sync
        "sync::Mutex": &'static Mutex<Vec<u8>> = &statics::MUTEX;
        "sync::Mutex::new": fn(u8) -> Mutex<u8> = Mutex::new;
        "sync::Mutex::lock": for<'a> fn(&'a Mutex<u8>) -> LockResult<MutexGuard<'a, u8>> = Mutex::lock;
        "sync::Mutex::try_lock": for<'a> fn(&'a Mutex<[u8]>) -> TryLockResult<MutexGuard<'a, [u8]>> = Mutex::try_lock;
        "sync::Mutex::is_poisoned": fn(&Mutex<dyn Any>) -> bool = Mutex::is_poisoned;
        "sync::Mutex::clear_poison": fn(&Mutex<dyn Any>) = Mutex::clear_poison;
        "sync::Mutex::into_inner": fn(Mutex<u8>) -> LockResult<u8> = Mutex::into_inner;
        "sync::Mutex::get_mut": for<'a> fn(&'a mut Mutex<[u8]>) -> LockResult<&'a mut [u8]> = Mutex::get_mut;
        "sync::Mutex: Debug, Default, From": (fn(), fn(), fn()) =
            (is_debug::<Mutex<u8>>, is_default::<Mutex<u8>>, is_from::<Mutex<u8>, u8>);
        "sync::MutexGuard": (fn(), fn(), fn()) =
            (derefs_mut::<MutexGuard<'_, [u8]>, [u8]>, is_debug::<MutexGuard<'_, [u8]>>, is_display::<MutexGuard<'_, str>>);
        "sync::RwLock": &'static RwLock<Option<Box<u8>>> = &statics::RW_LOCK;
        "sync::RwLock::new": fn(u8) -> RwLock<u8> = RwLock::new;
        "sync::RwLock::read": for<'a> fn(&'a RwLock<[u8]>) -> LockResult<RwLockReadGuard<'a, [u8]>> = RwLock::read;
        "sync::RwLock::try_read": for<'a> fn(&'a RwLock<u8>) -> TryLockResult<RwLockReadGuard<'a, u8>> = RwLock::try_read;
        "sync::RwLock::write": for<'a> fn(&'a RwLock<[u8]>) -> LockResult<RwLockWriteGuard<'a, [u8]>> = RwLock::write;
        "sync::RwLock::try_write": for<'a> fn(&'a RwLock<u8>) -> TryLockResult<RwLockWriteGuard<'a, u8>> = RwLock::try_write;
        "sync::RwLock::is_poisoned": fn(&RwLock<dyn Any>) -> bool = RwLock::is_poisoned;
        "sync::RwLock::clear_poison": fn(&RwLock<dyn Any>) = RwLock::clear_poison;
        "sync::RwLock::into_inner": fn(RwLock<u8>) -> LockResult<u8> = RwLock::into_inner;
        "sync::RwLock::get_mut": for<'a> fn(&'a mut RwLock<[u8]>) -> LockResult<&'a mut [u8]> = RwLock::get_mut;
        "sync::RwLock: Debug, Default, From": (fn(), fn(), fn()) =
            (is_debug::<RwLock<u8>>, is_default::<RwLock<u8>>, is_from::<RwLock<u8>, u8>);
        "sync::RwLockReadGuard": (fn(), fn()) =
            (derefs_to::<RwLockReadGuard<'_, [u8]>, [u8]>, is_display::<RwLockReadGuard<'_, str>>);
        "sync::RwLockWriteGuard": (fn(), fn()) =
            (derefs_mut::<RwLockWriteGuard<'_, [u8]>, [u8]>, is_display::<RwLockWriteGuard<'_, str>>);
        "sync::RwLockWriteGuard::downgrade": fn(RwLockWriteGuard<'static, [u8]>) -> RwLockReadGuard<'static, [u8]> =
            RwLockWriteGuard::downgrade;
        "sync::Condvar": &'static Condvar = &statics::CONDVAR;
        "sync::Condvar::new": fn() -> Condvar = Condvar::new;
        "sync::Condvar::wait": for<'a> fn(&Condvar, MutexGuard<'a, u8>) -> LockResult<MutexGuard<'a, u8>> = Condvar::wait;
        "sync::Condvar::wait_while":
            for<'a> fn(&Condvar, MutexGuard<'a, u8>, Predicate) -> LockResult<MutexGuard<'a, u8>> = Condvar::wait_while;
        "sync::Condvar::wait_timeout_ms":
            for<'a> fn(&Condvar, MutexGuard<'a, u8>, u32) -> LockResult<(MutexGuard<'a, u8>, bool)> =
            Condvar::wait_timeout_ms;
        "sync::Condvar::wait_timeout":
            for<'a> fn(&Condvar, MutexGuard<'a, u8>, Duration) -> LockResult<(MutexGuard<'a, u8>, WaitTimeoutResult)> =
            Condvar::wait_timeout;
        "sync::Condvar::wait_timeout_while":
            for<'a> fn(&Condvar, MutexGuard<'a, u8>, Duration, Predicate)
                -> LockResult<(MutexGuard<'a, u8>, WaitTimeoutResult)> = Condvar::wait_timeout_while;
        "sync::Condvar::notify_one": fn(&Condvar) = Condvar::notify_one;
        "sync::Condvar::notify_all": fn(&Condvar) = Condvar::notify_all;
        "sync::Condvar: Debug, Default": (fn(), fn()) = (is_debug::<Condvar>, is_default::<Condvar>);
        "sync::WaitTimeoutResult": (fn(), fn(), fn()) =
            (is_copy::<WaitTimeoutResult>, is_eq::<WaitTimeoutResult>, is_debug::<WaitTimeoutResult>);
        "sync::WaitTimeoutResult::timed_out": fn(&WaitTimeoutResult) -> bool = WaitTimeoutResult::timed_out;
        "sync::Once": &'static Once = &statics::ONCE;
        "sync::Once::new": fn() -> Once = Once::new;
        "sync::Once::call_once": fn(&Once, fn()) = Once::call_once;
        "sync::Once::call_once_force": fn(&Once, fn(&OnceState)) = Once::call_once_force;
        "sync::Once::is_completed": fn(&Once) -> bool = Once::is_completed;
        "sync::Once::wait": fn(&Once) = Once::wait;
        "sync::Once::wait_force": fn(&Once) = Once::wait_force;
        "sync::ONCE_INIT": &'static Once = &statics::ONCE_INIT;
        "sync::OnceState": fn() = is_debug::<OnceState>;
        "sync::OnceState::is_poisoned": fn(&OnceState) -> bool = OnceState::is_poisoned;
        "sync::OnceLock": &'static OnceLock<String> = &statics::ONCE_LOCK;
        "sync::OnceLock::new": fn() -> OnceLock<u8> = OnceLock::new;
        "sync::OnceLock::get": fn(&OnceLock<u8>) -> Option<&u8> = OnceLock::get;
        "sync::OnceLock::get_mut": fn(&mut OnceLock<u8>) -> Option<&mut u8> = OnceLock::get_mut;
        "sync::OnceLock::wait": fn(&OnceLock<u8>) -> &u8 = OnceLock::wait;
        "sync::OnceLock::set": fn(&OnceLock<u8>, u8) -> Result<(), u8> = OnceLock::set;
        "sync::OnceLock::get_or_init": fn(&OnceLock<u8>, fn() -> u8) -> &u8 = OnceLock::get_or_init;
        "sync::OnceLock::into_inner": fn(OnceLock<u8>) -> Option<u8> = OnceLock::into_inner;
        "sync::OnceLock::take": fn(&mut OnceLock<u8>) -> Option<u8> = OnceLock::take;
        "sync::OnceLock: Clone, Debug, Default, Eq, From": (fn(), fn(), fn(), fn(), fn()) = (
            is_clone::<OnceLock<u8>>, is_debug::<OnceLock<u8>>, is_default::<OnceLock<u8>>, is_eq::<OnceLock<u8>>,
            is_from::<OnceLock<u8>, u8>,
        );
        "sync::LazyLock": &'static LazyLock<String> = &statics::LAZY_LOCK;
        "sync::LazyLock::new": fn(fn() -> u8) -> LazyLock<u8> = LazyLock::new;
        "sync::LazyLock::force": fn(&LazyLock<u8>) -> &u8 = LazyLock::force;
        "sync::LazyLock::force_mut": fn(&mut LazyLock<u8>) -> &mut u8 = LazyLock::force_mut;
        "sync::LazyLock::get": fn(&LazyLock<u8>) -> Option<&u8> = LazyLock::get;
        "sync::LazyLock::get_mut": fn(&mut LazyLock<u8>) -> Option<&mut u8> = LazyLock::get_mut;
        "sync::LazyLock: Debug, Default, DerefMut": (fn(), fn(), fn()) =
            (is_debug::<LazyLock<u8>>, is_default::<LazyLock<u8>>, derefs_mut::<LazyLock<u8>, u8>);
        "sync::Barrier": &'static Barrier = &statics::BARRIER;
        "sync::Barrier::new": fn(usize) -> Barrier = Barrier::new;
        "sync::Barrier::wait": fn(&Barrier) -> BarrierWaitResult = Barrier::wait;
        "sync::BarrierWaitResult": (fn(), fn()) = (is_debug::<BarrierWaitResult>, is_debug::<Barrier>);
        "sync::BarrierWaitResult::is_leader": fn(&BarrierWaitResult) -> bool = BarrierWaitResult::is_leader;
        "sync::PoisonError": std::sync::PoisonError<u8> = PoisonError::new(1);
        "sync::PoisonError::new": fn(u8) -> PoisonError<u8> = PoisonError::new;
        "sync::PoisonError::into_inner": fn(PoisonError<u8>) -> u8 = PoisonError::into_inner;
        "sync::PoisonError::get_ref": fn(&PoisonError<u8>) -> &u8 = PoisonError::get_ref;
        "sync::PoisonError::get_mut": fn(&mut PoisonError<u8>) -> &mut u8 = PoisonError::get_mut;
        "sync::TryLockError": std::sync::TryLockError<u8> = TryLockError::WouldBlock;
        "sync::LockResult": LockResult<u8> = Ok(1);
        "sync::TryLockResult": TryLockResult<u8> = Ok(1);
        "sync::Arc::new": fn(u8) -> Arc<u8> = Arc::new;
        "sync::Arc::new_cyclic": fn(fn(&Weak<u8>) -> u8) -> Arc<u8> = Arc::new_cyclic;
        "sync::Arc::new_uninit": fn() -> Arc<MaybeUninit<u8>> = Arc::new_uninit;
        "sync::Arc::new_zeroed": fn() -> Arc<MaybeUninit<u8>> = Arc::new_zeroed;
        "sync::Arc::new_uninit_slice": fn(usize) -> Arc<[MaybeUninit<u8>]> = Arc::new_uninit_slice;
        "sync::Arc::new_zeroed_slice": fn(usize) -> Arc<[MaybeUninit<u8>]> = Arc::new_zeroed_slice;
        "sync::Arc::assume_init": (
            unsafe fn(Arc<MaybeUninit<u8>>) -> Arc<u8>, unsafe fn(Arc<[MaybeUninit<u8>]>) -> Arc<[u8]>,
        ) = (Arc::<MaybeUninit<u8>>::assume_init, Arc::<[MaybeUninit<u8>]>::assume_init);
        "sync::Arc::pin": fn(u8) -> Pin<Arc<u8>> = Arc::pin;
        "sync::Arc::try_unwrap": fn(Arc<u8>) -> Result<u8, Arc<u8>> = Arc::try_unwrap;
        "sync::Arc::into_inner": fn(Arc<u8>) -> Option<u8> = Arc::into_inner;
        "sync::Arc::unwrap_or_clone": fn(Arc<u8>) -> u8 = Arc::unwrap_or_clone;
        "sync::Arc::from_raw": unsafe fn(*const [u8]) -> Arc<[u8]> = Arc::from_raw;
        "sync::Arc::into_raw": fn(Arc<[u8]>) -> *const [u8] = Arc::into_raw;
        "sync::Arc::increment_strong_count": unsafe fn(*const [u8]) = Arc::increment_strong_count;
        "sync::Arc::decrement_strong_count": unsafe fn(*const [u8]) = Arc::decrement_strong_count;
        "sync::Arc::as_ptr": fn(&Arc<[u8]>) -> *const [u8] = Arc::as_ptr;
        "sync::Arc::downgrade": fn(&Arc<[u8]>) -> Weak<[u8]> = Arc::downgrade;
        "sync::Arc::weak_count": fn(&Arc<[u8]>) -> usize = Arc::weak_count;
        "sync::Arc::strong_count": fn(&Arc<[u8]>) -> usize = Arc::strong_count;
        "sync::Arc::ptr_eq": fn(&Arc<[u8]>, &Arc<[u8]>) -> bool = Arc::ptr_eq;
        "sync::Arc::get_mut": fn(&mut Arc<[u8]>) -> Option<&mut [u8]> = Arc::get_mut;
        "sync::Arc::downcast": fn(Arc<dyn Any + Send + Sync>) -> Result<Arc<u8>, Arc<dyn Any + Send + Sync>> =
            Arc::<dyn Any + Send + Sync>::downcast;
        "sync::Arc: AsRef, Borrow, Deref": (fn(&Arc<str>) -> &str, fn(&Arc<str>) -> &str, fn()) =
            (AsRef::as_ref, Borrow::borrow, derefs_to::<Arc<str>, str>);
        "sync::Arc: Clone, Debug, Display, Pointer, Error": (fn(), fn(), fn(), fn(&Arc<u8>) -> String, fn()) = (
            is_clone::<Arc<dyn Any>>, is_debug::<Arc<[u8]>>, is_display::<Arc<str>>, |a| format!("{a:p}"),
            is_error::<Arc<io::Error>>,
        );
        "sync::Arc: Default": (fn(), fn(), fn(), fn()) =
            (is_default::<Arc<u8>>, is_default::<Arc<str>>, is_default::<Arc<[u8]>>, is_default::<Arc<CStr>>);
        "sync::Arc: Eq, Ord, Hash": (fn(), fn(), fn()) = (is_eq::<Arc<str>>, is_ord::<Arc<str>>, is_hash::<Arc<str>>);
        "sync::Arc: From": [fn(); 20] = [
            is_from::<Arc<u8>, u8>, is_from::<Arc<[u8]>, &[u8]>, is_from::<Arc<[u8]>, &mut [u8]>,
            is_from::<Arc<[u8]>, [u8; 4]>, is_from::<Arc<[u8]>, Vec<u8>>, is_from::<Arc<[u8]>, Box<[u8]>>,
            is_from::<Arc<[u8]>, Arc<str>>, is_from::<Arc<str>, &str>, is_from::<Arc<str>, &mut str>,
            is_from::<Arc<str>, String>, is_from::<Arc<str>, Cow<'_, str>>, is_from::<Arc<CStr>, &CStr>,
            is_from::<Arc<CStr>, &mut CStr>, is_from::<Arc<CStr>, CString>, is_from::<Arc<OsStr>, &OsStr>,
            is_from::<Arc<OsStr>, &mut OsStr>, is_from::<Arc<OsStr>, OsString>, is_from::<Arc<Path>, &Path>,
            is_from::<Arc<Path>, &mut Path>, is_from::<Arc<Path>, PathBuf>,
        ];
        "sync::Arc: TryFrom, FromIterator": (fn(Arc<[u8]>) -> Result<Arc<[u8; 3]>, Arc<[u8]>>, fn(Vec<u8>) -> Arc<[u8]>) =
            (TryFrom::try_from, FromIterator::from_iter);
        "sync::Weak": &'static Weak<String> = &statics::WEAK;
        "sync::Weak::new": fn() -> Weak<u8> = Weak::new;
        "sync::Weak::from_raw": unsafe fn(*const u8) -> Weak<u8> = Weak::from_raw;
        "sync::Weak::into_raw": fn(Weak<u8>) -> *const u8 = Weak::into_raw;
        "sync::Weak::as_ptr": fn(&Weak<u8>) -> *const u8 = Weak::as_ptr;
        "sync::Weak::upgrade": fn(&Weak<[u8]>) -> Option<Arc<[u8]>> = Weak::upgrade;
        "sync::Weak::strong_count": fn(&Weak<[u8]>) -> usize = Weak::strong_count;
        "sync::Weak::weak_count": fn(&Weak<[u8]>) -> usize = Weak::weak_count;
        "sync::Weak::ptr_eq": fn(&Weak<[u8]>, &Weak<[u8]>) -> bool = Weak::ptr_eq;
        "sync::Weak: Clone, Debug, Default": (fn(), fn(), fn()) =
            (is_clone::<Weak<dyn Any>>, is_debug::<Weak<dyn Any>>, is_default::<Weak<u8>>);

        // std::sync::atomic
        "sync::atomic::Ordering": std::sync::atomic::Ordering = O::SeqCst;
        "sync::atomic::fence": fn(O) = sync::atomic::fence;
        "sync::atomic::compiler_fence": fn(O) = sync::atomic::compiler_fence;
        "sync::atomic::spin_loop_hint": fn() = sync::atomic::spin_loop_hint;
        "sync::atomic::AtomicBool": &'static AtomicBool = &statics::ATOMIC_BOOL;
        "sync::atomic::AtomicBool::new": fn(bool) -> AtomicBool = AtomicBool::new;
        "sync::atomic::AtomicBool::get_mut": fn(&mut AtomicBool) -> &mut bool = AtomicBool::get_mut;
        "sync::atomic::AtomicBool::load": fn(&AtomicBool, O) -> bool = AtomicBool::load;
        "sync::atomic::AtomicBool::store": fn(&AtomicBool, bool, O) = AtomicBool::store;
        "sync::atomic::AtomicBool::swap": fn(&AtomicBool, bool, O) -> bool = AtomicBool::swap;
        "sync::atomic::AtomicBool::compare_exchange": fn(&AtomicBool, bool, bool, O, O) -> Result<bool, bool> =
            AtomicBool::compare_exchange;
        "sync::atomic::AtomicBool::compare_exchange_weak": fn(&AtomicBool, bool, bool, O, O) -> Result<bool, bool> =
            AtomicBool::compare_exchange_weak;
        "sync::atomic::AtomicBool::fetch_and": fn(&AtomicBool, bool, O) -> bool = AtomicBool::fetch_and;
        "sync::atomic::AtomicBool::fetch_nand": fn(&AtomicBool, bool, O) -> bool = AtomicBool::fetch_nand;
        "sync::atomic::AtomicBool::fetch_or": fn(&AtomicBool, bool, O) -> bool = AtomicBool::fetch_or;
        "sync::atomic::AtomicBool::fetch_xor": fn(&AtomicBool, bool, O) -> bool = AtomicBool::fetch_xor;
        "sync::atomic::AtomicBool::fetch_not": fn(&AtomicBool, O) -> bool = AtomicBool::fetch_not;
        "sync::atomic::AtomicBool::fetch_update":
            fn(&AtomicBool, O, O, fn(bool) -> Option<bool>) -> Result<bool, bool> = AtomicBool::fetch_update;
        "sync::atomic::AtomicBool::try_update":
            fn(&AtomicBool, O, O, fn(bool) -> Option<bool>) -> Result<bool, bool> = AtomicBool::try_update;
        "sync::atomic::AtomicBool::update": fn(&AtomicBool, O, O, fn(bool) -> bool) -> bool = AtomicBool::update;
        "sync::atomic::AtomicBool: Debug, Default, From": (fn(), fn(), fn()) =
            (is_debug::<AtomicBool>, is_default::<AtomicBool>, is_from::<AtomicBool, bool>);
        "sync::atomic::AtomicPtr": &'static AtomicPtr<u8> = &statics::ATOMIC_PTR;
        "sync::atomic::AtomicPtr::new": fn(*mut u8) -> AtomicPtr<u8> = AtomicPtr::new;
        "sync::atomic::AtomicPtr::get_mut": fn(&mut AtomicPtr<u8>) -> &mut *mut u8 = AtomicPtr::get_mut;
        "sync::atomic::AtomicPtr::load": fn(&AtomicPtr<u8>, O) -> *mut u8 = AtomicPtr::load;
        "sync::atomic::AtomicPtr::store": fn(&AtomicPtr<u8>, *mut u8, O) = AtomicPtr::store;
        "sync::atomic::AtomicPtr::swap": fn(&AtomicPtr<u8>, *mut u8, O) -> *mut u8 = AtomicPtr::swap;
        "sync::atomic::AtomicPtr::compare_exchange":
            fn(&AtomicPtr<u8>, *mut u8, *mut u8, O, O) -> Result<*mut u8, *mut u8> = AtomicPtr::compare_exchange;
        "sync::atomic::AtomicPtr::compare_exchange_weak":
            fn(&AtomicPtr<u8>, *mut u8, *mut u8, O, O) -> Result<*mut u8, *mut u8> = AtomicPtr::compare_exchange_weak;
        "sync::atomic::AtomicPtr::fetch_update":
            fn(&AtomicPtr<u8>, O, O, fn(*mut u8) -> Option<*mut u8>) -> Result<*mut u8, *mut u8> = AtomicPtr::fetch_update;
        "sync::atomic::AtomicPtr::try_update":
            fn(&AtomicPtr<u8>, O, O, fn(*mut u8) -> Option<*mut u8>) -> Result<*mut u8, *mut u8> = AtomicPtr::try_update;
        "sync::atomic::AtomicPtr::update": fn(&AtomicPtr<u8>, O, O, fn(*mut u8) -> *mut u8) -> *mut u8 = AtomicPtr::update;
        "sync::atomic::AtomicPtr::fetch_ptr_add": fn(&AtomicPtr<u8>, usize, O) -> *mut u8 = AtomicPtr::fetch_ptr_add;
        "sync::atomic::AtomicPtr::fetch_ptr_sub": fn(&AtomicPtr<u8>, usize, O) -> *mut u8 = AtomicPtr::fetch_ptr_sub;
        "sync::atomic::AtomicPtr::fetch_byte_add": fn(&AtomicPtr<u8>, usize, O) -> *mut u8 = AtomicPtr::fetch_byte_add;
        "sync::atomic::AtomicPtr::fetch_byte_sub": fn(&AtomicPtr<u8>, usize, O) -> *mut u8 = AtomicPtr::fetch_byte_sub;
        "sync::atomic::AtomicPtr::fetch_or": fn(&AtomicPtr<u8>, usize, O) -> *mut u8 = AtomicPtr::fetch_or;
        "sync::atomic::AtomicPtr::fetch_and": fn(&AtomicPtr<u8>, usize, O) -> *mut u8 = AtomicPtr::fetch_and;
        "sync::atomic::AtomicPtr::fetch_xor": fn(&AtomicPtr<u8>, usize, O) -> *mut u8 = AtomicPtr::fetch_xor;
        "sync::atomic::AtomicPtr: Debug, Default, From, Pointer": (fn(), fn(), fn(), fn(&AtomicPtr<u8>) -> String) = (
            is_debug::<AtomicPtr<u8>>, is_default::<AtomicPtr<u8>>, is_from::<AtomicPtr<u8>, *mut u8>, |a| format!("{a:p}"),
        );

        // std::sync::mpsc
        "sync::mpsc::channel": fn() -> (Sender<u8>, Receiver<u8>) = mpsc::channel;
        "sync::mpsc::sync_channel": fn(usize) -> (SyncSender<u8>, Receiver<u8>) = mpsc::sync_channel;
        "sync::mpsc::Sender": (fn(), fn()) = (is_clone::<Sender<Box<dyn Any>>>, is_debug::<Sender<u8>>);
        "sync::mpsc::Sender::send": fn(&Sender<u8>, u8) -> Result<(), SendError<u8>> = Sender::send;
        "sync::mpsc::SyncSender": (fn(), fn()) = (is_clone::<SyncSender<Box<dyn Any>>>, is_debug::<SyncSender<u8>>);
        "sync::mpsc::SyncSender::send": fn(&SyncSender<u8>, u8) -> Result<(), SendError<u8>> = SyncSender::send;
        "sync::mpsc::SyncSender::try_send": fn(&SyncSender<u8>, u8) -> Result<(), TrySendError<u8>> = SyncSender::try_send;
        "sync::mpsc::Receiver": (
            fn(), fn(Receiver<u8>) -> mpsc::IntoIter<u8>, fn(&'static Receiver<u8>) -> mpsc::Iter<'static, u8>,
        ) = (is_debug::<Receiver<u8>>, IntoIterator::into_iter, IntoIterator::into_iter);
        "sync::mpsc::Receiver::try_recv": fn(&Receiver<u8>) -> Result<u8, TryRecvError> = Receiver::try_recv;
        "sync::mpsc::Receiver::recv": fn(&Receiver<u8>) -> Result<u8, RecvError> = Receiver::recv;
        "sync::mpsc::Receiver::recv_timeout": fn(&Receiver<u8>, Duration) -> Result<u8, RecvTimeoutError> =
            Receiver::recv_timeout;
        "sync::mpsc::Receiver::iter": for<'a> fn(&'a Receiver<u8>) -> mpsc::Iter<'a, u8> = Receiver::iter;
        "sync::mpsc::Receiver::try_iter": for<'a> fn(&'a Receiver<u8>) -> mpsc::TryIter<'a, u8> = Receiver::try_iter;
        "sync::mpsc::Iter": (fn(), fn()) = (is_iterator::<mpsc::Iter<'_, u8>>, is_debug::<mpsc::Iter<'_, u8>>);
        "sync::mpsc::TryIter": (fn(), fn()) = (is_iterator::<mpsc::TryIter<'_, u8>>, is_debug::<mpsc::TryIter<'_, u8>>);
        "sync::mpsc::IntoIter": (fn(), fn()) = (is_iterator::<mpsc::IntoIter<u8>>, is_debug::<mpsc::IntoIter<u8>>);
        "sync::mpsc::SendError": std::sync::mpsc::SendError<u8> = SendError(1);
        "sync::mpsc::RecvError": std::sync::mpsc::RecvError = RecvError;
        "sync::mpsc::TryRecvError": std::sync::mpsc::TryRecvError = TryRecvError::Empty;
        "sync::mpsc::RecvTimeoutError": std::sync::mpsc::RecvTimeoutError = RecvTimeoutError::Timeout;
        "sync::mpsc::TrySendError": std::sync::mpsc::TrySendError<u8> = TrySendError::Full(1);

        // std::thread
        "thread::spawn": fn(fn() -> u8) -> JoinHandle<u8> = thread::spawn;
        "thread::scope": fn(for<'s> fn(&'s Scope<'s, 'static>) -> u8) -> u8 = thread::scope;
        "thread::current": fn() -> Thread = thread::current;
        "thread::park": fn() = thread::park;
        "thread::panicking": fn() -> bool = thread::panicking;
        "thread::yield_now": fn() = thread::yield_now;
        "thread::Result": thread::Result<u8> = Ok::<u8, Box<dyn Any + Send + 'static>>(1);
        "thread::Builder": (fn(), Builder) = (is_debug::<Builder>, Builder::new());
        "thread::Builder::new": fn() -> Builder = Builder::new;
        "thread::Builder::name": fn(Builder, String) -> Builder = Builder::name;
        "thread::Builder::stack_size": fn(Builder, usize) -> Builder = Builder::stack_size;
        "thread::Builder::spawn": fn(Builder, fn() -> u8) -> io::Result<JoinHandle<u8>> = Builder::spawn;
        "thread::Builder::spawn_unchecked": unsafe fn(Builder, fn() -> u8) -> io::Result<JoinHandle<u8>> =
            Builder::spawn_unchecked;
        "thread::Builder::spawn_scoped": fn(Builder, &'static Scope<'static, 'static>, fn() -> u8)
            -> io::Result<ScopedJoinHandle<'static, u8>> = Builder::spawn_scoped;
        "thread::JoinHandle::thread": fn(&JoinHandle<u8>) -> &Thread = JoinHandle::thread;
        "thread::JoinHandle::join": fn(JoinHandle<u8>) -> thread::Result<u8> = JoinHandle::join;
        "thread::JoinHandle::is_finished": fn(&JoinHandle<u8>) -> bool = JoinHandle::is_finished;
        "thread::JoinHandle: Debug": fn() = is_debug::<JoinHandle<u8>>;
        "thread::Scope": fn() = is_debug::<Scope<'_, '_>>;
        "thread::Scope::spawn": fn(&'static Scope<'static, 'static>, fn() -> u8) -> ScopedJoinHandle<'static, u8> =
            Scope::spawn;
        "thread::ScopedJoinHandle": fn() = is_debug::<ScopedJoinHandle<'_, u8>>;
        "thread::ScopedJoinHandle::thread": for<'a> fn(&'a ScopedJoinHandle<'static, u8>) -> &'a Thread =
            ScopedJoinHandle::thread;
        "thread::ScopedJoinHandle::join": fn(ScopedJoinHandle<'static, u8>) -> thread::Result<u8> = ScopedJoinHandle::join;
        "thread::ScopedJoinHandle::is_finished": fn(&ScopedJoinHandle<'static, u8>) -> bool = ScopedJoinHandle::is_finished;
        "thread::Thread": (fn(), fn()) = (is_clone::<Thread>, is_debug::<Thread>);
        "thread::Thread::unpark": fn(&Thread) = Thread::unpark;
        "thread::Thread::id": fn(&Thread) -> ThreadId = Thread::id;
        "thread::Thread::name": fn(&Thread) -> Option<&str> = Thread::name;
        "thread::ThreadId": (fn(), fn(), fn(), fn()) =
            (is_copy::<ThreadId>, is_eq::<ThreadId>, is_hash::<ThreadId>, is_debug::<ThreadId>);
        "thread::AccessError": (fn(), fn(), fn(), fn()) =
            (is_copy::<AccessError>, is_eq::<AccessError>, is_error::<AccessError>, is_debug::<AccessError>);
        "thread::LocalKey": (&'static LocalKey<Cell<u8>>, fn()) = (&PLAIN, is_debug::<LocalKey<u8>>);
        "thread::LocalKey::with": fn(&'static LocalKey<u8>, fn(&u8) -> u8) -> u8 = LocalKey::with;
        "thread::LocalKey::try_with": fn(&'static LocalKey<u8>, fn(&u8) -> u8) -> Result<u8, AccessError> = LocalKey::try_with;
        "thread::LocalKey::set": (fn(&'static LocalKey<Cell<u8>>, u8), fn(&'static LocalKey<RefCell<u8>>, u8)) =
            (LocalKey::<Cell<u8>>::set, LocalKey::<RefCell<u8>>::set);
        "thread::LocalKey::get": fn(&'static LocalKey<Cell<u8>>) -> u8 = LocalKey::<Cell<u8>>::get;
        "thread::LocalKey::take": (fn(&'static LocalKey<Cell<u8>>) -> u8, fn(&'static LocalKey<RefCell<u8>>) -> u8) =
            (LocalKey::<Cell<u8>>::take, LocalKey::<RefCell<u8>>::take);
        "thread::LocalKey::replace":
            (fn(&'static LocalKey<Cell<u8>>, u8) -> u8, fn(&'static LocalKey<RefCell<u8>>, u8) -> u8) =
            (LocalKey::<Cell<u8>>::replace, LocalKey::<RefCell<u8>>::replace);
        "thread::LocalKey::with_borrow": fn(&'static LocalKey<RefCell<u8>>, fn(&u8) -> u8) -> u8 = LocalKey::<RefCell<u8>>::with_borrow;
        "thread::LocalKey::with_borrow_mut": fn(&'static LocalKey<RefCell<u8>>, fn(&mut u8) -> u8) -> u8 =
            LocalKey::<RefCell<u8>>::with_borrow_mut;
        "thread_local!": &'static LocalKey<String> = &LAST;
    }
    differs {
        "sync::Arc" because "does not become an Arc<dyn Trait> by itself (CoerceUnsized is unstable; Arc::coerce does it), cannot \
            be the type of self, takes two words, and keeps what it refers to borrowed until it is dropped (may_dangle is unstable)":
            fn(Arc<u8>, fn(std::sync::Arc<u8>) -> std::sync::Arc<dyn Any>) -> Arc<dyn Any> = Arc::coerce;
        "sync::Arc::make_mut" because "the value must be Clone: the trait for unsized values is unstable":
            fn(&mut Arc<u8>) -> &mut u8 = Arc::make_mut;
        "sync::atomic::AtomicBool::into_inner" because "not const: the current value is in the runtime":
            fn(AtomicBool) -> bool = AtomicBool::into_inner;
        "sync::atomic::AtomicPtr::into_inner" because "not const: the current value is in the runtime":
            fn(AtomicPtr<u8>) -> *mut u8 = AtomicPtr::into_inner;
        "sync::atomic::AtomicBool::as_ptr" because "what is done through the pointer is a caveat: the value is in the runtime, and the memory follows it":
            fn(&AtomicBool) -> *mut bool = AtomicBool::as_ptr;
        "sync::atomic::AtomicBool::from_ptr" because "not const, and an atomic of our own that stands for the memory: it takes what was written there":
            unsafe fn(*mut bool) -> &'static AtomicBool = AtomicBool::from_ptr;
        "sync::atomic::AtomicPtr::as_ptr" because "what is done through the pointer is a caveat: the value is in the runtime, and the memory follows it":
            fn(&AtomicPtr<u8>) -> *mut *mut u8 = AtomicPtr::as_ptr;
        "sync::atomic::AtomicPtr::from_ptr" because "not const, and an atomic of our own that stands for the memory: it takes what was written there":
            unsafe fn(*mut *mut u8) -> &'static AtomicPtr<u8> = AtomicPtr::from_ptr;
        "thread::sleep" because "time does not pass: it is a yield": fn(Duration) = thread::sleep;
        "thread::sleep_ms" because "time does not pass: it is a yield": fn(u32) = thread::sleep_ms;
        "thread::park_timeout" because "whether the time runs out is explored, not waited for":
            fn(Duration) = thread::park_timeout;
        "thread::park_timeout_ms" because "whether the time runs out is explored, not waited for":
            fn(u32) = thread::park_timeout_ms;
        "thread::available_parallelism" because "always 4, so that a test is the same on every machine":
            fn() -> io::Result<NonZero<usize>> = thread::available_parallelism;
        "thread::JoinHandle" because "no JoinHandleExt: there is no pthread behind it": fn(JoinHandle<u8>) -> JoinHandle<u8> =
            |handle| handle;
    }
    missing {
        "sync::Arc: AsFd, AsRawFd, Read, Write, Seek for Arc<File>" because "a file is shared through &File just as well";
        "sync::Arc: From<Arc<W>> for Waker" because "std::task::Wake names std's Arc";
        "sync::atomic::AtomicBool::compare_and_swap" because "deprecated since Rust 1.50, and compare_exchange does it";
        "sync::atomic::AtomicPtr::compare_and_swap" because "deprecated since Rust 1.50, and compare_exchange does it";
        "sync::atomic::ATOMIC_BOOL_INIT" because "deprecated since Rust 1.34, and AtomicBool::new is const";
        "sync::atomic::ATOMIC_ISIZE_INIT" because "deprecated since Rust 1.34, and AtomicIsize::new is const";
        "sync::atomic::ATOMIC_USIZE_INIT" because "deprecated since Rust 1.34, and AtomicUsize::new is const";
    }
}

fn rows() -> Vec<(String, Fate)> {
    let named = table().into_iter().map(|(name, fate)| (name.to_owned(), fate));
    named.chain(integers()).collect()
}

#[test]
fn every_row_is_there_once_and_says_why() {
    in_std::compiles();
    in_raddle::compiles();
    absent();
    let rows = rows();
    let mut seen = BTreeMap::new();
    for (item, fate) in &rows {
        assert!(seen.insert(item.as_str(), fate).is_none(), "{item} is listed twice");
        if let Fate::Differs(why) | Fate::Missing(why) = fate {
            assert!(why.len() > 10, "{item}: {why:?} is no reason");
        }
    }
    let same = rows.iter().filter(|(_, fate)| matches!(fate, Fate::Same)).count();
    assert!(same > 400, "only {same} of {} rows are the same", rows.len());
}

/// Whether a type has each of the auto traits, as a row of letters.
macro_rules! auto_traits {
    ($t:ty) => {{
        #[allow(dead_code)]
        struct Probe<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code)]
        trait Not {
            const SEND: bool = false;
            const SYNC: bool = false;
            const UNPIN: bool = false;
            const UNWIND: bool = false;
            const REF_UNWIND: bool = false;
        }
        impl<T: ?Sized> Not for Probe<T> {}
        // An inherent constant is taken before the trait's, where its bound holds.
        #[allow(dead_code)]
        impl<T: ?Sized + Send> Probe<T> {
            const SEND: bool = true;
        }
        #[allow(dead_code)]
        impl<T: ?Sized + Sync> Probe<T> {
            const SYNC: bool = true;
        }
        #[allow(dead_code)]
        impl<T: ?Sized + Unpin> Probe<T> {
            const UNPIN: bool = true;
        }
        #[allow(dead_code)]
        impl<T: ?Sized + std::panic::UnwindSafe> Probe<T> {
            const UNWIND: bool = true;
        }
        #[allow(dead_code)]
        impl<T: ?Sized + std::panic::RefUnwindSafe> Probe<T> {
            const REF_UNWIND: bool = true;
        }
        [
            ("Send", Probe::<$t>::SEND),
            ("Sync", Probe::<$t>::SYNC),
            ("Unpin", Probe::<$t>::UNPIN),
            ("UnwindSafe", Probe::<$t>::UNWIND),
            ("RefUnwindSafe", Probe::<$t>::REF_UNWIND),
        ]
    }};
}

#[test]
fn auto_traits_are_stds() {
    type Neither = std::rc::Rc<u8>;
    type OnlySend = std::cell::Cell<u8>;
    type OnlySync = std::sync::MutexGuard<'static, u8>;
    type NotUnpin = std::marker::PhantomPinned;
    type NotUnwind = &'static mut u8;
    macro_rules! each {
        ($($name:ident: $t:ty;)*) => {
            fn stds() -> Vec<(&'static str, [(&'static str, bool); 5])> {
                use std::{sync, thread};
                vec![$((stringify!($name), auto_traits!($t)),)*]
            }
            fn ours() -> Vec<(&'static str, [(&'static str, bool); 5])> {
                use raddle::{sync, thread};
                vec![$((stringify!($name), auto_traits!($t)),)*]
            }
        };
    }
    each! {
        mutex: sync::Mutex<u8>;
        mutex_neither: sync::Mutex<Neither>;
        mutex_only_send: sync::Mutex<OnlySend>;
        mutex_only_sync: sync::Mutex<OnlySync>;
        mutex_not_unpin: sync::Mutex<NotUnpin>;
        mutex_not_unwind: sync::Mutex<NotUnwind>;
        mutex_guard: sync::MutexGuard<'static, u8>;
        mutex_guard_only_send: sync::MutexGuard<'static, OnlySend>;
        mutex_guard_only_sync: sync::MutexGuard<'static, OnlySync>;
        rwlock: sync::RwLock<u8>;
        rwlock_neither: sync::RwLock<Neither>;
        rwlock_only_send: sync::RwLock<OnlySend>;
        rwlock_only_sync: sync::RwLock<OnlySync>;
        rwlock_not_unwind: sync::RwLock<NotUnwind>;
        read_guard: sync::RwLockReadGuard<'static, u8>;
        read_guard_only_send: sync::RwLockReadGuard<'static, OnlySend>;
        write_guard: sync::RwLockWriteGuard<'static, u8>;
        write_guard_only_send: sync::RwLockWriteGuard<'static, OnlySend>;
        condvar: sync::Condvar;
        barrier: sync::Barrier;
        barrier_wait_result: sync::BarrierWaitResult;
        wait_timeout_result: sync::WaitTimeoutResult;
        once: sync::Once;
        once_lock: sync::OnceLock<u8>;
        once_lock_neither: sync::OnceLock<Neither>;
        once_lock_only_send: sync::OnceLock<OnlySend>;
        once_lock_only_sync: sync::OnceLock<OnlySync>;
        once_lock_not_unpin: sync::OnceLock<NotUnpin>;
        once_lock_not_unwind: sync::OnceLock<NotUnwind>;
        lazy_lock: sync::LazyLock<u8>;
        lazy_lock_only_send: sync::LazyLock<OnlySend>;
        lazy_lock_only_sync: sync::LazyLock<OnlySync>;
        lazy_lock_not_unwind: sync::LazyLock<NotUnwind>;
        lazy_lock_function: sync::LazyLock<u8, Neither>;
        lazy_lock_function_only_send: sync::LazyLock<u8, OnlySend>;
        arc: sync::Arc<u8>;
        arc_unsized: sync::Arc<dyn std::any::Any>;
        arc_neither: sync::Arc<Neither>;
        arc_only_send: sync::Arc<OnlySend>;
        arc_only_sync: sync::Arc<OnlySync>;
        arc_not_unpin: sync::Arc<NotUnpin>;
        arc_not_unwind: sync::Arc<NotUnwind>;
        weak: sync::Weak<u8>;
        weak_only_send: sync::Weak<OnlySend>;
        weak_only_sync: sync::Weak<OnlySync>;
        atomic: sync::atomic::AtomicU32;
        atomic_bool: sync::atomic::AtomicBool;
        atomic_ptr: sync::atomic::AtomicPtr<Neither>;
        sender: sync::mpsc::Sender<u8>;
        sender_neither: sync::mpsc::Sender<Neither>;
        sender_only_send: sync::mpsc::Sender<OnlySend>;
        sync_sender: sync::mpsc::SyncSender<u8>;
        sync_sender_neither: sync::mpsc::SyncSender<Neither>;
        sync_sender_only_send: sync::mpsc::SyncSender<OnlySend>;
        receiver: sync::mpsc::Receiver<u8>;
        receiver_neither: sync::mpsc::Receiver<Neither>;
        receiver_only_send: sync::mpsc::Receiver<OnlySend>;
        receiver_iter: sync::mpsc::Iter<'static, u8>;
        receiver_into_iter: sync::mpsc::IntoIter<u8>;
        join_handle: thread::JoinHandle<u8>;
        join_handle_neither: thread::JoinHandle<Neither>;
        scoped_join_handle: thread::ScopedJoinHandle<'static, u8>;
        scoped_join_handle_neither: thread::ScopedJoinHandle<'static, Neither>;
        scope: thread::Scope<'static, 'static>;
        thread: thread::Thread;
        thread_id: thread::ThreadId;
        builder: thread::Builder;
        local_key: thread::LocalKey<Neither>;
        access_error: thread::AccessError;
    }
    for (std, ours) in stds().into_iter().zip(ours()) {
        assert_eq!(std, ours);
    }
}

/// Reads std's documentation, as rustdoc wrote it: good enough for the one version it is meant for.
mod documentation {
    use std::path::{Path, PathBuf};

    pub(super) fn folder() -> PathBuf {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let output =
            std::process::Command::new(rustc).args(["--print", "sysroot"]).output().expect("rustc runs");
        let sysroot = String::from_utf8(output.stdout).expect("a path in UTF-8");
        let std = Path::new(sysroot.trim()).join("share/doc/rust/html/std");
        assert!(std.is_dir(), "no documentation: run `rustup component add rust-docs`");
        std
    }

    /// Stable items of a module: `(kind, name, page)`.
    pub(super) fn items(module: &Path) -> Vec<(String, String, String)> {
        let mut items = Vec::new();
        for entry in std::fs::read_dir(module).expect("a module has a folder") {
            let file = entry.expect("a readable folder").file_name().into_string().expect("a name in UTF-8");
            let parts: Vec<_> = file.split('.').collect();
            let [kind @ ("struct" | "enum" | "fn" | "type" | "constant" | "trait"), name, "html"] = parts[..]
            else {
                continue;
            };
            let page = std::fs::read_to_string(module.join(&file)).expect("a readable page");
            let head = &page[..page.find("<details class=\"toggle top-doc\"").unwrap_or(page.len())];
            if !head.contains("stab unstable") {
                items.push((kind.to_owned(), name.to_owned(), page));
            }
        }
        items
    }

    /// Stable inherent methods on the page of a type.
    pub(super) fn methods(page: &str) -> Vec<String> {
        let Some(start) = page.find("id=\"implementations-list\"") else { return Vec::new() };
        let rest = &page[start..];
        let ends = ["<h2 id=\"deref-methods", "<h2 id=\"trait-implementations"];
        let end = ends.iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
        let sections: Vec<_> = rest[..end].split("<section id=\"method.").skip(1).collect();
        let stable = sections.into_iter().filter(|section| {
            let after = section.split_once("</section>").map_or("", |(_, after)| after);
            !after.split("docblock").next().unwrap_or("").contains("stab unstable")
        });
        stable.map(|section| section.split(['"', '-']).next().unwrap_or("").to_owned()).collect()
    }
}

#[test]
#[ignore = "needs the component rust-docs"]
fn the_table_has_what_std_has() {
    let mut found = BTreeSet::new();
    let folder = documentation::folder();
    for module in ["sync", "sync/atomic", "sync/mpsc", "thread"] {
        let path = module.replace('/', "::");
        for (kind, name, page) in documentation::items(&folder.join(module)) {
            if kind == "struct" {
                found.extend(
                    documentation::methods(&page).iter().map(|method| format!("{path}::{name}::{method}")),
                );
            }
            found.insert(format!("{path}::{name}"));
        }
    }
    found.insert("thread_local!".to_owned());
    assert!(found.len() > 400, "only {} items were found: has rustdoc changed its pages?", found.len());
    // What implements which trait is listed by hand; such rows have a space.
    let listed: BTreeSet<String> =
        rows().into_iter().map(|(item, _)| item).filter(|item| !item.contains(' ')).collect();
    let left_out: Vec<_> = found.difference(&listed).collect();
    assert!(left_out.is_empty(), "not in the table: {left_out:#?}");
    let unknown: Vec<_> = listed.difference(&found).collect();
    assert!(unknown.is_empty(), "not in std: {unknown:#?}");
}
