//! English stop words, and product names that are one word in spite of their capitals.
//!
//! Refuses words that may matter in a query: `never`, `always`, `without`, `may`, `us` and `off` are searchable.
//! Invariant: every entry is folded as by [`super::fold::fold`], so that folded words can be looked up directly.

use rustc_hash::FxHashSet;
use std::sync::LazyLock;

// Contractions have no apostrophe, because the analyzer joins them.
const STOP_WORDS: &str = "\
    a about am an and any are arent as at be been being but by can cannot cant could couldnt \
    did didnt do does doesnt doing dont for from had has hasnt have havent having he her hers \
    him his how i if in into is isnt it its just me my no nor not of on or our ours s she \
    should shouldnt so some such t than that the their theirs them then there these they this \
    those to too very was wasnt we were werent what when where which who whom whose why will \
    with wont would wouldnt you your yours";

// Splitting these at their capitals would add "lite", "hub" and "script" to many documents.
const ONE_WORD_NAMES: &str = "\
    clickhouse cloudflare devops dynamodb fastapi github gitlab graphql ios javascript lancedb \
    latex linkedin macos mariadb mongodb mysql nixos numpy openai opencode openssl paypal \
    postgresql pypi pytorch rocksdb scylladb sqlite tensorflow typescript youtube";

static STOP: LazyLock<FxHashSet<&str>> = LazyLock::new(|| STOP_WORDS.split(' ').collect());
static NAMES: LazyLock<FxHashSet<&str>> = LazyLock::new(|| ONE_WORD_NAMES.split(' ').collect());

/// Length of the longest entry of both lists. A longer word needs no look-up.
const LONGEST: usize = 10;

/// Whether a folded word is too common to be worth indexing.
pub(super) fn is_stop_word(word: &str) -> bool {
    word.len() <= LONGEST && STOP.contains(word)
}

/// Whether a folded word is a name such as `SQLite` or `GitHub`, which is not split.
pub(super) fn is_one_word_name(word: &str) -> bool {
    word.len() <= LONGEST && NAMES.contains(word)
}

#[cfg(test)]
mod tests {
    use super::super::fold::fold;
    use super::*;

    #[test]
    fn entries_are_folded_and_at_most_longest() {
        for word in STOP_WORDS.split(' ').chain(ONE_WORD_NAMES.split(' ')) {
            assert_eq!(fold(word), word);
            assert!(word.len() <= LONGEST, "{word}");
        }
    }

    #[test]
    fn words_that_change_a_statement_stay_searchable() {
        for word in ["never", "always", "without", "may", "us", "off", "only"] {
            assert!(!is_stop_word(word), "{word}");
        }
    }
}
