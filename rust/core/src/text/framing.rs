//! Removes phrases about the request itself from a query, such as "Can you remind me in which order I brought up …".
//!
//! Otherwise these words would match memories about conversations instead of memories about the subject.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::stop_words::is_stop_word;

/// Patterns with their replacements.
static FRAMES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    const BROUGHT_UP: &str =
        "(?:brought up|bring up|mentioned|discussed|talked about|raised|asked about|told you about|described|shared)";
    const ASKS: &str = "(?:list|walk me through|give me|provide(?: me with)?|tell me(?: about)?|summari[sz]e|recap\
                        |remind me(?: of| about)?)";
    const LISTS: &str = "(?:order|sequence|timeline|summary|overview|recap)";
    let frame = |pattern: &str, instead| {
        let regex = Regex::new(&format!("(?i){pattern}"));
        (
            regex.unwrap_or_else(|error| unreachable!("the patterns are constant and compiled by a test: {error}")),
            instead,
        )
    };
    vec![
        // Mention ONLY five items.
        frame(r"(^|[.?!])\s*(?:please )?(?:mention|list|name|give|include)\s+only\b[^.?!]*[.?!]*\s*$", "$1"),
        // Can you list the order in which
        frame(
            &format!(
                r"^\s*(?:(?:can|could|would|will) you )?(?:please )?(?:help me )?{ASKS}\s+(?:(?:the|an?)\s+)?(?:\w+\s+)?{LISTS}\s+(?:in which|of how|of)\s+"
            ),
            " ",
        ),
        // The order in which
        frame(&format!(r"^\s*(?:(?:the|an?)\s+)?{LISTS}\s+(?:in which|of how)\s+"), " "),
        // Could you please remind me of
        frame(&format!(r"^\s*(?:can|could|would|will) you (?:please )?{ASKS}\b"), " "),
        // …, in which order?
        frame(r"\bin (?:which )?order\b(\s*[,.?!]|\s*$)", "$1"),
        // I brought up
        frame(
            &format!(
                r"^\s*(?:how |what |in (?:which|what) order )?(?:did )?(?:i|we)(?:'ve|’ve| have)?\s+{BROUGHT_UP}\b"
            ),
            " ",
        ),
        frame(r"\b(?:the )?(?:different|various) (?:aspects|parts|topics|features) of\b", " "),
        // throughout all of our conversations
        frame(
            r"\b(?:throughout|across|in|during|over)\s+(?:all\s+(?:of\s+)?)?(?:our|my|(?:the\s+|these\s+|those\s+)?(?:previous|past|different|multiple|various))\s+(?:\w+\s+)?(?:chats?|conversations?|discussions?|sessions?|messages)\b",
            " ",
        ),
    ]
});

/// Returns the subject of a request. If no subject is left, returns the whole request.
pub fn subject(request: &str) -> Cow<'_, str> {
    let mut left = Cow::Borrowed(request);
    for (frame, instead) in FRAMES.iter() {
        if frame.is_match(&left) {
            let without = frame.replace_all(&left, *instead);
            let words: Vec<&str> = without.split_whitespace().collect();
            left = Cow::Owned(words.join(" ").trim_matches([' ', ',']).to_owned());
        }
    }
    let has_subject = left.split(|letter: char| !letter.is_alphanumeric()).any(|word| {
        let word = word.to_lowercase();
        word.chars().count() > 1 && !is_stop_word(&word)
    });
    if !has_subject {
        return Cow::Borrowed(request);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subject_drops_phrases_about_the_request() {
        for (request, expected) in [
            (
                "Can you list the order in which I brought up different aspects of the budget tracker throughout our \
                 conversations? Mention ONLY five items.",
                "the budget tracker ?",
            ),
            ("Could you please remind me of the database port?", "the database port?"),
            ("How did the deployment change in all of our previous chats?", "How did the deployment change ?"),
            ("Give me a summary of how the login was fixed.", "the login was fixed."),
            ("Which port does PostgreSQL use?", "Which port does PostgreSQL use?"),
            ("in order to build, run make first", "in order to build, run make first"),
            ("Can you recap?", "Can you recap?"),
            ("the order of middlewares", "the order of middlewares"),
            ("Summarize the order of middlewares", "middlewares"),
            ("Can you tell me about otters?", "otters?"),
            ("Can you remind me in which order I brought up the otters?", "the otters?"),
            ("Which tokens are kept in the sessions table?", "Which tokens are kept in the sessions table?"),
            ("Are retries logged in the messages of the broker?", "Are retries logged in the messages of the broker?"),
            ("list only failing tests", "list only failing tests"),
            ("", ""),
        ] {
            assert_eq!(subject(request), expected, "{request}");
        }
    }
}
