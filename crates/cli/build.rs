//! Builds the library that C programs are linked with (`crates/native`), so that the command can carry it inside.
//!
//! It is built by a cargo of its own, in a target directory of its own: it is a shared library, which cargo cannot hand from one
//! package to another, and it is fast also where the command around it is a debug build. The release build is made with all
//! optimisation there is; every other build takes the profile `quick`, which does not link for a minute.

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let out = PathBuf::from(variable("OUT_DIR"));
    let library = out.join("libraddle_native.so");
    let is = |name: &str, value: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).is_ok_and(|v| v == value);
    println!("cargo::rustc-check-cfg=cfg(c_programs)");
    println!("cargo::rerun-if-changed=build.rs");
    if !(is("ARCH", "x86_64") && is("OS", "linux") && is("ENV", "gnu")) {
        return;
    }
    println!("cargo::rustc-cfg=c_programs");

    let crates = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("..");
    watch(&crates);
    let (profile, target_dir) = place(&out);
    let built = build(&crates, profile, &target_dir);
    if let Err(e) = std::fs::copy(&built, &library) {
        fail(&format!("cannot copy {}: {e}", built.display()));
    }
    let bytes = std::fs::read(&library).unwrap_or_else(|e| fail(&format!("{}: {e}", library.display())));
    let mut hash = DefaultHasher::new();
    bytes.hash(&mut hash);
    println!("cargo::rustc-env=NATIVE_LIBRARY_HASH={:016x}", hash.finish());
}

/// The library is made of the crates beside this one.
fn watch(crates: &Path) {
    for file in ["../Cargo.toml", "../Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", crates.join(file).display());
    }
    let entries = std::fs::read_dir(crates).unwrap_or_else(|e| fail(&format!("{}: {e}", crates.display())));
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name == "cli" || name == "examples" {
            continue;
        }
        for part in
            ["src", "Cargo.toml", "build.rs"].map(|p| entry.path().join(p)).iter().filter(|p| p.exists())
        {
            println!("cargo::rerun-if-changed={}", part.display());
        }
    }
}

/// The profile to build with, and where. `out` is `TARGET/PROFILE/build/PACKAGE/out`: the directory stands beside those of the
/// profiles, so that one build serves debug builds, tests and lints.
fn place(out: &Path) -> (&'static str, PathBuf) {
    let build = out.ancestors().find(|a| a.file_name().is_some_and(|n| n == "build"));
    let Some(of_profile) = build.and_then(Path::parent) else { return ("quick", out.join("native")) };
    let release = of_profile.file_name().is_some_and(|n| n == "release");
    let beside = of_profile.parent().map_or_else(|| out.join("native"), |t| t.join("native"));
    (if release { "release" } else { "quick" }, beside)
}

fn build(crates: &Path, profile: &str, target_dir: &Path) -> PathBuf {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--lib", "--profile", profile, "--manifest-path"]);
    cargo.arg(crates.join("native").join("Cargo.toml")).arg("--target-dir").arg(target_dir);
    // What is meant for the build around this one: lints, coverage, other profiles, the flags of another target.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let foreign =
            ["CARGO_PROFILE_", "CARGO_CFG_", "CARGO_FEATURE_", "CARGO_PKG_", "CARGO_BUILD_", "CLIPPY_"];
        let exact = [
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "RUSTC_WRAPPER",
            "RUSTC_WORKSPACE_WRAPPER",
            "CARGO_TARGET_DIR",
            "CARGO_MANIFEST_DIR",
            "CARGO_MANIFEST_PATH",
            "CARGO_PRIMARY_PACKAGE",
            "OUT_DIR",
            "TARGET",
            "PROFILE",
            "OPT_LEVEL",
            "DEBUG",
        ];
        if exact.contains(&&*text) || foreign.iter().any(|f| text.starts_with(f)) {
            cargo.env_remove(&name);
        }
    }
    // Names stay, for backtraces and debuggers; the rest would be five times the library.
    let setting = |what: &str| format!("CARGO_PROFILE_{}_{what}", profile.to_uppercase());
    cargo.env(setting("DEBUG"), "0").env(setting("STRIP"), "debuginfo");
    let (host, target) = (variable("HOST"), variable("TARGET"));
    let mut built = target_dir.to_owned();
    if host != target {
        cargo.args(["--target", &target]);
        built.push(&target);
    }
    match cargo.status() {
        Ok(status) if status.success() => built.join(profile).join("libraddle_native.so"),
        Ok(status) => fail(&format!("the library for C programs (crates/native) was not built: {status}")),
        Err(e) => fail(&format!("cannot run {:?}: {e}", cargo.get_program())),
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| fail(&format!("cargo sets {name}")))
}

fn fail(why: &str) -> ! {
    println!("cargo::error={why}");
    std::process::exit(1)
}
