//! Atomic operations: the compiler leaves all of them to us.

use crate::access;
use crate::names::Author;
use crate::options::{Races, options};
use crate::shim::{self, Call, call, call_with_state, export, export_with_state};
use crate::table::{self, Entry};
use explore::{FailureKind, MemoryOrder, OpKind};
use runtime::{Class, Done, Request, Touching};

/// The compiler's number for a memory order. Bits above are hints.
pub(crate) fn order(mo: i32) -> MemoryOrder {
    match mo & 0xff {
        0 => MemoryOrder::Relaxed,
        1 | 2 => MemoryOrder::Acquire,
        3 => MemoryOrder::Release,
        4 => MemoryOrder::AcqRel,
        _ => MemoryOrder::SeqCst,
    }
}

/// The order of a compare-exchange that fails, where only that of one which does not is known: what C makes of a single order.
fn without_release(mo: i32) -> i32 {
    match mo & 0xff {
        3 => 0,
        4 => 2,
        other => other,
    }
}

/// An integer of the program.
pub(crate) trait Value: Copy + PartialEq {
    const BYTES: usize;
    /// Its bits as a word, or, for sixteen bytes, the number that stands for them.
    fn word(self) -> u64;
    fn of(word: u64) -> Self;
    /// What is at an address.
    ///
    /// # Safety
    ///
    /// A value of this type can be read there.
    unsafe fn read(address: usize) -> Self;
    /// # Safety
    ///
    /// A value of this type can be written there.
    unsafe fn write(address: usize, value: Self);
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn nand(self, other: Self) -> Self;
}

macro_rules! value {
    ($ty:ty, $word:expr, $of:expr) => {
        impl Value for $ty {
            const BYTES: usize = size_of::<$ty>();
            #[inline]
            fn word(self) -> u64 {
                $word(self)
            }
            #[inline]
            fn of(word: u64) -> Self {
                $of(word)
            }
            #[inline]
            unsafe fn read(address: usize) -> Self {
                // SAFETY: by the contract.
                unsafe { (address as *const $ty).read_unaligned() }
            }
            #[inline]
            unsafe fn write(address: usize, value: Self) {
                // SAFETY: by the contract.
                unsafe { (address as *mut $ty).write_unaligned(value) }
            }
            #[inline]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline]
            fn nand(self, other: Self) -> Self {
                !(self & other)
            }
        }
    };
}
value!(u8, |v| v as u64, |w| w as u8);
value!(u16, |v| v as u64, |w| w as u16);
value!(u32, |v| v as u64, |w| w as u32);
value!(u64, |v| v, |w| w);
value!(u128, crate::wide::number, crate::wide::value);

/// The object at an address, ready for an atomic access.
#[inline]
fn entry<V: Value>(address: usize, call: Call) -> &'static mut Entry {
    access::probe(address);
    let found = match V::BYTES {
        16 => table::block(address, 16),
        _ if (address & 7) + V::BYTES > 8 => runtime::fail(
            FailureKind::Signal,
            format!("an atomic access of {} bytes at {address:#x}, which is not aligned", V::BYTES),
            call.place,
        ),
        n => table::memory(address, n),
    };
    let entry = access::entry(found);
    if entry.merged {
        crate::names::note_part(address, V::BYTES);
        entry.cover(address, V::BYTES);
    }
    entry.atomic = true;
    if entry.on_stack {
        // If it is on the stack of another thread, that one's plain accesses to it are to be checked.
        access::is_private(entry);
    }
    if entry.mask != u64::MAX {
        entry.widen(address, V::BYTES);
    }
    entry
}

/// What is to be checked of an access whose turn has come: others may have freed the memory meanwhile.
#[inline(always)]
fn done<V: Value>(entry: &Entry, address: usize, write: bool, call: Call) {
    crate::heap::check(address, V::BYTES, write, call);
    if V::BYTES >= 8 {
        // An address that is read from an atomic was published, perhaps by its initial value. SAFETY: the program has just accessed the memory.
        let words = unsafe { std::slice::from_raw_parts(address as *const u64, V::BYTES / 8) };
        words.iter().for_each(|word| crate::reuse::published_by_atomic(*word));
    }
    if entry.plain {
        mixed(entry, address, V::BYTES, write, call);
    }
}

/// Looks whether a value that was read, before an operation that may have changed it, was never written by the program.
#[inline(always)]
fn unwritten<V: Value>(address: usize, old: V, call: Call) {
    if V::BYTES <= 8 {
        crate::unwritten::was_read(address, V::BYTES, old.word(), call);
    }
}

