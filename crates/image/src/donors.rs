//! FS bases for fibers.
//!
//! On x86-64 the thread-local variables of a thread, its `errno`, its stack canary and what the C library knows of it
//! are found through the FS register. A fiber that is to be a thread of its own needs one of its own, and only the C
//! library can make one. So real threads are created once, by the C library; they say where their FS base points, and
//! park for ever. A fiber then runs with the FS base of its *donor* ([`switch_to`]).
//!
//! Donors have small stacks at fixed addresses, with their thread-local block at the top, so that thread-local
//! variables are at the same address in each process. They block the program's signals, are detached, and have
//! nothing to do, so that they keep no process from ending. After a fork the threads are gone and their memory is
//! not, which is all that is used.
//!
//! **Invariant:** [`Donors::reset_tls`] makes the thread-local variables of the user's objects what a new thread
//! starts with, and [`Donors::reset_main_tls`] what the main thread had when the donors were made. Of the C library's
//! own, `errno` and the exceptions in flight are reset, and nothing else (the locale of a thread is not, for one).
//!
//! # Care in callers
//!
//! The compiler may keep the address of a thread-local variable over a call of [`switch_to`]. A function that calls it
//! must not use thread-local variables, nor call inlined functions that do.

use crate::segments::TlsImage;
use crate::{Error, PAGE, bytes, page_up, segments, sys};
use libc::{c_int, c_void, pthread_attr_t, pthread_t};
use std::arch::asm;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The most donors there can be.
pub const MAX_DONORS: usize = 128;

const BASE: usize = 0x2c00_0000_0000;
const SLOT: usize = 1 << 30;
/// What parking needs, and the C library to start and describe a thread.
const STACK: usize = 64 << 10;
/// Two words: the exceptions being handled, and how many are in flight.
const EXCEPTIONS: usize = 16;

/// Where the FS register of a thread points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FsBase(usize);

impl FsBase {
    /// The address.
    pub fn address(self) -> usize {
        self.0
    }
}

/// The C library's own functions, whatever the process interposes.
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "they are what their types say")]
pub struct RealPthread {
    pub create: unsafe extern "C" fn(
        *mut pthread_t,
        *const pthread_attr_t,
        extern "C" fn(*mut c_void) -> *mut c_void,
        *mut c_void,
    ) -> c_int,
    pub attr_init: unsafe extern "C" fn(*mut pthread_attr_t) -> c_int,
    pub attr_setstack: unsafe extern "C" fn(*mut pthread_attr_t, *mut c_void, usize) -> c_int,
    pub attr_setdetachstate: unsafe extern "C" fn(*mut pthread_attr_t, c_int) -> c_int,
    pub attr_destroy: unsafe extern "C" fn(*mut pthread_attr_t) -> c_int,
}

impl RealPthread {
    /// Those that come after the object with this code in the order of symbol search: where that object interposes
    /// them, the C library's.
    pub fn next() -> Result<Self, Error> {
        fn find(name: &CStr) -> Result<*mut c_void, Error> {
            // SAFETY: the name ends with a zero.
            let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
            if found.is_null() {
                let name = name.to_string_lossy();
                return Err(Error::new(format!("the C library has no {name}"), libc::ENOSYS));
            }
            Ok(found)
        }
        // SAFETY: POSIX says that these names have these types.
        unsafe {
            use std::mem::transmute;
            Ok(Self {
                create: transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(
                        *mut pthread_t,
                        *const pthread_attr_t,
                        extern "C" fn(*mut c_void) -> *mut c_void,
                        *mut c_void,
                    ) -> c_int,
                >(find(c"pthread_create")?),
                attr_init: transmute::<*mut c_void, unsafe extern "C" fn(*mut pthread_attr_t) -> c_int>(
                    find(c"pthread_attr_init")?,
                ),
                attr_setstack: transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*mut pthread_attr_t, *mut c_void, usize) -> c_int,
                >(find(c"pthread_attr_setstack")?),
                attr_setdetachstate: transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*mut pthread_attr_t, c_int) -> c_int,
                >(find(c"pthread_attr_setdetachstate")?),
                attr_destroy: transmute::<*mut c_void, unsafe extern "C" fn(*mut pthread_attr_t) -> c_int>(
                    find(c"pthread_attr_destroy")?,
                ),
            })
        }
    }
}

