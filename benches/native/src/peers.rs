//! Nidhugg and GenMC on the same files, where a variable names them: `NIDHUGG` its compiler driver `nidhuggc`, `GENMC` the command.

use crate::usage;
use serde::Serialize;
use std::path::Path;
use std::process::Command;

/// What another model checker took for a program.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Peer {
    pub(crate) tool: &'static str,
    /// `None` where it does not take the program, or does not end in time.
    pub(crate) executions: Option<u64>,
    pub(crate) cpu_seconds: f64,
}

/// Runs those that there are, within a time limit.
pub(crate) fn run(file: &Path, defines: &[String], limit: u64) -> Vec<Peer> {
    let mut out = vec![];
    for (tool, variable, counted) in [
        ("nidhugg", "NIDHUGG", "Trace count: "),
        ("genmc", "GENMC", "Number of complete executions explored: "),
    ] {
        let Some(path) = std::env::var_os(variable) else { continue };
        let mut command = Command::new("timeout");
        command.arg(limit.to_string()).arg(path);
        match tool {
            "nidhugg" => command.arg("--c").args(defines).args(["--", "--sc", "--optimal"]).arg(file),
            _ => command.args(["--sc", "--"]).args(defines).arg(file),
        };
        out.push(match usage::run(&mut command) {
            Ok(ran) => {
                let said = ran.out.split_once(counted).map_or("", |(_, rest)| rest);
                let number: String = said.chars().take_while(char::is_ascii_digit).collect();
                Peer {
                    tool,
                    executions: number.parse().ok().filter(|_| ran.ok),
                    cpu_seconds: ran.cpu_seconds,
                }
            }
            Err(e) => {
                eprintln!("{variable}: {e}");
                Peer { tool, executions: None, cpu_seconds: 0.0 }
            }
        });
    }
    out
}
