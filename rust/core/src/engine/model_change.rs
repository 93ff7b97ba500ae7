//! A change of the embedding model, during which recall goes on with the former vectors.

use std::borrow::Cow;

use super::Engine;
use super::embed::check_model;
use crate::error::{Error, Result};
use crate::store::embedding::{self, Pending, Staged};
use crate::store::memory;
use crate::store::model_change::{self, Change};

impl Engine {
    /// The change of the model that was begun; `None` if there is none.
    pub fn model_change(&self) -> Result<Option<Change>> {
        model_change::current(&*self.enter()?.store.read()?)
    }

    /// Begin a change to a model, or go on with it; a change to another model is given up.
    pub fn begin_model_change(&self, name: &str, dimension: usize) -> Result<Change> {
        check_model(name, dimension)?;
        let shared = self.enter()?;
        shared.store.write(&shared.clock, self.writer(), |write| {
            if embedding::active_model(write)?.is_some_and(|model| model.name == name) {
                return Err(Error::Conflict(format!("{name} is the active model already")));
            }
            write.begin_change(name, dimension)
        })
    }

    /// Give up a change of the model; whether there was one.
    pub fn give_up_model_change(&self) -> Result<bool> {
        let shared = self.enter()?;
        #[allow(clippy::redundant_closure_for_method_calls)] // the method alone is not general over its lifetime
        shared.store.write(&shared.clock, self.writer(), |write| write.give_up_change())
    }

    /// Texts of all memories after a key.
    pub fn texts_to_embed(&self, after_key: i64, limit: usize) -> Result<Vec<Pending>> {
        model_change::texts(&*self.enter()?.store.read()?, after_key, limit)
    }

    /// Number of memories after a key.
    pub fn count_texts_to_embed(&self, after_key: i64) -> Result<usize> {
        memory::count_after(&*self.enter()?.store.read()?, after_key)
    }

    /// Whether the next model has embedded each of these texts already.
    pub fn staged_embeddings(&self, texts: &[String]) -> Result<Vec<bool>> {
        let shared = self.enter()?;
        let at = shared.store.read()?;
        let change = model_change::current(&at)?.ok_or_else(no_change)?;
        embedding::known_to(&at, &change.model, texts)
    }

    /// Store vectors of the next model, which answer nothing yet, for memories with the pieces of their texts. Memories
    /// up to the key `up_to` are staged then.
    pub fn stage_embeddings(
        &self,
        name: &str,
        up_to: i64,
        memories: &[(i64, Vec<String>)],
        vectors: &[(String, Cow<'_, [f32]>)],
    ) -> Result<()> {
        let shared = self.enter()?;
        shared.store.write(&shared.clock, self.writer(), |write| {
            let change = model_change::current(write)?.filter(|change| change.model.name == name);
            write.stage(&change.ok_or_else(no_change)?.model, up_to, memories, vectors)
        })
    }

    /// Make the next model the active one, all at once. Returns the number of memories that have its vectors; others,
    /// which were changed or written meanwhile, wait for theirs.
    pub fn complete_model_change(&self, name: &str, memories: &[Staged]) -> Result<usize> {
        let shared = self.enter()?;
        let switched = shared.store.write(&shared.clock, self.writer(), |write| {
            let change = model_change::current(write)?.filter(|change| change.model.name == name);
            write.complete_change(&change.ok_or_else(no_change)?.model, memories)
        })?;
        shared.indexer.notify();
        Ok(switched)
    }
}

fn no_change() -> Error {
    Error::Conflict("no change to this model was begun, or it was given up".into())
}
