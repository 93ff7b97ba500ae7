//! The tokens of a statement that carry its meaning, in order.
//!
//! Drops only words and signs without meaning in English: articles, "please", commas, dashes between clauses, list
//! bullets, the final full stop. Keeps the case of identifiers, numbers, signs and code. Invariant: two texts with the
//! same tokens mean the same.

use super::code_spans::{Span, spans};
use super::spelling::{is_ordinary, plain_case, plain_characters};
use super::stop_words::is_stop_word;

/// One token of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// An ordinary word, in lower case.
    Word(String),
    /// An identifier, number, sign or code span, exactly as written.
    Exact(String),
    /// Punctuation between sentences or clauses, which distinguishes "Stop. Never deploy" from "Stop never deploy".
    Mark(char),
}

impl Token {
    pub(super) fn word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            _ => None,
        }
    }
}

// After one of these words, a number or a single letter is a name. For example, step 1 and step 2 are different things.
const LABELS: &[&str] = &[
    "appendix",
    "bug",
    "build",
    "case",
    "chapter",
    "choice",
    "class",
    "column",
    "day",
    "drive",
    "epic",
    "figure",
    "grade",
    "group",
    "index",
    "issue",
    "item",
    "key",
    "letter",
    "level",
    "line",
    "merge",
    "milestone",
    "mr",
    "node",
    "number",
    "option",
    "page",
    "part",
    "phase",
    "plan",
    "point",
    "pr",
    "question",
    "register",
    "release",
    "request",
    "room",
    "round",
    "row",
    "rule",
    "section",
    "series",
    "server",
    "shard",
    "side",
    "sprint",
    "stage",
    "step",
    "table",
    "task",
    "team",
    "test",
    "ticket",
    "type",
    "user",
    "variable",
    "variant",
    "version",
    "vitamin",
    "week",
    "worker",
    "zone",
];

const NEGATED: &[(&str, &str)] = &[
    ("aren't", "are"),
    ("can't", "can"),
    ("cannot", "can"),
    ("couldn't", "could"),
    ("didn't", "did"),
    ("doesn't", "does"),
    ("don't", "do"),
    ("hadn't", "had"),
    ("hasn't", "has"),
    ("haven't", "have"),
    ("isn't", "is"),
    ("mustn't", "must"),
    ("needn't", "need"),
    ("shouldn't", "should"),
    ("wasn't", "was"),
    ("weren't", "were"),
    ("won't", "will"),
    ("wouldn't", "would"),
];

/// Whether a number or letter after this word is a name, as in step 1.
pub(super) fn is_label(word: &str) -> bool {
    LABELS.binary_search(&word).is_ok()
}

/// Splits a text into its significant tokens.
pub(super) fn significant_tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for span in spans(text.trim()) {
        match span {
            Span::Code(code) => tokens.push(Token::Exact(code.to_owned())),
            Span::Text(text) => {
                for token in plain_characters(text).split_whitespace() {
                    add(token, &mut tokens);
                }
            }
        }
    }
    while matches!(tokens.last(), Some(Token::Mark('.'))) {
        tokens.pop();
    }
    without_articles(tokens)
}

fn add(token: &str, tokens: &mut Vec<Token>) {
    let bullet = tokens.is_empty() && matches!(token, "-" | "*" | "•");
    if bullet || matches!(token, "," | "–" | "—") {
        return;
    }
    let mut bare = token;
    let mut mark = None;
    if let Some(rest) = token.strip_suffix([',', ';', ':', '.'])
        && rest.ends_with(|c: char| c.is_alphanumeric() || "\"')]}".contains(c))
    {
        bare = rest;
        mark = token.chars().next_back().filter(|&c| c != ',');
    } else if !tokens.is_empty()
        && matches!(token, "." | ";" | ":")
        && matches!(tokens.last(), Some(Token::Exact(code)) if code.ends_with('`'))
    {
        // The full stop after a code span is a separate token, because the code span is split off first.
        tokens.push(Token::Mark(token.chars().next().unwrap_or('.')));
        return;
    }
    if is_ordinary(bare) {
        let word = plain_case(bare).into_owned();
        if let Some(&(_, verb)) = NEGATED.iter().find(|(contraction, _)| *contraction == word) {
            tokens.push(Token::Word(verb.to_owned()));
            tokens.push(Token::Word("not".to_owned()));
        } else {
            tokens.push(Token::Word(word));
        }
    } else {
        tokens.push(Token::Exact(bare.to_owned()));
    }
    tokens.extend(mark.map(Token::Mark));
}

/// Drops articles and "please". Keeps "a" if it may be a name: at the end, after a label, before a verb like "is".
fn without_articles(tokens: Vec<Token>) -> Vec<Token> {
    let spared: Vec<bool> = (0..tokens.len())
        .map(|i| {
            let next = tokens.get(i + 1);
            let before = i.checked_sub(1).and_then(|i| tokens[i].word());
            match tokens[i].word() {
                Some("the") => matches!(next, Some(Token::Word(_) | Token::Exact(_))),
                Some("please") => next.is_some() || i > 0,
                Some("a" | "an") => {
                    next.and_then(Token::word).is_some_and(|word| !is_stop_word(word)) && !before.is_some_and(is_label)
                }
                _ => false,
            }
        })
        .collect();
    tokens.into_iter().zip(spared).filter(|(_, spared)| !spared).map(|(token, _)| token).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_sorted_for_the_binary_search() {
        assert!(LABELS.is_sorted());
    }

    #[test]
    fn significant_tokens_keep_the_meaning() {
        let word = |w: &str| Token::Word(w.to_owned());
        let exact = |w: &str| Token::Exact(w.to_owned());
        assert_eq!(
            significant_tokens("Please don't use the `x`; run --dry, 10MB."),
            [
                word("do"),
                word("not"),
                word("use"),
                exact("`x`"),
                Token::Mark(';'),
                word("run"),
                exact("--dry"),
                exact("10MB")
            ]
        );
    }
}
