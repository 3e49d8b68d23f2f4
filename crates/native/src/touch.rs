//! Accesses that the compiler does not announce: calls that the command adds to the assembly (`crates/cli/src/touches.rs`).
//!
//! Such a call stands in front of an instruction anywhere in a function, so it keeps every register: the entry points below save
//! them. As in other hooks, the access has not happened yet. What is saved lies above the rest of the stack, where the search for
//! loops sees it as part of the local state.

use crate::access;
use crate::atomics;
use crate::shim::{self, Call, INCOMING};
use crate::{heap, unwritten};
use runtime::LocalState;

/// Whether another thread was ever seen to access memory on a stack. The program looks at it before accesses to its own frame.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static mut __raddle_stack_is_shared: u8 = 0;

/// Says whether accesses of functions to their own frames count.
pub(crate) fn set_stack_is_shared(shared: bool) {
    // SAFETY: one OS thread alone runs code of the program.
    unsafe { __raddle_stack_is_shared = u8::from(shared) };
}

/// What the program tells of before it compares addresses or computes with them: a bit for what depends on addresses or handles that come
/// back, and one for what depends on their order.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static mut __raddle_looks_at_comparisons: u8 = 0;

/// The same, for code in here.
static mut LOOKS: u8 = 0;

const COMING_BACK: u8 = 1;
const ORDERED: u8 = 2;

/// Says whether something depends on addresses or handles that come back. The order always matters.
#[inline]
pub(crate) fn set_looks(coming_back: bool) {
    // SAFETY: as above.
    unsafe {
        LOOKS = if coming_back { ORDERED | COMING_BACK } else { ORDERED };
        __raddle_looks_at_comparisons = LOOKS;
    }
}

/// Whether something depends on addresses or handles that come back.
#[inline]
pub(crate) fn looks() -> bool {
    // SAFETY: as above.
    unsafe { LOOKS & COMING_BACK != 0 }
}

/// Whether a number is in the range of addresses that blocks, stacks and handles have. The added code asks the same.
#[inline]
pub(crate) fn may_be_address(value: usize) -> bool {
    (1..0x8000).contains(&(value >> 32))
}

/// Two addresses in this range need not be looked at: its first address, and how far the last one is from it. The program asks for itself.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static mut __raddle_near: [usize; 2] = NOWHERE;

const NOWHERE: [usize; 2] = [usize::MAX, 0];

/// The same for two addresses above the stack pointer.
static mut STACK: [usize; 2] = [usize::MAX, 0];
/// The same for the first of two addresses.
static mut VARIABLES: [usize; 2] = [usize::MAX, 0];

pub(crate) fn set_near(low: usize, high: usize) {
    // SAFETY: one OS thread alone runs code of the program.
    unsafe { __raddle_near = [low, high - low] };
}

pub(crate) fn set_stack(low: usize, high: usize) {
    // SAFETY: as above.
    unsafe { STACK = [low, high] };
}

pub(crate) fn set_variables(low: usize, high: usize) {
    // SAFETY: as above. The last one is the first byte behind them.
    unsafe { VARIABLES = [low, high - 1] };
}

/// Variables are to be looked at, too.
pub(crate) fn forget_variables() {
    // SAFETY: as above.
    unsafe { VARIABLES = NOWHERE };
}

/// A recorded address may belong to a freed block.
#[inline]
pub(crate) fn forget_ranges() {
    // SAFETY: as above.
    unsafe {
        __raddle_near = NOWHERE;
        STACK = [usize::MAX, 0];
    }
}

/// How far below the frames of the program the return address of a call lies that stands in front of a comparison: the red zone, the two
/// values, three registers, and the address itself (`crates/cli/src/compared.rs`).
const ADDED: usize = 128 + 8 * 6;

/// What is touched.
const READ: u32 = 0;
const WRITE: u32 = 1;
const UPDATE: u32 = 2;
const NOTE: u32 = 3;
const LOAD: u32 = 4;
const STORE: u32 = 5;
const MODIFY: u32 = 6;
const FENCE: u32 = 7;
const READ_UNTIL: u32 = 8;
/// Not an access: the program compares the two numbers that are handed in, asks for their order, or computes with them.
const COMPARE: u32 = 9;
const ORDER: u32 = 10;
const NUMBER: u32 = 11;

