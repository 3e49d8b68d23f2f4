//! `syscall`: system calls that the program makes without the C library's functions for them.
//!
//! A call for which the C library has a function with the same arguments and result goes to that function, with its hooks. Calls about
//! threads, processes and signals are refused. `futex` and `getrandom` are in `futex.rs`. Any other call is a caveat: what it does is
//! not known.

use crate::modules::{self, Owner};
use crate::shim::{Call, OWN};
use explore::CaveatKind;
use libc::c_long;

macro_rules! calls {
    ($list:ident: $($number:ident $name:literal,)*) => {
        static $list: &[(c_long, &str)] = &[$((libc::$number, $name)),*];
    };
}

calls! { ROUTED:
    SYS_read "read", SYS_write "write", SYS_open "open", SYS_close "close", SYS_stat "stat", SYS_fstat "fstat",
    SYS_lstat "lstat", SYS_poll "poll", SYS_lseek "lseek", SYS_mmap "mmap", SYS_mprotect "mprotect",
    SYS_munmap "munmap", SYS_pread64 "pread64", SYS_pwrite64 "pwrite64", SYS_readv "readv", SYS_writev "writev",
    SYS_access "access", SYS_pipe "pipe", SYS_select "select", SYS_sched_yield "sched_yield", SYS_mremap "mremap",
    SYS_msync "msync", SYS_madvise "madvise", SYS_dup "dup", SYS_dup2 "dup2", SYS_pause "pause",
    SYS_nanosleep "nanosleep", SYS_getitimer "getitimer", SYS_alarm "alarm", SYS_setitimer "setitimer",
    SYS_getpid "getpid", SYS_sendfile "sendfile", SYS_socket "socket", SYS_connect "connect", SYS_accept "accept",
    SYS_sendto "sendto", SYS_recvfrom "recvfrom", SYS_sendmsg "sendmsg", SYS_recvmsg "recvmsg",
    SYS_shutdown "shutdown", SYS_bind "bind", SYS_listen "listen", SYS_socketpair "socketpair",
    SYS_exit_group "_exit", SYS_kill "kill", SYS_uname "uname", SYS_fcntl "fcntl", SYS_ioctl "ioctl",
    SYS_flock "flock", SYS_fsync "fsync", SYS_fdatasync "fdatasync", SYS_truncate "truncate",
    SYS_ftruncate "ftruncate", SYS_chdir "chdir", SYS_fchdir "fchdir", SYS_rename "rename", SYS_mkdir "mkdir",
    SYS_rmdir "rmdir", SYS_creat "creat", SYS_link "link", SYS_unlink "unlink", SYS_symlink "symlink",
    SYS_readlink "readlink", SYS_chmod "chmod", SYS_fchmod "fchmod", SYS_chown "chown", SYS_fchown "fchown",
    SYS_lchown "lchown", SYS_umask "umask", SYS_gettimeofday "gettimeofday", SYS_getrlimit "getrlimit",
    SYS_setrlimit "setrlimit", SYS_getrusage "getrusage", SYS_sysinfo "sysinfo", SYS_times "times",
    SYS_getuid "getuid", SYS_geteuid "geteuid", SYS_getgid "getgid", SYS_getegid "getegid", SYS_getppid "getppid",
    SYS_getpgrp "getpgrp", SYS_setsid "setsid", SYS_setuid "setuid", SYS_setgid "setgid", SYS_gettid "gettid",
    SYS_time "time", SYS_epoll_create "epoll_create", SYS_epoll_create1 "epoll_create1", SYS_epoll_ctl "epoll_ctl",
    SYS_epoll_wait "epoll_wait", SYS_openat "openat", SYS_mkdirat "mkdirat", SYS_unlinkat "unlinkat",
    SYS_newfstatat "fstatat", SYS_renameat "renameat", SYS_renameat2 "renameat2", SYS_linkat "linkat",
    SYS_symlinkat "symlinkat", SYS_readlinkat "readlinkat", SYS_fchmodat "fchmodat", SYS_utimensat "utimensat",
    SYS_timerfd_create "timerfd_create", SYS_timerfd_settime "timerfd_settime",
    SYS_timerfd_gettime "timerfd_gettime", SYS_eventfd2 "eventfd", SYS_accept4 "accept4", SYS_dup3 "dup3",
    SYS_pipe2 "pipe2", SYS_inotify_init1 "inotify_init1", SYS_prlimit64 "prlimit64",
    SYS_memfd_create "memfd_create", SYS_statx "statx", SYS_clock_gettime "clock_gettime",
    SYS_clock_getres "clock_getres", SYS_fallocate "fallocate", SYS_copy_file_range "copy_file_range",
    SYS_mlock "mlock", SYS_munlock "munlock", SYS_prctl "prctl", SYS_getpriority "getpriority",
    SYS_setpriority "setpriority",
}

// These neither touch memory of the program nor are observed by another thread.
calls! { HARMLESS:
    SYS_membarrier "membarrier", SYS_getcpu "getcpu", SYS_sched_get_priority_max "sched_get_priority_max",
    SYS_sched_get_priority_min "sched_get_priority_min", SYS_sync "sync", SYS_syncfs "syncfs",
    SYS_getrandom "getrandom", SYS_futex "futex",
}

