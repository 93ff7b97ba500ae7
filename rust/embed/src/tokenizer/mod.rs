//! `WordPiece` tokenizer of BERT for texts without case and accents.
//!
//! It gives the ids of the `tokenizers` library with `BertNormalizer`, `BertPreTokenizer` and `WordPiece`, and uses the
//! same tables of Unicode. The algorithm is described in <https://arxiv.org/abs/1609.08144> and in the original
//! implementation, <https://github.com/google-research/bert/blob/master/tokenization.py>.

mod pieces;
mod split;

use std::path::Path;

use crate::error::{Error, Result};
use pieces::Vocabulary;
use split::Part;

/// A word of a text: its characters `[start, end)`, and the number of its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// First character.
    pub start: usize,
    /// Character after the last one.
    pub end: usize,
    /// Number of tokens.
    pub tokens: usize,
}

/// A tokenizer with its vocabulary. Several threads may use it at the same time.
#[derive(Debug)]
pub struct Tokenizer {
    vocabulary: Vocabulary,
}

impl Tokenizer {
    /// Read a vocabulary with one token in each line; the number of the line is the id.
    pub fn open(path: &Path) -> Result<Self> {
        let content = fs_err::read(path).map_err(|error| Error::unreadable(path, error))?;
        let content = std::str::from_utf8(&content).map_err(|error| Error::damaged(path, error.to_string()))?;
        let vocabulary = Vocabulary::read(content).map_err(|missing| Error::damaged(path, format!("no {missing}")))?;
        Ok(Self { vocabulary })
    }

    /// Ids of the tokens of a text, between the two that frame it. The text is never truncated.
    pub fn ids(&self, text: &str) -> Vec<u32> {
        let mut ids = vec![self.vocabulary.begin()];
        self.each_part(text, |part| self.push(part, &mut ids));
        ids.push(self.vocabulary.end());
        ids
    }

    /// The words of a text in their order. Characters that make no token are between them.
    pub fn words(&self, text: &str) -> Vec<Word> {
        let mut words = Vec::new();
        let mut ids = Vec::new();
        self.each_part(text, |part| {
            ids.clear();
            self.push(part, &mut ids);
            let (start, end) = part.place();
            words.push(Word { start, end, tokens: ids.len() });
        });
        words
    }

    fn push(&self, part: &Part<'_>, ids: &mut Vec<u32>) {
        match part {
            Part::Special { id, .. } => ids.push(*id),
            Part::Word { text, .. } => self.vocabulary.push_pieces(text, ids),
        }
    }

    fn each_part(&self, text: &str, mut visit: impl FnMut(&Part<'_>)) {
        let mut first = 0;
        let mut rest = text;
        while let Some((before, special, after)) = self.vocabulary.next_special(rest) {
            split::each_word(before, first, &mut visit);
            first += before.chars().count();
            let end = first + special.text.len();
            visit(&Part::Special { id: special.id, start: first, end });
            first = end;
            rest = after;
        }
        split::each_word(rest, first, &mut visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokenizer() -> Tokenizer {
        let file = tempfile::NamedTempFile::new().unwrap();
        let tokens = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n.\nun\n##aff\n##able\nrun\ncafe\n東\n京\n##n";
        std::fs::write(file.path(), tokens).unwrap();
        Tokenizer::open(file.path()).unwrap()
    }

    #[test]
    fn longest_pieces_come_first() {
        assert_eq!(tokenizer().ids("unaffable run."), [2, 6, 7, 8, 9, 5, 3]);
    }

    #[test]
    fn case_accents_and_controls_are_dropped() {
        assert_eq!(tokenizer().ids("CAFÉ\u{0}\u{200b} Cafe\u{301}"), [2, 10, 10, 3]);
    }

    #[test]
    fn chinese_characters_are_words() {
        assert_eq!(tokenizer().ids("東京"), [2, 11, 12, 3]);
    }

    #[test]
    fn word_without_pieces_is_one_unknown_token() {
        assert_eq!(tokenizer().ids("runx"), [2, 1, 3]);
        assert_eq!(tokenizer().ids(&"n".repeat(101)), [2, 1, 3]);
    }

    #[test]
    fn special_tokens_in_a_text_keep_their_ids() {
        assert_eq!(tokenizer().ids("run[SEP]run"), [2, 9, 3, 9, 3]);
        assert_eq!(tokenizer().ids("run[sep]"), [2, 9, 1, 1, 1, 3]);
    }

    #[test]
    fn words_have_places_in_characters() {
        let words = tokenizer().words("東 unaffable [MASK] é\u{301}");
        let places: Vec<_> = words.iter().map(|word| (word.start, word.end, word.tokens)).collect();
        assert_eq!(places, [(0, 1, 1), (2, 11, 3), (12, 18, 1), (19, 20, 1)]);
    }

    #[test]
    fn vocabulary_without_frame_is_damaged() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "[PAD]\n[UNK]\nrun\n").unwrap();
        let error = Tokenizer::open(file.path()).unwrap_err();
        assert!(error.to_string().contains("is damaged: no [CLS]"), "{error}");
    }
}
