//! Standard output and error of the program, kept for each execution.
//!
//! Descriptors 1 and 2 become files in memory, one each, to which every write appends. The real ones stay available
//! under other numbers.
//!
//! Most executions write nothing, and that must cost no system call. So each file starts with `PREFIX` bytes that are
//! not output, of which a page is mapped: the first bytes of output appear in the mapping right behind them. What is
//! still in the buffer of `stdout` is seen there. (Output that begins with `LOOK` zero bytes and passes by the C
//! library's buffer is only seen if [`Capture::note_write`] tells.)
//!
//! A program that opens `/dev/stdout` anew truncates the file, and with it the mapping; the handler of `SIGBUS` must
//! therefore call [`Capture::on_fault`].
//!
//! **Invariant:** after [`Capture::clear`] there is no output, neither in the files nor in the buffers of `stdout` and
//! `stderr`, and nobody holds the locks of the two.

use crate::{Error, PAGE, bytes, sys};
use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;

/// So many bytes of each file are not output.
const PREFIX: usize = 2048;
/// So many of the first bytes of output are looked at.
const LOOK: usize = 64;
/// The real descriptors get numbers from here on, out of the way of the program's.
const HIGH: i32 = 900;

#[repr(C)]
struct File {
    /// Flags, the three pointers of reading.
    head: [usize; 4],
    write_base: *const u8,
    write_pointer: *const u8,
    middle: [usize; 11],
    lock: *mut Lock,
    tail: [usize; 6],
    mode: i32,
}

#[repr(C)]
struct Lock {
    lock: i32,
    count: i32,
    owner: *mut c_void,
}

// The layout is part of the ABI of the C library: `putc_unlocked` of old programs has it compiled in.
const _: () = assert!(std::mem::offset_of!(File, write_base) == 32);
const _: () = assert!(std::mem::offset_of!(File, lock) == 136);
const _: () = assert!(std::mem::offset_of!(File, mode) == 192);

unsafe extern "C" {
    static stdout: *mut File;
    static stderr: *mut File;
    fn __fpending(file: *mut File) -> usize;
    fn __fpurge(file: *mut File);
    fn fflush_unlocked(file: *mut File) -> i32;
}

/// One of the two descriptors.
struct Stream {
    /// The file in memory.
    file: i32,
    /// What the descriptor was.
    real: i32,
    /// The mapped first page of the file.
    page: *const u8,
}

/// Both, as they are captured.
pub struct Capture {
    streams: [Stream; 2],
    /// What `stdout` and `stderr` were: the two variables are the program's, which may do anything to them.
    files: [*mut File; 2],
    noted: Cell<bool>,
}

// SAFETY: used on one OS thread only (see the crate's rules); `Sync` so that it can be a static.
unsafe impl Sync for Capture {}
// SAFETY: as above.
unsafe impl Send for Capture {}

impl Capture {
    /// Redirects descriptors 1 and 2. What is in the buffer of `stdout` by then goes out first.
    pub fn start() -> Result<Self, Error> {
        // SAFETY: the program has not run yet.
        let files = unsafe { [stdout, stderr] };
        // SAFETY: on one thread; the file is the C library's.
        unsafe { fflush_unlocked(files[0]) };
        let streams = [Stream::redirect(1, c"stdout")?, Stream::redirect(2, c"stderr")?];
        Ok(Self { streams, files, noted: Cell::new(false) })
    }

    /// The real standard output.
    pub fn real_stdout(&self) -> i32 {
        self.streams[0].real
    }

    /// The real standard error.
    pub fn real_stderr(&self) -> i32 {
        self.streams[1].real
    }

    /// Says that something was written. Only needed for what the files do not show by themselves.
    #[inline]
    pub fn note_write(&self) {
        self.noted.set(true);
    }

    /// Whether there is any output since the last [`clear`](Self::clear). Makes no system call.
    #[inline]
    pub fn written(&self) -> bool {
        self.noted.get() || self.streams.iter().any(Stream::shows_output) || self.is_pending()
    }

