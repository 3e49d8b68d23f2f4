//! How a call of the program comes in.
//!
//! Each exported function is a few instructions in front of the real one: they note where the call comes from and the frame
//! pointer, and, while the thread may be in a loop that only looks, where its local state is (its stack from the calling frame
//! on, and the registers that calls preserve, which are put there; see the runtime's module `spin`). In that case the stack below the
//! call is wiped when it returns, so that what the next turn of the loop finds there does not depend on us.

use crate::system_calls::caller_of;
use explore::ThreadId;
use runtime::{LocalState, Place};

/// Written by the shims, read at once by the function behind.
#[repr(C)]
pub(crate) struct Incoming {
    /// The return address.
    site: usize,
    /// The frame pointer of the caller.
    frame: usize,
    /// Where the local state is, if it was asked for.
    state: usize,
    /// Whether it is to be taken: points at the runtime's flag.
    looking: *const bool,
    /// The stack pointer: the frames of the caller begin here, and below is nothing of the program's.
    stack: usize,
    /// The stack pointer of the innermost function of the program when it was entered, or when the function that it called last had returned.
    program: usize,
}

/// A flag that is never set.
static NEVER: bool = false;

pub(crate) static mut INCOMING: Incoming =
    Incoming { site: 0, frame: 0, state: 0, looking: &raw const NEVER, stack: 0, program: 0 };

/// Where a call came from.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) place: Place,
    pub(crate) state: LocalState,
}

impl Call {
    /// The call that came in last, without its local state.
    pub(crate) fn unknown() -> Call {
        Call { place: Place::at(user_address()), state: LocalState::UNKNOWN }
    }

    /// The end of `main`: at the last call that came in, or at `main` itself if this execution made none.
    pub(crate) fn end_of(main: usize) -> Call {
        // Places are return addresses, which point behind a call.
        let site = if return_address() == 0 { main + 1 } else { return_address() };
        Call { place: Place::at(site), state: LocalState::UNKNOWN }
    }
}

impl Call {
    /// The same, with one more word of local state.
    pub(crate) fn with(self, word: u64) -> Call {
        Call { state: self.state.with(word), ..self }
    }
}

/// The call that has just come in. To be taken first thing.
#[inline]
pub(crate) fn call() -> Call {
    // SAFETY: one OS thread alone runs code of the program; see the crate's rules.
    unsafe {
        crate::frames::call_came_in(INCOMING.stack);
        Call {
            place: Place::at(user_address()),
            // What an earlier call left counts for nothing.
            state: if *INCOMING.looking { LocalState::on_stack(INCOMING.state) } else { LocalState::UNKNOWN },
        }
    }
}

/// The same for a function that was exported with its local state.
#[inline]
pub(crate) fn call_with_state() -> Call {
    // SAFETY: as in `call`.
    let state = unsafe { INCOMING.state };
    Call { state: LocalState::on_stack(state), ..call() }
}

/// A call that came in by other ways than a shim: its return address, the frame pointer and the stack pointer of the caller, and its
/// local state.
#[inline]
pub(crate) fn call_from(site: usize, frame: usize, stack: usize, state: LocalState) -> Call {
    // SAFETY: as in `call`.
    unsafe { (INCOMING.site, INCOMING.frame, INCOMING.stack) = (site, frame, stack) };
    crate::frames::call_came_in(stack);
    Call { place: Place::at(crate::front::user_site(site, frame)), state }
}

/// Whether the running thread may be in a loop.
#[inline]
pub(crate) fn is_looking() -> bool {
    // SAFETY: as in `call`.
    unsafe { *INCOMING.looking }
}

/// Runs something that may call exported functions itself, through the C library: what came in stays known.
pub(crate) fn undisturbed<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: as in `call`.
    unsafe {
        let Incoming { site, frame, state, stack, .. } = INCOMING;
        let result = f();
        (INCOMING.site, INCOMING.frame, INCOMING.state, INCOMING.stack) = (site, frame, state, stack);
        result
    }
}

/// The return address and the frame pointer of the call that has just come in.
#[inline]
pub(crate) fn caller() -> Option<(usize, usize)> {
    // SAFETY: as in `call`.
    let (site, frame) = unsafe { caller_of(INCOMING.site, INCOMING.frame) };
    (site != 0).then_some((site, frame))
}