calls! { REFUSED:
    SYS_clone "clone", SYS_clone3 "clone3", SYS_fork "fork", SYS_vfork "vfork", SYS_execve "execve",
    SYS_execveat "execveat", SYS_exit "exit", SYS_tkill "tkill", SYS_tgkill "tgkill", SYS_ptrace "ptrace",
    SYS_rt_sigaction "rt_sigaction", SYS_rt_sigprocmask "rt_sigprocmask", SYS_rt_sigsuspend "rt_sigsuspend",
    SYS_rt_sigtimedwait "rt_sigtimedwait", SYS_rt_sigqueueinfo "rt_sigqueueinfo",
    SYS_rt_tgsigqueueinfo "rt_tgsigqueueinfo", SYS_signalfd "signalfd", SYS_signalfd4 "signalfd4",
    SYS_timer_create "timer_create", SYS_io_uring_setup "io_uring_setup", SYS_unshare "unshare",
    SYS_setns "setns", SYS_seccomp "seccomp", SYS_userfaultfd "userfaultfd", SYS_wait4 "wait4",
    SYS_waitid "waitid", SYS_brk "brk", SYS_shmat "shmat", SYS_clock_settime "clock_settime",
    SYS_settimeofday "settimeofday", SYS_pidfd_open "pidfd_open", SYS_pidfd_send_signal "pidfd_send_signal",
    SYS_set_tid_address "set_tid_address", SYS_arch_prctl "arch_prctl",
}

/// Functions whose result is a `long`, or that do not return; those of others is an `int`.
static WIDE: &[&str] = &[
    "read",
    "write",
    "lseek",
    "mmap",
    "mremap",
    "pread64",
    "pwrite64",
    "readv",
    "writev",
    "sendfile",
    "sendto",
    "recvfrom",
    "sendmsg",
    "recvmsg",
    "_exit",
    "readlink",
    "readlinkat",
    "times",
    "time",
    "copy_file_range",
];

/// In a target: its result is wide.
const IS_WIDE: usize = 1 << 63;

/// By the number of a call: the function it goes to, or 0.
static mut TARGETS: [usize; 512] = [0; 512];

/// Finds the functions that calls go to. `lead` says where a call of a function of this name goes.
pub(crate) fn install(mut lead: impl FnMut(&str) -> Option<usize>) {
    if !place_widening() {
        return;
    }
    for (number, name) in ROUTED {
        if let Some(target) = lead(name) {
            // SAFETY: nothing else runs yet.
            unsafe { TARGETS[*number as usize] = target | if WIDE.contains(name) { IS_WIDE } else { 0 } };
        }
    }
}

fn name_in(list: &[(c_long, &'static str)], number: c_long) -> Option<&'static str> {
    list.iter().find(|(n, _)| *n == number).map(|(_, name)| *name)
}

/// Where a call goes that has come in from `site`; 0 if it is made as it is.
extern "C" fn route(number: c_long, site: usize) -> usize {
    if !runtime::in_execution() || modules::owner(site) != Some(Owner::Program) {
        return 0;
    }
    // SAFETY: set before the first execution.
    let targets = unsafe { &*(&raw const TARGETS) };
    let target = usize::try_from(number).ok().and_then(|n| targets.get(n).copied()).unwrap_or(0);
    // The call is shown where it was made.
    let call = || crate::shim::call_from(site, 0, 0, runtime::LocalState::UNKNOWN);
    if target != 0 {
        return target;
    }
    if let Some(name) = name_in(REFUSED, number) {
        let why = "it would be done behind the C library, where it is not under control";
        crate::process::unsupported_at(&format!("syscall(SYS_{name})"), why, call());
    }
    if name_in(HARMLESS, number).is_none() {
        let Call { place, .. } = call();
        let text = format!("the system call {number} is made by `syscall`, and what it does is not known");
        runtime::caveat_at(CaveatKind::Library, text, place);
    }
    0
}

/// The function that programs call.
///
/// # Safety
///
/// Called as the C library's function of this name.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn syscall() {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "mov r11, [rsp]",
        "sub r11, [rip + {own}]",
        "cmp r11, [rip + {own} + 8]",
        "jb 2f",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 56",
        "mov rsi, [rsp + 56]",
        "call {route}",
        "add rsp, 8",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        ".cfi_adjust_cfa_offset -56",
        "test rax, rax",
        "jz 2f",
        // The arguments move up by one.
        "mov r11, rax",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov rcx, r8",
        "mov r8, r9",
        "mov r9, [rsp + 8]",
        "btr r11, 63",
        "jnc 3f",
        // The function returns to the program.
        "xor eax, eax",
        "jmp r11",
        "3:",
        "push rbp",
        "mov rbp, rsp",
        "push qword ptr [rip + {widen}]",
        "xor eax, eax",
        "jmp r11",
        "2:",
        "jmp {other}",
        ".cfi_endproc",
        own = sym OWN,
        route = sym route,
        other = sym crate::futex::raddle_system_call,
        widen = sym WIDEN,
    )
}

/// Where functions with a result of type `int` return to: the program gets a `long`. The code lies outside of this library, so that
/// the functions take the call for one of the program (see `shim::export_past`).
static mut WIDEN: usize = 0;

/// Writes that code. Says whether there is room for it.
fn place_widening() -> bool {
    /// `cdqe; pop rbp; ret`.
    const CODE: [u8; 4] = [0x48, 0x98, 0x5D, 0xC3];
    // SAFETY: a new mapping is ours alone; nothing else runs yet.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let page =
            libc::mmap(std::ptr::null_mut(), image::PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if page == libc::MAP_FAILED {
            return false;
        }
        page.cast::<[u8; 4]>().write(CODE);
        libc::mprotect(page, image::PAGE, libc::PROT_READ | libc::PROT_EXEC);
        WIDEN = page as usize;
    }
    true
}

/// The place in the program that a call comes from which has this return address and this frame pointer.
#[inline]
pub(crate) fn caller_of(site: usize, frame: usize) -> (usize, usize) {
    // SAFETY: set before the first execution; `syscall` has made the frame of a call that returns there.
    unsafe {
        if site != WIDEN || site == 0 {
            return (site, frame);
        }
        (*(frame as *const usize).add(1), *(frame as *const usize))
    }
}