/// Memory that is also accessed by something that is not atomic: these two can race.
#[cold]
pub(crate) fn mixed(entry: &Entry, address: usize, bytes: usize, write: bool, call: Call) {
    if options().races == Races::Report {
        let how = Touching { write, atomic: true, elsewhere: false };
        access::touch(entry, address, bytes, how, call);
    }
}

#[inline]
pub(crate) fn request(entry: &Entry, kind: OpKind, mo: i32, a: u64, b: u64, call: Call) -> Request<'_> {
    let class = Class::Atomic;
    Request { kind, object: &entry.handle, class, initial: 0, a, b, order: order(mo), place: call.place }
}

/// What is at an address by the time it is asked for, as a word.
#[inline]
fn read_at<V: Value>(address: usize) -> impl Fn() -> u64 {
    // SAFETY: the program accesses such a value here, right now.
    move || unsafe { V::read(address) }.word()
}

/// Puts a word there.
#[inline]
fn write_at<V: Value>(address: usize) -> impl FnOnce(u64) {
    // SAFETY: as above.
    move |word| unsafe { V::write(address, V::of(word)) }
}

/// Whether an access is one that others could see.
#[inline]
pub(crate) fn is_step(address: usize) -> bool {
    runtime::in_execution() && !crate::quiet::is_quiet(address)
}

/// The order that the program itself wrote for the operation that has just come in. Operations inside a standard library count as
/// sequentially consistent: the library is taken to be right.
#[inline]
pub(crate) fn written(mo: i32) -> MemoryOrder {
    let order = order(mo);
    let by_library = runtime::is_weak(order) && crate::front::author() != Author::Program;
    if by_library { MemoryOrder::SeqCst } else { order }
}

/// For a read-modify-write: the order that it has for races, and the order that the program itself wrote. `std::atomic<std::shared_ptr>` of libstdc++ 12 releases its
/// lock with `relaxed` after a load. That race is not the program's, which cannot mend it: here, too, the library is taken to be right.
#[inline]
fn orders_of_rmw(mo: i32) -> (i32, MemoryOrder) {
    const ACQ_REL: i32 = 4;
    let order = order(mo);
    if !runtime::is_weak(order) {
        return (mo, order);
    }
    match crate::front::author() {
        Author::Program => (mo, order),
        Author::Library => (mo, MemoryOrder::SeqCst),
        Author::SharedPointerLock => (ACQ_REL, MemoryOrder::SeqCst),
    }
}

/// An operation with such an order has run.
#[inline]
fn noted<V: Value>(address: usize, order: MemoryOrder, call: Call) {
    if runtime::is_weak(order) {
        runtime::ordered_access(&entry::<V>(address, call).handle, order, call.place);
    }
}

fn load<V: Value>(address: usize, mo: i32) -> V {
    // SAFETY: the program reads here.
    let value = || unsafe { V::read(address) };
    if !is_step(address) {
        crate::std_threads::before_quiet_load(address);
        return value();
    }
    if V::BYTES == 8
        && let Some(threads) = crate::std_threads::threads_in_scope(address)
    {
        return V::of(threads);
    }
    let (call, written) = (call(), written(mo));
    let value = load_at(address, mo, call);
    let written =
        if V::BYTES == 1 && crate::names::is_guard(address) { MemoryOrder::SeqCst } else { written };
    noted::<V>(address, written, call);
    value
}

/// The same inside another call.
pub(crate) fn load_at<V: Value>(address: usize, mo: i32, call: Call) -> V {
    // SAFETY: the program reads here.
    let value = || unsafe { V::read(address) };
    let entry = entry::<V>(address, call);
    runtime::on_memory(
        &request(entry, OpKind::Load, mo, 0, 0, call),
        call.state,
        || entry.read(),
        |w| w,
        |_| (),
    );
    let value = value();
    unwritten::<V>(address, value, call);
    done::<V>(entry, address, false, call);
    // Nobody else has run since.
    value
}

fn store<V: Value>(address: usize, new: V, mo: i32) {
    // SAFETY: one OS thread alone runs code of the program.
    if unsafe { INITIALIZES == address } {
        return initialize(address, new);
    }
    if !is_step(address) {
        // SAFETY: the program writes here.
        return unsafe { V::write(address, new) };
    }
    let (call, written) = (call(), written(mo));
    store_at(address, new, mo, call);
    noted::<V>(address, written, call);
}

