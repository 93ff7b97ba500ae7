//! Checksums of the files of the index, by their names.
//!
//! tantivy's checksum is within each file and does not name it. So a file that was copied over another one of the index
//! looks sound, and tantivy panics on it, or misses terms in it. The list is written when the writer closes. Until then,
//! and after a kill, files that it lacks have tantivy's checksums only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use tantivy::Index;

use super::{failed, folder};
use crate::error::Result;
use crate::index::checksum::digest;
use crate::index::sealed;
use crate::{durable, store};

/// Name of the list in the folder of the index.
pub const LIST: &str = "checksums.json";

/// Checksums of files. Files never change, and a name is not used twice.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Listed {
    /// xxh3-128 of each file, hexadecimal.
    checksums: BTreeMap<PathBuf, String>,
}

impl Listed {
    /// Read the list; empty if it is missing or damaged.
    fn read(data_dir: &Path) -> Self {
        let json = fs_err::read(folder(data_dir).join(LIST));
        json.ok().and_then(|json| sealed::unseal(&json)).unwrap_or_default()
    }
}

/// Write the list of the files of the last commit. The caller has checked the files that it did not write.
pub fn list_files(index: &Index, data_dir: &Path) -> Result<()> {
    let former = Listed::read(data_dir);
    let mut listed = Listed::default();
    for file in index.load_metas().map_err(|e| failed(&e))?.list_segment_files() {
        let path = folder(data_dir).join(&file);
        let checksum = match former.checksums.get(&file) {
            Some(checksum) => checksum.clone(),
            None if is_optional(&file) && !path.exists() => continue,
            None => digest(&path)?.1,
        };
        listed.checksums.insert(file, checksum);
    }
    if listed == former {
        return Ok(());
    }
    let json = sealed::seal(&listed).map_err(|error| failed(&error))?;
    let path = folder(data_dir).join(LIST);
    if path.is_dir() {
        store::remove_if_there(&path)?; // no file could take its place
    }
    durable::write_whole(&path, json.as_bytes())
}

/// Find the files of the index that are missing or have a wrong checksum. Files never change, so files in `sound` are
/// not checked again. Files that pass are added to `sound`, and those that the index has no longer are removed from it.
///
/// tantivy panics on a damaged file or misses terms in it, and a merge would write the damaged data with a new
/// checksum.
pub fn damaged_files(index: &Index, data_dir: &Path, sound: &mut FxHashSet<PathBuf>) -> Result<Vec<PathBuf>> {
    /// Size of the footer of each file. Shorter files are damaged and have no checksum.
    const FOOTER_BYTES: u64 = 8;

    let files = index.load_metas().map_err(|e| failed(&e))?.list_segment_files();
    sound.retain(|file| files.contains(file));
    let listed = Listed::read(data_dir);
    let mut damaged = Vec::new();
    for file in files {
        if sound.contains(&file) {
            continue;
        }
        let path = folder(data_dir).join(&file);
        let bytes = fs_err::metadata(&path).map(|metadata| metadata.len());
        if bytes.is_err() && is_optional(&file) {
            continue; // The segment has no deletions. If the file should exist, opening the segment fails.
        }
        let is_sound = bytes.is_ok_and(|bytes| bytes >= FOOTER_BYTES)
            && match listed.checksums.get(&file) {
                Some(checksum) => digest(&path).is_ok_and(|(_, found)| found == *checksum),
                None => index.directory().validate_checksum(&file).unwrap_or(false),
            };
        if is_sound {
            sound.insert(file);
        } else {
            damaged.push(file);
        }
    }
    Ok(damaged)
}

/// Whether a segment may lack this file.
fn is_optional(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "del" || extension == "temp")
}
