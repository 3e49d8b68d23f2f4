//! What standard output can do, and writing to it.

use report::Style;
use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

/// The style for standard output: colours and its width on a terminal, plain and 100 columns otherwise.
pub(crate) fn style() -> Style {
    let terminal = std::io::stdout().is_terminal();
    let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let width = if terminal { columns().unwrap_or(100) } else { 100 };
    let rows = match std::env::var("RADDLE_TRACE") {
        Ok(value) if value == "full" => usize::MAX,
        _ => Style::default().rows,
    };
    Style { colour, width: width.clamp(40, 160), rows, ..Style::default() }
}

#[cfg(unix)]
fn columns() -> Option<usize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes one `winsize` to the address given, which is that of a live local of this type.
    let result = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    (result == 0 && size.ws_col > 0).then_some(size.ws_col as usize)
}

#[cfg(not(unix))]
fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}

/// Writes to standard output and gives the exit code. A reader that has gone away (`raddle ... | head`) is no error.
pub(crate) fn print(text: &str, code: u8) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("raddle: cannot write the result: {error}");
            ExitCode::from(2)
        }
        _ => ExitCode::from(code),
    }
}
