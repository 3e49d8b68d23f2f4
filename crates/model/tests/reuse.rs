//! Addresses that come back: what `malloc` gives may lie where something lay that was given back.

mod support;

use model::{AddressUse, ErrorKind, Program};
use support::{kind, read, states};

fn right(text: &str) {
    let p = read(text);
    let found = states(&p);
    assert_eq!((found.errors, kind(&found)), (0, None), "{text}\n{p}");
}

fn wrong(text: &str, expected: ErrorKind) {
    let p = read(text);
    assert_eq!(kind(&states(&p)), Some(expected), "{text}\n{p}");
}

fn main_with(body: &str) -> String {
    format!("int main(void) {{ char *p = malloc(1); {body} return 0; }}")
}

/// Whether the automata follow addresses that come back.
fn follows(p: &Program) -> bool {
    p.vars.iter().any(|v| v.name.ends_with(".freed") && v.atomic)
}

#[test]
fn an_address_may_come_back_and_need_not() {
    let one = "char *k = p; free(p); char *q = calloc(1, 1);";
    wrong(&main_with(&format!("{one} if (q == k) reach_error();")), ErrorKind::Assertion);
    wrong(&main_with(&format!("{one} if (q != k) reach_error();")), ErrorKind::Assertion);
    // Where it came back it is the new one, and nothing of the old one is left.
    right(&main_with(&format!("{one} if (q == k) {{ *k = 3; if (*q != 3) reach_error(); }} free(q);")));
    right(&main_with(
        "*p = 5; char *k = p; free(p); char *q = calloc(1, 1); if (q == k && *q) reach_error();",
    ));
    wrong(
        &main_with(
            "*p = 5; char *k = p; free(p); char *q = malloc(1); if (q == k && *q == 5) reach_error();",
        ),
        ErrorKind::Assertion,
    );
    // It is given to one only, and not while somebody has it.
    right(&main_with(
        "char *q = malloc(1), *r = malloc(1); if (p == q || q == r || p == r) reach_error(); free(p);",
    ));
    right(&main_with(&format!("{one} char *r = malloc(1); if (q == r) reach_error(); free(q); free(r);")));
}

#[test]
fn what_was_given_back_is_not_used_because_it_may_have_come_back() {
    let one = "char *k = p; free(p); char *q = calloc(1, 1); int same = q == k;";
    wrong(&main_with(&format!("{one} *k = 1;")), ErrorKind::InvalidPointer);
    wrong(&main_with(&format!("{one} free(k);")), ErrorKind::InvalidPointer);
    right(&main_with(&format!("{one} if (same) *k = 1;")));
}

#[test]
fn an_address_that_comes_back_is_seen_as_a_number_too() {
    let text = |ask: &str, malloc: &str| {
        main_with(&format!(
            "unsigned long old = (unsigned long)p; free(p); {malloc} if ({ask}) reach_error();"
        ))
    };
    wrong(&text("(unsigned long)q == old", "char *q = malloc(1);"), ErrorKind::Assertion);
    wrong(&text("(unsigned long)q != old", "char *q = malloc(1);"), ErrorKind::Assertion);
    // Another type may lie there as well.
    wrong(&text("(unsigned long)q == old", "short *q = malloc(sizeof(short));"), ErrorKind::Assertion);
    let union = "union u { char *p; unsigned long n; }; int main(void) { union u a, b; a.p = malloc(1); free(a.p); b.p = malloc(1);
        if (a.n == b.n) reach_error(); return 0; }";
    wrong(union, ErrorKind::Assertion);
    let behind = "void *v = &p; unsigned long old = *(unsigned long *)v; free(p); p = malloc(1);
        if (*(unsigned long *)v == old) reach_error();";
    wrong(&main_with(behind), ErrorKind::Assertion);
}

#[test]
fn realloc_moves_or_does_not() {
    let text = |size: u32, ask: &str| {
        main_with(&format!("*p = 7; char *q = realloc(p, {size}); if (*q != 7) reach_error(); {ask}"))
    };
    for size in [1, 2] {
        wrong(&text(size, "if (q == p) reach_error();"), ErrorKind::Assertion);
        wrong(&text(size, "if (q != p) reach_error();"), ErrorKind::Assertion);
        right(&text(size, "free(q);"));
    }
    right(&text(1, "if (q == p) *p = 1; free(q);"));
    wrong(&text(1, "int same = q == p; free(p);"), ErrorKind::InvalidPointer);
}

