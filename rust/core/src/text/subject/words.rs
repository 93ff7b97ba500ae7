//! The words of a statement, each with its role: asserted, rejected, or of no account.

use super::super::spelling::plain_characters;
use super::super::terms::stem;

/// A longer text makes several statements, so no single subject can be found in it.
pub(super) const MOST_WORDS: usize = 60;

/// Past forms that the stemmer does not know, each with its verb.
const IRREGULAR: &[(&str, &str)] = &[
    ("built", "build"),
    ("drawn", "draw"),
    ("given", "give"),
    ("held", "hold"),
    ("hidden", "hide"),
    ("kept", "keep"),
    ("made", "make"),
    ("sent", "send"),
    ("shown", "show"),
    ("taken", "take"),
    ("thrown", "throw"),
    ("written", "write"),
    ("wrote", "write"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Asserted,
    Rejected,
    Dropped,
}

#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent properties of one text")]
pub(super) struct Word {
    /// In lower case, without punctuation around it.
    pub text: String,
    pub is_capital: bool,
    pub is_code: bool,
    /// Whether a comma or a full stop follows.
    pub ends: bool,
    /// Whether the sentence ends here.
    pub stops: bool,
    /// Whether a colon or a dash follows.
    pub is_label: bool,
    pub role: Role,
}

/// Splits a text into words. Contractions of "not" become two words.
pub(super) fn words_of(text: &str) -> Option<Vec<Word>> {
    let plain = plain_characters(text);
    let mut words: Vec<Word> = Vec::new();
    for (number, token) in plain.split_whitespace().enumerate() {
        if number > MOST_WORDS {
            return None;
        }
        if matches!(token, "-" | "*" | "–" | "—" | ";" | "," | ".") {
            if let Some(last) = words.last_mut() {
                last.ends = true;
                last.is_label = !matches!(token, ";" | "," | ".");
            }
            continue;
        }
        let is_code = token.contains('`')
            || token.trim_end_matches(['.', ',', ':', ';']).contains(['/', '_', '.', '\\', '@', '('])
            || token.starts_with("--")
            || token.starts_with('.');
        let bare = token.trim_matches(|c: char| "\"'()[]{}*,;:?!«»…`".contains(c)).trim_end_matches('.');
        let bare = bare.trim_matches(|c: char| "`\"'".contains(c)).trim_end_matches([')', ']', '}', '*']);
        let stops = token.trim_end_matches(['"', '\'', ')']).ends_with(['.', '!', ';']);
        let ends = stops || token.ends_with([',', ':']);
        for part in bare.split(['=']).flat_map(split_port) {
            let lower = part.to_lowercase();
            let is_capital = part.starts_with(char::is_uppercase);
            let one = |text: &str| Word {
                text: text.to_owned(),
                is_capital,
                is_code,
                ends: false,
                stops: false,
                is_label: false,
                role: Role::Asserted,
            };
            if let Some(verb) = negated_verb(&lower) {
                words.extend([one(verb), one("not")]);
            } else if let Some((word, end)) =
                lower.split_once('\'').filter(|(_, end)| matches!(*end, "s" | "re" | "ve" | "ll" | "m" | "d"))
            {
                words.push(one(word));
                if matches!(word, "that" | "it" | "there" | "what" | "here") && end == "s" {
                    words.push(one("is"));
                }
            } else if !lower.is_empty() {
                words.push(one(&lower));
            }
        }
        if let Some(last) = words.last_mut() {
            last.ends |= ends;
            last.stops |= stops;
            last.is_label |= token.ends_with(':');
        }
    }
    Some(words)
}

/// The verb of a contraction of "not", also of one that is typed without its apostrophe.
fn negated_verb(word: &str) -> Option<&str> {
    const WITHOUT_APOSTROPHE: &[&str] = &[
        "arent", "cant", "couldnt", "didnt", "doesnt", "dont", "hasnt", "havent", "isnt", "mustnt", "neednt",
        "shouldnt", "wasnt", "werent", "wont", "wouldnt",
    ];
    let verb = match word.strip_suffix("n't") {
        None if word == "cannot" => "ca",
        None if WITHOUT_APOSTROPHE.contains(&word) => word.strip_suffix("nt")?,
        found => found?,
    };
    Some(match verb {
        "ca" => "can",
        "wo" => "will",
        other => other,
    })
}

/// Splits `localhost:8080` and `port:8080` before the number.
fn split_port(part: &str) -> Vec<&str> {
    match part.rsplit_once(':') {
        Some((before, number)) if number.len() >= 2 && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            if before.is_empty() { vec!["port", number] } else { vec![before, number] }
        }
        _ => vec![part],
    }
}

/// The stem of a word, the same for "sends" and "sent".
pub(super) fn stem_of(text: &str) -> String {
    let base = IRREGULAR.iter().find(|(past, _)| *past == text).map_or(text, |(_, verb)| verb);
    stem(base.to_owned())
}

/// Whether a word is a past form such as "sent".
pub(super) fn is_irregular(text: &str) -> bool {
    IRREGULAR.iter().any(|(past, _)| *past == text)
}

/// The place of a phrase.
pub(super) fn find(words: &[Word], phrase: &[&str]) -> Option<usize> {
    words.windows(phrase.len()).position(|window| window.iter().zip(phrase).all(|(word, wanted)| word.text == *wanted))
}