/// The object that the next store to it initializes: a function `atomic_init` of C++ is about to call `store`.
static mut INITIALIZES: usize = 0;

extern "C" fn initializes(address: usize) {
    // SAFETY: as above.
    unsafe { INITIALIZES = address };
}

/// `atomic_init`, which is a plain write.
#[cold]
fn initialize<V: Value>(address: usize, new: V) {
    // SAFETY: as above.
    unsafe { INITIALIZES = 0 };
    if runtime::in_execution() {
        crate::access::access(address, V::BYTES, true, call());
    }
    // SAFETY: the program writes here.
    unsafe { V::write(address, new) };
}

extern "C" fn init8(address: usize, new: u8, _mo: i32) {
    initialize(address, new);
}

extern "C" fn init16(address: usize, new: u16, _mo: i32) {
    initialize(address, new);
}

extern "C" fn init32(address: usize, new: u32, _mo: i32) {
    initialize(address, new);
}

extern "C" fn init64(address: usize, new: u64, _mo: i32) {
    initialize(address, new);
}

/// The same inside another call.
pub(crate) fn store_at<V: Value>(address: usize, new: V, mo: i32, call: Call) {
    let entry = entry::<V>(address, call);
    if entry.is_value(V::BYTES) {
        let request = request(entry, OpKind::Store, mo, new.word(), 0, call);
        runtime::on_memory(&request, call.state, read_at::<V>(address), |w| w, write_at::<V>(address));
        done::<V>(entry, address, true, call);
    } else {
        modify::<V>(entry, address, mo, call, |_| new);
        done::<V>(entry, address, true, call);
    }
}

/// Waits, inside another call, until a word differs from `value`: it is a lock, and this is how it is when it is taken.
/// `by_last`: whoever took it was the last to change it.
pub(crate) fn wait_while_taken(address: usize, value: u32, by_last: bool, call: Call) {
    let found = entry::<u32>(address, call);
    if found.is_value(4) {
        return runtime::wait_while(&found.handle, u64::from(value), by_last, call.place);
    }
    // It is a part of something larger, all of which is waited for. Nobody runs between the load and the look at all of it. The load
    // is another one than that of a loop around this.
    let call = call.with(u64::from(value)).with(1);
    if load_at::<u32>(address, 0, call) == value {
        let found = entry::<u32>(address, call);
        runtime::wait_while(&found.handle, found.read(), false, call.place);
    }
}

/// A read-modify-write: gives what was there.
pub(crate) fn rmw<V: Value>(address: usize, mo: i32, f: impl FnOnce(V) -> V) -> V {
    if !is_step(address) {
        // SAFETY: the program reads and writes here, and nobody else runs.
        unsafe {
            let old = V::read(address);
            V::write(address, f(old));
            return old;
        }
    }
    let (call, (mo, written)) = (call(), orders_of_rmw(mo));
    let entry = entry::<V>(address, call);
    if !entry.is_value(V::BYTES) {
        let old = modify(entry, address, mo, call, f);
        unwritten(address, old, call);
        done::<V>(entry, address, true, call);
        runtime::ordered_access(&entry.handle, written, call.place);
        return old;
    }
    let request = request(entry, OpKind::Rmw, mo, 0, 0, call);
    let change = |word| f(V::of(word)).word();
    let old =
        runtime::on_memory(&request, call.state, read_at::<V>(address), change, write_at::<V>(address)).value;
    unwritten(address, V::of(old), call);
    done::<V>(entry, address, true, call);
    runtime::ordered_access(&entry.handle, written, call.place);
    V::of(old)
}

/// Changes a word on behalf of code of a library that is not instrumented; gives what was there.
pub(crate) fn change_word(address: usize, change: impl FnOnce(u32) -> u32) -> u32 {
    const SEQ_CST: i32 = 5;
    rmw(address, SEQ_CST, change)
}

/// A read-modify-write on a part of an object, without the checks that follow it.
#[cold]
fn modify<V: Value>(entry: &Entry, address: usize, mo: i32, call: Call, f: impl FnOnce(V) -> V) -> V {
    let mut old = None;
    let change = |_| {
        // SAFETY: the program reads and writes here, and it is this thread's turn.
        unsafe {
            let value = V::read(address);
            old = Some(value);
            V::write(address, f(value));
        }
        entry.read()
    };
    let request = request(entry, OpKind::Rmw, mo, 0, 0, call);
    // It is written already, and the word is not all of what lies there.
    runtime::on_memory(&request, call.state, || entry.read(), change, |_| ());
    // SAFETY: as above.
    old.unwrap_or_else(|| unsafe { V::read(address) })
}