/// What a thread says of itself.
#[derive(Clone)]
struct Donor {
    fs: FsBase,
    /// Where the variables of each image are in this thread.
    blocks: Vec<*mut u8>,
    /// The C++ library's record of exceptions; null without that library.
    exceptions: *mut u8,
    errno: *mut c_int,
}

type GetGlobals = unsafe extern "C" fn() -> *mut u8;

/// What goes to a donor when it starts, and comes back.
struct Start {
    images: *const [TlsImage],
    get_globals: Option<GetGlobals>,
    donor: Donor,
    ready: AtomicU32,
}

/// The donors, and what the main thread had.
pub struct Donors {
    real: RealPthread,
    get_globals: Option<GetGlobals>,
    images: Vec<TlsImage>,
    donors: Vec<Donor>,
    main: Donor,
    /// The main thread's variables as they were, image by image.
    main_contents: Vec<Vec<u8>>,
}

// SAFETY: used on one OS thread only (see the crate's rules); `Sync` so that it can be a static.
unsafe impl Sync for Donors {}
// SAFETY: as above.
unsafe impl Send for Donors {}

static HAS_WRFSBASE: AtomicBool = AtomicBool::new(false);

#[repr(C)]
struct TlsIndex {
    module: usize,
    offset: usize,
}

unsafe extern "C" {
    fn __tls_get_addr(index: *const TlsIndex) -> *mut u8;
    fn __errno_location() -> *mut c_int;
}

/// The FS base that this code runs with.
#[inline(always)]
pub fn current() -> FsBase {
    let base: usize;
    // SAFETY: the ABI puts the FS base at offset 0 of what it points to. Not `pure`: it changes with `switch_to`.
    unsafe { asm!("mov {}, fs:[0]", out(reg) base, options(nostack, preserves_flags, readonly)) };
    FsBase(base)
}

/// Goes on with the FS base of another thread.
///
/// # Safety
///
/// No other thread may run with it, and the caller is ready for every thread-local variable to be another one.
#[inline(always)]
pub unsafe fn switch_to(fs: FsBase) {
    if HAS_WRFSBASE.load(Ordering::Relaxed) {
        // SAFETY: the kernel said that the instruction may be used. An `FsBase` is only made from a thread of this
        // process.
        unsafe { asm!("wrfsbase {}", in(reg) fs.0, options(nostack, preserves_flags)) };
    } else {
        // SAFETY: an `FsBase` is only made from a thread of this process.
        unsafe { sys::set_fs(fs.0) };
    }
}

impl Donors {
    /// Makes `count` donors, once in a process. Must be called on the main thread, after the start-up of the program,
    /// with the images of all objects that are to be reset. Creating threads allocates: the C library calls `malloc`
    /// and `calloc` for it.
    ///
    /// # Safety
    ///
    /// The functions must be what their names say, and the images must be those of loaded objects.
    pub unsafe fn new(real: RealPthread, count: usize, images: &[TlsImage]) -> Result<Self, Error> {
        const HWCAP2_FSGSBASE: u64 = 2;
        // SAFETY: it only reads what the kernel passed to the process.
        let capabilities = unsafe { libc::getauxval(libc::AT_HWCAP2) };
        HAS_WRFSBASE.store(capabilities & HWCAP2_FSGSBASE != 0, Ordering::Relaxed);
        // SAFETY: the name ends with a zero.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_get_globals".as_ptr()) };
        // SAFETY: the C++ ABI says that this name has this type.
        let get_globals = unsafe { std::mem::transmute::<*mut c_void, Option<GetGlobals>>(found) };
        let mut main = Donor::empty(images);
        // SAFETY: the images are of loaded objects.
        unsafe { main.describe_this_thread(images, get_globals) };
        let (images, donors, main_contents) = (images.to_vec(), Vec::with_capacity(count), Vec::new());
        let mut made = Self { real, get_globals, images, donors, main, main_contents };
        made.remember_main();
        // SAFETY: passed on.
        unsafe { made.make_more(count) }?;
        Ok(made)
    }

    /// Makes donors until there are `count`. A donor takes tens of microseconds, so those that only some programs need are
    /// made when they are needed.
    ///
    /// # Safety
    ///
    /// As for [`Donors::new`]. The FS base is that of a thread of this process.
    pub unsafe fn make_more(&mut self, count: usize) -> Result<(), Error> {
        if count > MAX_DONORS {
            return Err(Error::new(
                format!("there are at most {MAX_DONORS} donors, not {count}"),
                libc::EINVAL,
            ));
        }
        for index in self.donors.len()..count {
            // SAFETY: by the contract.
            self.donors.push(unsafe { make(&self.real, index, &self.images, self.get_globals) }?);
        }
        Ok(())
    }

