//! Any bytes are a request or a clear error; any request is answered or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nacre::{Caller, Home, Kind, Settings, TOOLS, Time};

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let Ok(arguments) = nacre::call::parse(rest) else { return };
    let tool = &TOOLS[usize::from(*choice) % TOOLS.len()];
    // Writes would touch the disk: the point here is what comes before them.
    if tool.access != nacre::Access::Read {
        return;
    }
    let now = Time::from_millis(0);
    let home = Home::new("/nonexistent/nacre-fuzz", Settings::default());
    let mut group = home.group(&"main".parse().unwrap(), now).unwrap();
    let caller = Caller::person("fuzz".parse().unwrap(), now);
    if let Err(error) = nacre::call(&mut group.enter(&caller).unwrap(), tool.name, arguments) {
        assert!(matches!(error.kind(), Kind::Invalid | Kind::NotFound), "{error}");
    }
});