/// Behind all entry points: `saved` is where the registers are.
unsafe extern "C" fn touched(address: usize, bytes: usize, kind: u32, saved: *const Saved) {
    if !runtime::in_execution() {
        return;
    }
    if matches!(kind, READ | READ_UNTIL | NOTE) && crate::start::is_constant(address) {
        return;
    }
    if matches!(kind, COMPARE | ORDER) && address == bytes {
        return;
    }
    // SAFETY: the entry points hand in what they saved, on the running stack.
    let Saved { frame, site, .. } = unsafe { &*saved };
    let state = if shim::is_looking() { LocalState::on_stack(saved as usize) } else { LocalState::UNKNOWN };
    let call = shim::call_from(*site, *frame, saved as usize, state);
    match kind {
        READ => {
            heap::check_own_frame(address, bytes, false, call);
            if bytes < 8 && looks() {
                crate::looks::read_part(address, bytes);
            }
            access::access(address, bytes, false, call);
            unwritten::read(address, bytes, call);
        }
        WRITE => {
            heap::check_own_frame(address, bytes, true, call);
            access::access(address, bytes, true, call);
            unwritten::written(address, bytes);
        }
        UPDATE => {
            heap::check_own_frame(address, bytes, true, call);
            access::access(address, bytes, false, call);
            unwritten::read(address, bytes, call);
            access::access(address, bytes, true, call);
        }
        NOTE => note(address, call),
        LOAD => atomics::load_by_assembly(address, bytes, call),
        STORE => atomics::change_by_assembly(address, bytes, false, call),
        MODIFY => atomics::change_by_assembly(address, bytes, true, call),
        COMPARE => crate::looks::compared(address, bytes, saved as usize + 112 + ADDED, call),
        ORDER => crate::looks::ordered(address, bytes, saved as usize + 112 + ADDED, call),
        NUMBER => crate::looks::numbers(address, bytes, call),
        FENCE => atomics::fence_by_assembly(call),
        _ => access::access(address, bytes.min(1 << 16), false, call),
    }
}

/// An access of a function without instrumentation. What is on its own stack is its own.
fn note(address: usize, call: Call) {
    if runtime::on_own_stack(address) || !runtime::is_concurrent() {
        return;
    }
    // SAFETY: one OS thread alone runs code of the program, and the borrow ends here.
    let known = unsafe { &mut *(&raw mut NOTED) };
    let site = shim::return_address();
    let text = match known.iter().find(|(s, _)| *s == site) {
        Some((_, text)) => text.clone(),
        None => {
            let text = format!(
                "the function `{}` is not instrumented: its accesses to memory were not explored",
                crate::names::function(site)
            );
            known.push((site, text.clone()));
            text
        }
    };
    runtime::caveat_at(explore::CaveatKind::Uninstrumented, text, call.place);
}

/// The call sites of functions without instrumentation, and what is said of each.
static mut NOTED: Vec<(usize, String)> = Vec::new();

/// What an entry point saves, from the lowest address on.
#[repr(C)]
struct Saved {
    r15: usize,
    r14: usize,
    r13: usize,
    r12: usize,
    rbx: usize,
    frame: usize,
    r11: usize,
    r10: usize,
    r9: usize,
    r8: usize,
    rsi: usize,
    rdx: usize,
    rcx: usize,
    rax: usize,
    site: usize,
}

/// Saves the registers and the vectors of SSE; `rdi` is the address, `esi` the size, `eax` the kind.
#[unsafe(naked)]
unsafe extern "C" fn save() {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "mov edx, eax",
        // The return address to the entry point lies below what is saved.
        "lea rcx, [rsp + 8]",
        "mov rbx, rcx",
        ".cfi_def_cfa rbx, 0",
        "sub rsp, 256",
        "and rsp, -16",
        "movaps [rsp], xmm0",
        "movaps [rsp + 16], xmm1",
        "movaps [rsp + 32], xmm2",
        "movaps [rsp + 48], xmm3",
        "movaps [rsp + 64], xmm4",
        "movaps [rsp + 80], xmm5",
        "movaps [rsp + 96], xmm6",
        "movaps [rsp + 112], xmm7",
        "movaps [rsp + 128], xmm8",
        "movaps [rsp + 144], xmm9",
        "movaps [rsp + 160], xmm10",
        "movaps [rsp + 176], xmm11",
        "movaps [rsp + 192], xmm12",
        "movaps [rsp + 208], xmm13",
        "movaps [rsp + 224], xmm14",
        "movaps [rsp + 240], xmm15",
        "cld",
        "call {touched}",
        "movaps xmm0, [rsp]",
        "movaps xmm1, [rsp + 16]",
        "movaps xmm2, [rsp + 32]",
        "movaps xmm3, [rsp + 48]",
        "movaps xmm4, [rsp + 64]",
        "movaps xmm5, [rsp + 80]",
        "movaps xmm6, [rsp + 96]",
        "movaps xmm7, [rsp + 112]",
        "movaps xmm8, [rsp + 128]",
        "movaps xmm9, [rsp + 144]",
        "movaps xmm10, [rsp + 160]",
        "movaps xmm11, [rsp + 176]",
        "movaps xmm12, [rsp + 192]",
        "movaps xmm13, [rsp + 208]",
        "movaps xmm14, [rsp + 224]",
        "movaps xmm15, [rsp + 240]",
        "lea rsp, [rbx - 8]",
        "jmp {wipe}",
        ".cfi_endproc",
        touched = sym touched,
        wipe = sym wipe,
    )
}

