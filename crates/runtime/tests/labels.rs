//! Names of places and objects, as a search sees them.
#![allow(missing_docs)]

mod common;

use common::*;
use explore::{Decision, End, Executed, Explorer, Names, ObjectId, Options, Site, View};
use runtime::{Labels, Session, Settings};
use std::sync::Arc;

/// Takes the first thread, and writes down what everything is called.
struct Asking {
    labels: Arc<Labels>,
    places: Vec<String>,
    objects: Vec<String>,
}

impl Explorer for Asking {
    fn begin(&mut self) {}

    fn next_thread(&mut self, view: &View<'_>) -> Decision {
        let t = view.enabled.first().unwrap();
        let next = &view.pending[t.index()];
        self.places.extend(self.labels.site(next.site));
        self.objects.extend(self.labels.object(next.op.object));
        Decision::Run(t)
    }

    fn next_option(&mut self, options: Options<'_>) -> u32 {
        options.get(0)
    }

    fn executed(&mut self, _event: Executed<'_>) {}

    fn end(&mut self, _end: End, _view: &View<'_>) -> bool {
        false
    }
}

#[test]
fn objects_have_the_names_of_reports_and_the_place_of_their_first_use_and_steps_their_place() {
    let labels = Arc::new(Labels::default());
    let settings = Settings { labels: Some(labels.clone()), ..settings() };
    let mut session = Session::new(&settings);
    let mut asking = Asking { labels: labels.clone(), places: vec![], objects: vec![] };
    for _ in 0..2 {
        let once =
            session.run_once(&mut asking, &|| _ = (Atomic::new(0).load(), Atomic::new(0).add(1)), false);
        assert!(once.failure.is_none());
    }
    let at = " at crates/runtime/tests/labels.rs:";
    assert_eq!(asking.objects.len(), 4);
    for (k, object) in asking.objects.iter().enumerate() {
        assert!(object.starts_with(&format!("atomic #{}{at}", k % 2 + 1)), "{object}");
        assert!(object.ends_with(&asking.places[k]), "{object} is used at {}", asking.places[k]);
    }
    // What nobody has announced is nothing, whatever its number.
    assert_eq!((labels.site(Site(8)), labels.object(ObjectId(99))), (None, None));
}
