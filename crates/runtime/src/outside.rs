//! Values of objects that were made outside of the check, such as a lock that the closure captures.
//!
//! The word of an object starts afresh in each execution. The value that a lock or a cell guards lies beside the handle of the object, in memory
//! of the test, and a change would stay for the next execution. So the first executions of a check keep the bytes of each value that does not lie on
//! the stack of a controlled thread, as they are before the first use. An object that an execution has met is made outside of the check if a
//! later execution meets it again. That execution, and each one after it, puts the bytes back before it uses the value.
//!
//! Bytes of a value that has a destructor are not kept: the value may own memory that was freed since. Of such a lock only the poison flag is put
//! back, and that the rest stays is a caveat.

use crate::execution::{Execution, Phase};
use crate::objects::{Handle, Home, is_handle};
use crate::{Class, context};
use std::cell::{Cell, RefCell};

/// So many executions of a check keep values.
const FIRST_EXECUTIONS: u32 = 4;
/// No check runs on this OS thread.
const NO_CHECK: u32 = u32::MAX;
/// The most values that are kept.
const MOST_VALUES: usize = 1024;
/// Larger values are not kept.
const MOST_BYTES: usize = 1 << 16;

/// The value of an object.
struct Value {
    /// The address of the handle.
    handle: usize,
    start: usize,
    /// Where its bytes are kept, and how many they are.
    at: usize,
    size: usize,
    /// All bytes of the value are kept.
    whole: bool,
    /// Where the value begins and ends, its parts that are not kept included.
    span: (usize, usize),
    /// The execution that kept it, or put it back last.
    epoch: u32,
}

/// The values that are kept. There is room from the start: to allocate while the test runs could take a block that the test has freed and expects
/// again.
struct Values {
    all: Vec<Value>,
    bytes: Vec<u8>,
}

impl Values {
    const NONE: Values = Values { all: Vec::new(), bytes: Vec::new() };

    fn start(&mut self) {
        const VALUES: usize = 64;
        const BYTES: usize = 4096;
        self.all.reserve(VALUES);
        self.bytes.reserve(BYTES);
    }

    fn clear(&mut self) {
        self.all.clear();
        self.bytes.clear();
    }

    fn find(&self, handle: usize) -> Option<usize> {
        self.all.iter().position(|v| v.handle == handle)
    }

    fn forget(&mut self, i: usize) {
        let value = self.all.swap_remove(i);
        if value.at + value.size == self.bytes.len() {
            self.bytes.truncate(value.at);
        }
    }

