//! Reference model of the engine: a plain map without caches or indexes.

use std::collections::BTreeMap;

use opencode_memory_core::model::query::{Scope, Selection};
use opencode_memory_core::model::report::Outcome;
use opencode_memory_core::model::{Category, Memory, NewMemory, Status};

use crate::support::{BEGINNING, text};

/// The fields of a memory that callers see.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub content: String,
    pub project: Option<String>,
    pub category: Category,
    pub status: Status,
    pub topic: Option<String>,
    pub tags: Vec<String>,
    pub pinned: bool,
    pub expires_at: Option<i64>,
    /// When it was said last.
    pub time: i64,
}

impl Item {
    /// The item of a memory that is said now.
    pub fn said(new: NewMemory, now: i64) -> Self {
        Self {
            content: new.content,
            project: new.project,
            category: new.category,
            status: new.status,
            topic: new.topic,
            tags: new.tags,
            pinned: new.pinned,
            expires_at: new.expires_at,
            time: now,
        }
    }
}

impl From<&Memory> for Item {
    fn from(memory: &Memory) -> Self {
        Self {
            content: memory.content.clone(),
            project: memory.project.clone(),
            category: memory.category,
            status: memory.status,
            topic: memory.topic.clone(),
            tags: memory.tags.clone(),
            pinned: memory.pinned,
            expires_at: memory.expires_at,
            time: memory.time,
        }
    }
}

/// An item of the map with its index state.
#[derive(Debug, Clone)]
pub struct Held {
    pub item: Item,
    /// Increases with each text that is new to an index.
    pub version: u64,
    /// Whether this version has a vector.
    pub embedded: bool,
}

/// Input of a write.
#[derive(Debug, Clone)]
pub struct Draft {
    pub number: usize,
    pub project: Option<String>,
    pub category: Category,
    pub topic: Option<String>,
    pub tags: Vec<String>,
    pub ttl: Option<i64>,
    pub pinned: bool,
    pub waits: bool,
}

impl Draft {
    pub fn memory(&self, now: i64) -> NewMemory {
        NewMemory {
            category: self.category,
            project: self.project.clone(),
            topic: self.topic.clone(),
            tags: self.tags.clone(),
            expires_at: self.ttl.map(|ttl| now + ttl),
            pinned: self.pinned,
            status: if self.waits { Status::Candidate } else { Status::Active },
            ..NewMemory::new(text(self.number))
        }
    }
}

/// A change of one memory: its id and its previous state.
pub type Change = (String, Option<Item>);

#[derive(Debug, Default)]
pub struct Model {
    pub now: i64,
    pub items: BTreeMap<String, Held>,
    /// All ids, including those of deleted memories.
    pub known: Vec<String>,
    pub kv: BTreeMap<(Option<String>, String), (String, Option<i64>)>,
    versions: u64,
    /// Changes by operation, without undone ones.
    operations: Vec<Vec<Change>>,
}

impl Model {
    pub fn new() -> Self {
        Self { now: BEGINNING, ..Self::default() }
    }

    fn is_expired(&self, item: &Item) -> bool {
        item.expires_at.is_some_and(|at| at <= self.now)
    }

    pub fn is_visible(&self, item: &Item) -> bool {
        item.status == Status::Active && !self.is_expired(item)
    }

    /// Whether another memory than `but` has the topic of an item.
    pub fn topic_is_taken(&self, item: &Item, but: &str) -> bool {
        self.holder(item).is_some_and(|held| held != but)
    }

    fn holder(&self, wanted: &Item) -> Option<String> {
        wanted.topic.as_ref()?;
        let holds =
            |item: &Item| item.status == Status::Active && item.project == wanted.project && item.topic == wanted.topic;
        self.items.iter().find(|(_, held)| holds(&held.item)).map(|(id, _)| id.clone())
    }

    /// Predict the outcome of a write, and the existing memory it applies to, if any.
    pub fn place(&self, new: &Item) -> (Outcome, Option<String>) {
        if new.status == Status::Active
            && let Some(holder) = self.holder(new)
        {
            let item = &self.items[&holder].item;
            let repeats = !self.is_expired(item) && item.content == new.content;
            return (if repeats { Outcome::Merged } else { Outcome::Updated }, Some(holder));
        }
        let repeats = |id: &str, item: &Item| {
            item.content == new.content
                && item.project == new.project
                && matches!(item.status, Status::Active | Status::Candidate)
                && !self.is_expired(item)
                && (new.topic.is_none() || new.topic == item.topic)
                // A memory waiting for review must not take over the topic of another memory.
                && (new.status == Status::Candidate || !self.topic_is_taken(item, id))
        };
        let twins = self.items.iter().filter(|(id, held)| repeats(id, &held.item));
        match twins.min_by_key(|(_, held)| (held.item.status, held.version)) {
            Some((id, _)) => (Outcome::Merged, Some(id.clone())),
            None => (Outcome::Stored, None),
        }
    }

