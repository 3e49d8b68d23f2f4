//! What a process took, from its start to its end.

use std::io::{Read, Seek, SeekFrom};
use std::process::{Command, Stdio};
use std::time::Instant;

/// A process that has ended.
pub(crate) struct Ran {
    pub(crate) out: String,
    pub(crate) ok: bool,
    /// In user and system mode, over all its threads.
    pub(crate) cpu_seconds: f64,
    pub(crate) seconds: f64,
    /// The most that was resident at once.
    pub(crate) megabytes: f64,
}

/// Runs a command to its end. What it prints goes to a file, so that nobody has to read along.
pub(crate) fn run(command: &mut Command) -> Result<Ran, String> {
    let name = format!("{:?}", command.get_program());
    let error = |e: std::io::Error| format!("{name}: {e}");
    let path = std::env::temp_dir().join(format!("native-bench-{}.out", std::process::id()));
    let mut file = std::fs::File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&path)
        .map_err(error)?;
    let start = Instant::now();
    let child = command
        .stdin(Stdio::null())
        .stdout(file.try_clone().map_err(error)?)
        .stderr(file.try_clone().map_err(error)?)
        .spawn()
        .map_err(error)?;
    let (mut status, pid) = (0, child.id() as libc::pid_t);
    // SAFETY: all fields of `rusage` are integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes to two live locals of the right types; the process is ours and nobody else waits for it.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
    let seconds = start.elapsed().as_secs_f64();
    if waited != pid {
        return Err(error(std::io::Error::last_os_error()));
    }
    let mut out = String::new();
    file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_string(&mut out)).map_err(error)?;
    let _ = std::fs::remove_file(&path);
    let time = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 * 1e-6;
    Ok(Ran {
        out,
        ok: libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
        cpu_seconds: time(usage.ru_utime) + time(usage.ru_stime),
        seconds,
        megabytes: usage.ru_maxrss as f64 / 1024.0,
    })
}
