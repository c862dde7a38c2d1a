//! Hybrid logical time, and the documents that merge by it.
//!
//! A [`Document`] is a record of the memory as all devices together see it. Each field has the time at which it was last set: of
//! two values the later one wins. A counter is a sum with one summand for each device. A set only grows. So merging two documents
//! is commutative, associative and idempotent, and every device that has seen the same operations has the same documents,
//! whatever the order in which they arrived.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::seal::DeviceId;
use crate::base::Time;

/// A moment of hybrid logical time and the device it comes from. Stamps sort by time, then by device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Stamp {
    time: u64,
    device: DeviceId,
}

impl Stamp {
    pub(super) fn new(time: u64, device: &DeviceId) -> Stamp {
        Stamp { time, device: device.clone() }
    }

    /// Returns the hybrid time: milliseconds in the upper 48 bits, a counter in the lower 16.
    pub(super) fn time(&self) -> u64 {
        self.time
    }

    /// Returns the moment right after this one, on the same device.
    pub(super) fn next(&self) -> Stamp {
        Stamp { time: self.time.saturating_add(1), device: self.device.clone() }
    }

    /// Returns the time of day, as far as the clocks are right.
    pub(super) fn moment(&self) -> Time {
        Time::from_millis(i64::try_from(self.time >> 16).expect("48 bits"))
    }
}

impl From<Stamp> for String {
    fn from(stamp: Stamp) -> String {
        format!("{:016x}{}", stamp.time, stamp.device)
    }
}

impl TryFrom<String> for Stamp {
    type Error = String;
    fn try_from(text: String) -> Result<Stamp, String> {
        let parts = text.split_at_checked(16);
        let read = parts.and_then(|(time, device)| {
            Some(Stamp { time: u64::from_str_radix(time, 16).ok()?, device: DeviceId::named(device)? })
        });
        read.ok_or_else(|| "not a stamp".into())
    }
}

/// A clock that never goes back, and is never behind what the device has seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock(pub(super) u64);

impl Clock {
    /// Notes the time of an operation of another device.
    pub(super) fn observe(&mut self, time: u64) {
        self.0 = self.0.max(time);
    }

    /// Returns the time of a new operation.
    pub(super) fn tick(&mut self, now: Time) -> u64 {
        let now = u64::try_from(now.as_millis()).unwrap_or(0).min((1 << 47) - 1) << 16;
        self.0 = now.max(self.0.saturating_add(1));
        self.0
    }
}

/// The values of a record as one device has them now.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Values {
    pub(super) fields: BTreeMap<String, Value>,
    pub(super) counters: BTreeMap<String, i64>,
    pub(super) sets: BTreeMap<String, BTreeMap<String, Value>>,
}

impl Values {
    /// Returns a field as text.
    pub(super) fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field)?.as_str()
    }

    /// Returns when the record was last changed, as far as it says so.
    pub(super) fn moment(&self) -> Option<Time> {
        let times = [
            "created_at",
            "confirmed_at",
            "superseded_at",
            "archived_at",
            "since",
            "until",
            "learned_at",
            "at",
        ];
        times.iter().filter_map(|name| Time::parse(self.text(name)?)).max()
    }

    /// Tells whether the record is hidden from shared sessions.
    pub(super) fn is_private(&self) -> bool {
        let field = self.fields.get("private").or_else(|| self.fields.get("statement")?.get("private"));
        field.and_then(Value::as_bool).unwrap_or(false)
    }
}

/// A record as all devices together see it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Document {
    #[serde(rename = "f")]
    fields: BTreeMap<String, (Stamp, Value)>,
    #[serde(rename = "c", skip_serializing_if = "BTreeMap::is_empty")]
    counters: BTreeMap<String, BTreeMap<DeviceId, (Stamp, i64)>>,
    #[serde(rename = "s", skip_serializing_if = "BTreeMap::is_empty")]
    sets: BTreeMap<String, BTreeMap<String, Value>>,
}

impl Document {
    /// Merges another state of the record into this one.
    pub(super) fn merge(&mut self, other: &Document) {
        for (name, theirs) in &other.fields {
            keep_later(&mut self.fields, name.clone(), theirs, ToString::to_string);
        }
        for (name, summands) in &other.counters {
            let ours = self.counters.entry(name.clone()).or_default();
            for (device, theirs) in summands {
                keep_later(ours, device.clone(), theirs, ToString::to_string);
            }
        }
        for (name, members) in &other.sets {
            let ours = self.sets.entry(name.clone()).or_default();
            for (key, theirs) in members {
                add_member(ours, key.clone(), theirs.clone());
            }
        }
    }

    /// Notes what this device has changed since. Returns whether there was anything.
    pub(super) fn update(&mut self, values: &Values, stamp: &Stamp) -> bool {
        let mut changed = false;
        for (name, value) in &values.fields {
            if self.fields.get(name).is_none_or(|(_, known)| known != value) {
                self.fields.insert(name.clone(), (stamp.clone(), value.clone()));
                changed = true;
            }
        }
        for (name, total) in &values.counters {
            let delta = total - self.total(name);
            if delta != 0 {
                let summands = self.counters.entry(name.clone()).or_default();
                let (at, own) = summands.entry(stamp.device.clone()).or_insert_with(|| (stamp.clone(), 0));
                (*at, *own) = (stamp.clone(), own.saturating_add(delta));
                changed = true;
            }
        }
        for (name, members) in &values.sets {
            let known = self.sets.entry(name.clone()).or_default();
            for (key, member) in members {
                if !known.contains_key(key) {
                    known.insert(key.clone(), member.clone());
                    changed = true;
                }
            }
        }
        changed
    }