/// The stack pointer of the program when the call came in.
#[inline]
pub(crate) fn stack_pointer() -> usize {
    // SAFETY: as in `call`.
    unsafe { INCOMING.stack }
}

/// Where the frames of the program begin on the stack of another thread; 0 if it has made no call in this execution. If its last call came
/// from a library, the frames of the library lie below.
pub(crate) fn last_stack_pointer(t: ThreadId) -> usize {
    // SAFETY: as in `call`.
    let last = unsafe { LAST[t.index()] };
    if last.execution != crate::threads::execution() {
        return 0;
    }
    let of_program = crate::modules::owner(last.site) == Some(crate::modules::Owner::Program);
    if of_program || crate::rust_tests::is_rust() { last.stack } else { last.stack.max(last.program) }
}

/// The return address of the call that has just come in.
#[inline]
pub(crate) fn return_address() -> usize {
    // SAFETY: as in `call`.
    unsafe { caller_of(INCOMING.site, INCOMING.frame).0 }
}

/// The place in the program's own code that the call comes from. If the call came from a header of the standard library, that is where the
/// program called into the header.
#[inline]
pub(crate) fn user_address() -> usize {
    // SAFETY: as in `call`.
    let (site, frame) = unsafe { caller_of(INCOMING.site, INCOMING.frame) };
    crate::front::user_site(site, frame)
}

/// The return address in the program, for a call that has just come in from a library that the program called: the innermost one
/// on the stack. The caller's own if none is near.
pub(crate) fn site_in_program() -> usize {
    const NEAR: usize = 256;
    let stack = stack_pointer();
    // SAFETY: the frames of the program lie above those of the library, on the same stack; the search ends at the first one.
    (1..NEAR)
        .map(|i| unsafe { ((stack + 8 * i) as *const usize).read() })
        .find(|word| returns_to_program(*word))
        .unwrap_or_else(return_address)
}

/// Whether a word is an address of the program's code that follows a call.
fn returns_to_program(site: usize) -> bool {
    crate::modules::owner(site) == Some(crate::modules::Owner::Program) && follows_call(site)
}

/// Whether a word is an address of code that follows a call.
pub(crate) fn follows_call(site: usize) -> bool {
    if crate::modules::owner(site).is_none() {
        return false;
    }
    // SAFETY: the address lies in code, behind the start of a module.
    let byte = |back: usize| unsafe { *((site - back) as *const u8) };
    // The length of a call: direct, or through a register or memory.
    byte(5) == 0xE8 || [2, 3, 6, 7].iter().any(|n| byte(*n) == 0xFF)
}

/// Where the program called a library that keeps no frame pointer, for a thread whose last call came from there: such a library's call
/// has the frame pointer of the program's function, but a return address of its own. `read` reads a word of the thread's stack.
pub(crate) fn site_below_frame(t: ThreadId, read: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    const NEAR: usize = 512;
    // SAFETY: as in `call`.
    let (site, frame, stack, program) = unsafe {
        if RUNNING == Some(t) {
            (INCOMING.site, INCOMING.frame, INCOMING.stack, INCOMING.program)
        } else {
            let Last { site, frame, stack, program, .. } = LAST[t.index()];
            (site, frame, stack, program)
        }
    };
    if stack == 0 || returns_to_program(site) {
        return None;
    }
    // The slot of the return address, if the function has not moved its stack pointer since.
    let expected = [program.wrapping_sub(8), program];
    let near = (0..NEAR).map(|i| stack + 8 * i);
    expected
        .into_iter()
        .filter(|slot| (stack..frame).contains(slot))
        .chain(near.take_while(|slot| *slot < frame))
        .filter_map(read)
        .find(|word| returns_to_program(*word))
}

/// An execution begins: its threads may loop from now on.
pub(crate) fn begin() {
    crate::alone::stop();
    // SAFETY: as in `call`.
    unsafe {
        INCOMING.looking = runtime::looking_flag();
        // A call of the execution before is not one of this execution.
        (INCOMING.site, INCOMING.frame) = (0, 0);
        RUNNING = None;
    }
}

/// No execution runs.
pub(crate) fn end() {
    crate::alone::stop();
    // SAFETY: as in `call`.
    unsafe { INCOMING.looking = &raw const NEVER };
}

