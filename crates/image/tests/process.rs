//! The image of real C and C++ programs: each test is a process of its own, into which the crate is loaded as a library
//! (`examples/probe.rs`), as the native front end will be. The programs say by themselves what is not as it should be.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn must_run(command: &mut Command) {
    let output = run(command);
    assert!(output.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
}

/// Where the programs are built: the probe library, a library of the user's, and the two programs.
fn programs() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        // target/<profile>/deps/process-1234
        let test = std::env::current_exe().unwrap();
        let profile = test.parent().and_then(Path::parent).unwrap();
        let target = profile.parent().unwrap();
        let name = if profile.ends_with("release") { "release" } else { "test" };
        must_run(
            Command::new(env!("CARGO"))
                .args([
                    "build",
                    "--quiet",
                    "--package",
                    "raddle-image",
                    "--example",
                    "probe",
                    "--profile",
                    name,
                ])
                .arg("--target-dir")
                .arg(target)
                .current_dir(env!("CARGO_MANIFEST_DIR")),
        );
        let probe = profile.join("examples");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("image-programs");
        std::fs::create_dir_all(&built).unwrap();
        let rpath = |directory: &Path| format!("-Wl,-rpath,{}", directory.display());
        must_run(
            Command::new("cc")
                .args(["-g", "-O0", "-fPIC", "-shared", "-Wall", "-Werror"])
                .arg(source.join("user.c"))
                .arg("-o")
                .arg(built.join("libuser.so")),
        );
        let fixed: &[&str] = &["-no-pie", "-fno-pie", "-DHUGE_LOCAL=(3<<20)"];
        for (compiler, file, program, options) in [
            ("cc", "program.c", "c", &[][..]),
            ("cc", "program.c", "c-fixed", fixed),
            ("cc", "strict.c", "strict", &["-fno-builtin", "-rdynamic"]),
            ("c++", "program.cpp", "cpp", &[]),
        ] {
            if compiler == "c++" && Command::new(compiler).arg("--version").output().is_err() {
                continue;
            }
            must_run(
                Command::new(compiler)
                    .args(["-g", "-O0", "-Wall", "-Werror"])
                    .args(options)
                    .arg(source.join(file))
                    .arg("-o")
                    .arg(built.join(program))
                    .arg("-L")
                    .arg(&probe)
                    .arg("-L")
                    .arg(&built)
                    .args(["-Wl,--no-as-needed", "-lprobe", "-luser", "-lpthread", "-Wl,-z,now"])
                    .arg(rpath(&probe))
                    .arg(rpath(&built)),
            );
        }
        built
    })
}

fn scenario(name: &str) -> Output {
    run(Command::new(programs().join("c")).arg(name))
}

#[track_caller]
fn holds(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{out}\n{err}", output.status);
    out.into_owned()
}

#[test]
fn the_globals_of_the_program_and_of_its_libraries_are_found_and_nothing_else() {
    holds(&scenario("segments"));
}

#[test]
fn globals_are_restored_and_a_page_faults_once() {
    holds(&scenario("globals"));
}

#[test]
fn globals_are_restored_when_all_pages_are_copied() {
    holds(&scenario("globals-full"));
}

#[test]
fn one_int_in_a_mebibyte_makes_one_page_hot() {
    holds(&scenario("one-int"));
}

#[test]
fn a_program_at_a_fixed_address_with_huge_thread_local_variables_is_no_different() {
    for name in ["segments", "globals", "globals-full", "one-int", "sealed-heap", "locals"] {
        holds(&run(Command::new(programs().join("c-fixed")).arg(name)));
    }
}

#[test]
fn the_kernel_can_write_where_it_was_announced() {
    holds(&scenario("kernel-writes"));
}

#[test]
fn regions_that_share_a_page_are_restored_and_the_rest_of_the_page_is_not() {
    holds(&scenario("shared-page"));
}

#[test]
fn more_stretches_than_the_kernel_allows_are_restored_all_the_same() {
    holds(&scenario("many-stretches"));
}

#[test]
fn a_fault_that_is_not_ours_ends_the_program() {
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(scenario("wild-write").status.signal(), Some(11));
}

#[test]
fn each_process_after_a_fork_goes_on_by_itself() {
    holds(&scenario("after-fork"));
}

#[test]
fn blocks_made_before_main_are_restored_with_the_globals() {
    holds(&scenario("sealed-heap"));
}

#[test]
fn thread_local_variables_are_those_of_the_donor_and_are_the_same_in_the_next_process() {
    let first = holds(&scenario("locals"));
    assert_eq!(first.split(' ').count(), 4, "{first}");
    assert_eq!(holds(&scenario("locals")), first);
}

#[test]
fn donors_take_no_signals_and_follow_a_change_of_the_user() {
    holds(&scenario("signals"));
}

#[test]
fn exceptions_being_handled_are_over_after_a_reset() {
    let program = programs().join("cpp");
    if program.exists() {
        holds(&run(&mut Command::new(program)));
    } else {
        eprintln!("left out: there is no C++ compiler");
    }
}

#[test]
fn nothing_that_may_be_interposed_is_called_between_executions() {
    holds(&run(&mut Command::new(programs().join("strict"))));
}

#[test]
fn output_is_kept_for_each_execution() {
    let expected = r#"before shown out="directone" err="bad"
shown out="flushed\n" err=""
shown out="" err="e"
shown out="" err=""
shown out="not stuck" err=""
shown out="anew" err=""
shown out="as before" err=""
"#;
    assert_eq!(holds(&scenario("output")), expected);
}

#[test]
fn output_of_wide_characters_is_kept_too() {
    assert_eq!(holds(&scenario("wide-output")), "shown out=\"wide 5\" err=\"\"\n");
}

#[test]
fn nothing_is_lost_when_the_program_crashes() {
    let output = scenario("crash");
    assert!(!output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "last words");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "and errors");
}
