//! Runs each step with the engine and with the reference model.

use opencode_memory_core::model::{Patch, Status};
use opencode_memory_core::store::embedding::Chunk;
use opencode_memory_core::{Clock, Engine, Error, Options, Result};

use crate::model::{Draft, Item, Model};
use crate::steps::{Edit, Step};
use crate::support::{self, DIMENSION, MODEL, catch_up, rebuild, text, vector};

pub struct Pair {
    engine: Option<Engine>,
    pub model: Model,
    options: Options,
    dir: tempfile::TempDir,
}

impl Pair {
    pub fn new(options: Options) -> Self {
        let mut pair = Self { engine: None, model: Model::new(), options, dir: support::folder() };
        pair.reopen();
        pair
    }

    pub fn engine(&self) -> &Engine {
        self.engine.as_ref().expect("an open engine")
    }

    fn reopen(&mut self) {
        // Close the engine before the next one opens, as two consecutive processes do.
        self.engine = None;
        let clock = Clock::fixed(self.model.now);
        self.engine = Some(Engine::open(self.dir.path(), self.options.clone(), clock).expect("a store that opens"));
    }

    pub fn take(&mut self, step: &Step) {
        match step {
            Step::Remember(drafts) => self.remember(drafts),
            Step::Edit(which, edit) => self.edit(*which, edit),
            Step::Archive(which) => self.change(
                *which,
                |engine, id| engine.archive(&[id], None).map(drop),
                |_, _, item| {
                    item.status = Status::Archived;
                    true
                },
            ),
            Step::Restore(which) => self.change(
                *which,
                |engine, id| engine.restore(&[id]).map(drop),
                |model, id, item| {
                    item.status = Status::Active;
                    !model.topic_is_taken(item, id)
                },
            ),
            Step::Pin(which, pinned) => self.change(
                *which,
                |engine, id| engine.pin(&[id], *pinned).map(drop),
                |_, _, item| {
                    item.pinned = *pinned;
                    true
                },
            ),
            Step::Delete(which) => self.delete(which),
            Step::Undo => {
                let undone = self.engine().undo(None);
                assert_eq!(undone.is_ok(), self.model.undo(None), "{undone:?}");
            }
            Step::UndoOf(which) => {
                let Some(id) = self.id(*which) else { return };
                let undone = self.engine().undo(Some(&id));
                assert_eq!(undone.is_ok(), self.model.undo(Some(&id)), "{undone:?}");
            }
            Step::Embed(limit) => self.embed(*limit),
            Step::CatchUp => self.answers_stay_the_same(catch_up),
            Step::Rebuild => self.answers_stay_the_same(rebuild),
            Step::Reopen => self.reopen(),
            Step::KvSet(project, key, value, ttl) => {
                let key = format!("key{key}");
                self.engine().kv_set(project.as_deref(), &key, &value.to_string(), *ttl).expect("a value set");
                let expires_at = ttl.map(|ttl| self.model.now + ttl);
                self.model.kv.insert((project.clone(), key), (value.to_string(), expires_at));
            }
            Step::KvDelete(project, key) => {
                let key = format!("key{key}");
                let was_there = self.engine().kv_delete(project.as_deref(), &key).expect("a value deleted");
                let removed = self.model.kv.remove(&(project.clone(), key));
                assert_eq!(was_there, removed.is_some_and(|(_, end)| end.is_none_or(|end| end > self.model.now)));
            }
            Step::Advance(ms) => {
                self.model.now += ms;
                self.engine().clock().set(self.model.now);
            }
        }
    }

    fn id(&self, which: usize) -> Option<String> {
        (!self.model.known.is_empty()).then(|| self.model.known[which % self.model.known.len()].clone())
    }

