//! Follows the telemetry file, to which all processes of this home write.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use nacre::Home;
use serde_json::Value;
use tokio::sync::{broadcast, watch};

/// How many events a slow follower may lag behind before it is told that it missed some.
const MAX_LAG: usize = 1_024;
const POLL_INTERVAL: Duration = Duration::from_millis(200);

pub struct Stream {
    told: broadcast::Sender<Arc<Value>>,
    ended: watch::Sender<bool>,
}

impl Stream {
    /// Starts to follow the telemetry file of a home.
    pub fn begin(home: &Home) -> Stream {
        let (told, _) = broadcast::channel(MAX_LAG);
        let (ended, end) = watch::channel(false);
        let (file, tell) = (home.path().join(nacre::event::FILE), told.clone());
        tokio::task::spawn_blocking(move || read(&file, &tell, &end));
        Stream { told, ended }
    }

    /// Returns a stream of the events from now on.
    pub fn subscribe(&self) -> (broadcast::Receiver<Arc<Value>>, watch::Receiver<bool>) {
        (self.told.subscribe(), self.ended.subscribe())
    }

    /// Ends all streams, so that nobody waits for them.
    pub fn end(&self) {
        let _ = self.ended.send(true);
    }
}

/// Sends every event that is written to the file from now on.
fn read(path: &PathBuf, tell: &broadcast::Sender<Arc<Value>>, end: &watch::Receiver<bool>) {
    let mut position = std::fs::metadata(path).map_or(0, |found| found.len());
    while !*end.borrow() {
        if let Ok(mut file) = File::open(path) {
            // A shorter file is a new one: it was rotated.
            if file.metadata().is_ok_and(|found| found.len() < position) {
                position = 0;
            }
            if file.seek(SeekFrom::Start(position)).is_ok() {
                let mut reader = BufReader::new(file);
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|read| read > 0) && line.ends_with('\n') {
                    position += line.len() as u64;
                    if let Ok(event) = serde_json::from_str(&line) {
                        let _ = tell.send(Arc::new(event));
                    }
                    line.clear();
                }
            }
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}