    /// Takes the main thread's variables as they are now for those that [`reset_main_tls`](Self::reset_main_tls)
    /// restores.
    pub fn remember_main(&mut self) {
        let contents = self.images.iter().zip(&self.main.blocks).map(|(image, &block)| {
            let mut bytes = vec![0; image.size];
            // SAFETY: the block has this size in every thread.
            unsafe { bytes::copy(bytes.as_mut_ptr(), block, image.size) };
            bytes
        });
        self.main_contents = contents.collect();
    }

    /// The FS base of a donor.
    ///
    /// # Panics
    ///
    /// If there is no such donor.
    #[inline]
    pub fn get(&self, index: usize) -> FsBase {
        self.donors[index].fs
    }

    /// The FS base of the main thread.
    #[inline]
    pub fn main(&self) -> FsBase {
        self.main.fs
    }

    /// How many donors there are.
    pub fn count(&self) -> usize {
        self.donors.len()
    }

    /// The thread-local variables of the user's objects in a donor, as start and length: roots for the search of leaks.
    pub fn tls_ranges(&self, index: usize) -> impl Iterator<Item = (usize, usize)> {
        self.ranges(&self.donors[index])
    }

    /// The thread-local variables of the user's objects in the main thread.
    pub fn main_tls_ranges(&self) -> impl Iterator<Item = (usize, usize)> {
        self.ranges(&self.main)
    }

    fn ranges(&self, donor: &Donor) -> impl Iterator<Item = (usize, usize)> {
        donor.blocks.iter().zip(&self.images).map(|(&block, image)| (block as usize, image.size))
    }

    /// Gives a donor the thread-local variables of a new thread.
    ///
    /// # Safety
    ///
    /// Nothing may hold a reference to one of them.
    #[inline]
    pub unsafe fn reset_tls(&self, index: usize) {
        let donor = &self.donors[index];
        for (image, &block) in self.images.iter().zip(&donor.blocks) {
            // SAFETY: the block has the size of the image, and an image the size of its initial values.
            unsafe {
                bytes::copy(block, image.address as *const u8, image.initialised);
                bytes::fill(block.add(image.initialised), 0, image.size - image.initialised);
            }
        }
        // SAFETY: it is a record of a thread that exists.
        unsafe { donor.forget_errors() };
    }

    /// Gives the main thread the thread-local variables that it had.
    ///
    /// # Safety
    ///
    /// Nothing may hold a reference to one of them.
    #[inline]
    pub unsafe fn reset_main_tls(&self) {
        for (contents, &block) in self.main_contents.iter().zip(&self.main.blocks) {
            // SAFETY: the contents were copied from there.
            unsafe { bytes::copy(block, contents.as_ptr(), contents.len()) };
        }
        // SAFETY: it is a record of a thread that exists.
        unsafe { self.main.forget_errors() };
    }
}

impl Donor {
    /// # Safety
    ///
    /// The memory of the thread must still be there.
    #[inline]
    unsafe fn forget_errors(&self) {
        // SAFETY: both addresses come from the libraries that own the variables.
        unsafe {
            if !self.exceptions.is_null() {
                bytes::fill(self.exceptions, 0, EXCEPTIONS);
            }
            self.errno.write(0);
        }
    }
}

impl Donor {
    /// Room for the description of a thread. The thread itself must not allocate: the C library would set up a heap
    /// for it.
    fn empty(images: &[TlsImage]) -> Self {
        use std::ptr::null_mut;
        let blocks = Vec::with_capacity(images.len());
        Self { fs: FsBase(0), blocks, exceptions: null_mut(), errno: null_mut() }
    }

    /// Writes down what there is to know of the thread that this runs on.
    ///
    /// # Safety
    ///
    /// The images must be those of loaded objects, the same as in [`Donor::empty`].
    unsafe fn describe_this_thread(&mut self, images: &[TlsImage], get_globals: Option<GetGlobals>) {
        self.fs = current();
        for image in images {
            let index = TlsIndex { module: image.module, offset: 0 };
            // SAFETY: the module is loaded. It makes the block if this thread has none yet.
            self.blocks.push(unsafe { __tls_get_addr(&index) });
        }
        if let Some(get) = get_globals {
            // SAFETY: it is the C++ library's function, and takes nothing.
            self.exceptions = unsafe { get() };
        }
        // SAFETY: it returns an address of this thread.
        self.errno = unsafe { __errno_location() };
    }
}

