//! What no compiler takes is refused with its line, wherever it stands, and nothing is that one takes.

use model::Options;
use std::io::Write;
use std::process::{Command, Stdio};

/// Texts that do not compile, with the line of the first error.
const REFUSED: &[(u32, &str)] = &[
    (3, "int main(void) {\n int i = 0;\n int i = 1;\n return i; }"),
    (2, "int f(int a) {\n int a = 2;\n return a; }\nint main(void) { return f(1); }"),
    (2, "int a = 1;\nint b = a;\nint main(void) { return b; }"),
    (2, "int a[1] = {1};\nint b = a[0];\nint main(void) { return b; }"),
    (2, "int f(void) { return 1; }\nint b = f();\nint main(void) { return b; }"),
    (3, "int main(void) {\n int a = 1;\n static int b = a;\n return b; }"),
    (2, "int a;\nlong a;\nint main(void) { return a; }"),
    (2, "int a = 1;\nint a = 2;\nint main(void) { return a; }"),
    (2, "int f(void) { return 1; }\nint f(void) { return 2; }\nint main(void) { return f(); }"),
    (2, "int f;\nint f(void) { return 2; }\nint main(void) { return 0; }"),
    (2, "int f(void);\nlong f(void) { return 2; }\nint main(void) { return f(); }"),
    (2, "int f(int a);\nint f(int a, int b) { return 2; }\nint main(void) { return f(1, 2); }"),
    (1, "int f(int a, int a) { return a; }\nint main(void) { return f(1, 2); }"),
    (2, "int main(void) {\n return nothing; }"),
    (2, "int f(void) {\n return nothing; }\nint main(void) { return 0; }"),
    (3, "int main(void) {\n if (0) {\n return nothing; }\n return 0; }"),
    (2, "int main(void) {\n break;\n return 0; }"),
    (2, "int main(void) {\n continue;\n return 0; }"),
    (2, "int main(void) {\n switch (1) { case 1: continue; }\n return 0; }"),
    (2, "int main(void) {\n case 1: ;\n return 0; }"),
    (2, "int main(void) {\n default: ;\n return 0; }"),
    (3, "int main(void) {\n switch (1) { default: ;\n default: ; }\n return 0; }"),
    (3, "int main(void) {\n switch (1) { case 1: ;\n case 1: ; }\n return 0; }"),
    (3, "int main(void) {\n int i = 1;\n switch (1) { case i: ; }\n return 0; }"),
    (2, "int main(void) {\n goto away;\n return 0; }"),
    (3, "int main(void) {\n if (0)\n goto away;\n return 0; }"),
    (3, "int main(void) {\n a: ;\n a: ;\n return 0; }"),
    (2, "struct s { int a;\n int a; } s;\nint main(void) { return 0; }"),
    (2, "struct s { int a; };\nstruct s { int b; };\nint main(void) { return 0; }"),
    (2, "struct s { int a; };\nunion s x;\nint main(void) { return 0; }"),
    (2, "enum e { A, B };\nenum f { A };\nint main(void) { return 0; }"),
    (2, "enum e { A, B };\nint A;\nint main(void) { return 0; }"),
    (2, "typedef int T;\nint T;\nint main(void) { return 0; }"),
    (2, "typedef int T;\ntypedef long T;\nint main(void) { return 0; }"),
    (3, "const int a = 1;\nint main(void) {\n a = 2;\n return 0; }"),
    (3, "int main(void) {\n const int a = 1;\n a++;\n return 0; }"),
    (3, "int x; int main(void) {\n const int *p = &x;\n *p = 2;\n return 0; }"),
    (3, "struct s { const int a; } s;\nint main(void) {\n s.a = 2;\n return 0; }"),
    (3, "const int a[2] = {1, 2};\nint main(void) {\n a[0] = 2;\n return 0; }"),
    (3, "int main(void) {\n int i = 0;\n i + 1 = 2;\n return 0; }"),
    (2, "int a[2], b[2]; int main(void) {\n a = b;\n return 0; }"),
    (2, "int main(void) {\n 3++;\n return 0; }"),
    (2, "int main(void) {\n int *p = &3;\n return 0; }"),
    (3, "int main(void) {\n register int r = 0;\n int *p = &r;\n return 0; }"),
    (3, "int main(void) {\n int i = 0;\n return *i; }"),
    (3, "int main(void) {\n int i; void *q = &i;\n int j = *q;\n return 0; }"),
    (3, "struct s { int a; } s;\nint main(void) {\n return s.b; }"),
    (3, "int main(void) {\n int i = 0;\n return i.a; }"),
    (3, "struct s { int a; } s;\nint main(void) {\n return s->a; }"),
    (4, "struct s { int a; } s;\nint main(void) {\n struct s *p = &s;\n return p.a; }"),
    (3, "int main(void) {\n int i = 0;\n return i(); }"),
    (3, "int f(int a) { return a; }\nint main(void) {\n return f(); }"),
    (3, "int f(int a) { return a; }\nint main(void) {\n return f(1, 2); }"),
    (3, "struct s { int a; } s;\nint main(void) {\n int i = s;\n return 0; }"),
    (3, "struct s { int a; } s;\nint main(void) {\n s = 1;\n return 0; }"),
    (3, "struct s { int a; } s; struct t { int a; } t;\nint main(void) {\n s = t;\n return 0; }"),
    (3, "struct s { int a; } s;\nint main(void) {\n if (s) return 1;\n return 0; }"),
    (3, "struct s { int a; } s;\nint main(void) {\n return s + 1; }"),
    (3, "struct s { int a; } s, t;\nint main(void) {\n return s == t; }"),
    (3, "int a, b; int main(void) {\n int *p = &a, *q = &b;\n return p + q == 0; }"),
    (3, "int a; int main(void) {\n int *p = &a;\n return p * 2 == 0; }"),
    (3, "int a; int main(void) {\n int *p = &a;\n return ~p == 0; }"),
    (3, "void f(void) { }\nint main(void) {\n int i = f();\n return i; }"),
    (2, "int main(void) {\n void v;\n return 0; }"),
    (1, "int f(void a) { return 0; }\nint main(void) {\n return 0; }"),
    (3, "struct s;\nint main(void) {\n struct s x;\n return 0; }"),
    (3, "struct s;\nint main(void) {\n return sizeof(struct s); }"),
    (1, "struct t; struct s { struct t x; };\nint main(void) { return 0; }"),
    (1, "int a[-1];\nint main(void) { return 0; }"),
    (2, "int main(void) {\n int a[];\n return 0; }"),
    (1, "void a[2];\nint main(void) { return 0; }"),
    (1, "int f[2](void);\nint main(void) { return 0; }"),
    (1, "int f(void)[2];\nint main(void) { return 0; }"),
    (2, "int n = 2;\nint a[n];\nint main(void) { return 0; }"),
    (1, "struct s { int a : 40; };\nint main(void) { return 0; }"),
    (1, "struct s { int a : -1; };\nint main(void) { return 0; }"),
    (1, "struct s { int a : 0; };\nint main(void) { return 0; }"),
    (1, "static extern int a;\nint main(void) { return 0; }"),
    (1, "int char a;\nint main(void) { return 0; }"),
    (1, "long long long a;\nint main(void) { return 0; }"),
    (1, "signed unsigned a;\nint main(void) { return 0; }"),
    (2, "struct s { int a; } s; int f(void) {\n return s; }\nint main(void) { return f(); }"),
    (1, "int a[2] = 1;\nint main(void) { return 0; }"),
    (1, "struct s { int a; } s = 1;\nint main(void) { return 0; }"),
    (1, "struct s { int a; } s = { .b = 1 };\nint main(void) { return 0; }"),
    (1, "int a[2] = { [2] = 1 };\nint main(void) { return 0; }"),
    (1, "int a = { .b = 1 };\nint main(void) { return 0; }"),
    (3, "struct s { int a; } s;\nint main(void) {\n switch (s) { case 1: ; }\n return 0; }"),
    (3, "int x;\nint main(void) {\n switch (&x) { case 0: ; }\n return 0; }"),
    (3, "int main(void) {\n int i = 0;\n return i[i]; }"),
    (2, "int a[2]; int x; int main(void) {\n return a[&x]; }"),
    (3, "struct s { int a; } s;\nint main(void) {\n s = (struct s)1;\n return 0; }"),
    (2, "int x; int main(void) {\n int i = (int[2])x;\n return 0; }"),
    (2, "int main(void) {\n extern int a = 1;\n return 0; }"),
    (1, "int a; static int a;\nint main(void) { return 0; }"),
    (2, "int main(void) {\n undefined_t x;\n return 0; }"),
    (2, "int main(void) {\n for (int i = 0, i = 1; i < 2; i++) ;\n return 0; }"),
    (3, "void f(void) {\n int i;\n int i; }\nint main(void) { return 0; }"),
    (2, "int main(void) {\n int i; enum { i };\n return 0; }"),
    (2, "int a; int main(void) {\n extern long a;\n return 0; }"),
    (1, "_Static_assert(1 == 2, \"no\");\nint main(void) { return 0; }"),
    (3, "struct s { int a; } s;\nint main(void) {\n return 1 ? s : 1; }"),
    (3, "const int a = 1;\nvoid f(void) {\n a = 2; }\nint main(void) { return 0; }"),
    (2, "int *p; int main(void) {\n return p % 2; }"),
    (2, "struct s { int a; } s; int main(void) {\n return !s; }"),
    (2, "int *p; int main(void) {\n return -p == 0; }"),
    (2, "struct s { int a; } s; int main(void) {\n return (*s).a; }"),
    (2, "int f(void) { return 0; } int main(void) {\n f = 0;\n return 0; }"),
    (2, "int *p; char *q; int main(void) {\n return p - q; }"),
    (2, "struct s { int a; } s; int f(int i) { return i; } int main(void) {\n return f(s); }"),
    (2, "struct s { int a; }; int f(struct s i) { return i.a; } int main(void) {\n return f(1); }"),
    (2, "struct s { int a; }; const struct s s; int main(void) {\n s.a = 1; return 0; }"),
    (2, "struct s { int a : 3; } s; int main(void) {\n int *p = &s.a; return 0; }"),
    (2, "struct s { int a : 3; } s; int main(void) {\n return sizeof(s.a); }"),
    (1, "int n; enum e { A = n };\nint main(void) { return 0; }"),
    (2, "void f(void) {} int main(void) {\n return f() + 1; }"),
    (2, "void f(void) {} int main(void) {\n if (f()) return 1;\n return 0; }"),
    (2, "void f(void) {} int g(int i) { return i; } int main(void) {\n return g(f()); }"),
    (2, "int main(void) {\n return 0 }"),
    (2, "int main(void) {\n return (0; }"),
    (1, "int main(void) { const int n = 2; switch (1) { case n: ; } return 0; }"),
    (1, "const int n = 2; int a[n]; int main(void) { return 0; }"),
    (1, "extern int a; static int a; int main(void) { return 0; }"),
    (1, "int f(void); static int f(void) { return 0; } int main(void) { return 0; }"),
    (1, "static int a; int a; int main(void) { return 0; }"),
    (1, "int a[2]; int a[3]; int main(void) { return 0; }"),
    (1, "int a; unsigned a; int main(void) { return 0; }"),
    (1, "struct s { int a; struct { int a; }; }; int main(void) { return 0; }"),
    (1, "struct s { const int a; int b; } s, t; int main(void) { s = t; return 0; }"),
    (1, "int main(void) { return q; } int q = 2;"),
    (1, "struct s { int a; }; struct s t = { 1 }; struct s p = t; int main(void) { return 0; }"),
    (1, "int a[2]; int b = *a; int main(void) { return 0; }"),
    (1, "unsigned unsigned p; int main(void) { return 0; }"),
    (1, "short long p; int main(void) { return 0; }"),
    (1, "int f(int a, int a); int main(void) { return 0; }"),
    (1, "int f(const int *p); int f(int *p) { return 0; } int main(void) { return 0; }"),
    (1, "extern const int a; int a; int main(void) { return 0; }"),
    (1, "int f(int a) { return a; } int main(void) { int (*p)(int) = f; return p(1, 2); }"),
    (1, "int *p; void *q; int main(void) { return p - q; }"),
];

