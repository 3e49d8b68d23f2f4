//! Memory that one execution gives back and the next one takes: the same threads are spawned again and again.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::RefCell;
use std::ptr::NonNull;

/// How many pieces are kept.
const KEPT: usize = 64;

struct Free(RefCell<Vec<(NonNull<u8>, Layout)>>);

impl Drop for Free {
    fn drop(&mut self) {
        for (piece, layout) in self.0.get_mut().drain(..) {
            // SAFETY: every piece was allocated with its layout by `take`, and is used by nobody.
            unsafe { dealloc(piece.as_ptr(), layout) };
        }
    }
}

thread_local! {
    static FREE: Free = const { Free(RefCell::new(Vec::new())) };
}

/// Memory of this layout, whose size is not 0.
pub(super) fn take(layout: Layout) -> NonNull<u8> {
    let kept = FREE.try_with(|free| {
        let mut free = free.0.borrow_mut();
        match free.pop()? {
            (piece, of) if of == layout => Some(piece),
            last => {
                free.push(last);
                let found = free.iter().rposition(|f| f.1 == layout)?;
                Some(free.swap_remove(found).0)
            }
        }
    });
    if let Ok(Some(piece)) = kept {
        return piece;
    }
    debug_assert_ne!(layout.size(), 0);
    // SAFETY: the size is not 0.
    let piece = unsafe { alloc(layout) };
    NonNull::new(piece).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Gives memory back.
///
/// # Safety
///
/// `take` gave it for this layout, on whichever OS thread, and nobody uses it any more.
pub(super) unsafe fn give(piece: NonNull<u8>, layout: Layout) {
    let kept = FREE.try_with(|free| {
        let mut free = free.0.borrow_mut();
        let room = free.len() < KEPT;
        if room {
            free.push((piece, layout));
        }
        room
    });
    if kept != Ok(true) {
        // SAFETY: by the contract.
        unsafe { dealloc(piece.as_ptr(), layout) };
    }
}
