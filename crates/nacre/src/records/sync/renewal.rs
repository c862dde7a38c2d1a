//! When a machine begins again under another name or another key: it was copied or restored from a backup, the key of its memory was
//! replaced, or it moves to another carrier.
//!
//! A new key starts all logs again. What a machine knows is in its records, so it repeats those that the other new logs do not have;
//! merging them a second time changes nothing. Whoever has only the old key can read and write nothing of the new logs.

use super::{
    Device, Error, MemoryKey, Place, Result, RoundOptions, RoundReport, all_seen, fold, from_hex, round,
};
use serde::{Deserialize, Serialize};

use super::carrier::{self, Marker, remove_folder};
use super::seal::{DeviceId, DeviceKey};
use crate::group::View;
use crate::store::audit;

/// A new key that the carrier does not have yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PendingChange {
    /// The devices that are shut out.
    removed: Vec<DeviceId>,
}

/// The result of a change of the key.
#[derive(Clone, Debug, Default, Serialize)]
pub struct KeyReport {
    /// The phrase with which other machines join from now on.
    pub phrase: String,
    /// The machine that was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<String>,
    /// The machines that take the new key in their next round.
    pub invited: Vec<String>,
    /// The machines on which the new phrase has to be typed: `nacre sync join`.
    pub by_phrase: Vec<String>,
    /// The first round with the new key.
    pub round: RoundReport,
}

/// Makes this machine a new device. Its old log stays in the folder, and is read like that of any other machine.
pub(super) fn renew(view: &mut View<'_>, device: &mut Device) -> Result<()> {
    let caller = view.caller();
    device.replaces = Some(device.key.id().clone());
    device.key = DeviceKey::generate()?;
    view.write(|tx| {
        fold::reset(tx)?;
        audit::Row::new("sync_new_device").append(tx, caller)
    })?;
    remove_folder(&device.log().folder)?;
    device.save()
}

/// Replaces the key of the memory, and shuts out the machine with this name or device id.
pub fn replace_key(view: &mut View<'_>, remove: Option<&str>) -> Result<KeyReport> {
    // Everything that can be read with the old key is read before it goes.
    round(view, &RoundOptions::default())?;
    let mut device = Device::open(view)?;
    let lock = device.lock()?;
    let machines = all_seen(&device)?;
    let name = |id: &DeviceId| match &machines[id] {
        Some(seen) if !seen.name.is_empty() => seen.name.clone(),
        _ => id.to_string(),
    };
    let removed =
        remove.map(|given| find(&machines.keys().map(|id| (id, name(id))).collect::<Vec<_>>(), given));
    let removed = removed.transpose()?;
    if removed.as_ref() == Some(device.key.id()) {
        return Err(Error::SyncRemovesItself);
    }
    let mut report = KeyReport { removed: removed.as_ref().map(&name), ..KeyReport::default() };
    let (mut invited, mut gone) = (Vec::new(), Vec::new());
    for (id, seen) in &machines {
        let agreement = seen.as_ref().and_then(|seen| from_hex(seen.agreement.as_ref()?)?.try_into().ok());
        match agreement {
            _ if id == device.key.id() => {}
            _ if Some(id) == removed.as_ref() || seen.as_ref().is_some_and(|seen| seen.left) => {
                gone.push(id.clone());
            }
            Some(public) => {
                invited.push((id.clone(), public));
                report.invited.push(name(id));
            }
            None => report.by_phrase.push(name(id)),
        }
    }
    // Devices that others replaced have nothing that the others do not repeat.
    gone.extend(carrier::devices(&device.carrier)?.into_iter().filter(|id| !machines.contains_key(id)));
    let after = device.memory.replaced()?;
    device.marker = Some(Marker::replacing(&device.memory, &after, &invited)?);
    device.memory = after;
    device.pending = Some(PendingChange { removed: gone });
    report.phrase = device.memory.phrase();
    device.save()?;
    crate::store::crash::point("new key saved");
    finish(view, &mut device)?;
    drop(lock);
    report.round = round(view, &RoundOptions::default())?;
    Ok(report)
}