    fn is_pending(&self) -> bool {
        // SAFETY: on one thread; both files are the C library's.
        self.files.iter().any(|&file| unsafe { __fpending(file) } != 0)
    }

    /// Throws the output away. To be called between executions: no thread of the program is inside of the C library
    /// then, or ever comes back there, so that a lock that is held was left behind.
    #[inline]
    pub fn clear(&self) {
        for file in self.files {
            // SAFETY: on one thread, and nobody comes back to these files.
            unsafe { unlock(file) };
        }
        if self.written() {
            self.clear_written();
        }
    }

    #[cold]
    fn clear_written(&self) {
        for file in self.files {
            // SAFETY: as in `clear`.
            unsafe { __fpurge(file) };
        }
        // What never left the buffer of `stdout`, as with most programs that print a little, needs no system call.
        let noted = self.noted.replace(false);
        for stream in self.streams.iter().filter(|stream| noted || stream.shows_output()) {
            stream.empty();
        }
    }

    /// The output since the last [`clear`](Self::clear), of descriptor 1 and of 2. It is cleared.
    pub fn take(&self) -> (Vec<u8>, Vec<u8>) {
        let mut taken = self.streams.each_ref().map(Stream::contents);
        // SAFETY: on one thread; the files are the C library's.
        unsafe {
            for ((&file, stream), bytes) in self.files.iter().zip(&self.streams).zip(&mut taken) {
                if is_wide(file) {
                    fflush_unlocked(file);
                    *bytes = stream.contents();
                } else {
                    let (start, len) = pending(file);
                    let old = bytes.len();
                    bytes.resize(old + len, 0);
                    bytes::copy(bytes.as_mut_ptr().add(old), start, len);
                }
            }
        }
        self.clear();
        let [out, err] = taken;
        (out, err)
    }

    /// Writes all output to the real descriptors and leaves it where it is. May be called in a signal handler, for a
    /// process that is about to die.
    pub fn dump(&self) {
        for (stream, file) in self.streams.iter().zip(self.files) {
            // Not set to zero, which would be a call of `memset`.
            let mut buffer = [MaybeUninit::uninit(); 1024];
            let mut offset = stream.first_byte();
            while let Ok(bytes @ [_, ..]) = sys::read_at(stream.file, &mut buffer, offset) {
                // SAFETY: the bytes are borrowed.
                unsafe { write_all(stream.real, bytes.as_ptr(), bytes.len()) };
                offset += bytes.len();
            }
            // SAFETY: the file is the C library's. If its pointers are broken the kernel says so, and there is no
            // fault.
            unsafe {
                if !is_wide(file) {
                    let (start, len) = pending(file);
                    write_all(stream.real, start, len);
                }
            }
        }
    }

    /// For the handler of `SIGBUS`: whether the fault was ours, because the program truncated its output. The access
    /// is then to be tried again.
    pub fn on_fault(&self, address: usize) -> bool {
        let Some(stream) = self.streams.iter().find(|s| address.wrapping_sub(s.page as usize) < PAGE) else {
            return false;
        };
        self.noted.set(true);
        sys::set_size(stream.file, PREFIX).is_ok()
    }

    /// Makes descriptors 1 and 2 the real ones again.
    pub fn stop(self) {
        for (stream, fd) in self.streams.iter().zip([1, 2]) {
            // The real descriptor is open, so this cannot fail.
            let _ = sys::duplicate_to(stream.real, fd);
            sys::close(stream.real);
            sys::close(stream.file);
            sys::unmap(stream.page as usize, PAGE);
        }
    }
}

