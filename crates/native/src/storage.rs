//! Whether threads of the program need thread-local storage of their own.
//!
//! Code finds its thread's variables through the FS register, and writing that register is a tenth of the cost of a short execution. A program
//! without thread-local variables can only find out which storage it runs with from the C library: from `errno`, from functions that have state
//! by thread, or by reading the register itself. Where it does none of these, all threads run with the storage of the first one.
//!
//! A function that is not known to be harmless counts as a need, so a mistake here can only be in [`HARMLESS`].

use image::segments::Object;

/// Functions that behave the same with whatever storage they run. Those that set `errno` may be here: who reads it is not.
#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__assert", "__assert_fail", "__cxa_finalize", "__gmon_start__",
    "__libc_start_main", "__stack_chk_fail", "_exit", "abort", "aligned_alloc", "atoi", "atol", "calloc", "clock_gettime",
    "cnd_broadcast", "cnd_destroy", "cnd_init", "cnd_signal", "cnd_timedwait", "cnd_wait", "exit", "fflush", "fprintf", "fputc", "fputs", "free",
    "fwrite", "malloc", "memcmp", "memcpy", "memmove", "memset", "mtx_destroy", "mtx_init", "mtx_lock", "mtx_trylock", "mtx_unlock",
    "posix_memalign", "printf", "pthread_barrier_destroy", "pthread_barrier_init", "pthread_barrier_wait", "pthread_cond_broadcast",
    "pthread_cond_destroy", "pthread_cond_init", "pthread_cond_signal", "pthread_cond_timedwait", "pthread_cond_wait",
    "pthread_create", "pthread_detach", "pthread_equal", "pthread_join", "pthread_mutex_destroy", "pthread_mutex_init", "pthread_mutex_lock",
    "pthread_mutex_timedlock", "pthread_mutex_trylock", "pthread_mutex_unlock", "pthread_mutexattr_destroy", "pthread_mutexattr_init",
    "pthread_mutexattr_settype", "pthread_once", "pthread_rwlock_destroy", "pthread_rwlock_init", "pthread_rwlock_rdlock",
    "pthread_rwlock_tryrdlock", "pthread_rwlock_trywrlock", "pthread_rwlock_unlock", "pthread_rwlock_wrlock", "pthread_self",
    "pthread_spin_destroy", "pthread_spin_init", "pthread_spin_lock", "pthread_spin_trylock", "pthread_spin_unlock", "putc", "putchar", "puts",
    "rand", "realloc", "sched_yield", "sem_destroy", "sem_getvalue", "sem_init", "sem_post", "sem_trywait", "sem_wait", "sleep", "srand", "strcat",
    "strchr", "strcmp", "strcpy", "strlen", "strncmp", "strncpy", "strrchr", "thrd_create", "thrd_detach", "thrd_equal", "thrd_join",
    "thrd_yield", "time", "usleep",
];

/// How the names of functions begin that are raddle's, whoever calls them.
const OURS: [&str; 3] = ["__tsan_", "__raddle_", "__ubsan_handle_"];

/// Whether the threads of a program that consists of these objects need storage of their own.
pub(crate) fn is_needed(objects: &[Object]) -> bool {
    let [object] = objects else { return true };
    object.tls.is_some()
        || !crate::libc::imports_only(|name| {
            HARMLESS.binary_search(&name).is_ok() || OURS.iter().any(|p| name.starts_with(p))
        })
        || crate::modules::program_code().is_none_or(reads_register)
}

/// Whether machine code may use the FS register for anything but the canary of a stack, which is the same for all threads.
///
/// Where instructions begin is not known, so this looks for all bytes that can be one with the prefix of the register and an operand in memory,
/// and for the instruction that reads the register.
fn reads_register(code: &[u8]) -> bool {
    (0..code.len()).any(|at| match code[at..] {
        [0x64, ref behind @ ..] => !is_canary(behind) && may_use_memory(behind),
        // `rdfsbase`
        [0xf3, 0x0f, 0xae, mode, ..] | [0xf3, 0x40..=0x4f, 0x0f, 0xae, mode, ..] => mode & 0xf8 == 0xc0,
        _ => false,
    })
}

/// `mov`, `sub`, `xor` or `cmp` of eight bytes at offset 40.
fn is_canary(behind: &[u8]) -> bool {
    matches!(behind, [0x48..=0x4f, 0x8b | 0x2b | 0x33 | 0x3b, mode, 0x25, 40, 0, 0, 0, ..] if mode & 0xc7 == 4)
}

/// Whether an instruction begins like this that has an operand in memory, or a prefix of one whose rest is not looked at.
fn may_use_memory(instruction: &[u8]) -> bool {
    let &[opcode, ref rest @ ..] = instruction else { return false };
    let has_memory = rest.first().is_some_and(|mode| mode >> 6 != 3);
    match opcode {
        // More prefixes.
        0x40..=0x4f | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3 => may_use_memory(rest),
        // Two bytes or more of opcode, vectors, and moves from and to an address.
        0x0f | 0x62 | 0xc4 | 0xc5 | 0xa0..=0xa3 => true,
        // Arithmetic: each group of eight begins with four instructions with an operand in memory.
        0x00..=0x3f => opcode & 7 < 4 && has_memory,
        0x63 | 0x69 | 0x6b | 0x80..=0x8f | 0xc0 | 0xc1 | 0xc6 | 0xc7 | 0xd0..=0xd3 | 0xd8..=0xdf => {
            has_memory
        }
        0xf6 | 0xf7 | 0xfe | 0xff => has_memory,
        // Copies of strings.
        0xa4..=0xa7 | 0xac | 0xad => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmless_functions_are_in_order() {
        assert!(HARMLESS.is_sorted());
    }

    #[test]
    fn the_canary_of_a_stack_is_no_use_of_the_register_and_all_else_is() {
        let canary = [0x64, 0x48, 0x8b, 0x04, 0x25, 40, 0, 0, 0, 0xc3];
        let compared = [0x64, 0x48, 0x2b, 0x14, 0x25, 40, 0, 0, 0];
        let errno = [0x64, 0xc7, 0x00, 0, 0, 0, 0];
        let own = [0x90, 0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0];
        assert!(!reads_register(&canary) && !reads_register(&compared));
        assert!(reads_register(&errno) && reads_register(&own));
        let exchanged = [0xf0, 0x64, 0x48, 0x0f, 0xb1, 0x14, 0x25, 0x10, 0, 0, 0];
        let read = [0xf3, 0x48, 0x0f, 0xae, 0xc0];
        assert!(reads_register(&exchanged) && reads_register(&read));
        // `lea -0x80(%rsp), %rsp` and a call.
        assert!(!reads_register(&[0x48, 0x8d, 0x64, 0x24, 0x80]));
        assert!(!reads_register(&[0xe8, 0x64, 0xff, 0xff, 0xff]));
    }
}