/// A compare-exchange: gives what was there, and whether it was what was expected. `expected` gets the place of the call and reads that value.
fn exchange_if<V: Value>(
    address: usize,
    expected: impl FnOnce(Call) -> V,
    new: V,
    orders: (i32, i32),
    weak: bool,
) -> (V, bool) {
    if !is_step(address) {
        let expected = expected(call());
        // SAFETY: the program reads and writes here, and nobody else runs.
        unsafe {
            let old = V::read(address);
            if old == expected {
                V::write(address, new);
            }
            return (old, old == expected);
        }
    }
    let call = if weak { call_with_state() } else { call() };
    let (if_equal, if_not) = (written(orders.0), written(orders.1));
    if crate::std_locks::is_weak_exchange(shim::return_address()) {
        let text = "compare_exchange_weak and fetch_update of std were explored without spurious failures (tests over raddle's types have them)";
        runtime::caveat_at(explore::CaveatKind::Spurious, text, call.place);
    }
    let (old, ok) = exchange_in(address, expected(call), new, orders, weak, call);
    noted::<V>(address, if ok { if_equal } else { if_not }, call);
    (old, ok)
}

/// The same inside another call.
pub(crate) fn exchange_in<V: Value>(
    address: usize,
    expected: V,
    new: V,
    (mo, failed): (i32, i32),
    weak: bool,
    call: Call,
) -> (V, bool) {
    let entry = entry::<V>(address, call);
    if !entry.is_value(V::BYTES) {
        // What is expected is no part of the step then, so it must be one of the local state.
        let call = call.with(expected.word()).with(new.word());
        let request = request(entry, OpKind::Rmw, mo, 0, 0, call);
        // SAFETY: the program reads and writes here, and it is this thread's turn.
        let read = || unsafe { V::read(address) };
        let mut found = None;
        let change = || {
            let old = read();
            found = Some(old);
            if old == expected {
                // SAFETY: as above.
                unsafe { V::write(address, new) };
            }
            entry.read()
        };
        let failed_spuriously = runtime::exchange_part(
            &request,
            call.state,
            weak,
            || entry.read(),
            || read() == expected,
            change,
        );
        let old = found.unwrap_or_else(read);
        let ok = old == expected && !failed_spuriously;
        if !ok {
            runtime::only_read(order(failed));
        }
        unwritten(address, old, call);
        done::<V>(entry, address, ok, call);
        return (old, ok);
    }
    let kind = if weak { OpKind::CompareExchangeWeak } else { OpKind::CompareExchange };
    let request = request(entry, kind, mo, expected.word(), new.word(), call);
    let Done { value, ok } =
        runtime::on_memory(&request, call.state, read_at::<V>(address), |w| w, write_at::<V>(address));
    if !ok && failed != mo {
        runtime::only_read(order(failed));
    }
    if !ok && V::BYTES == 8 {
        crate::looks::compared(value as usize, expected.word() as usize, shim::stack_pointer(), call);
    }
    unwritten(address, V::of(value), call);
    done::<V>(entry, address, ok, call);
    (V::of(value), ok)
}

/// A compare-exchange whose expected value is in memory: a plain read of that memory, and a plain write if the exchange fails.
fn exchange_at<V: Value>(address: usize, expected: usize, new: V, orders: (i32, i32), weak: bool) -> i32 {
    let mut place = None;
    let read = |call| {
        place = Some(call);
        plain::<V>(expected, false, call);
        // SAFETY: the program hands in a place of its own for the expected value.
        unsafe { V::read(expected) }
    };
    let (old, ok) = exchange_if(address, read, new, orders, weak);
    if !ok {
        if let Some(call) = place {
            // SAFETY: as above.
            if unsafe { V::read(expected) } == old && runtime::in_execution() {
                access::written_again(expected, V::BYTES, call);
            } else {
                plain::<V>(expected, true, call);
            }
        }
        // SAFETY: as above.
        unsafe { V::write(expected, old) };
    }
    ok as i32
}

/// A plain access that an operation makes beside its own.
fn plain<V: Value>(address: usize, write: bool, call: Call) {
    if runtime::in_execution() {
        access::access(address, V::BYTES, write, call);
        if !write {
            crate::unwritten::read(address, V::BYTES, call);
        }
    }
}

