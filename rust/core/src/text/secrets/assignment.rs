//! Finds secrets by their name: `DB_PASSWORD=…`, `"api_key": "…"`, `--token …`, "the password is …".
//!
//! The value must also have the shape of a secret. Refuses names with another ending (`token_budget`, `password_hash`,
//! `tokens`). Invariant: a refused value is searched for further names. The time is linear, because a value is only
//! read up to a bound before it is accepted.

use super::Found;
use super::kinds::{LAST_RANK, compile};
use super::shape::{is_password, is_token};
use regex::Regex;
use std::sync::LazyLock;

const NAMES: &str = r"(?:(password|passwd|passphrase|passcode|pwd|[_-]pass|(?u:passwort|kennwort|mot[ _-]de[ _-]passe|contrase(?:ñ|n)a|senha|wachtwoord|lösenord|adgangskode|has(?:ł|l)o|heslo|jelsz(?:ó|o)|salasana|(?:ş|s)ifre|parol(?:a|ä)|пароль|密码|密碼|パスワード|비밀번호))|secret|token|credentials?|(?:access|account|api|app|auth|client|consumer|cookie|encryption|jwt|master|private|secret|service|session|shared|signing|storage|webhook)[ _-]?key)";

/// A value ends at white space, a quote, a bracket or a separator. It is matched up to a bound and extended afterwards.
const VALUE: &str = r#"([^\s"'`<>,;|\\)}\]]{8,128})"#;

static NAME: LazyLock<Regex> = LazyLock::new(|| {
    compile(concat!(
        "(?i:passw|passp|passc|[_-]pass|pwd|secret|token|credential|key|kennw|de[ _-]passe|contrase|senha|wachtw|lösen",
        "|adgangs|has[łl]o|heslo|jelsz|salas|ifre|parol|пароль|密码|密碼|パスワ|비밀번)"
    ))
});

static ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| {
    // After the name: a number (KEY_2), closing quotes or brackets, and an operator; for options and sentences, a
    // space.
    let joint = r#"(?:(?:[_-]?[0-9]{1,2})?[\\"'`\]*]{0,4}[ \t]{0,8}(?:=>|:=|==|=|:|>|(?u:：))[ \t*]{0,8}|[ \t]{1,4}(?:is|was|ist|lautet|est|es|(?u:è|é))[ \t:]{1,4}|(?u:[ \t]?[是は][ \t：]?))"#;
    let option = r"--[a-z-]{0,32}(?:(password|passwd|pass)|token|secret|api-?key|access-?key)[ \t]{1,4}";
    compile(&format!(r#"(?i-u:(?:{NAMES}{joint}|{option})(?:[brfu]?(\\?["'`]))?){VALUE}"#))
});

const NAMED_PASSWORD: usize = 1;
const OPTION_PASSWORD: usize = 2;
const QUOTE: usize = 3;
const SECRET: usize = 4;

/// Adds the values that are secrets by their name and shape.
pub(super) fn find(text: &str, found: &mut Vec<Found>) {
    if !NAME.is_match(text) {
        return;
    }
    let mut at = 0;
    while let Some(captures) = ASSIGNMENT.captures_at(text, at) {
        let Some(value) = captures.get(SECRET) else {
            break;
        };
        at = value.start();
        let password = captures.get(NAMED_PASSWORD).or_else(|| captures.get(OPTION_PASSWORD)).is_some();
        let accepted = if password { is_password } else { is_token };
        let bounded = before_next_parameter(value.as_str());
        // Text after two colons is the rest of a path, as in Token::I32(9999), and not a value.
        let path = bounded.starts_with(':') && text[..at].ends_with(':');
        if path || !accepted(bounded) {
            continue;
        }
        let end = value.start() + bounded.len();
        let end = if end == value.end() { end + rest_of_value(&text[end..]) } else { end };
        // A quoted value with spaces is a sentence and not a secret.
        let quoted = captures.get(QUOTE).map(|quote| quote.as_str().trim_start_matches('\\'));
        if quoted.is_some_and(|_| text[end..].starts_with([' ', '\t'])) {
            continue;
        }
        let kind = if password { "password" } else { "secret" };
        found.push(Found { range: value.start()..end, kind, rank: LAST_RANK });
        at = end;
    }
}

/// Truncates a value of a query string before the next parameter.
fn before_next_parameter(value: &str) -> &str {
    let parameter = |after: &str| {
        let name = after.bytes().take_while(|&b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-').count();
        name > 0 && after[name..].starts_with('=')
    };
    let end = value.match_indices('&').map(|(i, _)| i).find(|&i| parameter(&value[i + 1..]));
    &value[..end.unwrap_or(value.len())]
}

fn rest_of_value(text: &str) -> usize {
    text.find(|c: char| c.is_whitespace() || "\"'`<>,;|\\)}]".contains(c)).unwrap_or(text.len())
}
