//! `raddle verify --certificate` and `--check-certificate`: proofs that are kept, and checked again later.

use ::model::Program;
use ::verify::{BadFile, Certificate, Options, Refuted};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
pub(crate) struct CertificateArgs {
    /// Where it is safe: write the proof to this file (docs/verify-files.md describes it)
    #[arg(long, value_name = "OUT", conflicts_with = "check_certificate")]
    pub(crate) certificate: Option<PathBuf>,

    /// Search for nothing: check a proof that was written before. 0 it holds, 1 it does not, 2 it is no certificate, 3 there was no time
    #[arg(long, value_name = "CERT", conflicts_with_all = ["engine", "witness", "svcomp", "solver", "max_contexts_per_thread"])]
    pub(crate) check_certificate: Option<PathBuf>,
}

/// Writes a proof to a file.
pub(crate) fn write(program: &Program, certificate: &Certificate, to: &Path) -> Result<(), String> {
    std::fs::write(to, ::verify::save(program, certificate))
        .map_err(|e| format!("the certificate cannot be written to {}: {e}", to.display()))
}

/// What a certificate is called.
pub(crate) fn kind(certificate: &Certificate) -> &'static str {
    match certificate {
        Certificate::States(_) => "states",
        Certificate::Symmetric(_) => "symmetric",
        Certificate::Invariant(_) => "invariant",
        Certificate::Tree(_) => "tree",
        Certificate::Depth(_) => "depth",
        Certificate::Merged { .. } => "merged",
    }
}

/// Checks the proof in a file, and says how that went.
pub(crate) fn check(
    program: &Program,
    options: &Options,
    integers: &str,
    from: &Path,
    json: bool,
) -> ExitCode {
    let text = match std::fs::read_to_string(from) {
        Ok(text) => text,
        Err(e) => return say(json, 2, integers, None, &format!("{} cannot be read: {e}", from.display())),
    };
    let certificate = match ::verify::load(program, &text) {
        Ok(certificate) => certificate,
        Err(e @ BadFile::Unreadable(_)) => {
            return say(json, 2, integers, None, &format!("{}: {e}", from.display()));
        }
        Err(e) => return say(json, 1, integers, None, &e.to_string()),
    };
    let kind = kind(&certificate);
    match ::verify::check(program, options, &certificate) {
        Ok(()) => {
            let what = if options.deadlocks {
                "nothing goes wrong, and there is no deadlock"
            } else {
                "nothing goes wrong"
            };
            say(json, 0, integers, Some(kind), &format!("the certificate holds: {what}"))
        }
        Err(e @ (Refuted::Spent(_) | Refuted::Beyond(_))) => {
            say(json, 3, integers, Some(kind), &e.to_string())
        }
        Err(e) => say(json, 1, integers, Some(kind), &e.to_string()),
    }
}

fn say(json: bool, code: u8, integers: &str, kind: Option<&str>, why: &str) -> ExitCode {
    let word = ["holds", "refused", "unreadable", "unknown"][code as usize];
    if json {
        let all =
            serde_json::json!({ "certificate": word, "kind": kind, "integers": integers, "reason": why });
        println!("{all}");
    } else if code == 0 {
        println!("{why}\nintegers: {integers}");
    } else {
        eprintln!("{}: {why}", ["", "refused", "error", "unknown"][code as usize]);
    }
    ExitCode::from(code)
}