/// # Safety
///
/// As for [`Donors::new`].
unsafe fn make(
    real: &RealPthread,
    index: usize,
    images: &[TlsImage],
    get_globals: Option<GetGlobals>,
) -> Result<Donor, Error> {
    let what =
        |what: &str, code: i32| Error::new(format!("cannot make a thread for its FS base ({what})"), code);
    let size = STACK + page_up(2 * segments::all_tls_bytes());
    if size > SLOT - 2 * PAGE {
        return Err(what("the program has too many thread-local variables", libc::ENOMEM));
    }
    let guard = BASE + (index + 1) * SLOT - PAGE - size;
    sys::map(guard - PAGE, size + PAGE, libc::PROT_NONE).map_err(|error| what("stack", error.0))?;
    // SAFETY: the pages were mapped just now, and nobody knows of them.
    unsafe { sys::protect(guard, size, libc::PROT_READ | libc::PROT_WRITE) }
        .map_err(|error| what("stack", error.0))?;
    let mut start = Start { images, get_globals, donor: Donor::empty(images), ready: AtomicU32::new(0) };
    // SAFETY: an attribute object is plain data, which `attr_init` sets.
    let mut attributes: pthread_attr_t = unsafe { std::mem::zeroed() };
    // SAFETY: the attributes are initialised, the stack is the new thread's alone, and `start` outlives what the
    // thread does with it: we wait for that.
    let code = unsafe {
        let mut thread: pthread_t = 0;
        let mut code = (real.attr_init)(&raw mut attributes);
        if code == 0 {
            code = (real.attr_setstack)(&raw mut attributes, guard as *mut c_void, size);
        }
        if code == 0 {
            code = (real.attr_setdetachstate)(&raw mut attributes, libc::PTHREAD_CREATE_DETACHED);
        }
        if code == 0 {
            // A thread starts with the mask of its maker. The one signal by which the C library lets all threads change
            // their user must get through, or `setuid` waits for ever.
            const SIGSETXID: u32 = 33;
            let mask = sys::set_signal_mask(!(1 << (SIGSETXID - 1)));
            code = (real.create)(&raw mut thread, &raw const attributes, donate, (&raw mut start).cast());
            sys::set_signal_mask(mask);
        }
        (real.attr_destroy)(&raw mut attributes);
        code
    };
    if code != 0 {
        return Err(what("pthread_create", code));
    }
    while start.ready.load(Ordering::Acquire) == 0 {
        sys::wait_while(&start.ready, 0);
    }
    Ok(start.donor)
}

extern "C" fn donate(start: *mut c_void) -> *mut c_void {
    static NEVER: AtomicU32 = AtomicU32::new(0);
    let start = start.cast::<Start>();
    // SAFETY: the maker waits for `ready` and keeps everything alive until then. It may go on, and end the life of
    // `ready`, as soon as that is set: waking it up only uses the address, as a name.
    unsafe {
        let donor = &mut (*start).donor;
        donor.describe_this_thread(&*(*start).images, (*start).get_globals);
        let ready = &raw const (*start).ready;
        (*ready).store(1, Ordering::Release);
        sys::wake_all(&*ready);
    }
    loop {
        sys::wait_while(&NEVER, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_there_and_back_works_with_the_instruction_and_with_the_system_call() {
        // SAFETY: the functions are the C library's.
        let donors = unsafe { Donors::new(RealPthread::next().unwrap(), 2, &[]) }.unwrap();
        let here = current();
        assert_eq!((donors.count(), donors.main()), (2, here));
        let can = HAS_WRFSBASE.load(Ordering::Relaxed);
        for instruction in [false, can] {
            HAS_WRFSBASE.store(instruction, Ordering::Relaxed);
            // SAFETY: donors only park, and nothing in between is thread-local.
            let there = unsafe {
                switch_to(donors.get(1));
                let there = current();
                switch_to(here);
                there
            };
            assert_eq!((there, current()), (donors.get(1), here));
        }
        assert_ne!(donors.get(0), donors.get(1));
        // SAFETY: as above.
        let again = unsafe { Donors::new(RealPthread::next().unwrap(), 1, &[]) };
        assert_eq!(again.err().map(|error| error.code()), Some(libc::EEXIST), "their place is fixed");
    }
}
