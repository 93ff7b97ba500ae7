//! The English words that carry no topic, and the product names that are one word in spite of their capitals.
//!
//! Refuses words that mean something to a programmer or a person: `never`, `always`, `without`, `may`, `us`, `off` are
//! searchable. Invariant: every entry is spelled as [`super::fold::fold`] leaves it, so a look-up needs no second form.

use rustc_hash::FxHashSet;
use std::sync::LazyLock;

// Contractions appear without their apostrophe, which is how the analyzer joins them.
const STOP_WORDS: &str = "\
    a about am an and any are arent as at be been being but by can cannot cant could couldnt \
    did didnt do does doesnt doing dont for from had has hasnt have havent having he her hers \
    him his how i if in into is isnt it its just me my no nor not of on or our ours s she \
    should shouldnt so some such t than that the their theirs them then there these they this \
    those to too very was wasnt we were werent what when where which who whom whose why will \
    with wont would wouldnt you your yours";

// Splitting these at their capitals would put "lite", "hub" and "script" into every second document.
const ONE_WORD_NAMES: &str = "\
    clickhouse cloudflare devops dynamodb fastapi github gitlab graphql ios javascript lancedb \
    latex linkedin macos mariadb mongodb mysql nixos numpy openai opencode openssl paypal \
    postgresql pypi pytorch rocksdb scylladb sqlite tensorflow typescript youtube";

static STOP: LazyLock<FxHashSet<&str>> = LazyLock::new(|| STOP_WORDS.split(' ').collect());
static NAMES: LazyLock<FxHashSet<&str>> = LazyLock::new(|| ONE_WORD_NAMES.split(' ').collect());

/// The longest entry of either list; a longer word needs no look-up.
const LONGEST: usize = 10;

/// Whether a folded word is too common to be worth indexing.
pub(super) fn is_stop_word(word: &str) -> bool {
    word.len() <= LONGEST && STOP.contains(word)
}

/// Whether a folded word is a name such as `SQLite` or `GitHub`, which nobody searches for in halves.
pub(super) fn is_one_word_name(word: &str) -> bool {
    word.len() <= LONGEST && NAMES.contains(word)
}

#[cfg(test)]
mod tests {
    use super::super::fold::fold;
    use super::*;

    #[test]
    fn every_entry_is_folded_and_short_enough_to_be_looked_up() {
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