/// Clears the stack below while the thread may be in a loop, so that the next turn finds the same there.
#[unsafe(naked)]
unsafe extern "C" fn wipe() {
    std::arch::naked_asm!(
        "mov rax, [rip + {incoming} + 24]",
        "cmp byte ptr [rax], 0",
        "je 2f",
        "lea rdi, [rsp - 4096]",
        "mov ecx, 512",
        "xor eax, eax",
        "rep stosq",
        "2:",
        "ret",
        incoming = sym INCOMING,
    )
}

/// The same for functions with wider vectors or with registers of the x87 unit in use.
#[unsafe(naked)]
unsafe extern "C" fn save_wide() {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "mov r8d, eax",
        "lea rcx, [rsp + 8]",
        "mov rbx, rcx",
        ".cfi_def_cfa rbx, 0",
        "sub rsp, 2752",
        "and rsp, -64",
        // The header of the area must be zero.
        "xor eax, eax",
        "mov [rsp + 512], rax",
        "mov [rsp + 520], rax",
        "mov [rsp + 528], rax",
        "mov [rsp + 536], rax",
        "mov [rsp + 544], rax",
        "mov [rsp + 552], rax",
        "mov [rsp + 560], rax",
        "mov [rsp + 568], rax",
        "mov eax, 0xe7",
        "xor edx, edx",
        "xsave64 [rsp]",
        "fninit",
        "mov edx, r8d",
        "cld",
        "call {touched}",
        "mov eax, 0xe7",
        "xor edx, edx",
        "xrstor64 [rsp]",
        "lea rsp, [rbx - 8]",
        "jmp {wipe}",
        ".cfi_endproc",
        touched = sym touched,
        wipe = sym wipe,
    )
}

/// Entry points: the name, the kind, what sets the size if it is fixed, and what saves the vectors.
macro_rules! touches {
    ($($name:ident, $kind:ident, $size:literal, $save:path;)*) => {$(
        /// Called by the program in front of an access; see the module.
        ///
        /// # Safety
        ///
        /// Called by assembly that the command added, with the address in `rdi`, and the size in `rsi` if it is not fixed.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                ".cfi_startproc",
                "push rax",
                "push rcx",
                "push rdx",
                "push rsi",
                "push r8",
                "push r9",
                "push r10",
                "push r11",
                "push rbp",
                "push rbx",
                "push r12",
                "push r13",
                "push r14",
                "push r15",
                ".cfi_adjust_cfa_offset 112",
                ".cfi_offset rbp, -80",
                ".cfi_offset rbx, -88",
                $size,
                "mov eax, {kind}",
                "call {save}",
                "pop r15",
                "pop r14",
                "pop r13",
                "pop r12",
                "pop rbx",
                "pop rbp",
                "pop r11",
                "pop r10",
                "pop r9",
                "pop r8",
                "pop rsi",
                "pop rdx",
                "pop rcx",
                "pop rax",
                ".cfi_adjust_cfa_offset -112",
                "ret",
                ".cfi_endproc",
                kind = const $kind,
                save = sym $save,
            )
        }
    )*};
}

