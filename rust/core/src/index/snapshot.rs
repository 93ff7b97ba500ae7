//! The graph's file and the manifest that names it.
//!
//! Order of writing (I5): graph under a partial name, synced, hashed, renamed, folder synced; then the manifest the same
//! way; then older graphs are removed. A manifest therefore never names an incomplete file, and no graph is loaded before
//! its checksum matched (I8): a damaged file can crash the library that reads it.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::sealed;
use super::vector::{CONNECTIVITY, EF_CONSTRUCTION, Graph};
use crate::error::{Error, Result};
use crate::store::change::Head;
use crate::{durable, store};

/// Name of the folder in the data directory.
pub const FOLDER: &str = "vectors";

/// What the graph is and how far it goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The store's history at the time.
    pub head: Head,
    /// Every embedding of the model up to this key that was in use then is in the graph.
    pub last_embedding: i64,
    /// The model.
    pub model: String,
    /// Length of the vectors.
    pub dimension: usize,
    /// HNSW links per node.
    pub connectivity: usize,
    /// HNSW candidates while building.
    pub ef_construction: usize,
    /// Vectors in the file.
    pub vectors: usize,
    /// The file, beside the manifest.
    pub file: String,
    /// Its length.
    pub bytes: u64,
    /// Its xxh3-128, hexadecimal.
    pub checksum: String,
}

/// The folder of the graph.
pub fn folder(data_dir: &Path) -> PathBuf {
    data_dir.join(FOLDER)
}

/// The manifest's file, which changes with every generation.
pub fn manifest_file(data_dir: &Path) -> PathBuf {
    folder(data_dir).join("manifest.json")
}

/// The manifest, or nothing when there is none that can be read.
pub fn manifest(data_dir: &Path) -> Option<Manifest> {
    sealed::unseal(&fs_err::read(manifest_file(data_dir)).ok()?)
}

/// Whether the graph that a manifest names is the one that was written; its path, or why not.
pub fn examine(data_dir: &Path, manifest: &Manifest) -> Result<PathBuf> {
    let path = folder(data_dir).join(file_name(manifest)?);
    let (bytes, checksum) = digest(&path)?;
    if bytes != manifest.bytes || checksum != manifest.checksum {
        return Err(Error::Index {
            index: "vector",
            message: format!("{} is not the file that was written: its checksum differs", path.display()),
        });
    }
    Ok(path)
}

/// Load the graph that a manifest names, or say why not.
pub fn load(data_dir: &Path, manifest: &Manifest, threads: usize) -> Result<Graph> {
    let path = examine(data_dir, manifest)?;
    let graph = Graph::load(&path, manifest.dimension, threads)?;
    if graph.len() != manifest.vectors {
        return Err(Error::Index {
            index: "vector",
            message: format!("{} holds {} vectors, not {}", path.display(), graph.len(), manifest.vectors),
        });
    }
    Ok(graph)
}

/// Write a new generation; the caller holds the indexer lock.
pub fn save(
    data_dir: &Path,
    graph: &Graph,
    head: Head,
    last_embedding: i64,
    model: &str,
    dimension: usize,
) -> Result<Manifest> {
    let folder = folder(data_dir);
    let generation = if let Some(old) = manifest(data_dir) {
        generation_of(&old.file).unwrap_or(0) + 1
    } else {
        // What stands there is not ours to build on, and may be in the way.
        remove(data_dir)?;
        1
    };
    store::create_folder(&folder)?;
    let file = format!("{generation:08}.usearch");
    let partial = folder.join(format!("{file}.partial"));
    store::remove_if_there(&partial)?;
    store::create_file(&partial)?;
    graph.save(&partial)?;
    crate::crash::point("vector:saved");
    let fail = |source| Error::storage("write", &partial, source);
    fs_err::File::open(&partial).and_then(|file| file.sync_all()).map_err(fail)?;
    let (bytes, checksum) = digest(&partial)?;
    let complete = folder.join(&file);
    fs_err::rename(&partial, &complete).map_err(fail)?;
    durable::sync_folder_of(&complete)?;
    crate::crash::point("vector:renamed");
    let manifest = Manifest {
        head,
        last_embedding,
        model: model.to_owned(),
        dimension,
        connectivity: CONNECTIVITY,
        ef_construction: EF_CONSTRUCTION,
        vectors: graph.len(),
        file,
        bytes,
        checksum,
    };
    let json = sealed::seal(&manifest).map_err(|error| Error::Index { index: "vector", message: error.to_string() })?;
    durable::write_whole(&manifest_file(data_dir), json.as_bytes())?;
    crate::crash::point("vector:manifest");
    remove_others(&folder, &manifest.file)?;
    crate::crash::point("vector:cleaned");
    store::make_private(&folder)?;
    Ok(manifest)
}

/// Remove the graph and its manifest, the manifest first: it must not name a file that is gone.
pub fn remove(data_dir: &Path) -> Result<()> {
    store::remove_if_there(&manifest_file(data_dir))?;
    crate::crash::point("vector:removing");
    store::remove_if_there(&folder(data_dir))
}

/// A manifest that was tampered with must not lead out of its folder.
fn file_name(manifest: &Manifest) -> Result<&str> {
    match generation_of(&manifest.file) {
        Some(_) => Ok(&manifest.file),
        None => Err(Error::Index { index: "vector", message: format!("the manifest names {:?}", manifest.file) }),
    }
}

fn generation_of(file: &str) -> Option<u64> {
    file.strip_suffix(".usearch")?.parse().ok()
}

fn remove_others(folder: &Path, keep: &str) -> Result<()> {
    let fail = |source| Error::storage("clean", folder, source);
    for found in fs_err::read_dir(folder).map_err(fail)? {
        let found = found.map_err(fail)?;
        let name = found.file_name();
        if name != keep && name != "manifest.json" {
            // A process that has the old file loaded holds its contents in memory.
            store::remove_if_there(&found.path())?;
        }
    }
    Ok(())
}

fn digest(path: &Path) -> Result<(u64, String)> {
    let fail = |source| Error::storage("read", path, source);
    let mut file = fs_err::File::open(path).map_err(fail)?;
    let mut hasher = Xxh3::new();
    let mut buffer = vec![0_u8; 1 << 20];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer).map_err(fail)?;
        if read == 0 {
            return Ok((bytes, format!("{:032x}", hasher.digest128())));
        }
        hasher.update(&buffer[..read]);
        bytes += read as u64;
    }
}