extern "C" fn thread_fence(mo: i32) {
    if runtime::in_execution() {
        let (call, written) = (call(), written(mo));
        fence(order(mo), call);
        runtime::ordered_fence(written, call.place);
    }
}

fn fence(order: MemoryOrder, call: Call) {
    runtime::settle();
    runtime::local_step(OpKind::Fence, order, call.place);
}

/// A full fence that is written in assembly.
pub(crate) fn fence_by_assembly(call: Call) {
    fence(MemoryOrder::SeqCst, call);
}

/// An instruction of inline assembly that reads memory: an atomic load, with the order that it has on x86. The instruction follows.
pub(crate) fn load_by_assembly(address: usize, bytes: usize, call: Call) {
    if is_unaligned(address, bytes) {
        access::access(address, bytes, false, call);
    } else {
        load_before_of(address, bytes, ACQUIRE, call);
    }
}

fn load_before_of(address: usize, bytes: usize, mo: i32, call: Call) {
    match bytes {
        1 => load_before::<u8>(address, mo, call),
        2 => load_before::<u16>(address, mo, call),
        4 => load_before::<u32>(address, mo, call),
        _ => load_before::<u64>(address, mo, call),
    }
}

fn load_before<V: Value>(address: usize, mo: i32, call: Call) {
    let entry = entry::<V>(address, call);
    if !(entry.on_stack && access::is_private(entry)) {
        load_at::<V>(address, mo, call);
        noted::<V>(address, order(mo), call);
    }
}

/// An access to a volatile variable as an atomic operation with relaxed order. The access follows.
pub(crate) fn volatile(address: usize, bytes: usize, write: bool, call: Call) {
    if write {
        change_before_of(address, bytes, 0, call);
    } else {
        load_before_of(address, bytes, 0, call);
    }
}

/// An instruction of inline assembly that writes memory, and reads it in the same step if it `modifies`. The instruction follows,
/// so the step is over at the next operation of the thread. An instruction that modifies memory in one step is a full fence.
pub(crate) fn change_by_assembly(address: usize, bytes: usize, modifies: bool, call: Call) {
    if modifies {
        fence(MemoryOrder::SeqCst, call);
    }
    if is_unaligned(address, bytes) {
        access::access(address, bytes, true, call);
    } else {
        change_before_of(address, bytes, if modifies { SEQ_CST } else { RELEASE }, call);
    }
}

fn change_before_of(address: usize, bytes: usize, mo: i32, call: Call) {
    match bytes {
        1 => change_before::<u8>(address, mo, call),
        2 => change_before::<u16>(address, mo, call),
        4 => change_before::<u32>(address, mo, call),
        8 => change_before::<u64>(address, mo, call),
        _ => change_before::<u128>(address, mo, call),
    }
}

fn change_before<V: Value>(address: usize, mo: i32, call: Call) {
    let entry = entry::<V>(address, call);
    if entry.on_stack && access::is_private(entry) {
        return;
    }
    // What is written is known only after the instruction, as the result of a read-modify-write is.
    let request = request(entry, OpKind::Rmw, mo, 0, 0, call);
    runtime::write_later(&request, call.state, &entry.handle, access::read_again);
    done::<V>(entry, address, true, call);
    runtime::ordered_access(&entry.handle, order(mo), call.place);
}

fn is_unaligned(address: usize, bytes: usize) -> bool {
    bytes <= 8 && (address & 7) + bytes > 8
}

/// The compiler's numbers for memory orders.
const ACQUIRE: i32 = 2;
const RELEASE: i32 = 3;
const SEQ_CST: i32 = 5;

/// A fence against signal handlers orders nothing between threads.
extern "C" fn signal_fence(_mo: i32) {}