/// The last call of a thread: in which execution it was, where it came from, the frame pointer and the stack pointers.
#[derive(Clone, Copy)]
struct Last {
    execution: u64,
    site: usize,
    frame: usize,
    stack: usize,
    program: usize,
}

static mut LAST: [Last; explore::MAX_THREADS] =
    [Last { execution: 0, site: 0, frame: 0, stack: 0, program: 0 }; explore::MAX_THREADS];
/// Whose code runs.
static mut RUNNING: Option<ThreadId> = None;

/// Another thread's code is about to run: what the last one called is kept.
#[inline]
pub(crate) fn keep_call(to: Option<ThreadId>) {
    // SAFETY: as in `call`.
    unsafe {
        let execution = crate::threads::execution();
        if let Some(t) = RUNNING {
            let Incoming { site, frame, stack, program, .. } = INCOMING;
            LAST[t.index()] = Last { execution, site, frame, stack, program };
        }
        INCOMING.program = 0;
        // The thread continues inside its last call.
        if let Some(t) = to
            && LAST[t.index()].execution == execution
        {
            let Last { site, frame, stack, program, .. } = LAST[t.index()];
            (INCOMING.site, INCOMING.frame, INCOMING.stack) = (site, frame, stack);
            INCOMING.program = program;
        }
        RUNNING = to;
    }
    crate::frames::switch(to);
}

/// Does something in which the C library calls functions of ours: what is known of the program's last call stays as it is.
pub(crate) fn past_calls<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: as in `call`.
    unsafe {
        let Incoming { site, frame, state, looking, stack, program } = INCOMING;
        INCOMING.looking = &raw const NEVER;
        let result = f();
        INCOMING = Incoming { site, frame, state, looking, stack, program };
        result
    }
}

/// Whether a thread of the program runs, by our own account.
pub(crate) fn is_running() -> bool {
    // SAFETY: as in `call`.
    let running = unsafe { RUNNING };
    running.is_some()
}

/// The last call of a thread of the running execution; zeros if there is none.
pub(crate) fn last_call(t: ThreadId) -> (usize, usize) {
    // SAFETY: as in `call`.
    unsafe {
        if RUNNING == Some(t) {
            return (INCOMING.site, INCOMING.frame);
        }
        let Last { execution, site, frame, .. } = LAST[t.index()];
        if execution == crate::threads::execution() { (site, frame) } else { (0, 0) }
    }
}

/// Whether the processor has vectors of 32 bytes: they clear memory in half the time.
static mut HAS_AVX: bool = false;

/// Clears 2 KiB of the stack below a call that returns here to the program, with the results of the call in their registers.
#[unsafe(naked)]
unsafe extern "C" fn wipe() {
    std::arch::naked_asm!(
        "cmp byte ptr [rip + {has_avx}], 0",
        "je 3f",
        "vpxor xmm15, xmm15, xmm15",
        // What lies above the last multiple of 64, and from there on whole lines.
        "vmovdqu [rsp - 32], ymm15",
        "vmovdqu [rsp - 64], ymm15",
        "mov rdi, rsp",
        "and rdi, -64",
        "lea rcx, [rdi - 2048]",
        "2:",
        "vmovdqa [rdi - 32], ymm15",
        "vmovdqa [rdi - 64], ymm15",
        "vmovdqa [rdi - 96], ymm15",
        "vmovdqa [rdi - 128], ymm15",
        "sub rdi, 128",
        "cmp rdi, rcx",
        "jne 2b",
        "vzeroupper",
        "jmp 4f",
        "3:",
        "mov r8, rax",
        "lea rdi, [rsp - 2048]",
        "mov ecx, 256",
        "xor eax, eax",
        "cld",
        "rep stosq",
        "mov rax, r8",
        "4:",
        // Assembly of the program may look at registers that calls do not preserve.
        "xor ecx, ecx",
        "xor esi, esi",
        "xor edi, edi",
        "xor r8d, r8d",
        "xor r9d, r9d",
        "xor r10d, r10d",
        "xor r11d, r11d",
        "ret",
        has_avx = sym HAS_AVX,
    )
}

