//! Barriers. How many threads meet is in the memory of the barrier, where the C library puts it.

use crate::real::real;
use crate::shim::{call, export};
use crate::sync::{On, SECOND, at, put};
use explore::{MemoryOrder, OpKind};
use runtime::Class;

type Barrier = *mut libc::pthread_barrier_t;
type Code = libc::c_int;

const COUNT: usize = 8;
const SHARED: usize = 12;
/// Where a barrier keeps its address, in bytes that the C library does not use.
const OWN: usize = 24;
const DESTROYED: u32 = u32::MAX;

/// The word of a barrier is not 0 when it is idle, so that it is entered where no lock that comes to lie there later is.
fn on(barrier: Barrier) -> On {
    On::new(barrier as usize + SECOND, Class::Barrier)
}

extern "C" fn init(barrier: Barrier, attributes: *const libc::pthread_barrierattr_t, count: u32) -> Code {
    crate::libc::reads_attributes(attributes, 4);
    let code = real!(pthread_barrier_init(barrier, attributes, count):
        fn(Barrier, *const libc::pthread_barrierattr_t, u32) -> Code);
    if runtime::in_execution() && code == 0 {
        let call = call();
        let on = on(barrier);
        on.made(call);
        // The generation goes on: threads may not yet have left the barrier that was here.
        on.put(on.word() >> 32 << 32, call);
        on.stamp(barrier as usize + OWN);
    }
    code
}

extern "C" fn destroy(barrier: Barrier) -> Code {
    if !runtime::in_execution() {
        return real!(pthread_barrier_destroy(barrier): fn(Barrier) -> Code);
    }
    let call = call();
    let on = on(barrier);
    on.destroyed(call);
    // SAFETY: the program hands in a barrier.
    unsafe {
        if at::<u32>(barrier as usize, SHARED) == DESTROYED {
            on.misuse("it is destroyed twice", call);
        }
        if on.word() & 0xffff_ffff != 0 {
            on.misuse("it is destroyed while a thread waits at it", call);
        }
        put(barrier as usize, SHARED, DESTROYED);
    }
    0
}

extern "C" fn wait(barrier: Barrier) -> Code {
    if !runtime::in_execution() {
        return real!(pthread_barrier_wait(barrier): fn(Barrier) -> Code);
    }
    let call = call();
    let on = on(barrier);
    on.used(call);
    // SAFETY: the program hands in a barrier.
    let (count, shared) =
        unsafe { (at::<u32>(barrier as usize, COUNT), at::<u32>(barrier as usize, SHARED)) };
    if count == 0 {
        on.misuse("it was never initialized", call);
    }
    if shared == DESTROYED {
        on.misuse("it is used after it was destroyed", call);
    }
    on.is_original(barrier as usize + OWN, call);
    on.enters_wait(0);
    let arrived = on.step_with(OpKind::Arrive, count as u64, 0, MemoryOrder::None, call);
    if arrived.ok {
        on.leaves_wait(call);
        return libc::PTHREAD_BARRIER_SERIAL_THREAD;
    }
    on.step_with(OpKind::Pass, arrived.value, 0, MemoryOrder::None, call);
    on.leaves_wait(call);
    0
}

export! {
    pthread_barrier_init => init;
    pthread_barrier_destroy => destroy;
    pthread_barrier_wait => wait;
}
