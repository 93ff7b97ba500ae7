//! Random sequences of operations: after each of them the store and its indexes show what a plain map shows.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

#[path = "../support/mod.rs"]
mod support;

mod checks;
mod model;
mod pair;
mod steps;

use opencode_memory_core::Options;
use proptest::prelude::*;

use pair::Pair;

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(16), max_shrink_iters: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn i2_i7_a_store_with_its_indexes_shows_what_a_plain_map_shows(steps in prop::collection::vec(steps::step(), 1..40)) {
        let mut pair = Pair::new(support::options());
        for step in &steps {
            pair.take(step);
            pair.check();
        }
    }

    #[test]
    fn a_store_whose_indexes_follow_in_the_background_shows_what_a_plain_map_shows(
        steps in prop::collection::vec(steps::step(), 40..90),
    ) {
        let mut pair = Pair::new(Options { background: true, ..support::options() });
        for step in &steps {
            pair.take(step);
            pair.check();
        }
    }
}

/// Cases of each property; more where the environment asks for them.
fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}