touches! {
    __raddle_touch_read1, READ, "mov esi, 1", save;
    __raddle_touch_read2, READ, "mov esi, 2", save;
    __raddle_touch_read4, READ, "mov esi, 4", save;
    __raddle_touch_read8, READ, "mov esi, 8", save;
    __raddle_touch_read16, READ, "mov esi, 16", save;
    __raddle_touch_read_range, READ, "", save;
    __raddle_touch_read_until, READ_UNTIL, "", save;
    __raddle_touch_write1, WRITE, "mov esi, 1", save;
    __raddle_touch_write2, WRITE, "mov esi, 2", save;
    __raddle_touch_write4, WRITE, "mov esi, 4", save;
    __raddle_touch_write8, WRITE, "mov esi, 8", save;
    __raddle_touch_write16, WRITE, "mov esi, 16", save;
    __raddle_touch_write_range, WRITE, "", save;
    __raddle_touch_update1, UPDATE, "mov esi, 1", save;
    __raddle_touch_update2, UPDATE, "mov esi, 2", save;
    __raddle_touch_update4, UPDATE, "mov esi, 4", save;
    __raddle_touch_update8, UPDATE, "mov esi, 8", save;
    __raddle_touch_update16, UPDATE, "mov esi, 16", save;
    __raddle_touch_note1, NOTE, "mov esi, 1", save;
    __raddle_touch_note2, NOTE, "mov esi, 2", save;
    __raddle_touch_note4, NOTE, "mov esi, 4", save;
    __raddle_touch_note8, NOTE, "mov esi, 8", save;
    __raddle_touch_note16, NOTE, "mov esi, 16", save;
    __raddle_touch_note_range, NOTE, "", save;
    __raddle_touch_note_until, NOTE, "", save;
    __raddle_touch_load1, LOAD, "mov esi, 1", save;
    __raddle_touch_load2, LOAD, "mov esi, 2", save;
    __raddle_touch_load4, LOAD, "mov esi, 4", save;
    __raddle_touch_load8, LOAD, "mov esi, 8", save;
    __raddle_touch_store1, STORE, "mov esi, 1", save;
    __raddle_touch_store2, STORE, "mov esi, 2", save;
    __raddle_touch_store4, STORE, "mov esi, 4", save;
    __raddle_touch_store8, STORE, "mov esi, 8", save;
    __raddle_touch_modify1, MODIFY, "mov esi, 1", save;
    __raddle_touch_modify2, MODIFY, "mov esi, 2", save;
    __raddle_touch_modify4, MODIFY, "mov esi, 4", save;
    __raddle_touch_modify8, MODIFY, "mov esi, 8", save;
    __raddle_touch_modify16, MODIFY, "mov esi, 16", save;
    __raddle_touch_fence, FENCE, "xor esi, esi", save;
    __raddle_touch_wide_read1, READ, "mov esi, 1", save_wide;
    __raddle_touch_wide_read2, READ, "mov esi, 2", save_wide;
    __raddle_touch_wide_read4, READ, "mov esi, 4", save_wide;
    __raddle_touch_wide_read8, READ, "mov esi, 8", save_wide;
    __raddle_touch_wide_read10, READ, "mov esi, 10", save_wide;
    __raddle_touch_wide_read28, READ, "mov esi, 28", save_wide;
    __raddle_touch_wide_read16, READ, "mov esi, 16", save_wide;
    __raddle_touch_wide_read32, READ, "mov esi, 32", save_wide;
    __raddle_touch_wide_read64, READ, "mov esi, 64", save_wide;
    __raddle_touch_wide_read_range, READ, "", save_wide;
    __raddle_touch_wide_read_until, READ_UNTIL, "", save_wide;
    __raddle_touch_wide_write1, WRITE, "mov esi, 1", save_wide;
    __raddle_touch_wide_write2, WRITE, "mov esi, 2", save_wide;
    __raddle_touch_wide_write4, WRITE, "mov esi, 4", save_wide;
    __raddle_touch_wide_write8, WRITE, "mov esi, 8", save_wide;
    __raddle_touch_wide_write10, WRITE, "mov esi, 10", save_wide;
    __raddle_touch_wide_write28, WRITE, "mov esi, 28", save_wide;
    __raddle_touch_wide_write16, WRITE, "mov esi, 16", save_wide;
    __raddle_touch_wide_write32, WRITE, "mov esi, 32", save_wide;
    __raddle_touch_wide_write64, WRITE, "mov esi, 64", save_wide;
    __raddle_touch_wide_write_range, WRITE, "", save_wide;
    __raddle_touch_wide_update1, UPDATE, "mov esi, 1", save_wide;
    __raddle_touch_wide_update2, UPDATE, "mov esi, 2", save_wide;
    __raddle_touch_wide_update4, UPDATE, "mov esi, 4", save_wide;
    __raddle_touch_wide_update8, UPDATE, "mov esi, 8", save_wide;
    __raddle_touch_wide_update16, UPDATE, "mov esi, 16", save_wide;
    __raddle_touch_wide_note1, NOTE, "mov esi, 1", save_wide;
    __raddle_touch_wide_note2, NOTE, "mov esi, 2", save_wide;
    __raddle_touch_wide_note4, NOTE, "mov esi, 4", save_wide;
    __raddle_touch_wide_note8, NOTE, "mov esi, 8", save_wide;
    __raddle_touch_wide_note10, NOTE, "mov esi, 10", save_wide;
    __raddle_touch_wide_note28, NOTE, "mov esi, 28", save_wide;
    __raddle_touch_wide_note16, NOTE, "mov esi, 16", save_wide;
    __raddle_touch_wide_note32, NOTE, "mov esi, 32", save_wide;
    __raddle_touch_wide_note64, NOTE, "mov esi, 64", save_wide;
    __raddle_touch_wide_note_range, NOTE, "", save_wide;
    __raddle_touch_wide_note_until, NOTE, "", save_wide;
    __raddle_touch_wide_load1, LOAD, "mov esi, 1", save_wide;
    __raddle_touch_wide_load2, LOAD, "mov esi, 2", save_wide;
    __raddle_touch_wide_load4, LOAD, "mov esi, 4", save_wide;
    __raddle_touch_wide_load8, LOAD, "mov esi, 8", save_wide;
    __raddle_touch_wide_store1, STORE, "mov esi, 1", save_wide;
    __raddle_touch_wide_store2, STORE, "mov esi, 2", save_wide;
    __raddle_touch_wide_store4, STORE, "mov esi, 4", save_wide;
    __raddle_touch_wide_store8, STORE, "mov esi, 8", save_wide;
    __raddle_touch_wide_modify1, MODIFY, "mov esi, 1", save_wide;
    __raddle_touch_wide_modify2, MODIFY, "mov esi, 2", save_wide;
    __raddle_touch_wide_modify4, MODIFY, "mov esi, 4", save_wide;
    __raddle_touch_wide_modify8, MODIFY, "mov esi, 8", save_wide;
    __raddle_touch_wide_modify16, MODIFY, "mov esi, 16", save_wide;
    __raddle_touch_compare_slowly, COMPARE, "", save;
    __raddle_touch_wide_compare_slowly, COMPARE, "", save_wide;
    __raddle_touch_order_slowly, ORDER, "", save;
    __raddle_touch_wide_order_slowly, ORDER, "", save_wide;
    __raddle_touch_number, NUMBER, "", save;
    __raddle_touch_wide_number, NUMBER, "", save_wide;
    __raddle_touch_wide_fence, FENCE, "xor esi, esi", save_wide;
}

