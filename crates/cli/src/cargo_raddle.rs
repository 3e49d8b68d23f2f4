//! `cargo raddle ...` is `raddle ...`: cargo looks for a command of this name, and `raddle` lies beside it.

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mut args: Vec<_> = std::env::args_os().skip(1).collect();
    // Cargo says its name for the command first.
    if args.first().is_some_and(|a| a == "raddle") {
        args.remove(0);
    }
    let name = format!("raddle{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().ok().map(|p| p.with_file_name(&name)).filter(|p| p.is_file());
    let mut command = Command::new(beside.unwrap_or_else(|| name.into()));
    command.args(args);
    // Signals from the terminal are for `raddle`, which has something to say at the end.
    #[cfg(unix)]
    let status: Result<std::process::ExitStatus, _> =
        Err(std::os::unix::process::CommandExt::exec(&mut command));
    #[cfg(not(unix))]
    let status = command.status();
    match status {
        Ok(status) => ExitCode::from(status.code().and_then(|c| u8::try_from(c).ok()).unwrap_or(3)),
        Err(error) => {
            eprintln!("cargo-raddle: cannot start `raddle`, which should lie beside it: {error}");
            ExitCode::from(2)
        }
    }
}