    /// Puts the bytes of a value back.
    ///
    /// # Safety
    ///
    /// The object is alive, and nobody has a reference to its value.
    unsafe fn put_back(&self, value: &Value) {
        let start = std::ptr::with_exposed_provenance_mut::<u8>(value.start);
        let bytes = &self.bytes[value.at..value.at + value.size];
        // SAFETY: by the contract. The bytes are of the value, which has no destructor, or of a part of it that has none.
        unsafe { start.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }
}

thread_local! {
    static VALUES: RefCell<Values> = const { RefCell::new(Values::NONE) };
    /// How many executions the check on this OS thread has started, counted up to [`FIRST_EXECUTIONS`].
    static EXECUTIONS: Cell<u32> = const { Cell::new(NO_CHECK) };
    static FRAMES: RefCell<Frames> = const { RefCell::new(Frames { parts: Vec::new(), changed: false }) };
}

/// One check of a test, which may be several searches. Values are kept as long as it lives.
pub struct OneCheck {
    /// It is part of another one.
    is_inner: bool,
}

impl OneCheck {
    /// A check of a test starts on this OS thread, or a part of one.
    pub fn of(test: &dyn Fn()) -> OneCheck {
        let is_inner = EXECUTIONS.get() != NO_CHECK;
        if !is_inner {
            EXECUTIONS.set(0);
            FRAMES.set(Frames::of(test));
            VALUES.with_borrow_mut(Values::start);
            crate::callers::forget_panics();
        }
        OneCheck { is_inner }
    }
}

impl Drop for OneCheck {
    fn drop(&mut self) {
        if self.is_inner {
            return;
        }
        EXECUTIONS.set(NO_CHECK);
        FRAMES.take();
        let marker = 0u8;
        let here = std::ptr::from_ref(&marker) as usize;
        VALUES.with_borrow_mut(|values| {
            // Values in frames of callers are those that the check began with. Others may be gone by now.
            let is_above = |v: &&Value| v.handle >= here && v.start >= here;
            if values.all.iter().any(|v| is_above(&v)) {
                let end = end_of_stack();
                for value in values.all.iter().filter(is_above).filter(|v| v.start + v.size <= end) {
                    // SAFETY: the frames of callers are alive, and objects in them are not moved while the check borrows them. All executions
                    // have ended.
                    unsafe { values.put_back(value) };
                }
            }
            values.clear();
        });
    }
}

/// Where the stack of the running OS thread ends, or 0.
fn end_of_stack() -> usize {
    thread_local! {
        static END: Cell<Option<usize>> = const { Cell::new(None) };
    }
    END.get().unwrap_or_else(|| {
        let end = find_end_of_stack();
        END.set(Some(end));
        end
    })
}

fn find_end_of_stack() -> usize {
    #[cfg(target_os = "linux")]
    {
        let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
        let (mut start, mut size) = (std::ptr::null_mut(), 0);
        // SAFETY: the attributes are initialised by the first call, if it succeeds, and destroyed by the last.
        unsafe {
            if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
                return 0;
            }
            let failed = libc::pthread_attr_getstack(attributes.as_ptr(), &mut start, &mut size);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            if failed == 0 { start as usize + size } else { 0 }
        }
    }
    #[cfg(not(target_os = "linux"))]
    0
}

/// An execution starts. Says whether it keeps values.
#[inline]
pub(crate) fn starts() -> bool {
    let n = EXECUTIONS.get();
    if n < FIRST_EXECUTIONS {
        EXECUTIONS.set(n + 1);
    }
    n < FIRST_EXECUTIONS
}

/// Whether the value of an object is put back in each execution, if this check has used it in its first ones.
pub(crate) fn is_put_back(handle: usize) -> Option<bool> {
    VALUES.with_borrow(|values| values.find(handle).map(|i| values.all[i].whole))
}

/// An object is dropped, in an execution that keeps values: it was made inside of the check.
#[cold]
pub(crate) fn forget(handle: usize) {
    VALUES.with_borrow_mut(|values| {
        if let Some(i) = values.find(handle) {
            values.forget(i);
        }
    });
}

/// Variables of the functions that called the check, as they are before its first execution: what the closure captures, and what lies
/// behind references in it. The functions wait for the check, so nothing but the test changes them.
#[derive(Default)]
struct Frames {
    /// Words, each part with where it starts.
    parts: Vec<(usize, Vec<u64>)>,
    /// The test was seen to have changed a variable.
    changed: bool,
}

impl Frames {
    /// So many bytes are compared behind each reference.
    const REACH: usize = 1024;
    /// The most references in a closure that are followed.
    const MOST: usize = 64;

    fn of(test: &dyn Fn()) -> Frames {
        let closure = (&raw const *test).cast::<u8>() as usize & !7;
        let (here, end) = (std::ptr::from_ref(&closure) as usize, end_of_stack() & !7);
        let mut parts = Vec::new();
        // A closure that captures nothing may lie anywhere.
        let captures = size_of_val(test) > 0;
        if !captures || closure < here || closure >= end || crate::front::front().is_some() {
            return Frames::default();
        }
        let words = (size_of_val(test).div_ceil(8)).min((end - closure) / 8).min(Frames::MOST);
        // SAFETY: these words lie in frames of callers.
        let captured = (0..words).map(|i| unsafe { read(closure + 8 * i) } as usize & !7);
        let is_above = |p: &usize| *p > here && *p < end;
        let mut starts: Vec<(usize, usize)> = captured.filter(is_above).map(|p| (p, Frames::REACH)).collect();
        starts.push((closure, 8 * words));
        starts.sort_unstable();
        let mut until = 0;
        for (start, bytes) in starts {
            let from = start.max(until);
            until = until.max((start + bytes).min(end));
            // SAFETY: as above.
            parts.push((from, (from..until).step_by(8).map(|at| unsafe { read(at) }).collect()));
        }
        Frames { parts, changed: false }
    }

