//! What the order of hits asks of a text, found once when it is written: how long it is, whether it asks, whether it names a
//! time.

use std::sync::LazyLock;

use regex::Regex;

use super::unspaced::is_unspaced;

/// Kinds of text; stored beside it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traits {
    /// Words, by white space; in scripts without it two characters are a word.
    pub words: u32,
    /// It ends with a question mark.
    pub asks: bool,
    /// It names a day, a month, or a distance in time.
    pub names_a_time: bool,
}

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix)\b(?:
            yesterday|today|tonight|tomorrow|last|next|ago|weekend|recently|soon|since|morning|evening
            |days?|weeks?|months?|years?
            |monday|tuesday|wednesday|thursday|friday|saturday|sunday
            |january|february|march|april|may|june|july|august|september|october|november|december
            |20[0-9]{2}|[0-9]{1,2}(?:st|nd|rd|th)
        )\b",
    )
    .unwrap_or_else(|error| unreachable!("a pattern that a test compiles: {error}"))
});

fn words_of(between_spaces: &str) -> u32 {
    if between_spaces.is_ascii() {
        return 1;
    }
    let unspaced = between_spaces.chars().filter(|letter| is_unspaced(*letter)).count() as u32;
    unspaced.div_ceil(2).max(1)
}

const ASKS: u8 = 1;
const NAMES_A_TIME: u8 = 2;

impl Traits {
    /// Look at a text.
    pub fn of(text: &str) -> Self {
        Self {
            words: text.split_whitespace().map(words_of).sum(),
            asks: text.trim_end().ends_with(['?', '？', '؟']),
            names_a_time: TIME.is_match(text),
        }
    }

    /// The answers as bits.
    pub fn bits(self) -> u8 {
        (u8::from(self.asks) * ASKS) | (u8::from(self.names_a_time) * NAMES_A_TIME)
    }

    /// What was stored as a number of words and bits.
    pub fn from_bits(words: u32, bits: u8) -> Self {
        Self { words, asks: bits & ASKS != 0, names_a_time: bits & NAMES_A_TIME != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_told_by_length_question_and_time() {
        let traits = |words, asks, names_a_time| Traits { words, asks, names_a_time };
        for (text, expected) in [
            ("", traits(0, false, false)),
            ("  Where did you go?  ", traits(4, true, false)),
            ("We moved last week.", traits(4, false, true)),
            ("On the 3rd, in 2024", traits(5, false, true)),
            ("MAY it last?", traits(3, true, true)),
            ("Maybe mayonnaise", traits(2, false, false)),
            ("どこですか？", traits(3, true, false)),
            ("Zoë isst Äpfel", traits(3, false, false)),
        ] {
            assert_eq!(Traits::of(text), expected, "{text}");
            assert_eq!(Traits::from_bits(expected.words, expected.bits()), expected);
        }
    }
}
