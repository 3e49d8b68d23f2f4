//! The program of `raddle demo`: a test that looks right, and fails once in a long while.

use raddle::sync::atomic::{AtomicU64, Ordering::SeqCst};
use raddle::{sync::Arc, thread};

/// Pays into an account. The bug: a payment that comes between the load
/// and the store is overwritten.
fn pay(account: &AtomicU64, amount: u64) {
    let balance = account.load(SeqCst);
    account.store(balance + amount, SeqCst);
}

/// Two threads pay into one account.
pub(crate) fn payments_add_up() {
    let account = Arc::new(AtomicU64::new(100));
    let other = account.clone();
    let payer = thread::Builder::new().name("payer".into());
    let payer = payer.spawn(move || pay(&other, 50)).unwrap();
    pay(&account, 20);
    payer.join().unwrap();
    assert_eq!(account.load(SeqCst), 170, "a payment was lost");
}
