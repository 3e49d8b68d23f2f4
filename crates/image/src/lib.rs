//! What a running C or C++ process is made of in memory, and how to put it back to where it was.
//!
//! A program is executed again and again inside one process. Between two executions its globals, its heap, its
//! thread-local variables and its output must be what they were, at the same addresses. This crate has the parts:
//!
//! - [`segments`]: where the globals and the thread-local images of the user's objects are;
//! - [`snapshot`]: their contents, restored page by page as they turn dirty;
//! - [`arena`]: a heap whose addresses depend on the allocating thread alone, and which knows every block;
//! - [`donors`]: FS bases, so that each fiber has thread-local storage of its own;
//! - [`stacks`]: fiber stacks at fixed addresses;
//! - [`output`]: standard output and error, kept per execution.
//!
//! # Rules
//!
//! *One thread.* Everything is called on one OS thread, the one that runs the fibers; the donors only park. Types
//! with inner mutability are `Sync` so that they can be statics, and nothing else: calling them from two OS threads
//! at the same time is not allowed. What a signal handler may call says so.
//!
//! *Any FS base.* The code may run with the FS base of a donor, so there is no thread-local variable in it.
//!
//! *Nobody between.* The process interposes functions of the C library. So the hot paths make their system calls by
//! themselves (which also leaves `errno` alone) and copy memory with code of their own: a hook never calls another.
//!
//! Linux on x86-64 with glibc; on anything else the crate is empty.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

pub mod arena;
mod bytes;
pub mod donors;
mod error;
pub mod output;
pub mod segments;
pub mod snapshot;
pub mod stacks;
mod sys;

pub use error::Error;

/// The size of a page on x86-64.
pub const PAGE: usize = 4096;

const fn page_down(address: usize) -> usize {
    address & !(PAGE - 1)
}

const fn page_up(address: usize) -> usize {
    page_down(address + PAGE - 1)
}