impl Stream {
    fn redirect(fd: i32, name: &CStr) -> Result<Self, Error> {
        let failed =
            |error: sys::Errno| Error::new(format!("cannot capture {}", name.to_string_lossy()), error.0);
        let high =
            |from: i32| sys::duplicate(from, HIGH).or_else(|_| sys::duplicate(from, 3)).map_err(failed);
        let real = high(fd)?;
        let low = sys::memory_file(name).map_err(failed)?;
        let file = high(low)?;
        sys::close(low);
        sys::set_size(file, PREFIX).map_err(failed)?;
        sys::append_always(file).map_err(failed)?;
        let page = sys::map_file(file, PAGE).map_err(failed)? as *const u8;
        sys::duplicate_to(file, fd).map_err(failed)?;
        Ok(Self { file, real, page })
    }

    #[inline]
    fn shows_output(&self) -> bool {
        const WORDS: usize = LOOK / 8;
        // SAFETY: the page is mapped and aligned, and the file has at least the prefix (see `on_fault`); behind its end
        // the page reads as zero. Volatile, since the kernel writes it.
        unsafe {
            let words = self.page.add(PREFIX).cast::<u64>();
            let output = (0..WORDS).fold(0, |all, index| all | words.add(index).read_volatile());
            // The prefix is zero, unless the program truncated the file and began anew.
            output | self.page.cast::<u64>().read_volatile() != 0
        }
    }

    fn empty(&self) {
        // A file in memory can always be truncated. First to nothing, for a prefix that the program wrote to.
        if self.first_byte() == 0 {
            let _ = sys::set_size(self.file, 0);
        }
        let _ = sys::set_size(self.file, PREFIX);
    }

    /// Where the output starts in the file: behind the prefix, unless the program truncated the file and wrote there.
    fn first_byte(&self) -> usize {
        let mut prefix = [MaybeUninit::uninit(); PREFIX];
        match sys::read_at(self.file, &mut prefix, 0) {
            Ok(prefix) if prefix.len() == PREFIX && prefix.iter().all(|&byte| byte == 0) => PREFIX,
            _ => 0,
        }
    }

    fn contents(&self) -> Vec<u8> {
        let mut contents = Vec::new();
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let first = self.first_byte();
        while let Ok(bytes @ [_, ..]) = sys::read_at(self.file, &mut buffer, first + contents.len()) {
            contents.extend_from_slice(bytes);
        }
        if first == 0 {
            // What we put there when it had become too short.
            let end = contents.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            contents.truncate(end);
        }
        contents
    }
}

/// # Safety
///
/// As for a `write` of these bytes; what cannot be read is not written.
unsafe fn write_all(fd: i32, mut data: *const u8, mut len: usize) {
    // A pipe that nobody reads must not keep a dying process alive.
    let mut patience = 1_000_000;
    while len > 0 && patience > 0 {
        // SAFETY: passed on.
        match unsafe { sys::write(fd, data, len) } {
            Ok(0) => return,
            Ok(written) => {
                data = data.wrapping_add(written);
                len -= written;
            }
            Err(sys::Errno(libc::EINTR | libc::EAGAIN)) => patience -= 1,
            Err(_) => return,
        }
    }
}

/// # Safety
///
/// `file` must be one of the C library's.
unsafe fn is_wide(file: *mut File) -> bool {
    // SAFETY: the layout is the C library's.
    unsafe { (*file).mode > 0 }
}

/// The bytes in the buffer of a file that is not wide.
///
/// # Safety
///
/// `file` must be one of the C library's.
unsafe fn pending(file: *mut File) -> (*const u8, usize) {
    // SAFETY: the layout is the C library's.
    let (start, end) = unsafe { ((*file).write_base, (*file).write_pointer) };
    (start, (end as usize).saturating_sub(start as usize))
}

/// Frees the lock of a file that a thread which is no more has left locked.
///
/// # Safety
///
/// `file` must be one of the C library's, and nobody may come back to it.
unsafe fn unlock(file: *mut File) {
    // SAFETY: the layout is the C library's; nobody waits for the lock, since all threads are fibers of this one.
    unsafe {
        let lock = (*file).lock;
        if !lock.is_null() && (*lock).lock != 0 {
            (*lock) = Lock { lock: 0, count: 0, owner: std::ptr::null_mut() };
        }
    }
}