    /// Apply the outcome of [`Self::place`]. Return the change, if any.
    pub fn write(&mut self, new: Item, outcome: Outcome, id: &str) -> Option<Change> {
        let after = match (outcome, self.items.get(id).map(|held| &held.item)) {
            (Outcome::Merged, Some(twin)) => {
                let mut after = twin.clone();
                after.tags.extend(new.tags.into_iter().filter(|tag| !twin.tags.contains(tag)));
                after.pinned |= new.pinned;
                if matches!(twin.category, Category::Fact | Category::Context) {
                    after.category = new.category;
                }
                if new.status == Status::Active {
                    after.status = Status::Active;
                }
                after.expires_at = twin.expires_at.zip(new.expires_at).map(|(old, new)| old.max(new));
                after.time = new.time;
                after
            }
            (_, Some(held)) => {
                let keeps = !self.is_expired(held);
                Item {
                    pinned: held.pinned || new.pinned,
                    category: if keeps && new.category == Category::Fact { held.category } else { new.category },
                    tags: if keeps && new.tags.is_empty() { held.tags.clone() } else { new.tags },
                    ..new
                }
            }
            (_, None) => new,
        };
        self.change(id, Some(after))
    }

    /// Change, insert or remove one memory. Return the change, if any.
    pub fn change(&mut self, id: &str, after: Option<Item>) -> Option<Change> {
        let before = self.items.remove(id);
        let change = (id.to_owned(), before.as_ref().map(|held| held.item.clone()));
        let changed = change.1 != after;
        if let Some(item) = after {
            let kept = before.filter(|held| {
                let text = |item: &Item| (item.content.clone(), item.topic.clone(), item.tags.clone());
                text(&held.item) == text(&item)
            });
            let held = match kept {
                Some(held) => Held { item, ..held },
                None => {
                    self.versions += 1;
                    Held { item, version: self.versions, embedded: false }
                }
            };
            self.items.insert(id.to_owned(), held);
            if !self.known.iter().any(|known| known == id) {
                self.known.push(id.to_owned());
            }
        }
        changed.then_some(change)
    }

    /// Record the changes of one operation.
    pub fn note(&mut self, changes: impl IntoIterator<Item = Change>) {
        let changes: Vec<Change> = changes.into_iter().collect();
        if !changes.is_empty() {
            self.operations.push(changes);
        }
    }

    /// Undo the last operation, or the last change of one memory. Return false if that is impossible.
    pub fn undo(&mut self, id: Option<&str>) -> bool {
        let touches = |changes: &Vec<Change>| id.is_none_or(|id| changes.iter().any(|change| change.0 == id));
        let Some(place) = self.operations.iter().rposition(touches) else { return false };
        let mut kept = self.operations[place].clone();
        let taken_back: Vec<Change> = match id {
            None => kept.drain(..).rev().collect(),
            Some(id) => {
                kept.iter().rposition(|change| change.0 == id).map(|change| kept.remove(change)).into_iter().collect()
            }
        };
        let items = self.items.clone();
        for (id, before) in taken_back {
            let conflicts = |item: &Item| item.status == Status::Active && self.topic_is_taken(item, &id);
            if before.as_ref().is_some_and(conflicts) {
                self.items = items;
                return false;
            }
            self.change(&id, before);
        }
        self.operations[place] = kept;
        self.operations.retain(|changes| !changes.is_empty());
        true
    }

    /// Whether an item matches a selection.
    pub fn wants(&self, selection: &Selection, item: &Item) -> bool {
        let in_scope = match &selection.scope {
            Scope::Everything => true,
            Scope::EveryProject => item.project.is_some(),
            Scope::Global => item.project.is_none(),
            Scope::Project { name, with_global } => {
                item.project.as_ref().map_or(*with_global, |project| project == name)
            }
        };
        in_scope
            && selection.wanted_statuses().contains(&item.status)
            && (selection.categories.is_empty() || selection.categories.contains(&item.category))
            && (selection.with_expired || !self.is_expired(item))
            && !selection.pinned_only
            && selection.tag.as_ref().is_none_or(|tag| item.tags.contains(tag))
    }
}
