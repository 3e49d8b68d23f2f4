//! Time that is over is over: for engines, whatever they are doing, and for the check of what they found.

mod support;

use model::LocationKind;
use std::time::Instant;
use support::{read, run};
use verify::{
    Budget, Certificate, Invariant, Options, Outcome, Refuted, Spent, Unknown, Verdict, believe_nothing,
    check, engines,
};

/// Says a law of multiplication that no solver finds by search, and no decision diagram holds.
const LAW: &str = "unsigned a, b, c;
    void *f(void *p) { c = __VERIFIER_nondet_uint(); return p; }
    int main(void) { pthread_t t;
      a = __VERIFIER_nondet_uint(); b = __VERIFIER_nondet_uint();
      pthread_create(&t, 0, f, 0); pthread_join(t, 0);
      unsigned x = a, y = b, z = c;
      assert(x * (y + z) == x * y + x * z); return 0; }";

fn within(seconds: f64) -> Options {
    Options { deadlocks: false, budget: Budget { seconds: Some(seconds), work: None } }
}

/// Whether the answer is that so many seconds are over.
fn spent(out: &Outcome, seconds: f64) -> bool {
    matches!(out.verdict, Verdict::Unknown(Unknown::Spent(Spent::Seconds(s))) if s == seconds)
}

/// The seconds of the processor that this process has used; the clock's where the system does not say. Others use the machine too.
fn used(start: Instant) -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(") ").next().unwrap_or("").split_whitespace().collect();
    match (
        fields.get(11).and_then(|t| t.parse::<f64>().ok()),
        fields.get(12).and_then(|t| t.parse::<f64>().ok()),
    ) {
        (Some(user), Some(system)) => (user + system) / 100.0,
        _ => start.elapsed().as_secs_f64(),
    }
}

#[test]
fn every_engine_and_every_check_ends_soon_after_its_time() {
    let start = Instant::now();
    let p = read(LAW);
    for e in engines() {
        let before = used(start);
        let out = (e.make)().verify(&p, &within(0.7));
        let took = used(start) - before;
        assert_eq!(out.verdict.name(), "unknown", "{}", e.name);
        assert!(took < 1.8, "{}: {took} s", e.name);
    }
    // A proof that says nothing but that the assertion holds: to check it is to find out.
    let mut at = Vec::new();
    let mut terms = p.terms.clone();
    let yes = terms.boolean(true);
    let places = p.threads[0].location_ids().flat_map(|l| p.threads[1].location_ids().map(move |m| [l, m]));
    for place in places {
        let wrong = |(t, l): (&model::Thread, &model::LocationId)| {
            matches!(t.location(*l).kind, LocationKind::Error { .. })
        };
        if !p.threads.iter().zip(&place).any(wrong) {
            at.push((place.into(), yes));
        }
    }
    let proof = Certificate::Invariant(Invariant { terms, at });
    let before = used(start);
    let refused = check(&p, &within(0.3), &proof).unwrap_err();
    assert_eq!(refused, Refuted::Spent(Spent::Seconds(0.3)), "{refused}");
    let mut out = Outcome { engine: "bdd", verdict: Verdict::Safe(proof), counts: Vec::new(), seconds: 0.2 };
    believe_nothing(&p, &within(0.5), &mut out);
    assert!(spent(&out, 0.5), "{:?}", out.verdict);
    let took = used(start) - before;
    assert!(took < 2.0, "{took} s for two checks");
}

#[test]
fn no_kind_of_proof_is_checked_when_there_is_no_time() {
    let p = read(
        "int x; pthread_mutex_t m;
         void *f(void *a) { pthread_mutex_lock(&m); x = x + 1; assert(x == 1); x = x - 1; pthread_mutex_unlock(&m); return a; }
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); f(0); return 0; }",
    );
    for engine in ["explicit", "bmc", "impact", "predabs"] {
        let mut out = run(engine, &p, &Options::default());
        let Verdict::Safe(proof) = &out.verdict else { panic!("{engine}: {:?}", out.verdict) };
        assert_eq!(check(&p, &within(60.0), proof), Ok(()), "{engine}");
        assert_eq!(check(&p, &within(0.0), proof), Err(Refuted::Spent(Spent::Seconds(0.0))), "{engine}");
        // Nor is what was not checked believed; it is no mistake of raddle's either.
        out.seconds = 9.0;
        believe_nothing(&p, &within(9.0), &mut out);
        assert!(spent(&out, 9.0), "{engine}: {:?}", out.verdict);
    }
}