macro_rules! atomics {
    ($($ty:ty: $load:ident $store:ident $exchange:ident $add:ident $sub:ident $and:ident $or:ident $xor:ident $nand:ident
       $strong:ident $weak:ident $val:ident;)*) => {$(
        extern "C" fn $load(address: usize, mo: i32) -> $ty {
            load(address, mo)
        }
        extern "C" fn $store(address: usize, value: $ty, mo: i32) {
            store(address, value, mo)
        }
        extern "C" fn $exchange(address: usize, value: $ty, mo: i32) -> $ty {
            rmw(address, mo, |_| value)
        }
        extern "C" fn $add(address: usize, value: $ty, mo: i32) -> $ty {
            rmw(address, mo, |old: $ty| old.add(value))
        }
        extern "C" fn $sub(address: usize, value: $ty, mo: i32) -> $ty {
            rmw(address, mo, |old: $ty| old.sub(value))
        }
        extern "C" fn $and(address: usize, value: $ty, mo: i32) -> $ty {
            rmw(address, mo, |old: $ty| old.and(value))
        }
        extern "C" fn $or(address: usize, value: $ty, mo: i32) -> $ty {
            rmw(address, mo, |old: $ty| old.or(value))
        }
        extern "C" fn $xor(address: usize, value: $ty, mo: i32) -> $ty {
            rmw(address, mo, |old: $ty| old.xor(value))
        }
        extern "C" fn $nand(address: usize, value: $ty, mo: i32) -> $ty {
            rmw(address, mo, |old: $ty| old.nand(value))
        }
        extern "C" fn $strong(address: usize, expected: usize, new: $ty, mo: i32, failed: i32) -> i32 {
            exchange_at(address, expected, new, (mo, failed), false)
        }
        extern "C" fn $weak(address: usize, expected: usize, new: $ty, mo: i32, failed: i32) -> i32 {
            exchange_at(address, expected, new, (mo, failed), true)
        }
        extern "C" fn $val(address: usize, expected: $ty, new: $ty, mo: i32, failed: i32) -> $ty {
            // With 16 bytes this argument is on the stack, where shims do not hand it on.
            let failed = if size_of::<$ty>() == 16 { without_release(mo) } else { failed };
            exchange_if(address, |_| expected, new, (mo, failed), false).0
        }
    )*};
}

/// What a weak compare-exchange of clang returns, in the two registers for results: the command adds code that looks at both.
#[repr(C)]
struct Exchanged {
    old: u64,
    ok: u64,
}

/// Weak compare-exchanges of clang, which compiles them like strong ones. In the second form the command could not tell which of the two it
/// is, or could not change the code behind the call.
macro_rules! weak_values {
    ($($ty:ty: $weak:ident $perhaps:ident;)*) => {$(
        extern "C" fn $weak(address: usize, expected: $ty, new: $ty, mo: i32, failed: i32) -> Exchanged {
            let (old, ok) = exchange_if(address, |_| expected, new, (mo, failed), true);
            Exchanged { old: old.into(), ok: ok.into() }
        }
        extern "C" fn $perhaps(address: usize, expected: $ty, new: $ty, mo: i32, failed: i32) -> $ty {
            if is_step(address) {
                note_perhaps_weak();
            }
            exchange_if(address, |_| expected, new, (mo, failed), false).0
        }
    )*};
}

fn note_perhaps_weak() {
    let text = "a compare-exchange that may be weak was explored without spurious failures: clang compiles it like a strong one";
    runtime::caveat_at(explore::CaveatKind::Spurious, text, call().place);
}

weak_values! {
    u8: weak_val8 perhaps_weak8;
    u16: weak_val16 perhaps_weak16;
    u32: weak_val32 perhaps_weak32;
    u64: weak_val64 perhaps_weak64;
}

extern "C" fn perhaps_weak128(address: usize, expected: u128, new: u128, mo: i32) -> u128 {
    if is_step(address) {
        note_perhaps_weak();
    }
    exchange_if(address, |_| expected, new, (mo, without_release(mo)), false).0
}

export! {
    __raddle_initializes => initializes;
    __raddle_init8 => init8;
    __raddle_init16 => init16;
    __raddle_init32 => init32;
    __raddle_init64 => init64;
    __raddle_weak8 => weak_val8;
    __raddle_weak16 => weak_val16;
    __raddle_weak32 => weak_val32;
    __raddle_weak64 => weak_val64;
    __raddle_perhaps_weak8 => perhaps_weak8;
    __raddle_perhaps_weak16 => perhaps_weak16;
    __raddle_perhaps_weak32 => perhaps_weak32;
    __raddle_perhaps_weak64 => perhaps_weak64;
    __raddle_perhaps_weak128 => perhaps_weak128;
}

/// The functions of libatomic that return the new value.
macro_rules! new_values {
    ($($ty:ty: $($name:ident $op:ident),*;)*) => {$($(
        extern "C" fn $name(address: usize, value: $ty, mo: i32) -> $ty {
            rmw(address, mo, |old: $ty| old.$op(value)).$op(value)
        }
    )*)*};
}

