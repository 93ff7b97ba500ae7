//! A long scan compares roughly first; what it answers is what comparing every vector exactly answers.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use half::f16;
use opencode_memory_core::Options;
use opencode_memory_core::model::NewMemory;
use opencode_memory_core::model::query::{RecallRequest, Scope, Selection};
use opencode_memory_core::store::project::Identity;

use support::{embed, near, open_with, options, text, vector};

/// A vector as the store keeps it.
fn stored(text: &str) -> Vec<f32> {
    vector(text).into_iter().map(|value| f16::from_f32(value).to_f32()).collect()
}

#[test]
fn the_rough_comparison_of_a_long_scan_loses_none_of_the_best() {
    let dir = support::folder();
    let engine = open_with(dir.path(), Options { graph_from: 100_000, ..options() });
    for name in ["one", "two", "three"] {
        let identity = Identity { remotes: vec![], root_commits: vec![], folder: Some(format!("/{name}")) };
        engine.resolve_project(&identity, true).expect("a project");
    }
    let projects = engine.projects().expect("projects");
    // Project by project and mixed, so that runs of slots begin and end in between.
    let memories = (0..3_000)
        .map(|number| NewMemory {
            project: Some(projects[if number < 1_500 { number / 500 } else { number % 3 }].name.clone()),
            ..NewMemory::new(text(number))
        })
        .collect::<Vec<_>>();
    let project_of: Vec<_> = memories.iter().map(|memory| memory.project.clone()).collect();
    engine.remember_many(memories).expect("a write");
    embed(&engine);
    for asked in 0..40 {
        let query = vector(&format!("question {asked}"));
        let scope = match asked % 2 {
            0 => Scope::Everything,
            _ => Scope::Project { name: projects[asked % 3].name.clone(), with_global: true },
        };
        let mut exact: Vec<(f32, String)> = (0..3_000)
            .filter(|number| {
                scope == Scope::Everything || project_of[*number].as_ref() == Some(&projects[asked % 3].name)
            })
            .map(|number| (query.iter().zip(stored(&text(number))).map(|(a, b)| a * b).sum(), text(number)))
            .collect();
        exact.sort_by(|a, b| b.0.total_cmp(&a.0));
        let selection = Selection::of(scope);
        let request = RecallRequest { vector: Some(query), selection, limit: 10, ..near("") };
        let found = support::found(&engine, &request);
        let expected: Vec<String> = exact.into_iter().take(10).map(|(_, content)| content).collect();
        assert_eq!(found, expected, "question {asked}");
    }
}
