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
            "\nunion u { long a[2]; char b; } u;\nint main(void) { u.b = 1; return 0; }",
            3,
            "a union of more than 8 bytes",
        ),
        ("\nint main(void) {\n return foo(1); }", 3, "`foo` is not known"),
        ("\nint main(void) {\n void *p = malloc(4); return 0; }", 3, "does not name its type"),
        ("\nint main(void) {\n void *p = realloc(0, 4); return 0; }", 3, "does not name its type"),
        (
            "\nint main(void) {\n pthread_mutex_t *p = realloc(0, 2 * sizeof(pthread_mutex_t)); return 0; }",
            3,
            "`realloc` of a Mutex",
        ),
        ("\nint main(void) {\n int n = __VERIFIER_nondet_int(); int a[n]; return 0; }", 3, "not constant"),
        ("\nint main(void) {\n __asm__(\"hlt\"); return 0; }", 3, "assembly"),
        ("\nint x; int main(void) {\n __asm__(\"\" : \"+m\"(x)); return 0; }", 3, "assembly"),
        (
            "\nint x; int main(void) {\n char *c = (char *)&x; *c = 1; return 0; }",
            3,
            "pointer of another type",
        ),
        (
            "\nvoid *f(void *p) { return 0; }\nint main(void) { pthread_t t;\n again: pthread_create(&t, 0, f, 0);\n goto again; return 0; }",
            4,
            "in a loop",
        ),
        (
            "\nint x; int main(void) {\n __VERIFIER_atomic_begin(); while (x) x--; __VERIFIER_atomic_end(); return 0; }\nvoid *g(void *p) { x = 1; return 0; } void *(*h)(void *) = g;",
            3,
            "atomic block",
        ),
        (
            "\nstruct b { int f : 3; } b;\nint main(void) { int *p = &b.f;\n return 0; }",
            3,
            "the address of a bit-field",
        ),
        (
            "\nunion u { int i; char c; } u;\nint main(void) { return __sync_fetch_and_add(&u.c, 1); }",
            3,
            "atomic update",
        ),
        ("\nint main(void) {\n int n = 3; int a[n()]; return 0; }", 3, "not constant"),
        (
            "\nint x;\n_Static_assert(sizeof x == 8, \"no\"); int main(void) { return 0; }",
            3,
            "for the compiler",
        ),
        ("\nint main(void) {\n _Static_assert(0, \"\"); return 0; }", 3, "for the compiler"),
        ("\nint main(void) { switch (1) { case 1: return 0;\n case 1: return 1; } }", 3, "a second case"),
        ("\nint x", 0, "syntax error"),
        ("\nint x;", 0, "no `main`"),
        ("\npthread_mutex_t m = { 1 };\nint main(void) { return 0; }", 2, "an initial value of a lock"),
    ];
    for (text, line, reason) in rows {
        let says = refused(text);
        let place = if line == 0 { "test.c".to_owned() } else { format!("test.c:{line}:") };
        assert!(says.starts_with(&place) && says.contains(reason), "{text}\nsays: {says}");
    }
}

#[test]
fn a_refusal_is_a_sentence() {
    for (text, sentence) in [
        ("\nint main(void) { float f = 1.5; return 0; }", "is not supported"),
        ("\nint main(void) { __asm__(\"hlt\"); return 0; }", "assembly is not supported"),
        ("\nint main(void) { return y; }", "`y` is not declared"),
        ("\nvoid g(void); int main(void) { g(); return 0; }", "the function `g` is not known"),
        (
            "\nint f(int a) { return a; } int main(void) { return f(); }",
            "the call has 0 arguments, and the function takes 1",
        ),
        ("\nint main(void) { break; }", "`break` outside of a loop or a switch is not supported"),
    ] {
        let says = refused(text);
        assert!(says.ends_with(sentence), "{text}\nsays: {says}");
    }
}
