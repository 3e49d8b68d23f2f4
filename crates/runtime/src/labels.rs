//! What places and objects are called, for searches that prefer some by name.

use crate::record::{class_word, place_of};
use crate::{Class, Place};
use explore::{Names, ObjectId, Pending, Site, ThreadSet};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The names of the places that threads have announced operations at, and of the objects of the execution at hand.
///
/// Put into [`Settings::labels`](crate::Settings::labels) it is kept up to date while a test runs; the search has it as
/// its [`Names`]. Without it nothing is written down.
#[derive(Debug, Default)]
pub struct Labels(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// A place is made from its address only here, while it is known to be one.
    places: HashMap<Site, String>,
    objects: Vec<(Class, Option<Place>)>,
    /// Names of the objects of a native program, by what the front end calls them.
    native: HashMap<u64, String>,
    /// Those of the objects of the execution at hand.
    names: Vec<u64>,
}

impl Labels {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn reset(&self) {
        let mut known = self.known();
        known.objects.clear();
        known.names.clear();
    }

    pub(crate) fn enter(&self, class: Class, place: Option<Place>) {
        self.known().objects.push((class, place));
    }

    /// A native program has a name for an object.
    pub(crate) fn named(&self, object: ObjectId, class: Class, name: u64) {
        let mut known = self.known();
        if known.names.len() <= object.index() {
            known.names.resize(object.index() + 1, 0);
        }
        known.names[object.index()] = name;
        if !known.native.contains_key(&name)
            && let Some(text) = crate::front::front().and_then(|f| f.object(name, class))
        {
            known.native.insert(name, text);
        }
    }

    pub(crate) fn announced(&self, pending: &[Pending], live: ThreadSet) {
        let mut known = self.known();
        for site in live.iter().map(|t| pending[t.index()].site) {
            if !known.places.contains_key(&site)
                && let Some(place) = place_of(site)
            {
                known.places.insert(site, place.to_string());
            }
        }
    }
}

impl Names for Labels {
    /// `file:line:column` of the call.
    fn site(&self, site: Site) -> Option<String> {
        self.known().places.get(&site).cloned()
    }

    /// What reports call the object, and where it was first used: `atomic #2 at src/queue.rs:31:9`.
    fn object(&self, object: ObjectId) -> Option<String> {
        let known = self.known();
        let native = known.names.get(object.index()).and_then(|name| known.native.get(name));
        if let Some(text) = native {
            return Some(text.clone());
        }
        let (class, place) = *known.objects.get(object.index())?;
        let number = known.objects[..=object.index()].iter().filter(|o| o.0 == class).count();
        let at = place.map_or_else(String::new, |p| format!(" at {p}"));
        Some(format!("{} #{number}{at}", class_word(class)?))
    }
}
