//! Random steps of the property tests.

use opencode_memory_core::model::Category;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::model::Draft;

/// Number of texts to choose from: few enough for repetitions, but enough for a graph.
pub const TEXTS: usize = 40;
pub const PROJECTS: [&str; 2] = ["lamp", "door"];
pub const TOPICS: [&str; 2] = ["zqtopicone", "zqtopictwo"];
pub const TAGS: [&str; 2] = ["zqtagone", "zqtagtwo"];
pub const CATEGORIES: [Category; 3] = [Category::Fact, Category::Decision, Category::Event];
pub const MINUTE: i64 = 60_000;

#[derive(Debug, Clone)]
pub enum Edit {
    Text(usize),
    Category(Category),
    Topic(Option<String>),
    Tags(Vec<String>),
    Project(Option<String>),
    Life(Option<i64>),
}

/// One operation. `usize` selects one of the ids, including those of deleted memories.
#[derive(Debug, Clone)]
pub enum Step {
    Remember(Vec<Draft>),
    Edit(usize, Edit),
    Archive(usize),
    Restore(usize),
    Delete(Vec<usize>),
    Pin(usize, bool),
    Undo,
    UndoOf(usize),
    Embed(usize),
    CatchUp,
    Rebuild,
    Reopen,
    KvSet(Option<String>, usize, u8, Option<i64>),
    KvDelete(Option<String>, usize),
    Advance(i64),
}

pub fn step() -> impl Strategy<Value = Step> {
    let which = any::<prop::sample::Index>().prop_map(|index| index.index(1 << 20));
    prop_oneof![
        6 => prop::collection::vec(draft(), 1..8).prop_map(Step::Remember),
        4 => (which.clone(), edit()).prop_map(|(which, edit)| Step::Edit(which, edit)),
        2 => which.clone().prop_map(Step::Archive),
        3 => which.clone().prop_map(Step::Restore),
        2 => prop::collection::vec(which.clone(), 1..4).prop_map(Step::Delete),
        1 => (which.clone(), any::<bool>()).prop_map(|(which, pinned)| Step::Pin(which, pinned)),
        3 => Just(Step::Undo),
        2 => which.prop_map(Step::UndoOf),
        4 => (1..60_usize).prop_map(Step::Embed),
        3 => Just(Step::CatchUp),
        1 => Just(Step::Rebuild),
        1 => Just(Step::Reopen),
        2 => (project(), 0..3_usize, any::<u8>(), option::of(ttl())).prop_map(|(p, key, value, ttl)| Step::KvSet(p, key, value, ttl)),
        1 => (project(), 0..3_usize).prop_map(|(project, key)| Step::KvDelete(project, key)),
        2 => ttl().prop_map(Step::Advance),
    ]
}

fn draft() -> impl Strategy<Value = Draft> {
    let ttl_of_draft = prop_oneof![3 => Just(None), 1 => ttl().prop_map(Some)];
    let topic = prop_oneof![3 => Just(None), 1 => select(&TOPICS[..]).prop_map(|topic| Some(topic.to_owned()))];
    let waits = prop::bool::weighted(0.2);
    (0..TEXTS, project(), select(&CATEGORIES[..]), topic, tags(), ttl_of_draft, any::<bool>(), waits).prop_map(
        |(number, project, category, topic, tags, ttl, pinned, waits)| Draft {
            number,
            project,
            category,
            topic,
            tags,
            ttl,
            pinned,
            waits,
        },
    )
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        3 => (0..TEXTS).prop_map(Edit::Text),
        1 => select(&CATEGORIES[..]).prop_map(Edit::Category),
        2 => option::of(select(&TOPICS[..])).prop_map(|topic| Edit::Topic(topic.map(str::to_owned))),
        1 => tags().prop_map(Edit::Tags),
        2 => project().prop_map(Edit::Project),
        1 => option::of(ttl()).prop_map(Edit::Life),
    ]
}

fn project() -> impl Strategy<Value = Option<String>> {
    option::of(select(&PROJECTS[..])).prop_map(|name| name.map(str::to_owned))
}

fn tags() -> impl Strategy<Value = Vec<String>> {
    prop::sample::subsequence(TAGS.to_vec(), 0..=2).prop_map(|tags| tags.into_iter().map(str::to_owned).collect())
}

fn ttl() -> impl Strategy<Value = i64> {
    (1..6_i64).prop_map(|minutes| minutes * MINUTE)
}
