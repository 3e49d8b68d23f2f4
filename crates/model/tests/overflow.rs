//! Signed arithmetic that overflows is an error where that is asked for, exactly where the mathematical result does not fit.

use model::{ErrorKind, Interpreter, Options, Program, ThreadId, Wrong};

fn read(text: &str, overflow: bool) -> Result<Program, model::Refusal> {
    model::read_text("o.c", text, &Options { overflow, ..Options::default() })
}

/// How the only run of a program without choices ends.
fn ends(text: &str) -> Option<ErrorKind> {
    let p = read(text, true).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let run = Interpreter::new(&p);
    let mut s = run.initial();
    loop {
        if let Some(Wrong::Error { kind, .. }) = run.error(&s) {
            return Some(kind);
        }
        match run.successors(&s, ThreadId(0)).unwrap().pop() {
            Some((_, next)) => s = next,
            None => return None,
        }
    }
}

/// The program with an expression over two variables whose values are not known when it is read: a thread may change them.
fn over(ty: &str, a: i128, b: i128, statement: &str) -> String {
    // The least number of a type is no literal.
    let literal = |v: i128| {
        if v == i64::MIN as i128 { "(-9223372036854775807L - 1)".to_owned() } else { format!("{v}L") }
    };
    format!(
        "{ty} a, b; {ty} r; int big; int main(void) {{ a = ({ty}){}; b = ({ty}){}; {statement}; return 0; }}",
        literal(a),
        literal(b)
    )
}

const TYPES: [(&str, i128, i128, bool); 5] = [
    ("int", i32::MIN as i128, i32::MAX as i128, true),
    ("long", i64::MIN as i128, i64::MAX as i128, true),
    ("short", i16::MIN as i128, i16::MAX as i128, true),
    ("signed char", i8::MIN as i128, i8::MAX as i128, true),
    ("unsigned", 0, u32::MAX as i128, false),
];

#[test]
fn arithmetic_overflows_exactly_where_the_result_does_not_fit() {
    let mut wrong = 0;
    for (ty, low, high, signed) in TYPES {
        let some = [low, low + 1, -3, -1, 0, 1, 2, 7, high / 2, high - 1, high];
        for a in some.into_iter().filter(|v| (low..=high).contains(v)) {
            for b in some.into_iter().filter(|v| (low..=high).contains(v)) {
                for (sign, exact) in [("+", a + b), ("-", a - b), ("*", a * b)] {
                    let fits = !signed || (low..=high).contains(&exact);
                    let found = ends(&over(ty, a, b, &format!("r = a {sign} b")));
                    assert_eq!(found, (!fits).then_some(ErrorKind::Overflow), "{ty}: {a} {sign} {b}");
                    wrong += !fits as u32;
                }
            }
            for (statement, exact) in
                [("r = -a", -a), ("a++", a + 1), ("--a", a - 1), ("a += 1", a + 1), ("r = a", a)]
            {
                let fits = !signed || (low..=high).contains(&exact);
                let found = ends(&over(ty, a, 0, statement));
                assert_eq!(found, (!fits).then_some(ErrorKind::Overflow), "{ty}: {statement} of {a}");
            }
            for by in [0, 1, 5] {
                let exact = a << by;
                let wide = if ty == "long" { i64::MAX as i128 } else { i32::MAX as i128 };
                let fits = !signed || a >= 0 && exact <= wide && exact <= high;
                let found = ends(&over(ty, a, by, "r = a << b"));
                assert_eq!(found, (!fits).then_some(ErrorKind::Overflow), "{ty}: {a} << {by}");
            }
        }
    }
    assert!(wrong > 100, "{wrong}");
}

#[test]
fn conversions_to_signed_types_keep_the_number_and_others_wrap() {
    for (value, to, wrong) in [
        ("300L", "signed char", true),
        ("-129L", "signed char", true),
        ("127L", "signed char", false),
        ("3000000000L", "int", true),
        ("3000000000u", "int", true),
        ("-1L", "unsigned", false),
        ("-1L", "unsigned char", false),
        ("5L", "_Bool", false),
    ] {
        let text = format!("long v; {to} r; int main(void) {{ v = {value}; r = v; return 0; }}");
        let expected = wrong.then_some(ErrorKind::Overflow);
        assert_eq!(ends(&text), expected, "{value} to {to}");
        let text = format!("long v; {to} r; int main(void) {{ v = {value}; r = ({to})v; return 0; }}");
        assert_eq!(ends(&text), expected, "{value} to {to}, by a cast");
    }
}

#[test]
fn what_is_not_evaluated_does_not_overflow() {
    let guarded = "int a, r; int main(void) { a = 2147483647; int l = a; r = l < 100 && l + 1 > 0; \
                   r = l < 100 ? l + 1 : 0; if (l > 0 || l + 1 > 0) r = 1; return 0; }";
    assert_eq!(ends(guarded), None);
    assert_eq!(ends(&guarded.replace("l < 100 &&", "l > 100 &&")), Some(ErrorKind::Overflow));
    // Constants on the way to one that fits.
    assert_eq!(
        ends("int a, r; int main(void) { int l = a; r = l + 2147483647 + 2147483647; return 0; }"),
        Some(ErrorKind::Overflow)
    );
}

#[test]
fn what_cannot_be_checked_is_refused_and_only_where_overflows_are_looked_for() {
    for text in [
        "_Atomic int x; int main(void) { x++; return 0; }",
        "_Atomic int x; int main(void) { x += 2; return 0; }",
        "int x; int main(void) { __sync_fetch_and_add(&x, 1); return 0; }",
        "int x = 2147483647 + 1; int main(void) { return 0; }",
        "signed char c = 200; int main(void) { return 0; }",
    ] {
        assert!(read(text, false).is_ok(), "{text}");
        assert!(read(text, true).is_err(), "{text}");
    }
    for text in [
        "_Atomic unsigned x; int main(void) { x++; return 0; }",
        "int x; int main(void) { __sync_fetch_and_or(&x, 1); return 0; }",
    ] {
        assert_eq!(ends(text), None, "{text}");
    }
}