    fn total(&self, counter: &str) -> i64 {
        let summands = self.counters.get(counter).into_iter().flat_map(BTreeMap::values);
        summands.fold(0, |sum, (_, own)| sum.saturating_add(*own))
    }

    /// Returns the values that a device should have.
    pub(super) fn values(&self) -> Values {
        Values {
            fields: self.fields.iter().map(|(name, (_, value))| (name.clone(), value.clone())).collect(),
            counters: self.counters.keys().map(|name| (name.clone(), self.total(name))).collect(),
            sets: self.sets.clone(),
        }
    }

    /// Returns a field with the time at which it was set.
    pub(super) fn field(&self, name: &str) -> Option<&(Stamp, Value)> {
        self.fields.get(name)
    }

    /// Returns the device that set each field.
    pub(super) fn devices(&self) -> impl Iterator<Item = (&String, &DeviceId)> {
        self.fields.iter().map(|(name, (stamp, _))| (name, &stamp.device))
    }

    /// Sets a field.
    pub(super) fn set(&mut self, name: &str, stamp: Stamp, value: Value) {
        self.fields.insert(name.to_owned(), (stamp, value));
    }

    /// Adds a member to a set.
    pub(super) fn add(&mut self, set: &str, key: String, member: Value) {
        add_member(self.sets.entry(set.to_owned()).or_default(), key, member);
    }

    /// Returns the members of a set.
    pub(super) fn members(&self, set: &str) -> impl Iterator<Item = (&String, &Value)> {
        self.sets.get(set).into_iter().flatten()
    }
}

/// Adds a member to a set. Two devices may have noted one member differently; any rule does that both follow.
fn add_member(set: &mut BTreeMap<String, Value>, key: String, member: Value) {
    let ours = set.entry(key).or_insert_with(|| member.clone());
    let texts = [member.to_string(), ours.to_string()];
    if texts[0] > texts[1] {
        *ours = member;
    }
}

/// Keeps the later of two stamped values. A copied device may set two values at one moment; then their text decides.
fn keep_later<K: Ord, V: Clone>(
    ours: &mut BTreeMap<K, (Stamp, V)>,
    key: K,
    theirs: &(Stamp, V),
    text: impl Fn(&V) -> String,
) {
    let is_later = ours.get(&key).is_none_or(|ours| match theirs.0.cmp(&ours.0) {
        std::cmp::Ordering::Equal => text(&theirs.1) > text(&ours.1),
        order => order.is_gt(),
    });
    if is_later {
        ours.insert(key, theirs.clone());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn device(number: u8) -> DeviceId {
        DeviceId::of(&[number])
    }

    fn stamp(time: u64, number: u8) -> Stamp {
        Stamp::new(time, &device(number))
    }

    #[test]
    fn a_clock_never_goes_back() {
        let mut clock = Clock::default();
        let noon = Time::from_millis(1_700_000_000_000);
        let first = clock.tick(noon);
        assert!(clock.tick(noon.plus_days(-1)) > first);
        clock.observe(first + (1 << 40));
        assert!(clock.tick(noon) > first + (1 << 40));
    }

    #[test]
    fn stamps_survive_json() {
        let stamp = stamp(77 << 16, 3);
        let text = serde_json::to_string(&stamp).unwrap();
        assert_eq!(serde_json::from_str::<Stamp>(&text).unwrap(), stamp);
        for bad in ["\"\"", "\"00\"", "\"000000000000004dzzzzzzzzzzzzzzzz\"", "7"] {
            assert!(serde_json::from_str::<Stamp>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn judgements_of_two_devices_are_summed() {
        let values = |score: i64| Values { counters: [("score".into(), score)].into(), ..Values::default() };
        let (mut one, mut other) = (Document::default(), Document::default());
        one.update(&values(2), &stamp(1, 1));
        other.update(&values(3), &stamp(2, 2));
        one.merge(&other);
        assert_eq!(one.values().counters["score"], 5);
        // A third judgement on the first device counts once, however often it arrives.
        one.update(&values(6), &stamp(3, 1));
        other.merge(&one);
        other.merge(&one);
        assert_eq!(other.values().counters["score"], 6);
    }

    fn documents() -> impl Strategy<Value = Vec<Document>> {
        let change = (0u64..6, 0u8..4, 0usize..3, 0i64..4);
        proptest::collection::vec(proptest::collection::vec(change, 0..6), 2..5).prop_map(|all| {
            let document = |changes: Vec<(u64, u8, usize, i64)>| {
                let mut document = Document::default();
                for (time, device, name, value) in changes {
                    let name = ["a", "b", "c"][name];
                    let values = Values {
                        fields: [(name.to_owned(), json!(value))].into(),
                        counters: [(name.to_owned(), value)].into(),
                        sets: [("s".to_owned(), [(value.to_string(), json!(name))].into())].into(),
                    };
                    document.update(&values, &stamp(time, device));
                }
                document
            };
            all.into_iter().map(document).collect()
        })
    }

    proptest! {
        #[test]
        fn merging_in_any_order_and_any_number_of_times_is_the_same(all in documents(), order in any::<u64>()) {
            let fold = |documents: &[Document]| {
                documents.iter().fold(Document::default(), |mut state, document| {
                    state.merge(document);
                    state
                })
            };
            let expected = fold(&all);
            let mut other = [all.clone(), all.clone()].concat();
            let turn = usize::try_from(order % other.len() as u64).unwrap();
            other.rotate_left(turn);
            if order % 2 == 0 {
                other.reverse();
            }
            prop_assert_eq!(fold(&other), expected.clone());
            let (mut left, right) = (fold(&all[..1]), fold(&all[1..]));
            left.merge(&right);
            prop_assert_eq!(left, expected);
        }
    }
}