new_values! {
    u8: new_add8 add, new_sub8 sub, new_and8 and, new_or8 or, new_xor8 xor, new_nand8 nand;
    u16: new_add16 add, new_sub16 sub, new_and16 and, new_or16 or, new_xor16 xor, new_nand16 nand;
    u32: new_add32 add, new_sub32 sub, new_and32 and, new_or32 or, new_xor32 xor, new_nand32 nand;
    u64: new_add64 add, new_sub64 sub, new_and64 and, new_or64 or, new_xor64 xor, new_nand64 nand;
    u128: new_add128 add, new_sub128 sub, new_and128 and, new_or128 or, new_xor128 xor, new_nand128 nand;
}

atomics! {
    u8: load8 store8 exchange8 add8 sub8 and8 or8 xor8 nand8 strong8 weak8 val8;
    u16: load16 store16 exchange16 add16 sub16 and16 or16 xor16 nand16 strong16 weak16 val16;
    u32: load32 store32 exchange32 add32 sub32 and32 or32 xor32 nand32 strong32 weak32 val32;
    u64: load64 store64 exchange64 add64 sub64 and64 or64 xor64 nand64 strong64 weak64 val64;
    u128: load128 store128 exchange128 add128 sub128 and128 or128 xor128 nand128 strong128 weak128 val128;
}

// A spurious failure may be tried again in the same local state.
export_with_state! {
    __tsan_atomic8_compare_exchange_weak => weak8;
    __tsan_atomic16_compare_exchange_weak => weak16;
    __tsan_atomic32_compare_exchange_weak => weak32;
    __tsan_atomic64_compare_exchange_weak => weak64;
    __tsan_atomic128_compare_exchange_weak => weak128;
}

export! {
    __tsan_atomic_thread_fence => thread_fence;
    __tsan_atomic_signal_fence => signal_fence;
}

export! {
    __tsan_atomic8_load => load8;
    __tsan_atomic8_store => store8;
    __tsan_atomic8_exchange => exchange8;
    __tsan_atomic8_fetch_add => add8;
    __tsan_atomic8_fetch_sub => sub8;
    __tsan_atomic8_fetch_and => and8;
    __tsan_atomic8_fetch_or => or8;
    __tsan_atomic8_fetch_xor => xor8;
    __tsan_atomic8_fetch_nand => nand8;
    __tsan_atomic8_compare_exchange_strong => strong8;
    __tsan_atomic8_compare_exchange_val => val8;
    __tsan_atomic16_load => load16;
    __tsan_atomic16_store => store16;
    __tsan_atomic16_exchange => exchange16;
    __tsan_atomic16_fetch_add => add16;
    __tsan_atomic16_fetch_sub => sub16;
    __tsan_atomic16_fetch_and => and16;
    __tsan_atomic16_fetch_or => or16;
    __tsan_atomic16_fetch_xor => xor16;
    __tsan_atomic16_fetch_nand => nand16;
    __tsan_atomic16_compare_exchange_strong => strong16;
    __tsan_atomic16_compare_exchange_val => val16;
    __tsan_atomic32_load => load32;
    __tsan_atomic32_store => store32;
    __tsan_atomic32_exchange => exchange32;
    __tsan_atomic32_fetch_add => add32;
    __tsan_atomic32_fetch_sub => sub32;
    __tsan_atomic32_fetch_and => and32;
    __tsan_atomic32_fetch_or => or32;
    __tsan_atomic32_fetch_xor => xor32;
    __tsan_atomic32_fetch_nand => nand32;
    __tsan_atomic32_compare_exchange_strong => strong32;
    __tsan_atomic32_compare_exchange_val => val32;
    __tsan_atomic64_load => load64;
    __tsan_atomic64_store => store64;
    __tsan_atomic64_exchange => exchange64;
    __tsan_atomic64_fetch_add => add64;
    __tsan_atomic64_fetch_sub => sub64;
    __tsan_atomic64_fetch_and => and64;
    __tsan_atomic64_fetch_or => or64;
    __tsan_atomic64_fetch_xor => xor64;
    __tsan_atomic64_fetch_nand => nand64;
    __tsan_atomic64_compare_exchange_strong => strong64;
    __tsan_atomic64_compare_exchange_val => val64;
    __tsan_atomic128_load => load128;
    __tsan_atomic128_store => store128;
    __tsan_atomic128_exchange => exchange128;
    __tsan_atomic128_fetch_add => add128;
    __tsan_atomic128_fetch_sub => sub128;
    __tsan_atomic128_fetch_and => and128;
    __tsan_atomic128_fetch_or => or128;
    __tsan_atomic128_fetch_xor => xor128;
    __tsan_atomic128_fetch_nand => nand128;
    __tsan_atomic128_compare_exchange_strong => strong128;
    __tsan_atomic128_compare_exchange_val => val128;
}