/// The way in while the thread may be in a loop: `r11` is the function to call, everything else is as the program left it.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn slowly() {
    // An exception or the end of a thread may be unwound through the call, so the unwinder is told of it.
    std::arch::naked_asm!(
        ".cfi_startproc",
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rip + {incoming} + 16], rsp",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 56",
        "call r11",
        "add rsp, 56",
        ".cfi_adjust_cfa_offset -56",
        "jmp {wipe}",
        ".cfi_endproc",
        incoming = sym INCOMING,
        wipe = sym wipe,
    )
}

/// The same for a function of seven words, the last of which is on the stack.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn slowly_with_seven() {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rip + {incoming} + 16], rsp",
        "push qword ptr [rsp + 56]",
        ".cfi_adjust_cfa_offset 56",
        "call r11",
        "add rsp, 56",
        ".cfi_adjust_cfa_offset -56",
        "jmp {wipe}",
        ".cfi_endproc",
        incoming = sym INCOMING,
        wipe = sym wipe,
    )
}

/// Exports functions under the names that programs call, each through a shim.
macro_rules! export {
    ($($name:ident => $function:path;)*) => {$(
        /// See the function it leads to.
        ///
        /// # Safety
        ///
        /// Called by the program as the C library's or the sanitizer's function of this name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "mov r11, [rsp]",
                "mov [rip + {incoming}], r11",
                "mov [rip + {incoming} + 8], rbp",
                "mov [rip + {incoming} + 32], rsp",
                "mov r11, [rip + {incoming} + 24]",
                "cmp byte ptr [r11], 0",
                "jne 2f",
                "jmp {function}",
                "2:",
                "lea r11, [rip + {function}]",
                "jmp {slowly}",
                incoming = sym $crate::shim::INCOMING,
                function = sym $function,
                slowly = sym $crate::shim::slowly,
            )
        }
    )*};
}
pub(crate) use export;

/// Exports functions of which there are two: one for a thread that may be in a loop, and one for all others.
macro_rules! export_quick {
    ($($name:ident => $function:path, $in_loop:path;)*) => {$(
        /// See the function it leads to.
        ///
        /// # Safety
        ///
        /// Called by the program as the sanitizer's function of this name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "mov r11, [rsp]",
                "mov [rip + {incoming}], r11",
                "mov [rip + {incoming} + 8], rbp",
                "mov [rip + {incoming} + 32], rsp",
                "mov r11, [rip + {incoming} + 24]",
                "cmp byte ptr [r11], 0",
                "jne 2f",
                "jmp {function}",
                "2:",
                "lea r11, [rip + {in_loop}]",
                "jmp {slowly}",
                incoming = sym $crate::shim::INCOMING,
                function = sym $function,
                in_loop = sym $in_loop,
                slowly = sym $crate::shim::slowly,
            )
        }
    )*};
}
pub(crate) use export_quick;

/// The way in for a function whose local state is always of interest: nothing is wiped when it returns. `r11` is the function to call.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn with_state() {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rip + {incoming} + 16], rsp",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 56",
        "call r11",
        "add rsp, 56",
        ".cfi_adjust_cfa_offset -56",
        "ret",
        ".cfi_endproc",
        incoming = sym INCOMING,
    )
}

/// Exports functions whose local state is always taken; see [`call_with_state`].
macro_rules! export_with_state {
    ($($name:ident => $function:path;)*) => {$(
        /// See the function it leads to.
        ///
        /// # Safety
        ///
        /// Called by the program as the sanitizer's function of this name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "mov r11, [rsp]",
                "mov [rip + {incoming}], r11",
                "mov [rip + {incoming} + 8], rbp",
                "mov [rip + {incoming} + 32], rsp",
                "mov r11, [rip + {incoming} + 24]",
                "cmp byte ptr [r11], 0",
                "lea r11, [rip + {function}]",
                "jne 2f",
                "jmp {with_state}",
                "2:",
                "jmp {slowly}",
                incoming = sym $crate::shim::INCOMING,
                function = sym $function,
                with_state = sym $crate::shim::with_state,
                slowly = sym $crate::shim::slowly,
            )
        }
    )*};
}
pub(crate) use export_with_state;

