//! Values of objects that were made outside of the check, such as a lock that the closure captures.
//!
//! The word of an object starts afresh in each execution. The value that a lock or a cell guards lies beside the handle of the object, in memory
//! of the test, and a change would stay for the next execution. So the first executions of a check keep the bytes of each value that does not lie on
//! the stack of a controlled thread, as they are before the first use. An object that an execution has met is made outside of the check if a
//! later execution meets it again. That execution, and each one after it, puts the bytes back before it uses the value.
//!
//! Bytes of a value that has a destructor are not kept: the value may own memory that was freed since. Of such a lock only the poison flag is put
//! back, and that the rest stays is a caveat.

use crate::{Class, context};
use crate::execution::{Execution, Phase};
use crate::objects::{Handle, Home};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// So many executions of a check keep values.
const FIRST_EXECUTIONS: u32 = 4;
/// The most values that are kept.
const MOST_VALUES: usize = 4096;
/// Larger values are not kept.
const MOST_BYTES: usize = 1 << 16;

/// The value of an object, by the address of its handle.
struct Value {
    start: usize,
    bytes: Box<[u8]>,
    /// All bytes of the value are kept.
    whole: bool,
    /// The execution that kept it, or put it back last.
    epoch: u32,
}

thread_local! {
    static VALUES: RefCell<BTreeMap<usize, Value>> = const { RefCell::new(BTreeMap::new()) };
    /// How many executions the check on this OS thread has started.
    static EXECUTIONS: Cell<u32> = const { Cell::new(0) };
}

/// One check of a test, which may be several searches. Values are kept as long as it lives.
pub struct OneCheck(());

impl OneCheck {
    /// A check starts on this OS thread.
    #[expect(clippy::new_without_default, reason = "it starts something")]
    pub fn new() -> OneCheck {
        EXECUTIONS.set(0);
        OneCheck(())
    }
}

impl Drop for OneCheck {
    fn drop(&mut self) {
        EXECUTIONS.set(0);
        let values = VALUES.take();
        let here = std::ptr::from_ref(&values) as usize;
        // Values in frames of callers are those that the check began with. Others may be gone by now.
        let mut above = values.range(here..).filter(|(_, v)| v.start >= here).peekable();
        if above.peek().is_none() {
            return;
        }
        let end = end_of_stack();
        for value in above.map(|(_, v)| v).filter(|v| v.start + v.bytes.len() <= end) {
            let start = std::ptr::with_exposed_provenance_mut::<u8>(value.start);
            // SAFETY: the frames of callers are alive, and objects in them are not moved while the check borrows them. All executions have ended.
            unsafe { start.copy_from_nonoverlapping(value.bytes.as_ptr(), value.bytes.len()) };
        }
    }
}

/// Where the stack of the running OS thread ends, or 0.
fn end_of_stack() -> usize {
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
    VALUES.with_borrow(|values| values.get(&handle).map(|v| v.whole))
}

/// An object is dropped, in an execution that keeps values: it was made inside of the check.
#[cold]
pub(crate) fn forget(handle: usize) {
    VALUES.with_borrow_mut(|values| values.remove(&handle));
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
        // What a lock or a cell holds is noted where it is met.
        let made = met.map(|id| &ex.objects[id.index()]).filter(|o| o.class == Class::Once);
        if let Some(place) = made.and_then(|o| o.place) {
            ex.caveats.add(explore::CaveatKind::State, crate::objects::MADE_OUTSIDE.into(), place);
        }
    }
    let (start, size) = if has_destructor { part } else { (inline, size) };
    VALUES.with_borrow_mut(|values| {
        let known = values.get_mut(&handle.address());
        if let Some(value) = known {
            let same = value.start == start as usize && value.bytes.len() == size;
            if value.epoch == epoch && same {
                return;
            }
            if earlier && same {
                value.epoch = epoch;
                // SAFETY: the object was met before at this address, so these bytes are of its value, which has no destructor. By the contract
                // nobody has a reference to it.
                unsafe { start.copy_from_nonoverlapping(value.bytes.as_ptr(), size) };
                return;
            }
        }
        if keeps && size <= MOST_BYTES && values.len() < MOST_VALUES {
            let mut bytes = vec![0u8; size].into_boxed_slice();
            for (i, byte) in bytes.iter_mut().enumerate() {
                // SAFETY: by the contract. The byte may be padding, for which a volatile read gives whatever is in memory.
                *byte = unsafe { start.add(i).read_volatile() };
            }
            let value = Value { start: start as usize, bytes, whole: !has_destructor, epoch };
            values.insert(handle.address(), value);
        }
    });
}
