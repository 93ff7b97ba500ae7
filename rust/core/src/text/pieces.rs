//! Tokenizer of the analyzer: splits text into words, numbers, compounds such as `src/app/main.py`, and runs of scripts
//! without spaces.
//!
//! The tokenizer only finds the boundaries of a piece; `identifier` splits compounds further. Invariant: one pass over
//! the bytes; pieces are in order and do not overlap; every letter and digit of the text is inside exactly one piece.

use super::unspaced::is_unspaced;
use unicode_normalization::char::is_combining_mark;

/// Classes of characters in a piece, collected while its end is searched.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Shape(u8);

impl Shape {
    pub(super) const LOWER: Self = Self(1);
    pub(super) const UPPER: Self = Self(2);
    pub(super) const DIGIT: Self = Self(4);
    pub(super) const JOINER: Self = Self(8);
    pub(super) const APOSTROPHE: Self = Self(16);
    /// A capital after the first letter.
    pub(super) const INNER_UPPER: Self = Self(32);
    pub(super) const UNSPACED: Self = Self(64);
    pub(super) const LETTER: Self = Self(1 | 2);

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Computes the shape of a piece.
    pub(super) fn of(text: &str) -> Self {
        let mut shape = Self::default();
        for (i, c) in text.char_indices() {
            let kind = match CLASSES[usize::from(c as u32 as u8)] {
                LOWER if c.is_ascii() => Self::LOWER,
                UPPER if c.is_ascii() => Self::UPPER,
                DIGIT if c.is_ascii() => Self::DIGIT,
                APOSTROPHE if c.is_ascii() => Self::APOSTROPHE,
                _ if c.is_ascii() => Self::JOINER,
                _ => match wide(c) {
                    Wide::Letter(kind) => kind,
                    _ => Self::JOINER,
                },
            };
            shape.add(kind);
            if i > 0 && kind == Self::UPPER {
                shape.add(Self::INNER_UPPER);
            }
        }
        shape
    }

    /// Whether the piece has only letters of one case, an initial capital and apostrophes: `word`, `Word`, `WORD`,
    /// `don't`.
    pub(super) fn is_plain_word(self) -> bool {
        let camel = self.has(Self::INNER_UPPER) && self.has(Self::LOWER) && !self.has(Self::APOSTROPHE);
        !(self.has(Self::DIGIT) || self.has(Self::JOINER) || camel)
    }
}

/// A piece of text with its shape.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) text: &'a str,
    pub(super) shape: Shape,
}

impl Piece<'_> {
    /// The piece without its possessive ending: `OpenCode's` is analysed as `OpenCode`.
    pub(super) fn without_possessive(self) -> Self {
        match self.text.strip_suffix("'s") {
            Some(owner) => Self { text: owner, shape: Shape::of(owner) },
            None => self,
        }
    }
}

const SEPARATOR: u8 = 0;
const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 3;
const JOINER: u8 = 4;
const APOSTROPHE: u8 = 5;
const COMMA: u8 = 6;
const WIDE: u8 = 7;

const CLASSES: [u8; 256] = {
    let mut classes = [SEPARATOR; 256];
    let mut i = 0;
    while i < 256 {
        classes[i] = match i as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' | b'-' | b'.' | b'/' | b'\\' | b':' | b'#' | b'!' | b'@' | b'&' | b'$' | b'~' | b'+' => JOINER,
            b'\'' => APOSTROPHE,
            b',' => COMMA,
            0x80.. => WIDE,
            _ => SEPARATOR,
        };
        i += 1;
    }
    classes
};

/// Splits prepared text into pieces.
pub(super) fn pieces(text: &str) -> Pieces<'_> {
    Pieces { text, at: 0 }
}

/// The iterator behind [`pieces`].
pub(super) struct Pieces<'a> {
    text: &'a str,
    at: usize,
}

enum Wide {
    Separator,
    Letter(Shape),
    Unspaced,
}

fn wide(c: char) -> Wide {
    if is_unspaced(c) {
        Wide::Unspaced
    } else if c.is_uppercase() {
        Wide::Letter(Shape::UPPER)
    } else if c.is_numeric() && !c.is_alphabetic() {
        Wide::Letter(Shape::DIGIT)
    } else if c.is_alphanumeric() || is_combining_mark(c) {
        Wide::Letter(Shape::LOWER)
    } else {
        Wide::Separator
    }
}

