//! Embeddings, which are stored after the acknowledgement of a memory, and the comparison with its neighbours.
//!
//! The engine does not compute embeddings. It lists the texts without vectors, stores vectors, and compares them. A
//! text whose embedding failed stays in the list and is found by its words until it has vectors.

use std::collections::BTreeMap;

use super::query::scope_of;
use super::{Engine, Shared, links};
use crate::error::{Error, Result};
use crate::model::{Category, Selection, Status};
use crate::recall::filter::Filter;
use crate::recall::near::near_many;
use crate::store::embedding::{self, Chunk, Model, Pending};
use crate::store::memory;

/// Maximum number of neighbours to link with a memory.
const MOST_LINKS: usize = 4;
/// Memories compared in one transaction.
const COMPARED_AT_ONCE: usize = 256;

/// The result of storing a batch of vectors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EmbeddingBatch {
    /// Memories that have vectors now.
    pub stored: usize,
    /// Memories whose text was changed or removed in the meantime.
    pub outdated: usize,
}

impl Engine {
    /// The model whose vectors are compared; `None` before the first embedding.
    pub fn active_model(&self) -> Result<Option<Model>> {
        embedding::active_model(&*self.enter()?.store.read()?)
    }

    /// Make a model the active one. Only its vectors are compared; texts without them wait to be embedded.
    pub fn activate_model(&self, name: &str, dimension: usize) -> Result<bool> {
        check_model(name, dimension)?;
        let shared = self.enter()?;
        if embedding::active_model(&*shared.store.read()?)?
            .is_some_and(|model| model.name == name && model.dimension == dimension)
        {
            return Ok(false);
        }
        shared.store.write(&shared.clock, self.writer(), |write| write.activate_model(name, dimension))
    }

    /// Memories after a key that have no vectors of the active model.
    pub fn pending_embeddings(&self, after_key: i64, limit: usize) -> Result<Vec<Pending>> {
        embedding::pending(&*self.enter()?.store.read()?, after_key, limit)
    }

    /// The number of memories without vectors of the active model, or of the model of that name.
    pub fn count_pending_embeddings(&self, model: Option<&str>) -> Result<usize> {
        let shared = self.enter()?;
        let at = shared.store.read()?;
        match model {
            Some(name) => embedding::count_without_model(&at, name),
            None => embedding::count_pending(&at),
        }
    }

    /// Whether the active model has embedded each of these texts already.
    pub fn known_embeddings(&self, texts: &[String]) -> Result<Vec<bool>> {
        embedding::known(&*self.enter()?.store.read()?, texts)
    }

    /// Store vectors of the model `name`, which must be the active one.
    pub fn store_embeddings(&self, name: &str, memories: &[(i64, Vec<Chunk<'_>>)]) -> Result<EmbeddingBatch> {
        let shared = self.enter()?;
        let batch = shared.store.write(&shared.clock, self.writer(), |write| {
            let model = embedding::active_model(write)?.filter(|model| model.name == name).ok_or_else(|| {
                Error::Conflict(format!("{name} is not the active model; `opencode-memory reindex` activates it"))
            })?;
            let mut batch = EmbeddingBatch::default();
            for (key, chunks) in memories {
                if write.store_chunks(&model, *key, chunks)? {
                    batch.stored += 1;
                } else {
                    batch.outdated += 1;
                }
            }
            Ok(batch)
        })?;
        shared.indexer.notify();
        Ok(batch)
    }

    /// Compare memories that have new vectors with their neighbours. Link near memories, and supersede those that are
    /// certainly the same statement. Returns the number of compared memories; 0 if none is left.
    pub fn compare_new(&self) -> Result<usize> {
        let shared = self.enter()?;
        let found = shared.similar_pairs()?;
        if found.is_empty() {
            return Ok(0);
        }
        shared.store.write(&shared.clock, self.writer(), |write| {
            for (key, neighbours) in &found {
                for (neighbour, cosine) in neighbours {
                    links::relate(write, *key, *neighbour, *cosine)?;
                }
                write.mark_compared(*key)?;
            }
            Ok(())
        })?;
        shared.indexer.notify();
        Ok(found.len())
    }
}

/// Check the name of a model and the length of its vectors.
pub(super) fn check_model(name: &str, dimension: usize) -> Result<()> {
    if dimension == 0 || dimension > 8192 {
        return Err(Error::over_limit("dimension", format!("{dimension} is not between 1 and 8192"), 8192));
    }
    crate::model::validate::name("model", name)
}

type Neighbours = Vec<(i64, f32)>;

impl Shared {
    /// Memories that are not compared yet, each with the keys of its near neighbours.
    fn similar_pairs(&self) -> Result<Vec<(i64, Neighbours)>> {
        let current = self.current()?;
        let (view, at) = &current;
        let now_ms = self.clock.now_ms();
        let waiting = memory::not_compared(at, COMPARED_AT_ONCE)?;
        let mut found: Vec<(i64, Neighbours)> = waiting.iter().map(|memory| (memory.key, Vec::new())).collect();
        let mut groups: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for (number, memory) in waiting.iter().enumerate() {
            if memory.status == Status::Active && memory.category != Category::Conversation {
                groups.entry(memory.project_id).or_default().push(number);
            }
        }
        let statements = Category::ALL.iter().copied().filter(|category| *category != Category::Conversation);
        let categories: Vec<Category> = statements.collect();
        for numbers in groups.into_values() {
            let selection =
                Selection { categories: categories.clone(), ..Selection::of(scope_of(&waiting[numbers[0]])) };
            let filter = Filter::new(at, &selection, now_ms)?;
            let (numbers, vectors): (Vec<usize>, Vec<Vec<f32>>) = numbers
                .into_iter()
                .filter_map(|number| Some((number, view.mirror.vector_of(waiting[number].key)?)))
                .unzip();
            // One more than needed, because each memory finds itself.
            let scale = view.mirror.scale();
            let near = near_many(view, &filter, &vectors, scale.invert(links::NEAREST), MOST_LINKS + 1)?;
            for (number, neighbours) in numbers.into_iter().zip(near) {
                let keyed = neighbours
                    .into_iter()
                    .map(|scored| (view.mirror.row(scored.item).columns.key, scale.apply(scored.score)));
                found[number].1 = keyed.filter(|(key, _)| *key != waiting[number].key).take(MOST_LINKS).collect();
            }
        }
        Ok(found)
    }
}
