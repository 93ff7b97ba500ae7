//! temporary
pub struct Redacted { pub text: String, pub kinds: Vec<&'static str> }
pub fn redact(text: &str) -> Redacted { Redacted { text: text.to_owned(), kinds: Vec::new() } }
pub fn same_statement(a: &str, b: &str) -> bool { a == b }
pub fn contradicts(_a: &str, _b: &str) -> bool { false }