#[test]
fn an_exchange_takes_what_came_back_for_what_was_there() {
    let text = |free: &str, more: &str| {
        format!(
            "_Atomic(char *) slot; atomic_int gen;
             void *f(void *a) {{ char *o = slot; int g = gen;
               if (o && atomic_compare_exchange_strong(&slot, &o, 0)) if (gen != g) reach_error(); return 0; }}
             int main(void) {{ pthread_t t; slot = malloc(1); pthread_create(&t, 0, f, 0); char *k = atomic_exchange(&slot, 0);
               if (k) {{ {free} char *q = malloc(1); {more} slot = q; }} pthread_join(t, 0); return 0; }}"
        )
    };
    wrong(&text("free(k);", "gen++;"), ErrorKind::Assertion);
    right(&text("", "gen++;"));
    right(&text("free(k);", ""));
    // Where it comes back as something else nobody is told that all is well.
    wrong(
        &text("free(k);", "gen++;").replace("char *q = malloc(1)", "void *q = malloc(sizeof(short))"),
        ErrorKind::Bound,
    );
}

#[test]
fn where_pointers_are_compared_with_null_alone_nothing_comes_back() {
    let list = |ask: &str| {
        format!(
            "struct node {{ struct node *next; }} *head; pthread_mutex_t m;
             void *f(void *a) {{ pthread_mutex_lock(&m); struct node *n = head; if (n) {{ head = n->next; free(n); }}
               {ask} pthread_mutex_unlock(&m); return 0; }}
             int main(void) {{ pthread_t t; for (int i = 0; i < 2; i++) {{ struct node *n = calloc(1, sizeof(struct node));
               n->next = head; head = n; }}
               pthread_create(&t, 0, f, 0); pthread_mutex_lock(&m); while (head) {{ struct node *n = head; head = n->next; free(n); }}
               pthread_mutex_unlock(&m); return 0; }}"
        )
    };
    let plain = list("if (n == 0 || !head || head == (void *)&m) a = 0;");
    right(&plain);
    assert!(!follows(&read(&plain)));
    assert!(follows(&read(&list("if (n == head) reach_error();"))));
    // Nor without `free`.
    assert!(!follows(&read(&list("if (n == head) reach_error();").replace("free(n)", "n->next = 0"))));
}

#[test]
fn what_is_given_back_later_does_not_come_back_before() {
    let text = |before: &str, after: &str| {
        format!(
            "char *a, *b; void *f(void *x) {{ {before} b = malloc(1); {after} return 0; }}
             int main(void) {{ pthread_t t; a = malloc(1); char *k = a; pthread_create(&t, 0, f, 0); pthread_join(t, 0);
               if (k == b) reach_error(); return 0; }}"
        )
    };
    // A choice is an input.
    let inputs = |p: &Program| p.threads.iter().flat_map(|t| &t.transitions).any(|e| !e.havoc.is_empty());
    let later = text("", "free(a);").replace("malloc(", "calloc(1, ");
    right(&later);
    assert!(!inputs(&read(&later)));
    assert!(inputs(&read(&text("free(a);", "").replace("malloc(", "calloc(1, "))));
    wrong(&text("free(a);", ""), ErrorKind::Assertion);
    wrong(&text("for (int i = 0; i < 2; i++) { if (i) free(a);", "}"), ErrorKind::Assertion);
}

#[test]
fn which_of_two_variables_comes_first_is_not_said() {
    let text =
        |ask: &str| format!("int a[2], b[2]; int main(void) {{ if ({ask}) reach_error(); return 0; }}");
    wrong(&text("a < b"), ErrorKind::Assertion);
    wrong(&text("b < a"), ErrorKind::Assertion);
    right(&text("&a[1] < a || a == b || &a[2] <= a"));
}

#[test]
fn in_an_atomic_block_who_still_has_memory_keeps_what_is_in_it() {
    let again = |ask: &str| {
        format!(
            "int main(void) {{ _Bool *p = malloc(1), *q = malloc(1), *k = q, *r; *p = 1; free(q);
               __VERIFIER_atomic_begin(); r = malloc(1); if ({ask}) reach_error(); __VERIFIER_atomic_end(); return 0; }}"
        )
    };
    right(&again("!*p || r == p"));
    wrong(&again("r == k"), ErrorKind::Assertion);
}