/// Exports functions that note where the frames of the program begin, and do nothing else unless a flag is set.
macro_rules! export_if {
    ($($name:ident => $function:path, $flag:path, $program:literal;)*) => {$(
        /// See the function it leads to.
        ///
        /// # Safety
        ///
        /// Called by the program as the sanitizer's function of this name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "mov r11, [rsp]",
                "mov [rip + {incoming}], r11",
                "mov [rip + {incoming} + 8], rbp",
                "mov [rip + {incoming} + 32], rsp",
                concat!("lea r11, ", $program),
                "mov [rip + {incoming} + 40], r11",
                "cmp byte ptr [rip + {flag}], 0",
                "jne 2f",
                "ret",
                "2:",
                "mov r11, [rip + {incoming} + 24]",
                "cmp byte ptr [r11], 0",
                "jne 3f",
                "jmp {function}",
                "3:",
                "lea r11, [rip + {function}]",
                "jmp {slowly}",
                incoming = sym $crate::shim::INCOMING,
                flag = sym $flag,
                function = sym $function,
                slowly = sym $crate::shim::slowly,
            )
        }
    )*};
}
pub(crate) use export_if;

/// Where this library's own code lies: its start and its length.
pub(crate) static mut OWN: [usize; 2] = [0, 0];

/// Exports functions that this library calls itself (through the standard library, and on other OS threads too): calls from
/// inside go to the second function, and leave no trace here.
macro_rules! export_past {
    ($($name:ident => $function:path, $inside:path;)*) => {$(
        /// See the function it leads to.
        ///
        /// # Safety
        ///
        /// Called by the program as the C library's function of this name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "mov r11, [rsp]",
                "sub r11, [rip + {own}]",
                "cmp r11, [rip + {own} + 8]",
                "jb 3f",
                "mov r11, [rsp]",
                "mov [rip + {incoming}], r11",
                "mov [rip + {incoming} + 8], rbp",
                "mov [rip + {incoming} + 32], rsp",
                "mov r11, [rip + {incoming} + 24]",
                "cmp byte ptr [r11], 0",
                "jne 2f",
                "jmp {function}",
                "2:",
                "lea r11, [rip + {function}]",
                "jmp {slowly}",
                "3:",
                "jmp {inside}",
                own = sym $crate::shim::OWN,
                incoming = sym $crate::shim::INCOMING,
                function = sym $function,
                inside = sym $inside,
                slowly = sym $crate::shim::slowly,
            )
        }
    )*};
}
pub(crate) use export_past;

/// The same for functions of seven words, the last of which is on the stack.
macro_rules! export_raw {
    ($($name:ident => $function:path, $inside:path;)*) => {$(
        /// See the function it leads to.
        ///
        /// # Safety
        ///
        /// Called by the program as the C library's function of this name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "mov r11, [rsp]",
                "sub r11, [rip + {own}]",
                "cmp r11, [rip + {own} + 8]",
                "jb 3f",
                "mov r11, [rsp]",
                "mov [rip + {incoming}], r11",
                "mov [rip + {incoming} + 8], rbp",
                "mov [rip + {incoming} + 32], rsp",
                "mov r11, [rip + {incoming} + 24]",
                "cmp byte ptr [r11], 0",
                "jne 2f",
                "jmp {function}",
                "2:",
                "lea r11, [rip + {function}]",
                "jmp {slowly}",
                "3:",
                "jmp {inside}",
                own = sym $crate::shim::OWN,
                incoming = sym $crate::shim::INCOMING,
                function = sym $function,
                inside = sym $inside,
                slowly = sym $crate::shim::slowly_with_seven,
            )
        }
    )*};
}
pub(crate) use export_raw;

/// Runs when the library is loaded, before anything of the program does.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = find_own;

/// Finds where this library's own code lies.
extern "C" fn find_own() {
    // SAFETY: nothing else runs yet.
    unsafe { HAS_AVX = std::is_x86_feature_detected!("avx") };
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        _data: *mut std::ffi::c_void,
    ) -> libc::c_int {
        let here = find_own as extern "C" fn() as usize;
        // SAFETY: `dl_iterate_phdr` hands in a valid `info`.
        unsafe {
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum as usize);
            for h in headers.iter().filter(|h| h.p_type == libc::PT_LOAD) {
                let start = ((*info).dlpi_addr + h.p_vaddr) as usize;
                if (start..start + h.p_memsz as usize).contains(&here) {
                    OWN = [start, h.p_memsz as usize];
                    return 1;
                }
            }
        }
        0
    }
    // SAFETY: the callback keeps its contract.
    unsafe { libc::dl_iterate_phdr(Some(visit), std::ptr::null_mut()) };
}