    fn remember(&mut self, drafts: &[Draft]) {
        let now = self.model.now;
        let written =
            self.engine().remember_many(drafts.iter().map(|draft| draft.memory(now)).collect()).expect("a write");
        let mut changes = Vec::new();
        for (draft, remembered) in drafts.iter().zip(written) {
            let new = Item::said(draft.memory(now), now);
            let (outcome, over) = self.model.place(&new);
            assert_eq!(remembered.outcome, outcome, "{draft:?}");
            assert!(over.is_none_or(|over| over == remembered.id), "{draft:?}");
            changes.extend(self.model.write(new, outcome, &remembered.id));
        }
        self.model.note(changes);
    }

    /// Change one memory. `wanted` returns its new state and whether the change is allowed.
    fn change(
        &mut self,
        which: usize,
        body: impl Fn(&Engine, String) -> Result<()>,
        wanted: impl Fn(&Model, &str, &mut Item) -> bool,
    ) {
        let Some(id) = self.id(which) else { return };
        let done = body(self.engine(), id.clone());
        let Some(mut item) = self.model.items.get(&id).map(|held| held.item.clone()) else {
            assert!(matches!(done, Err(Error::NotFound { .. })), "{done:?}");
            return;
        };
        if wanted(&self.model, &id, &mut item) {
            done.expect("a change");
            let change = self.model.change(&id, Some(item));
            self.model.note(change);
        } else {
            assert!(matches!(done, Err(Error::Conflict(_))), "{done:?}");
        }
    }

    fn edit(&mut self, which: usize, edit: &Edit) {
        let now = self.model.now;
        let mut patch = Patch::default();
        match edit.clone() {
            Edit::Text(number) => patch.content = Some(text(number)),
            Edit::Category(category) => patch.category = Some(category),
            Edit::Topic(topic) => patch.topic = Some(topic),
            Edit::Tags(tags) => patch.tags = Some(tags),
            Edit::Project(project) => patch.project = Some(project),
            Edit::Life(ttl) => patch.expires_at = Some(ttl.map(|ttl| now + ttl)),
        }
        let wanted = |model: &Model, id: &str, item: &mut Item| {
            let patch = patch.clone();
            item.content = patch.content.unwrap_or_else(|| item.content.clone());
            item.category = patch.category.unwrap_or(item.category);
            item.topic = patch.topic.unwrap_or_else(|| item.topic.clone());
            item.tags = patch.tags.unwrap_or_else(|| item.tags.clone());
            item.project = patch.project.unwrap_or_else(|| item.project.clone());
            item.expires_at = patch.expires_at.unwrap_or(item.expires_at);
            item.status != Status::Active || !model.topic_is_taken(item, id)
        };
        self.change(which, |engine, id| engine.edit(&id, patch.clone()).map(drop), wanted);
    }

    fn delete(&mut self, which: &[usize]) {
        let ids: Vec<String> = which.iter().filter_map(|which| self.id(*which)).collect();
        let done = self.engine().delete(&ids);
        if ids.iter().all(|id| self.model.items.contains_key(id)) {
            done.expect("a deletion");
            let changes: Vec<_> = ids.iter().filter_map(|id| self.model.change(id, None)).collect();
            self.model.note(changes);
        } else {
            assert!(matches!(done, Err(Error::NotFound { .. })), "{done:?}");
        }
    }

    fn embed(&mut self, limit: usize) {
        let engine = self.engine();
        engine.activate_model(MODEL, DIMENSION).expect("a model");
        let pending = engine.pending_embeddings(0, limit).expect("what waits");
        let chunks: Vec<(i64, Vec<Chunk>)> = pending
            .into_iter()
            .map(|pending| {
                (pending.key, vec![Chunk { vector: Some(vector(&pending.text).into()), text: pending.text }])
            })
            .collect();
        let stored = engine.store_embeddings(MODEL, &chunks).expect("vectors stored").stored;
        // Texts are embedded in the order of writing.
        let mut waiting: Vec<_> = self.model.items.values_mut().filter(|held| !held.embedded).collect();
        waiting.sort_by_key(|held| held.version);
        assert_eq!(stored, waiting.len().min(limit));
        waiting.into_iter().take(limit).for_each(|held| held.embedded = true);
    }
}