impl<'a> Pieces<'a> {
    fn class(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).map_or(SEPARATOR, |&b| CLASSES[usize::from(b)])
    }

    fn wide_at(&self, at: usize) -> (Wide, usize) {
        self.text[at..].chars().next().map_or((Wide::Separator, 1), |c| (wide(c), c.len_utf8()))
    }

    fn is_letter(&self, at: usize) -> bool {
        match self.class(at) {
            LOWER | UPPER => true,
            WIDE => matches!(self.wide_at(at).0, Wide::Letter(_)),
            _ => false,
        }
    }

    /// Whether the comma at `at` groups thousands, so that exactly three digits follow.
    fn groups_thousands(&self, at: usize) -> bool {
        (1..=3).all(|i| self.class(at + i) == DIGIT) && !matches!(self.class(at + 4), DIGIT | LOWER | UPPER | WIDE)
    }

    fn unspaced_from(&mut self, start: usize) -> Piece<'a> {
        let run = &self.text[start..];
        let end =
            run.char_indices().find(|&(_, c)| !is_unspaced(c) && !is_combining_mark(c)).map_or(run.len(), |(i, _)| i);
        self.at = start + end;
        Piece { text: &run[..end], shape: Shape::UNSPACED }
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let mut at = self.at;
        loop {
            match self.class(at) {
                SEPARATOR | APOSTROPHE | COMMA if at >= self.text.len() => return None,
                SEPARATOR | APOSTROPHE | COMMA => at += 1,
                WIDE => match self.wide_at(at) {
                    (Wide::Separator, width) => at += width,
                    (Wide::Unspaced, _) => return Some(self.unspaced_from(at)),
                    (Wide::Letter(_), _) => break,
                },
                _ => break,
            }
        }
        let start = at;
        let mut shape = Shape::default();
        let mut after_letter = false;
        let mut only_digits = true;
        loop {
            let class = self.class(at);
            let mut width = 1;
            let mut letter = true;
            match class {
                LOWER => shape.add(Shape::LOWER),
                UPPER => {
                    shape.add(if at > start { Shape(Shape::UPPER.0 | Shape::INNER_UPPER.0) } else { Shape::UPPER });
                }
                DIGIT => {
                    shape.add(Shape::DIGIT);
                    letter = false;
                }
                JOINER => {
                    shape.add(Shape::JOINER);
                    letter = false;
                }
                APOSTROPHE if after_letter && self.is_letter(at + 1) => {
                    shape.add(Shape::APOSTROPHE);
                    letter = false;
                }
                COMMA if only_digits && at > start && self.groups_thousands(at) => {
                    shape.add(Shape::JOINER);
                    letter = false;
                }
                WIDE => match self.wide_at(at) {
                    (Wide::Letter(kind), bytes) => {
                        shape.add(kind);
                        if at > start && kind == Shape::UPPER {
                            shape.add(Shape::INNER_UPPER);
                        }
                        letter = kind != Shape::DIGIT;
                        width = bytes;
                    }
                    _ => break,
                },
                _ => break,
            }
            only_digits &= matches!(class, DIGIT | COMMA);
            after_letter = letter;
            at += width;
        }
        self.at = at;
        Some(Piece { text: &self.text[start..at], shape })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fold::prepare;
    use super::*;
    use proptest::prelude::*;

    fn cut(text: &str) -> Vec<&str> {
        pieces(text).map(|p| p.text).collect()
    }

    #[test]
    fn compounds_are_split_only_at_brackets_quotes_and_spaces() {
        assert_eq!(cut("see (src/app/main.py:12), `foo.bar()`"), ["see", "src/app/main.py:12", "foo.bar"]);
        assert_eq!(cut("key=value a,b don't 'quoted'"), ["key", "value", "a", "b", "don't", "quoted"]);
        assert_eq!(cut("10,000 and 1,2,3 x1,000"), ["10,000", "and", "1", "2", "3", "x1", "000"]);
    }

    #[test]
    fn script_without_spaces_ends_an_identifier() {
        assert_eq!(cut("使用parseHTTP函数"), ["使用", "parseHTTP", "函数"]);
    }

    proptest! {
        #[test]
        fn every_letter_and_digit_is_in_exactly_one_piece(text in "\\PC{0,60}") {
            let text = prepare(&text);
            let kept = |s: &str| s.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
            let joined: String = pieces(&text).map(|p| p.text).collect();
            prop_assert_eq!(kept(&joined), kept(&text));
        }
    }
}