/// Texts that are close to one of those, and compile.
const TAKEN: &[&str] = &[
    "int a; int b = &a != 0; int main(void) { return 0; }",
    "int a; int *p = &a; int *q = &a + 1; struct s { int x[3]; } s; int *r = s.x; int *w = &s.x[1]; long d = (long)&a; int main(void){return 0;}",
    "int a; int b = a == a; int main(void) { return 0; }",
    "int a; int b = a - a; int main(void) { return 0; }",
    "int a; int b = a % 1; int main(void) { return 0; }",
    "struct s { int a; struct { int b; }; }; int main(void){ return 0; }",
    "int a; int b = a | -1; int main(void) { return 0; }",
    "int a; int b = a || 1; int main(void) { return 0; }",
    "extern int a[]; int a[3]; int main(void){ return 0; }",
    "int a; int b = a ^ a; int main(void) { return 0; }",
    "int main(void){ while (1) { int x = ({ break; 1; }); } return 0; }",
    "int main(void){ switch(1) { case 'a' ... 'z': break; case sizeof(int): break; } return 0; }",
    "int a; int main(void) { switch (1) { case 1 ? 2 : 3: ; case 0 * 1: ; } return 0; }",
    "int a; int main(void) { switch (1) { case 1 ? 2 : a: ; } return 0; }",
    "struct s { int a; }; struct s *p = &(struct s){ 3 }; int x = (int){ 4 }; int main(void) { return 0; }",
    "const char *p = \"a\"; int main(void){ p = \"b\"; p++; return 0; }",
    "const int a = 1;\nint b = a;\nint main(void){return b;}",
    "const int a[2] = {1,2};\nint b = a[1];\nint main(void){return b;}",
    "const int a = 1;\nint b = a + 2 * a;\nint main(void){return b;}",
    "int f(const int a) { return a; } int f(int a); int main(void){ return f(1); }",
    "int x; const int *p = &x; int main(void){ *(int *)p = 1; return x; }",
    "struct s { int a; }; struct s; struct s x; int main(void){ return 0; }",
    "enum e { A }; enum e f(void); unsigned f(void) { return 0; } int main(void) { return 0; }",
    "enum { A }; int main(void){ enum { A = 3 }; int B = A; return B; }",
    "enum e { A }; unsigned x; extern enum e x; int main(void){return 0;}",
    "extern int a = 3; int main(void) { return a; }",
    "int main(void){ extern int q; return q; } int q = 2;",
    "int main(void){ extern int a; extern int a; int f(void); int f(void); return 0;} int a;",
    "int f(void){return 0;} int (*p)(void) = &f; int (*q)(void) = f; int main(void) { return 0; }",
    "int f(void){return 0;} int main(void){ int f = 1; return f;}",
    "int f(int a) { return a; } int main(void) { int (*p)() = f; return p(1, 2); }",
    "int main(void){ return g(); } int g(void) { return 1; }",
    "int main(void) { foo(); return 0; } void foo(void) {}",
    "int main(void){ if (0) foo(1); return 0; }",
    "int main(void){ const int a = 1; const int b[2] = {1,2}; for (const int i = 0;;) break; return a + b[0]; }",
    "extern inline __attribute__((gnu_inline)) int f(void) { return 0; } int f(void) { return 0; } int main(void) { return 0; }",
    "signed int a; int a; int main(void){ return 0; }",
    "int f() { return 0; } int main(void){ return f(1); }",
    "int f(); int f(int a) { return a; } int main(void){ return f(1); }",
    "int main(void){ a: ; { int a; } return 0;}",
    "int (*f(void))(int b) { int b = 1; (void)b; return 0; } int main(void) { f(); return 0; }",
    "int main(void) { L: ; { int L = 1; (void)L; } struct L { int L; } s = { 1 }; return s.L; }",
    "int f(int n, int a[n]) { return a[n - 1]; } int main(void) { int a[2] = { 1, 2 }; return f(2, a); }",
    "int f(int, int); int f(int a, int b) { return a + b; } int main(void) { return f(1, 2); }",
    "static int f(void); int main(void) { return f(); } static int f(void) { return 0; }",
    "int x; int *const p = &x; const int *const *q; int main(void) { const int *r = p; q = &r; r = 0; return *p; }",
    "int main(void) { int i = 0; do { switch (i) { case 0: i = 1; continue; default: break; } i++; } while (i < 3); return i; }",
    "typedef struct node { struct node *next; int v; } node; node a; int main(void) { node *p = &a; p->v = 1; p = p->next; return 0; }",
    "extern int a[]; int a[2]; extern int a[]; int main(void) { return a[1]; }",
    "int (f)(int a) { return a; } int main(void) { return f(1); }",
    "int main(void) { const int n = 1; __auto_type m = n; m++; typeof(n) *p = &n; return m + (p == 0); }",
    "typedef int F(int); F f; int f(int a) { return a; } F *g = f; int main(void) { return g(1); }",
    "int f(void); int main(void) { int f(void); return f(); } int f(void) { return 0; }",
    "struct s; struct s *p; struct s { int a; } x; int main(void) { p = &x; return p->a; }",
    "int main(void) { int x = sizeof x; for (int i = 0; i < 2; i++) { int x = i; (void)x; } return x; }",
    "struct p { int *q; }; int x; const struct p c = { &x }; int main(void) { *c.q = 1; return x; }",
    "int a[3]; int n = sizeof a / sizeof a[0]; enum { N = sizeof(int) * 2 }; int b[N]; int main(void) { return n; }",
    "int main(int argc, char **argv) { return 0; }",
    "int a = 1;\nint b = 0 * a;\nint main(void){return b;}",
    "typedef int T; int f(T T) { return T; } int main(void){ return f(1); }",
    "int x; int *const p = &x; int main(void){ *p = 1; return 0; }",
    "int a[3]; int main(void){ const int *p = a; int *q = a + 1; return q - p; }",
    "int a[3]; int main(void){ void *p = a; void *q = a + 1; return q - p; }",
    "int a[3]; int main(void){ void *p = a; int *q = a + 1; return q - (int*)p; }",
    "int main(void){ int i = 0; { int i = 1; } for (int i = 0; i < 1; i++) { int i = 3; } return i;}",
    "void f(void){ return 1; } int main(void){f();return 0;}",
    "int main(void){ return sizeof(void) + sizeof(int(*)(struct q*)); }",
    "int main(void){ const int n = 2; static int b = n; return b;}",
    "static int a(void); int a(void) { return 0; } int main(void) { return 0; }",
    "static int a; extern int a; static int f(void); int f(void) { return 0; } int main(void){ return 0; }",
    "struct s { int a; }; struct s p = (struct s){ 3 }; int main(void) { return 0; }",
    "int main(void) { switch (1L) { case 1: ; } _Bool b; switch (b) { case 1: ; } return 0; }",
    "struct s {int a;}; int main(void){ struct s {int b;}; struct s x; x.b = 1; return x.b;}",
    "static int a; static int a; static int a = 2; extern int a; int main(void) { return 0; }",
    "static __thread int a; extern __thread int b; int main(void) { return 0; }",
    "typedef int T; typedef int T; int main(void){ typedef int U; typedef int U; return 0;}",
    "typedef int T; int main(void){ int T = 3; return T; }",
    "unsigned a; int b = a >= 0; int main(void) { return 0; }",
    "unsigned signed_; short int long_; long unsigned int a; long int long b; int main(void) { return 0; }",
    "int main(void){ int n = 3; int a[n]; int b[n + 1]; return 0; }",
    "int f(void a); int main(void){return 0;}",
    "void g(void){} void f(void){ return g(); } int main(void){f();return 0;}",
];

