//! File of the graph and the manifest that names it.
//!
//! Order of writing (I5): first the graph under a partial name is written, synced, hashed and renamed, and its folder
//! is synced. Then the manifest is written in the same way, and then older graphs are removed. A manifest therefore
//! never names an incomplete file. A graph is loaded only if its checksum matches (I8), because a damaged file can
//! crash usearch. Recalls read only its links.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::build::{CONNECTIVITY, EF_CONSTRUCTION, Graph};
use super::links::Links;
use crate::error::{Error, Result};
use crate::index::checksum::{READ_AT_ONCE, digest};
use crate::index::sealed;
use crate::store::change::Head;
use crate::{durable, platform, store};

/// Name of the folder in the data directory.
pub const FOLDER: &str = "vectors";

/// Parameters of a graph and the last embedding in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Head of the store's history when the graph was built.
    pub head: Head,
    /// The graph contains every embedding of the model up to this key that was in use at that time.
    pub last_embedding: i64,
    /// Name of the embedding model.
    pub model: String,
    /// Dimension of the vectors.
    pub dimension: usize,
    /// HNSW links per node.
    pub connectivity: usize,
    /// HNSW candidates while building.
    pub ef_construction: usize,
    /// Number of vectors in the file.
    pub vectors: usize,
    /// Name of the file, in the folder of the manifest.
    pub file: String,
    /// Size of the file.
    pub bytes: u64,
    /// xxh3-128 of the file, hexadecimal.
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

/// Read the manifest; `None` if it is missing or damaged.
pub fn manifest(data_dir: &Path) -> Option<Manifest> {
    sealed::unseal(&fs_err::read(manifest_file(data_dir)).ok()?)
}

/// Check the size and checksum of the graph that a manifest names, and return its path.
pub fn examine(data_dir: &Path, manifest: &Manifest) -> Result<PathBuf> {
    let path = folder(data_dir).join(file_name(manifest)?);
    let (bytes, checksum) = digest(&path)?;
    if bytes != manifest.bytes || checksum != manifest.checksum {
        return Err(Error::Index {
            index: "vector",
            message: format!("{} is damaged: its size or checksum differs from the manifest", path.display()),
        });
    }
    Ok(path)
}

/// Read the links of the graph that a manifest names.
pub fn links(data_dir: &Path, manifest: &Manifest) -> Result<Links> {
    let path = examine(data_dir, manifest)?;
    let file = fs_err::File::open(&path).map_err(|source| Error::storage("read", &path, source))?;
    let mut file = BufReader::with_capacity(READ_AT_ONCE, file);
    let links = Links::read(&mut file, manifest.dimension, manifest.last_embedding)?;
    check_count(&path, links.len(), manifest)?;
    Ok(links)
}

/// Load the graph that a manifest names, to extend it.
pub fn load(data_dir: &Path, manifest: &Manifest, threads: usize) -> Result<Graph> {
    let path = examine(data_dir, manifest)?;
    let graph = Graph::load(&path, manifest.dimension, threads)?;
    check_count(&path, graph.len(), manifest)?;
    Ok(graph)
}

fn check_count(path: &Path, count: usize, manifest: &Manifest) -> Result<()> {
    if count == manifest.vectors {
        return Ok(());
    }
    Err(Error::Index {
        index: "vector",
        message: format!("{} contains {count} vectors instead of {}", path.display(), manifest.vectors),
    })
}

/// Write a new generation; the caller holds the indexer lock.
pub fn save(
    data_dir: &Path,
    graph: &Graph,
    head: Head,
    last_embedding: i64,
    model: &str,
    dimension: usize,
) -> Result<()> {
    let folder = folder(data_dir);
    let generation = if let Some(old) = manifest(data_dir) {
        generation_of(&old.file).unwrap_or(0) + 1
    } else {
        // Remove files without a valid manifest. They cannot be extended, and they may have the name of the new file.
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
    durable::sync_file(&partial).map_err(fail)?;
    let (bytes, checksum) = digest(&partial)?;
    let complete = folder.join(&file);
    platform::rename(&partial, &complete).map_err(fail)?;
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
    write_manifest(data_dir, &manifest)?;
    crate::crash::point("vector:manifest");
    remove_others(&folder, &manifest.file)?;
    crate::crash::point("vector:cleaned");
    store::make_private(&folder)
}

/// Replace the manifest; the caller holds the indexer lock.
pub fn write_manifest(data_dir: &Path, manifest: &Manifest) -> Result<()> {
    let json = sealed::seal(manifest).map_err(|error| Error::Index { index: "vector", message: error.to_string() })?;
    durable::write_whole(&manifest_file(data_dir), json.as_bytes())
}

/// Remove the manifest and then the graph. In the other order, the manifest could name a missing file.
pub fn remove(data_dir: &Path) -> Result<()> {
    store::remove_if_there(&manifest_file(data_dir))?;
    crate::crash::point("vector:removing");
    store::remove_if_there(&folder(data_dir))
}

/// Validate the file name in a manifest. Otherwise a manipulated manifest could name a file in another folder.
fn file_name(manifest: &Manifest) -> Result<&str> {
    match generation_of(&manifest.file) {
        Some(_) => Ok(&manifest.file),
        None => Err(Error::Index {
            index: "vector",
            message: format!("the manifest contains an invalid file name: {:?}", manifest.file),
        }),
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
            // Removing a loaded file is safe, because a process keeps the whole graph in memory.
            store::remove_if_there(&found.path())?;
        }
    }
    Ok(())
}
