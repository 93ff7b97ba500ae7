//! Tests of long scans: the rough preselection must not change the result of the exact comparison.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use half::f16;
use opencode_memory_core::Options;
use opencode_memory_core::model::NewMemory;
use opencode_memory_core::model::query::{RecallRequest, Scope, Selection};
use opencode_memory_core::store::project::Identity;

use support::{embed, near, open_with, options, text, vector};

/// Vector of a text, rounded as in the store.
fn stored(text: &str) -> Vec<f32> {
    vector(text).into_iter().map(|value| f16::from_f32(value).to_f32()).collect()
}

#[test]
fn long_scan_equals_exact_comparison_of_all_vectors() {
    check_scan(3_000, 40);
}

#[test]
fn scan_that_begins_with_signs_finds_the_nearest() {
    check_scan(20_000, 10);
}

/// Compare the answers of a store of `count` memories with an exact comparison.
fn check_scan(count: usize, questions: usize) {
    let dir = support::folder();
    let engine = open_with(dir.path(), Options { graph_from: 100_000, ..options() });
    for name in ["one", "two", "three"] {
        let identity = Identity { remotes: vec![], root_commits: vec![], folder: Some(format!("/{name}")) };
        engine.resolve_project(&identity, true).expect("a project");
    }
    let projects = engine.projects().expect("projects");
    // First one project after another, then mixed, so that the slots of a project are in several runs.
    let memories = (0..count)
        .map(|number| NewMemory {
            project: Some(
                projects[if number < count / 2 { (number / (count / 6)).min(2) } else { number % 3 }].name.clone(),
            ),
            ..NewMemory::new(text(number))
        })
        .collect::<Vec<_>>();
    let project_of: Vec<_> = memories.iter().map(|memory| memory.project.clone()).collect();
    engine.remember_many(memories).expect("a write");
    embed(&engine);
    for number in 0..questions {
        let query = vector(&format!("question {number}"));
        let scope = match number % 2 {
            0 => Scope::Everything,
            _ => Scope::Project { name: projects[number % 3].name.clone(), with_global: true },
        };
        let mut exact: Vec<(f32, String)> = (0..count)
            .filter(|memory| {
                scope == Scope::Everything || project_of[*memory].as_ref() == Some(&projects[number % 3].name)
            })
            .map(|memory| (query.iter().zip(stored(&text(memory))).map(|(a, b)| a * b).sum(), text(memory)))
            .collect();
        exact.sort_by(|a, b| b.0.total_cmp(&a.0));
        let selection = Selection::of(scope);
        let request = RecallRequest { vector: Some(query), selection, limit: 10, ..near("") };
        let found = support::found(&engine, &request);
        let expected: Vec<String> = exact.into_iter().take(10).map(|(_, content)| content).collect();
        assert_eq!(found, expected, "question {number}");
    }
}
