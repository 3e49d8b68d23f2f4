//! Programs whose accesses compilers do not announce, and programs whose meaning instrumentation must not change.
//! Every program is run with each compiler on this machine.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory of a test, which is empty when the test starts.
struct Place(PathBuf);

impl Place {
    fn new(test: &str) -> Place {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("instrument-{test}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("tmp")).unwrap();
        Place(path)
    }

    /// Runs `raddle check` with a compiler for C and C++.
    fn check(&self, compiler: &str, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
        for (name, _) in std::env::vars_os().filter(|(n, _)| n.to_string_lossy().starts_with("RADDLE_")) {
            command.env_remove(name);
        }
        let cpp = if compiler == "gcc" { "g++" } else { "clang++" };
        command.env("CC", compiler).env("CXX", cpp);
        command.env("RADDLE_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        command.env("TMPDIR", self.0.join("tmp")).current_dir(&self.0);
        if args.iter().any(|a| a.starts_with("-O")) {
            command.env("RADDLE_KEEP_O", "1");
        }
        command.args(["check", "--json"]).args(args).output().unwrap()
    }

    /// The report on a program.
    fn report(&self, compiler: &str, name: &str, source: &str, options: &[&str]) -> Value {
        fs::write(self.0.join(name), source).unwrap();
        let output = self.check(compiler, &[&[name], options].concat());
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        serde_json::from_str(&out).unwrap_or_else(|e| panic!("{compiler} {name}: {e}: {out}{err}"))
    }
}

/// The compilers on this machine.
fn compilers() -> Vec<&'static str> {
    let have = |c: &&str| Command::new(c).arg("--version").output().is_ok_and(|o| o.status.success());
    let found: Vec<_> = ["gcc", "clang"].into_iter().filter(have).collect();
    assert!(!found.is_empty(), "there is no C compiler");
    found
}

/// The kinds of the failures in a report.
fn failures(report: &Value) -> Vec<&str> {
    report["failures"].as_array().into_iter().flatten().filter_map(|f| f["kind"].as_str()).collect()
}

/// The kinds of the caveats in a report.
fn caveats(report: &Value) -> Vec<&str> {
    report["caveats"].as_array().into_iter().flatten().filter_map(|c| c["kind"].as_str()).collect()
}

#[test]
fn functions_without_a_declaration_have_the_type_that_the_compiler_knows() {
    let programs = [
        ("malloc", "int main(void) { int *p = malloc(4); *p = 1; return *p - 1; }"),
        ("calloc", "int main(void) { long *p = calloc(2, 8); return p[1] != 0; }"),
        ("strdup", "int main(void) { char *p = strdup(\"ab\"); return p[1] != 'b'; }"),
        ("strchr", "int main(void) { char s[] = \"ab\"; return strchr(s, 'b') - s != 1; }"),
        ("strrchr", "int main(void) { char s[] = \"aba\"; return strrchr(s, 'a') - s != 2; }"),
        ("strstr", "int main(void) { char s[] = \"abc\"; return *strstr(s, \"bc\") != 'b'; }"),
        ("sqrt", "int main(int n, char **v) { double x = n; return sqrt(x * 4) != 2; }"),
        ("labs", "int main(int n, char **v) { return labs(-n * 0x500000000) >> 32 != 5; }"),
        ("printf", "int main(int n, char **v) { return printf(\"%d\\n\", n) != 2; }"),
    ];
    let place = Place::new("implicit");
    for compiler in compilers() {
        for (name, source) in programs {
            let report = place.report(compiler, &format!("{name}.c"), source, &["-w", "-std=gnu89"]);
            assert_eq!(report["verdict"], "verified", "{compiler} {name}: {report}");
        }
    }
}

#[test]
fn functions_of_the_program_with_names_of_the_c_library_are_its_own() {
    let programs = [
        ("static.c", "static int memcmp(int a) { return a + 1; } int main(void) { return memcmp(1) != 2; }"),
        (
            "length.c",
            "static int strlen(int *p) { return *p; } int main(void) { int n = 7; return strlen(&n) != 7; }",
        ),
        ("abs.cpp", "static int abs(int *p) { return *p; } int main() { int n = 7; return abs(&n) != 7; }"),
        (
            "member.cpp",
            "struct S { int n; int memcpy(int m) { return n = m; } int strcmp() { return n; } };\n\
             int main() { S s{0}; s.memcpy(3); return s.strcmp() != 3; }",
        ),
    ];
    let place = Place::new("own-names");
    for compiler in compilers() {
        for (name, source) in programs {
            let options: &[&str] = if name.ends_with(".c") { &["-w", "-fno-builtin"] } else { &["-w"] };
            let report = place.report(compiler, name, source, options);
            assert_eq!(report["verdict"], "verified", "{compiler} {name}: {report}");
        }
    }
}
