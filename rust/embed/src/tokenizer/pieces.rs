//! Vocabulary: pieces of words and special tokens.

use rustc_hash::FxHashMap;

/// Characters of a word that has pieces. A longer one is unknown.
const LONGEST_WORD: usize = 100;
/// Mark of a piece that continues a word.
const CONTINUES: &str = "##";
/// Tokens that a text may contain as such.
const SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// Tokens and their ids.
#[derive(Debug)]
pub struct Vocabulary {
    beginnings: FxHashMap<Box<str>, u32>,
    continuations: FxHashMap<Box<str>, u32>,
    /// Bytes of the longest piece, so that no longer one is looked up.
    longest: usize,
    special: [Special; 5],
}

/// A special token.
#[derive(Debug, Clone, Copy)]
pub struct Special {
    /// The token.
    pub text: &'static str,
    /// Its id.
    pub id: u32,
}

impl Vocabulary {
    /// Read the lines of a vocabulary; the error is the special token that it lacks.
    pub fn read(content: &str) -> Result<Self, &'static str> {
        let mut beginnings = FxHashMap::default();
        let mut continuations = FxHashMap::default();
        let mut longest = 0;
        for (id, token) in (0..).zip(content.lines()) {
            match token.strip_prefix(CONTINUES).filter(|rest| !rest.is_empty()) {
                Some(rest) => continuations.insert(rest.into(), id),
                None => beginnings.insert(token.into(), id),
            };
            longest = longest.max(token.len());
        }
        let find = |text: &'static str| beginnings.get(text).map(|id| Special { text, id: *id }).ok_or(text);
        let [pad, unknown, begin, end, mask] = SPECIAL;
        let special = [find(pad)?, find(unknown)?, find(begin)?, find(end)?, find(mask)?];
        Ok(Self { beginnings, continuations, longest, special })
    }

    /// Id of the token before each text.
    pub fn begin(&self) -> u32 {
        self.special[2].id
    }

    /// Id of the token after each text.
    pub fn end(&self) -> u32 {
        self.special[3].id
    }

    /// Split a text at its first special token.
    pub fn next_special<'a>(&self, text: &'a str) -> Option<(&'a str, Special, &'a str)> {
        let mut from = 0;
        while let Some(bracket) = text[from..].find('[') {
            let at = from + bracket;
            if let Some(special) = self.special.iter().find(|special| text[at..].starts_with(special.text)) {
                return Some((&text[..at], *special, &text[at + special.text.len()..]));
            }
            from = at + 1;
        }
        None
    }

    /// Push the ids of the pieces of a word: the longest piece first, then the longest one that continues, and so on.
    pub fn push_pieces(&self, word: &str, ids: &mut Vec<u32>) {
        let before = ids.len();
        let mut start = 0;
        if word.chars().count() <= LONGEST_WORD {
            while start < word.len() {
                let Some((length, id)) = self.longest_piece(&word[start..], start == 0) else { break };
                ids.push(id);
                start += length;
            }
        }
        if start < word.len() {
            ids.truncate(before);
            ids.push(self.special[1].id);
        }
    }

    fn longest_piece(&self, rest: &str, begins: bool) -> Option<(usize, u32)> {
        let pieces = if begins { &self.beginnings } else { &self.continuations };
        let mut end = boundary_below(rest, self.longest);
        while end > 0 {
            if let Some(id) = pieces.get(&rest[..end]) {
                return Some((end, *id));
            }
            end = boundary_below(rest, end - 1);
        }
        None
    }
}

/// The last boundary of a character at or before a byte. `str::floor_char_boundary` needs Rust 1.91.
fn boundary_below(text: &str, byte: usize) -> usize {
    if byte >= text.len() {
        return text.len();
    }
    (0..=byte).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
