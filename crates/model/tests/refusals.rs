//! What is outside the subset is refused, with its place and the reason.

mod support;

use support::refused;

#[test]
fn what_is_not_understood_is_refused_with_its_line() {
    // The program, after the line with the prelude; the line; a part of the reason.
    let rows = [
        ("\nfloat f;\nint main(void) { f = 1; return 0; }", 3, "floating-point"),
        ("\nint main(void) {\n double d = 0.5; return 0; }", 3, "floating-point"),
        (
            "\nunion u { struct { int a; } a; char b; } u;\nint main(void) { u.b = 1; return 0; }",
            3,
            "a union with other members",
        ),
        ("\nint main(void) {\n return foo(1); }", 3, "`foo` is not known"),
        ("\nint main(void) {\n void *p = malloc(4); return 0; }", 3, "whose type is not known"),
        ("\nint main(void) {\n int *p = realloc(0, 4); return 0; }", 3, "`realloc` is not known"),
        ("\nint main(void) {\n __asm__(\"nop\"); return 0; }", 3, "assembly"),
        (
            "\nint x; int main(void) {\n char *c = (char *)&x; *c = 1; return 0; }",
            3,
            "pointer of another type",
        ),
        (
            "\nint n; void *f(void *p) { n = 1; return 0; }\nint main(void) { pthread_t t;\n while (n < 3) pthread_create(&t, 0, f, 0);\n return 0; }",
            4,
            "makes threads",
        ),
        (
            "\nvoid *f(void *p) { return 0; }\nint main(void) { pthread_t t;\n again: pthread_create(&t, 0, f, 0);\n goto again; return 0; }",
            4,
            "in a loop",
        ),
        ("\n_Thread_local int x;\nint main(void) { return x; }", 2, "each thread"),
        (
            "\nint x; int main(void) {\n __VERIFIER_atomic_begin(); while (x) x--; __VERIFIER_atomic_end(); return 0; }\nvoid *g(void *p) { x = 1; return 0; } void *(*h)(void *) = g;",
            3,
            "atomic block",
        ),
        ("\nstruct b { int f : 3; } b;\nint main(void) { b.f = 1;\n return 0; }", 3, "bit-field"),
        ("\nint main(void) {\n int n = 3; int a[n()]; return 0; }", 3, "not constant"),
        ("\nint x", 0, "syntax error"),
        ("\nint x;", 0, "no `main`"),
        ("\npthread_mutex_t m = { 1 };\nint main(void) { return 0; }", 2, "special kind"),
    ];
    for (text, line, reason) in rows {
        let says = refused(text);
        let place = if line == 0 { "test.c".to_owned() } else { format!("test.c:{line}:") };
        assert!(says.starts_with(&place) && says.contains(reason), "{text}\nsays: {says}");
    }
}