    /// Whether the test has changed a variable that is not put back.
    fn have_changed(&self) -> bool {
        self.parts.iter().any(|(start, words)| {
            words.iter().enumerate().any(|(i, before)| {
                let at = start + 8 * i;
                // SAFETY: as in `of`, the callers are the same.
                let now = unsafe { read(at) };
                now != *before && !is_handle(now) && !is_value(at)
            })
        })
    }
}

/// Compares what the closure captures with what it was before the first execution. Says whether the test was seen to have changed it, now or
/// earlier in this check.
pub(crate) fn captured_is_changed() -> bool {
    FRAMES.with_borrow_mut(|frames| {
        frames.changed = frames.changed || frames.have_changed();
        frames.changed
    })
}

/// # Safety
///
/// There is memory at the address.
unsafe fn read(address: usize) -> u64 {
    // SAFETY: by the contract. It may be padding, for which a volatile read gives whatever is in memory.
    unsafe { std::ptr::with_exposed_provenance::<u64>(address).read_volatile() }
}

/// Whether an address lies in a value that is put back, or whose change is named already.
fn is_value(address: usize) -> bool {
    VALUES.with_borrow(|values| values.all.iter().any(|v| (v.span.0 & !7..v.span.1).contains(&address)))
}

/// The value of an object is about to be used, for the first time in this execution or soon after it: keeps it, or puts it back.
///
/// `part` is what is kept of a value that `has_destructor`.
///
/// # Safety
///
/// `ex` is the current execution and no reference into it is alive. The value at `inline` is initialised. If the execution has not used it,
/// nobody has a reference to it.
#[cold]
#[inline(never)]
pub(crate) unsafe fn look(
    ex: *mut Execution,
    handle: &Handle,
    (inline, size): (*mut u8, usize),
    part: (*mut u8, usize),
    has_destructor: bool,
) {
    // SAFETY: by the contract.
    let ex = unsafe { &mut *ex };
    if ex.phase != Phase::Running || context::current().is_null() {
        return;
    }
    let met = ex.known(handle);
    let earlier = match met {
        Some(id) => std::mem::replace(&mut ex.objects[id.index()].home, Home::Inline) == Home::Outside,
        None => ex.was_met_earlier(handle),
    };
    let (epoch, keeps) = (ex.epoch, ex.keeps_values);
    if earlier && has_destructor && is_put_back(handle.address()).is_some_and(|whole| !whole) {
        // The value of a lock or a cell is named where the object is met.
        let made = met.map(|id| &ex.objects[id.index()]).filter(|o| o.class == Class::Once);
        if let Some(place) = made.and_then(|o| o.place) {
            ex.caveats.add(explore::CaveatKind::State, crate::objects::MADE_OUTSIDE.into(), place);
        }
    }
    let whole = size;
    let (start, size) = if has_destructor { part } else { (inline, size) };
    VALUES.with_borrow_mut(|values| {
        if let Some(i) = values.find(handle.address()) {
            let value = &mut values.all[i];
            let same = value.start == start as usize && value.size == size;
            if value.epoch == epoch && same {
                return;
            }
            if earlier && same {
                value.epoch = epoch;
                // SAFETY: the object was met before at this address, so these bytes are of its value. By the contract nobody has a reference to
                // it.
                unsafe { values.put_back(&values.all[i]) };
                return;
            }
            if keeps {
                values.forget(i);
            }
        }
        if keeps && size <= MOST_BYTES && values.all.len() < MOST_VALUES {
            let at = values.bytes.len();
            for i in 0..size {
                // SAFETY: by the contract. The byte may be padding, for which a volatile read gives whatever is in memory.
                values.bytes.push(unsafe { start.add(i).read_volatile() });
            }
            let span = (inline as usize, inline as usize + whole);
            let (handle, start) = (handle.address(), start.expose_provenance());
            values.all.push(Value { handle, start, at, size, whole: !has_destructor, span, epoch });
        }
    });
}