#[test]
fn what_does_not_compile_is_refused_with_its_line() {
    for (line, text) in REFUSED {
        match model::read_text("test.c", text, &Options::default()) {
            Ok(p) => panic!("it is not refused:\n{text}\n{p}"),
            Err(why) => assert!(why.to_string().starts_with(&format!("test.c:{line}: ")), "{text}\n{why}"),
        }
    }
}

#[test]
fn what_compiles_is_read() {
    for text in TAKEN {
        if let Err(why) = model::read_text("test.c", text, &Options::default()) {
            panic!("{text}\n{why}");
        }
    }
}

/// What gcc says about a text, if there is one.
fn errors(text: &str) -> Option<String> {
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=gnu11", "-fsyntax-only", "-w", "-x", "c", "-"]).env("LC_ALL", "C");
    let mut gcc = gcc.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
    gcc.stdin.take()?.write_all(text.as_bytes()).ok()?;
    let output = gcc.wait_with_output().ok()?;
    let says = String::from_utf8_lossy(&output.stderr).into_owned();
    Some(if output.status.success() { String::new() } else { says })
}

#[test]
fn gcc_agrees_about_all_of_them() {
    if errors("int x;") != Some(String::new()) {
        eprintln!("skipped: there is no gcc on this machine");
        return;
    }
    for (line, text) in REFUSED {
        let says = errors(text).unwrap();
        let first =
            says.lines().find(|l| l.contains(": error: ")).unwrap_or_else(|| panic!("gcc takes\n{text}"));
        assert!(first.starts_with(&format!("<stdin>:{line}:")), "{text}\n{first}");
    }
    for text in TAKEN {
        assert_eq!(errors(text).unwrap(), "", "{text}");
    }
}
