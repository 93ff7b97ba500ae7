//! Property tests: after each operation of a random sequence, the store and its indexes equal a plain map.

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
    fn i2_i7_store_with_indexes_equals_a_plain_map(steps in prop::collection::vec(steps::step(), 1..40)) {
        let mut pair = Pair::new(support::options());
        for step in &steps {
            pair.take(step);
            pair.check();
        }
    }

    #[test]
    fn store_with_background_indexing_equals_a_plain_map(
        steps in prop::collection::vec(steps::step(), 40..90),
    ) {
        let mut pair = Pair::new(Options { background: true, ..support::options() });
        for step in &steps {
            pair.take(step);
            pair.check();
        }
    }
}

/// Number of cases of each property. The environment can increase it.
fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}
