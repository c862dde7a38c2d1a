//! Reads single files out of a wheel, which is a zip archive, in memory: nothing is unpacked to disk, and a
//! file's name is only compared.

use std::io::Read;

use nacre::zip::Archive;

/// Returns the contents of the files with these names in one folder of the archive, each with its size limit in bytes. The error
/// completes a sentence that begins with the archive's name.
pub(super) fn read<const N: usize>(
    archive: &[u8],
    wanted: [(&str, usize); N],
) -> Result<[Vec<u8>; N], String> {
    let archive = Archive::of(archive)?;
    let folder = folder_of(&archive, wanted[0].0)?;
    let mut found = [const { Vec::new() }; N];
    for ((name, limit), found) in wanted.into_iter().zip(&mut found) {
        let path = format!("{folder}{name}");
        if !archive.names().any(|name| name == path) {
            return Err(format!("has `{}` without a `{name}` next to it", wanted[0].0));
        }
        *found =
            unpack(&archive, &path, limit).map_err(|problem| format!("has a `{name}` that {problem}"))?;
    }
    Ok(found)
}

/// Returns the folder, with the slash, of the one file of this name.
fn folder_of(archive: &Archive<'_>, name: &str) -> Result<String, String> {
    let mut folders = archive
        .names()
        .filter_map(|path| path.strip_suffix(name))
        .filter(|folder| folder.is_empty() || folder.ends_with('/'));
    let folder = folders.next().ok_or_else(|| format!("has no file `{name}`"))?;
    if folders.next().is_some() {
        return Err(format!("has more than one file `{name}`"));
    }
    Ok(folder.to_owned())
}

fn unpack(archive: &Archive<'_>, path: &str, limit: usize) -> Result<Vec<u8>, String> {
    let mut file = archive.read(path)?;
    if file.left() > limit as u64 {
        return Err(format!("has {} bytes, the limit is {limit}", file.left()));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|problem| format!("can't be unpacked: {problem}"))?;
    Ok(bytes)
}