#[test]
fn memory_of_a_structure_that_a_function_declares_is_refused_where_it_may_come_back() {
    let text = |ask: &str| {
        format!(
            "int main(void) {{ struct s {{ char c; }} *p = malloc(sizeof(struct s)), *q; free(p); q = malloc(sizeof(struct s));
               if ({ask}) return 1; return 0; }}"
        )
    };
    right(&text("!q"));
    let refused = support::refused(&text("p == q"));
    assert!(refused.contains("of a structure that a function declares"), "{refused}");
}

/// Two threads that run `f`, one after the other or at once, after the globals.
fn two(globals: &str, f: &str, at_once: bool) -> String {
    let (between, after) = if at_once { ("", "pthread_join(t, 0);") } else { ("pthread_join(t, 0);", "") };
    format!(
        "{globals} pthread_mutex_t m; int bad;
         void *f(void *a) {{ pthread_mutex_lock(&m); {f} pthread_mutex_unlock(&m); return 0; }}
         int main(void) {{ pthread_t t, u; pthread_create(&t, 0, f, 0); {between} pthread_create(&u, 0, f, 0); {after}
           pthread_join(u, 0); if (bad) reach_error(); return 0; }}"
    )
}

#[test]
fn what_compares_what_is_gone_with_what_came_later_is_named() {
    let f = "void *f(void *a) { return 0; }";
    let make = "pthread_create(&a, 0, f, 0);";
    let made = "pthread_create(&b, 0, f, 0);";
    let main = |body: &str| format!("{f} int main(void) {{ pthread_t a, b; {body} return 0; }}");
    let owner = "if (has && pthread_equal(own, pthread_self())) bad = 1; own = pthread_self(); has = 1;";
    let stack = "int z; if (own == &z) bad = 1; own = &z;";
    let number = "int z; if (own == (unsigned long)&z) bad = 1; own = (unsigned long)&z;";
    let (handle, local, value) = (Some(AddressUse::Handle), Some(AddressUse::Local), Some(AddressUse::Value));
    let cases = [
        (main(&format!("{make} pthread_join(a, 0); {made} if (a == b) return 0; pthread_join(b, 0);")), handle),
        (main(&format!("{make} pthread_detach(a); {made} if (a != b) return 0; pthread_join(b, 0);")), handle),
        (main(&format!("{make} {made} if (a == b) return 1; pthread_join(a, 0); pthread_join(b, 0);")), None),
        (main(&format!("{make} {made} if (a < b) return 0; pthread_join(a, 0); pthread_join(b, 0);")), handle),
        (main(&format!("{make} if (a % 8191 == 3) return 0; pthread_join(a, 0);")), handle),
        (two("pthread_t own; int has;", owner, false), handle),
        (two("pthread_t own; int has;", owner, true), None),
        (two("int *own;", stack, false), local),
        (two("int *own;", stack, true), None),
        (two("unsigned long own;", number, false), local),
        (two("unsigned long own;", number, true), None),
        (two("_Thread_local int z; int *own;", "if (own == &z) bad = 1; own = &z;", false), local),
        (two("_Thread_local int z; int *own;", "if (own == &z) bad = 1; own = &z;", true), None),
        ("int *k; void f(void) { int x; if (k == &x) reach_error(); k = &x; } int main(void) { f(); f(); return 0; }".into(), local),
        // It was there before the other one came to be.
        (two("int *k; void g(void) { int x; k = &x; }", "int y; g(); if (k == &y) bad = 1;", true), None),
        ("int x, y; int main(void) { return (unsigned long)&x < (unsigned long)&y; }".into(), value),
        ("int x; int main(void) { return ((unsigned long)&x >> 4) % 2; }".into(), value),
        ("int x; int main(void) { return (unsigned)(unsigned long)&x == 16; }".into(), value),
        ("int a[4]; int main(void) { int s = 0; for (int *p = a; p < a + 4; p++) s += *p; return &a[3] - a != 3; }".into(), None),
        (
            "int *p, x; int main(void) { p = &x; unsigned long t = (unsigned long)p | 1; if (!(t & 1)) return 1;
               return (int *)(t & ~1ul) != p || !p; }".into(),
            None,
        ),
        ("long x = 1l << 32; int main(void) { return x / 2 > 7 && (x >> 32) == 1 && (int)x; }".into(), None),
    ];
    for (text, expected) in cases {
        let p = read(&text);
        assert_eq!(p.address_uses.first().map(|u| u.1), expected, "{text}\n{p}");
    }
}
