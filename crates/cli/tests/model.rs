//! `raddle model`, from outside.

use std::path::PathBuf;
use std::process::{Command, Output};

/// A file with a C program, removed in the end.
struct Source(PathBuf);

impl Source {
    fn new(name: &str, text: &str) -> Source {
        let path = std::env::temp_dir().join(format!("raddle-cli-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Source(path)
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn raddle(source: &Source, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_raddle")).arg("model").arg(&source.0).args(words).output().unwrap()
}

const COUNT: &str = "#include <pthread.h>\nint x;\nvoid *f(void *p) {\n  x++;\n  return 0;\n}\n\
    int main(void) {\n  pthread_t t;\n  for (int i = 0; i < N; i++) pthread_create(&t, 0, f, 0);\n  return 0;\n}\n";

#[test]
fn a_program_is_shown_as_text_and_as_a_picture() {
    let file = Source::new("count.c", COUNT);
    let shown = raddle(&file, &["-DN=2"]);
    assert_eq!(shown.status.code(), Some(0), "{}", String::from_utf8_lossy(&shown.stderr));
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(text.starts_with("shared x: i32 = 0\n"), "{text}");
    assert!(
        text.contains("thread 2 f#2, from 0\n") && text.contains("1 -> 2: x := f#2.%0 + 1, f#2.%0 := 0  @4"),
        "{text}"
    );
    let drawn = raddle(&file, &["-DN=2", "--dot"]);
    let text = String::from_utf8(drawn.stdout).unwrap();
    assert!(text.starts_with("digraph program {") && text.contains("subgraph cluster_2"), "{text}");
}

#[test]
fn a_program_that_is_not_understood_is_refused_with_its_line() {
    let file = Source::new("float.c", "int main(void) {\n  float f = 0;\n  return f > 1;\n}\n");
    let refused = raddle(&file, &[]);
    assert_eq!(refused.status.code(), Some(2));
    let says = String::from_utf8(refused.stderr).unwrap();
    assert!(says.starts_with("error: ") && says.contains("float.c:2: "), "{says}");
}
