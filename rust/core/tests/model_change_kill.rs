//! Tests that kill a change of the embedding model at every commit: no staged vector is lost, and none outlives its text.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use opencode_memory_core::control::Control;
use opencode_memory_core::store::embedding::Staged;
use opencode_memory_core::{Engine, crash};

use support::child::{self, say, task};
use support::{assert_clean, catch_up, embed, open, remember, text, vector};

const NEXT: &str = "next-model";
const MEMORIES: usize = 6;
const PURGED: usize = 1;

/// Stage the memories that are left, two at a time; after the first page, purge one of it. Then complete the change.
fn change(engine: &Engine, mut report: impl FnMut(&str)) {
    loop {
        let begun = engine.begin_model_change(NEXT, support::DIMENSION).expect("begun");
        let page = engine.texts_to_embed(begun.staged_key, 2).expect("texts");
        let Some(last) = page.last() else { break };
        let memories: Vec<_> = page.iter().map(|one| (one.key, vec![one.text.clone()])).collect();
        let vectors: Vec<_> = page.iter().map(|one| (one.text.clone(), vector(&one.text).into())).collect();
        engine.stage_embeddings(NEXT, last.key, &memories, &vectors).expect("staged");
        report("staged");
        let all = support::all(engine);
        if let Some(purged) = all.iter().find(|memory| memory.content == text(PURGED)) {
            engine.purge(std::slice::from_ref(&purged.id), &Control::none()).expect("purged");
            report("purged");
        }
        engine.maintain().expect("maintained");
    }
    let all = engine.texts_to_embed(0, 100).expect("texts");
    let staged: Vec<_> =
        all.into_iter().map(|one| Staged { key: one.key, pieces: vec![one.text.clone()], text: one.text }).collect();
    engine.complete_model_change(NEXT, &staged).expect("complete");
    report("complete");
}

#[test]
#[ignore = "run as a child process by the other tests"]
fn child() {
    let Some((dir, words)) = task() else { return };
    let engine = open(&dir);
    crash::arm(&words[0], words[1].parse().expect("a number"));
    change(&engine, say);
}

#[test]
fn change_that_is_killed_keeps_staged_vectors_and_leaves_none_of_a_purged_memory() {
    for point in ["store:before-commit", "store:after-commit", "purge:erased", "purge:vacuumed"] {
        for nth in 1_u32.. {
            let dir = support::folder();
            let engine = open(dir.path());
            remember(&engine, 0..MEMORIES);
            embed(&engine);
            let mut child = child::start(dir.path(), &[point, &nth.to_string()]);
            let heard = child.hear_all();
            if heard.iter().any(|line| line == "complete") {
                child.assert_done();
                break;
            }
            child.assert_killed();
            let what = format!("{point} {nth}");
            let texts: Vec<String> = (0..MEMORIES).map(text).collect();
            if engine.model_change().expect("a state").is_some() {
                let known = engine.staged_embeddings(&texts).expect("known");
                let held: Vec<String> = support::all(&engine).into_iter().map(|memory| memory.content).collect();
                let staged = 2 * heard.iter().filter(|line| *line == "staged").count();
                for number in (0..staged).filter(|number| *number != PURGED) {
                    assert!(known[number], "{what}: the staged vector of {number} is lost");
                }
                assert!(held.contains(&texts[PURGED]) || !known[PURGED], "{what}: a vector outlives its text");
            }
            if engine.active_model().expect("a model").expect("a model").name != NEXT {
                change(&engine, |_| {});
            }
            catch_up(&engine);
            assert_clean(&engine);
            assert_eq!(engine.active_model().expect("a model").expect("a model").name, NEXT, "{what}");
        }
    }
}
