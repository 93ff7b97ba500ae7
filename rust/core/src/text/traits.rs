//! Properties of a text that affect ranking: its length, and whether it asks a question or names a time. They are
//! computed once, when the text is written.

use std::sync::LazyLock;

use regex::Regex;

use super::unspaced::is_unspaced;

/// Ranking properties of a text, stored with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traits {
    /// Number of words, separated by white space. In scripts without spaces, two characters count as a word.
    pub words: u32,
    /// Whether the text ends with a question mark.
    pub asks: bool,
    /// Whether the text names a day, a month, or a time span.
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
    /// Computes the properties of a text.
    pub fn of(text: &str) -> Self {
        Self {
            words: text.split_whitespace().map(words_of).sum(),
            asks: text.trim_end().ends_with(['?', '？', '؟']),
            names_a_time: TIME.is_match(text),
        }
    }

    /// Encodes the boolean properties as bits.
    pub fn bits(self) -> u8 {
        (u8::from(self.asks) * ASKS) | (u8::from(self.names_a_time) * NAMES_A_TIME)
    }

    /// Decodes stored properties.
    pub fn from_bits(words: u32, bits: u8) -> Self {
        Self { words, asks: bits & ASKS != 0, names_a_time: bits & NAMES_A_TIME != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traits_count_words_and_detect_questions_and_times() {
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