export! {
    __atomic_load_1 => load8;
    __atomic_store_1 => store8;
    __atomic_exchange_1 => exchange8;
    __atomic_compare_exchange_1 => strong8;
    __atomic_fetch_add_1 => add8;
    __atomic_fetch_sub_1 => sub8;
    __atomic_fetch_and_1 => and8;
    __atomic_fetch_or_1 => or8;
    __atomic_fetch_xor_1 => xor8;
    __atomic_fetch_nand_1 => nand8;
    __atomic_add_fetch_1 => new_add8;
    __atomic_sub_fetch_1 => new_sub8;
    __atomic_and_fetch_1 => new_and8;
    __atomic_or_fetch_1 => new_or8;
    __atomic_xor_fetch_1 => new_xor8;
    __atomic_nand_fetch_1 => new_nand8;
    __atomic_load_2 => load16;
    __atomic_store_2 => store16;
    __atomic_exchange_2 => exchange16;
    __atomic_compare_exchange_2 => strong16;
    __atomic_fetch_add_2 => add16;
    __atomic_fetch_sub_2 => sub16;
    __atomic_fetch_and_2 => and16;
    __atomic_fetch_or_2 => or16;
    __atomic_fetch_xor_2 => xor16;
    __atomic_fetch_nand_2 => nand16;
    __atomic_add_fetch_2 => new_add16;
    __atomic_sub_fetch_2 => new_sub16;
    __atomic_and_fetch_2 => new_and16;
    __atomic_or_fetch_2 => new_or16;
    __atomic_xor_fetch_2 => new_xor16;
    __atomic_nand_fetch_2 => new_nand16;
    __atomic_load_4 => load32;
    __atomic_store_4 => store32;
    __atomic_exchange_4 => exchange32;
    __atomic_compare_exchange_4 => strong32;
    __atomic_fetch_add_4 => add32;
    __atomic_fetch_sub_4 => sub32;
    __atomic_fetch_and_4 => and32;
    __atomic_fetch_or_4 => or32;
    __atomic_fetch_xor_4 => xor32;
    __atomic_fetch_nand_4 => nand32;
    __atomic_add_fetch_4 => new_add32;
    __atomic_sub_fetch_4 => new_sub32;
    __atomic_and_fetch_4 => new_and32;
    __atomic_or_fetch_4 => new_or32;
    __atomic_xor_fetch_4 => new_xor32;
    __atomic_nand_fetch_4 => new_nand32;
    __atomic_load_8 => load64;
    __atomic_store_8 => store64;
    __atomic_exchange_8 => exchange64;
    __atomic_compare_exchange_8 => strong64;
    __atomic_fetch_add_8 => add64;
    __atomic_fetch_sub_8 => sub64;
    __atomic_fetch_and_8 => and64;
    __atomic_fetch_or_8 => or64;
    __atomic_fetch_xor_8 => xor64;
    __atomic_fetch_nand_8 => nand64;
    __atomic_add_fetch_8 => new_add64;
    __atomic_sub_fetch_8 => new_sub64;
    __atomic_and_fetch_8 => new_and64;
    __atomic_or_fetch_8 => new_or64;
    __atomic_xor_fetch_8 => new_xor64;
    __atomic_nand_fetch_8 => new_nand64;
    __atomic_load_16 => load128;
    __atomic_store_16 => store128;
    __atomic_exchange_16 => exchange128;
    __atomic_compare_exchange_16 => strong128;
    __atomic_fetch_add_16 => add128;
    __atomic_fetch_sub_16 => sub128;
    __atomic_fetch_and_16 => and128;
    __atomic_fetch_or_16 => or128;
    __atomic_fetch_xor_16 => xor128;
    __atomic_fetch_nand_16 => nand128;
    __atomic_add_fetch_16 => new_add128;
    __atomic_sub_fetch_16 => new_sub128;
    __atomic_and_fetch_16 => new_and128;
    __atomic_or_fetch_16 => new_or128;
    __atomic_xor_fetch_16 => new_xor128;
    __atomic_nand_fetch_16 => new_nand128;
}
