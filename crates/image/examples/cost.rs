//! What the image costs in an execution: `cargo run --release -p raddle-image --example cost`.
//!
//! Times are per call, the best of several rounds, on the CPU clock of the thread.

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
fn main() {
    on_linux::main();
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
fn main() {}

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod on_linux {
    use image::PAGE;
    use image::arena::{Heap, Owner, Probe, State};
    use image::donors::{self, Donors, RealPthread};
    use image::output::Capture;
    use image::segments::Region;
    use image::snapshot::{Mode, Snapshot, on_fault};
    use std::hint::black_box;

    fn now() -> f64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the time is on this stack.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    }

    fn nanoseconds(mut call: impl FnMut()) -> f64 {
        const CALLS: usize = 20_000;
        let round = |_| {
            let start = now();
            for _ in 0..CALLS {
                call();
            }
            (now() - start) / CALLS as f64
        };
        (0..20).map(round).fold(f64::INFINITY, f64::min)
    }

    fn row(what: &str, time: f64) {
        println!("{what:<58} {time:>9.1} ns");
    }

    extern "C" fn on_signal(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
        // SAFETY: the kernel passes a valid description; a fault that is not ours ends the process when repeated.
        unsafe {
            if !on_fault((*info).si_addr() as usize) {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
    }

    /// The cost of putting back `len` bytes, of which a program writes an int in each of the places.
    fn restore(len: usize, places: &[usize], mode: Mode) -> f64 {
        // SAFETY: fresh memory, as a program's globals are; it is kept for ever.
        let snapshot = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let whole = len.next_multiple_of(PAGE);
            let memory = libc::mmap(std::ptr::null_mut(), whole, protection, flags, -1, 0);
            assert_ne!(memory, libc::MAP_FAILED);
            let snapshot = Snapshot::take(&[Region::new(memory as usize, len)], mode).unwrap();
            let ints: Vec<*mut i32> = places.iter().map(|&place| memory.byte_add(place).cast()).collect();
            (snapshot, ints)
        };
        let (snapshot, ints) = snapshot;
        nanoseconds(|| {
            for &int in &ints {
                // SAFETY: inside the memory above; no references to it exist.
                unsafe { int.write_volatile(1) };
            }
            // SAFETY: as above.
            unsafe { snapshot.restore() };
        })
    }

    pub(crate) fn main() {
        // SAFETY: the handler is made for what it gets.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut());
        }
        row("restore, 200 bytes of globals", restore(200, &[96], Mode::Dirty));
        row("restore, 1 MiB of globals, one int written", restore(1 << 20, &[500_000], Mode::Dirty));
        row("restore, 1 MiB, ints in 4 pages", restore(1 << 20, &[0, 5000, 500_000, 1_000_000], Mode::Dirty));
        row("restore, 1 MiB, one int, every page copied", restore(1 << 20, &[500_000], Mode::Full));

        let heap = Heap::new(4, 1 << 30).unwrap();
        let owner = Owner::thread(1);
        for size in [16, 64, 1000, 20_000] {
            let time = nanoseconds(|| {
                let block = heap.malloc(owner, black_box(size), 16, 1).unwrap();
                heap.free(owner, block.as_ptr(), 2).unwrap();
                heap.reset();
            });
            row(&format!("malloc + free + end of execution, {size} bytes"), time);
        }
        let time = nanoseconds(|| {
            for _ in 0..100 {
                let block = heap.malloc(owner, black_box(64), 16, 1).unwrap();
                heap.free(owner, block.as_ptr(), 2).unwrap();
            }
            heap.reset();
        });
        row("malloc + free, 64 bytes, 100 in an execution", time / 100.0);
        let time = nanoseconds(|| {
            black_box(heap.malloc(owner, black_box(1 << 20), 16, 1).unwrap());
            heap.reset();
        });
        row("malloc + end of execution, 1 MiB", time);
        let block = heap.malloc(owner, 1000, 16, 1).unwrap().as_ptr() as usize;
        let local = 0;
        let other = &raw const local as usize;
        row(
            "probe, live",
            nanoseconds(|| assert_eq!(heap.probe(black_box(block + 504), 8, false), Probe::Live)),
        );
        row(
            "probe, not in the heap",
            nanoseconds(|| assert_eq!(heap.probe(black_box(other), 8, false), Probe::NotHeap)),
        );
        row(
            "state_of, live",
            nanoseconds(|| assert!(matches!(heap.state_of(black_box(block + 504)), State::Live(_)))),
        );
        row(
            "state_of, not in the heap",
            nanoseconds(|| assert_eq!(heap.state_of(black_box(other)), State::NotHeap)),
        );

        // SAFETY: the functions are the C library's.
        let donors = unsafe { Donors::new(RealPthread::next().unwrap(), 2, &[]) }.unwrap();
        let time = nanoseconds(|| {
            // SAFETY: donors only park, and nothing in between is thread-local.
            unsafe {
                donors::switch_to(black_box(donors.get(0)));
                donors::switch_to(black_box(donors.main()));
            }
        });
        row("FS switch, one way", time / 2.0);
        // SAFETY: no thread-local variable of the donor is in use.
        row("reset of a donor without variables", nanoseconds(|| unsafe { donors.reset_tls(0) }));

        let capture = Capture::start().unwrap();
        let quiet = nanoseconds(|| capture.clear());
        let printed = nanoseconds(|| {
            // SAFETY: the text ends with a zero.
            unsafe { libc::printf(c"some text\n".as_ptr()) };
            capture.clear();
        });
        let written = nanoseconds(|| {
            // SAFETY: the byte is there.
            unsafe { libc::write(1, c"x".as_ptr().cast(), 1) };
            capture.clear();
        });
        capture.stop();
        row("output cleared, nothing written", quiet);
        row("output cleared, one printf (and the printf)", printed);
        row("output cleared, one write (and the write)", written);
        drop(heap);
        let start = now();
        black_box(Heap::new(64, 1 << 30).unwrap());
        row("a heap for 64 threads made and given back, once", now() - start);
    }
}
