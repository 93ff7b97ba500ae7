//! Normalization of a text, and its split into words.

use unicode_categories::UnicodeCategories;
use unicode_normalization::char::decompose_canonical;

/// A part of a text that has tokens. Its place is counted in characters of the text.
#[derive(Debug)]
pub enum Part<'a> {
    /// A special token.
    Special {
        /// Its id.
        id: u32,
        /// First character.
        start: usize,
        /// Character after the last one.
        end: usize,
    },
    /// A word, normalized.
    Word {
        /// The normalized word.
        text: &'a str,
        /// First character.
        start: usize,
        /// Character after the last one.
        end: usize,
    },
}

impl Part<'_> {
    /// First character, and the one after the last.
    pub fn place(&self) -> (usize, usize) {
        match self {
            Self::Special { start, end, .. } | Self::Word { start, end, .. } => (*start, *end),
        }
    }
}

/// Visit each word of a text whose first character has the number `first`.
pub fn each_word(text: &str, first: usize, visit: &mut impl FnMut(&Part<'_>)) {
    let mut words = Words { word: String::new(), start: 0, end: 0 };
    for (place, original) in (first..).zip(text.chars()) {
        if is_dropped(original) {
            continue;
        }
        if original.is_whitespace() || is_chinese(original) {
            words.finish(visit);
        }
        if original.is_whitespace() {
            continue;
        }
        if original.is_ascii() {
            words.push(original.to_ascii_lowercase(), place, visit);
        } else {
            decompose_canonical(original, |part| {
                if !part.is_mark_nonspacing() {
                    for lower in part.to_lowercase() {
                        words.push(lower, place, visit);
                    }
                }
            });
        }
        if is_chinese(original) {
            words.finish(visit);
        }
    }
    words.finish(visit);
}

struct Words {
    word: String,
    start: usize,
    end: usize,
}

impl Words {
    fn push(&mut self, character: char, place: usize, visit: &mut impl FnMut(&Part<'_>)) {
        let alone = character.is_ascii_punctuation() || character.is_punctuation();
        if alone {
            self.finish(visit);
        }
        if self.word.is_empty() {
            self.start = place;
        }
        self.word.push(character);
        self.end = place + 1;
        if alone {
            self.finish(visit);
        }
    }

    fn finish(&mut self, visit: &mut impl FnMut(&Part<'_>)) {
        if !self.word.is_empty() {
            visit(&Part::Word { text: &self.word, start: self.start, end: self.end });
            self.word.clear();
        }
    }
}

/// Control characters and the like. Tabs and ends of lines separate words.
fn is_dropped(character: char) -> bool {
    !matches!(character, '\t' | '\n' | '\r') && (matches!(character, '\0' | '\u{fffd}') || character.is_other())
}

/// Ideographs, each of which is a word.
fn is_chinese(character: char) -> bool {
    matches!(
        character,
        '\u{4e00}'..='\u{9fff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{20000}'..='\u{2a6df}'
            | '\u{2a700}'..='\u{2b73f}'
            | '\u{2b740}'..='\u{2b81f}'
            | '\u{2b920}'..='\u{2ceaf}'
            | '\u{f900}'..='\u{faff}'
            | '\u{2f800}'..='\u{2fa1f}'
    )
}