/// Returns the device with this id or name.
fn find(machines: &[(&DeviceId, String)], given: &str) -> Result<DeviceId> {
    let by_id = machines.iter().filter(|(id, _)| id.as_str() == given);
    let by_name = machines.iter().filter(|(_, name)| name == given);
    let found: Vec<_> = by_id.chain(by_name).map(|(id, _)| *id).collect();
    match found[..] {
        [one] => Ok(one.clone()),
        [] => Err(Error::NoMachine { given: given.to_owned() }),
        _ => Err(Error::ManyMachines { given: given.to_owned() }),
    }
}

/// Starts the log of this device again with its new key, and tells the carrier. A crash between any two steps repeats them.
fn finish(view: &mut View<'_>, device: &mut Device) -> Result<()> {
    let Some(pending) = device.pending.clone() else { return Ok(()) };
    begin_again(view, device)?;
    crate::store::crash::point("log begun again");
    if let Some(marker) = &device.marker {
        device.carrier.write_marker(marker)?;
    }
    for gone in pending.removed.iter().chain([device.key.id()]) {
        device.carrier.remove(gone)?;
    }
    crate::store::crash::point("new key told");
    device.pending = None;
    device.save()
}

fn begin_again(view: &mut View<'_>, device: &Device) -> Result<()> {
    let caller = view.caller();
    view.write(|tx| {
        fold::begin_again(tx)?;
        audit::Row::new("sync_new_key").append(tx, caller)
    })?;
    remove_folder(&device.log().folder)
}

/// Checks that the carrier carries this memory, before anything is read from it or written to it. Takes a new key to which this
/// device is invited, and returns whether it did.
pub(super) fn check_key(view: &mut View<'_>, device: &mut Device) -> Result<bool> {
    let marker = device.carrier.marker()?;
    if device.pending.is_some() {
        finish(view, device)?;
        return Ok(false);
    }
    if marker.is_of(&device.memory) {
        return Ok(false);
    }
    if let Some(next) = marker.next_key(&device.memory, &device.key) {
        adopt(view, device, next, marker)?;
        return Ok(true);
    }
    match &device.marker {
        // An old copy of the file came back, by a sync tool or by somebody who has the old key.
        Some(own) if marker.is_older_than(&device.memory) => {
            device.carrier.write_marker(own)?;
            Ok(false)
        }
        _ => Err(foreign_key(device, &marker)),
    }
}

/// Says why a carrier can't be read with the key of this device.
pub(super) fn foreign_key(device: &Device, marker: &Marker) -> Error {
    let carrier = device.carrier.name().to_owned();
    match &marker.replaced {
        Some(change) if from_hex(&change.before).as_deref() == Some(device.memory.id()) => {
            Error::SyncKeyReplaced { carrier }
        }
        _ => Error::WrongPhrase { carrier },
    }
}

fn adopt(view: &mut View<'_>, device: &mut Device, memory: MemoryKey, marker: Marker) -> Result<()> {
    begin_again(view, device)?;
    device.carrier.remove(device.key.id())?;
    crate::store::crash::point("new key adopted");
    device.memory = memory;
    device.marker = Some(marker);
    device.save()
}

/// Lets a machine that is synced move to another carrier of its memory, or take its new key.
pub(super) fn rejoin(view: &mut View<'_>, mut known: Device, joined: Device) -> Result<RoundReport> {
    let is_same = known.memory.id() == joined.memory.id();
    if !is_same && !joined.memory.had_id(known.memory.id()) {
        return Err(Error::SyncOn { carrier: known.carrier.name().to_owned() });
    }
    let lock = known.lock()?;
    if is_same && same_place(&known.place, &joined.place) {
        return Err(Error::SyncOn { carrier: known.carrier.name().to_owned() });
    }
    (known.place, known.carrier) = (joined.place, joined.carrier);
    if is_same {
        known.marker = joined.marker;
        known.save()?;
    } else {
        let marker = joined.marker.expect("its memory had another key");
        adopt(view, &mut known, joined.memory, marker)?;
    }
    drop(lock);
    round(view, &RoundOptions::default())
}

/// Tells whether two places are one. A server with another token is not, so that a new token can be given.
fn same_place(one: &Place, other: &Place) -> bool {
    match (one, other) {
        (Place::Folder(one), Place::Folder(other)) => one == other,
        (Place::Server { url: one, token: a }, Place::Server { url: other, token: b }) => {
            one == other && a.expose() == b.expose()
        }
        _ => false,
    }
}