/// Entry points that return at once where nothing depends on how the two addresses compare.
macro_rules! compares {
    ($($name:ident, $slowly:path, $when:literal;)*) => {$(
        /// Called by the program before it compares two numbers; see the module.
        ///
        /// # Safety
        ///
        /// Called by assembly that the command added, with the numbers in `rdi` and `rsi`.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "push rax",
                "test byte ptr [rip + {looks}], {when}",
                "jnz 1f",
                // While nothing comes back, only variables of functions that have returned matter: they lie below this frame.
                "lea rax, [rsp + 8 + {added}]",
                "sub rax, rdi",
                "cmp rax, 0x800000",
                "jb 4f",
                "lea rax, [rsp + 8 + {added}]",
                "sub rax, rsi",
                "cmp rax, 0x800000",
                "jae 9f",
                "jmp 4f",
                "1:",
                "cmp rdi, [rip + {variables}]",
                "jb 3f",
                "cmp rdi, [rip + {variables} + 8]",
                "jbe 9f",
                "3:",
                "lea rax, [rsp + 8 + {added}]",
                "cmp rdi, rax",
                "jb 4f",
                "cmp rsi, rax",
                "jb 4f",
                "cmp rsp, [rip + {stack}]",
                "jb 4f",
                "mov rax, [rip + {stack} + 8]",
                "cmp rdi, rax",
                "jae 4f",
                "cmp rsi, rax",
                "jb 9f",
                "4:",
                "pop rax",
                "jmp {slowly}",
                "9:",
                "pop rax",
                "ret",
                when = const $when,
                added = const ADDED,
                looks = sym LOOKS,
                variables = sym VARIABLES,
                stack = sym STACK,
                slowly = sym $slowly,
            )
        }
    )*};
}

compares! {
    __raddle_touch_compare, __raddle_touch_compare_slowly, 1;
    __raddle_touch_wide_compare, __raddle_touch_wide_compare_slowly, 1;
    __raddle_touch_order, __raddle_touch_order_slowly, 2;
    __raddle_touch_wide_order, __raddle_touch_wide_order_slowly, 2;
}
