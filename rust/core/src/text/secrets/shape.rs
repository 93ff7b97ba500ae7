//! Predicates that distinguish secrets from similar values: placeholders, identifiers, digests, paths, code.
//!
//! The predicates judge a value without its context. After a name such as `password =`, [`is_password`] also accepts
//! weak shapes, while [`is_token`] does not.

const ENCODINGS: &[&str] = &[
    "aes", "argon2", "base", "bcrypt", "ed", "es", "hs", "http", "latin", "md", "oauth", "pbkdf", "rs", "rsa",
    "scrypt", "sha", "utf", "varchar", "x",
];

/// Whether a value contains a placeholder: `<token>`, `${TOKEN}`, `xxxx`, `...`, or a replacement by this module.
pub(super) fn has_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let marks =
        ["${", "{{", "$(", "<", "...", "…", "****", "redacted", "changeme", "change-me", "change_me", "placeholder"];
    let words = [
        "your-",
        "your_",
        "yourpass",
        "yourtoken",
        "yourkey",
        "yoursecret",
        "insert-",
        "insert_",
        "replace-",
        "replace_",
    ];
    marks.iter().chain(&words).any(|mark| lower.contains(mark))
        || value.contains("example")
        || is_crossed_out(&lower)
        || is_variable(value)
        || value.starts_with(['{', '['])
        || value.chars().all(|c| value.starts_with(c))
}

/// Whether runs of at least four `x` make up a quarter of a value in lower case. A random token may contain one by chance.
fn is_crossed_out(lower: &str) -> bool {
    let runs = lower.split(|c: char| c != 'x').map(str::len).filter(|length| *length >= 4);
    let crosses: usize = runs.sum();
    crosses > 0 && 4 * crosses >= lower.len()
}

/// Whether a value is a variable such as `$TOKEN` or `%TOKEN%`.
fn is_variable(value: &str) -> bool {
    let name = value.strip_prefix('$').or_else(|| value.strip_prefix('%').map(|rest| rest.trim_end_matches('%')));
    name.is_some_and(|name| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            // $ecretPassw0rd is not a variable, because variables are in capitals or in lower case.
            && (name.bytes().all(|b| !b.is_ascii_lowercase()) || name.bytes().all(|b| !b.is_ascii_uppercase() && !b.is_ascii_digit()))
    })
}

/// Classes of characters in a value.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one for each class")]
struct Classes {
    lower: bool,
    upper: bool,
    digit: bool,
    symbol: bool,
}

impl Classes {
    fn of(value: &str) -> Self {
        let mut classes = Self::default();
        for c in value.chars() {
            match c {
                '0'..='9' => classes.digit = true,
                'A'..='Z' => classes.upper = true,
                // Separators of words in names and paths.
                '-' | '_' | '.' | '/' | ':' => {}
                _ if c.is_alphabetic() => classes.lower = true,
                _ => classes.symbol = true,
            }
        }
        classes
    }

    fn count(self) -> usize {
        [self.lower, self.upper, self.digit, self.symbol].into_iter().filter(|&has| has).count()
    }
}

/// Whether a value mixes letters and digits, or both cases.
pub(super) fn is_mixed(value: &str) -> bool {
    let classes = Classes::of(value);
    (classes.lower || classes.upper) && (classes.digit || classes.lower && classes.upper)
}

/// Whether a long value is random and does not consist of words.
pub(super) fn looks_random(value: &str) -> bool {
    is_mixed(value) && !is_made_of_words(value) && !is_uuid(value)
}

/// Whether a value consists of words and numbers, as names, paths, versions and dates do. Among three words one short
/// segment may be anything: `D3D10_SB_RETURN_TYPE`.
fn is_made_of_words(value: &str) -> bool {
    let (mut words, mut others) = (0, 0);
    for segment in value.split(|c: char| "-_./:#@+=,~".contains(c)) {
        if !is_word_or_number(segment) {
            others += if segment.len() <= 5 && segment.is_ascii() { 1 } else { 2 };
        } else if segment.len() > 1 && segment.bytes().all(|b| b.is_ascii_alphabetic()) {
            words += 1;
        }
    }
    others == 0 || others == 1 && words >= 3
}

/// Whether a segment consists of words and at most a number: `v2`, `sha256`, `parseHttp2Response`, `2024`.
fn is_word_or_number(segment: &str) -> bool {
    let bytes = segment.as_bytes();
    let changes = |change: fn(u8, u8) -> bool| bytes.windows(2).filter(|pair| change(pair[0], pair[1])).count();
    let to_digits = changes(|a, b| a.is_ascii_digit() != b.is_ascii_digit());
    let cases = changes(|a, b| {
        a.is_ascii_alphabetic() && b.is_ascii_alphabetic() && a.is_ascii_lowercase() != b.is_ascii_lowercase()
    });
    let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
    // Base32 uses only capitals.
    let mixed = bytes.iter().any(u8::is_ascii_lowercase);
    bytes.iter().all(u8::is_ascii_alphanumeric)
        && (to_digits <= 1 && cases * 3 <= bytes.len() + 3
            || to_digits == 2 && digits <= 2 && cases * 5 <= bytes.len() + 3 && (mixed || bytes.len() < 12))
}

/// Whether a value has the form 8-4-4-4-12 of hexadecimal digits.
fn is_uuid(value: &str) -> bool {
    value.len() == 36
        && value.bytes().enumerate().all(
            |(i, b)| {
                if matches!(i, 8 | 13 | 18 | 23) { b == b'-' } else { b.is_ascii_hexdigit() }
            },
        )
}

/// Whether a value after a name such as `token =` or `secret:` is a secret. Words, identifiers and code are not.
pub(super) fn is_token(value: &str) -> bool {
    if !may_be_secret(value) || is_made_of_words(strip_punctuation(value)) {
        return false;
    }
    let classes = Classes::of(strip_punctuation(value));
    let letters = classes.lower || classes.upper;
    classes.count() >= 3 && classes.digit && classes.symbol
        || letters && classes.digit && value.len() >= 12
        || classes.lower && classes.upper && value.len() >= 16
}

/// Whether a value after `password =` is a secret. A password may be weaker than a token, for example `hunter22`.
pub(super) fn is_password(value: &str) -> bool {
    if !may_be_secret(value) {
        return false;
    }
    let value = strip_punctuation(value);
    let classes = Classes::of(value);
    if classes.symbol && classes.count() >= 3 {
        return true;
    }
    if is_made_of_words(value) {
        let one_word = value.bytes().all(|b| b.is_ascii_alphanumeric());
        return one_word && value.len() >= 8 && classes.digit && (classes.lower || classes.upper);
    }
    classes.count() >= 3 || classes.digit && (classes.lower || classes.upper)
}

/// Strips the punctuation of a sentence or of Markdown around a value.
fn strip_punctuation(value: &str) -> &str {
    value.trim_matches(|c: char| "*_!?.".contains(c))
}

fn may_be_secret(value: &str) -> bool {
    value.chars().nth(7).is_some()
        && !has_placeholder(value)
        && !is_code(value)
        && !is_uuid(value)
        && !is_technical(value)
}

/// Whether a value is a call, a look-up, a path or a URL.
fn is_code(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    value.contains("::")
        || value.contains("->")
        || value.starts_with('/')
        || value.starts_with("~/")
        || value.starts_with("./")
        || value.contains("://")
        || is_call(value)
        || ["os.environ", "process.env", "arn:", "env.", "env[", "vault:", "secrets.", "self.", "this."]
            .iter()
            .any(|start| lower.starts_with(start))
        || ["sha1", "sha256", "sha384", "sha512", "md5"]
            .iter()
            .any(|digest| lower.strip_prefix(digest).is_some_and(|rest| rest.starts_with([':', '-'])))
}

/// Whether a value begins with `name(` or `name[`; the name may contain dots.
fn is_call(value: &str) -> bool {
    let name = value.bytes().take_while(|&b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.').count();
    let identifier = value.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    // A password may contain a bracket. The name of a function has no digits between its letters.
    identifier && is_made_of_words(&value[..name]) && value[name..].starts_with(['(', '['])
}

/// Whether a value is the name of an encoding or algorithm: `argon2id`, `base64encoded`, `sha256sum`.
fn is_technical(value: &str) -> bool {
    let lower = strip_punctuation(value).to_ascii_lowercase();
    ENCODINGS.iter().any(|name| {
        let Some(rest) = lower.strip_prefix(name) else {
            return false;
        };
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        digits <= 5 && rest[digits..].bytes().all(|b| b.is_ascii_lowercase() || b == b'-' || b == b'_')
    })
}

/// Whether a value is `user:password` in base64.
pub(super) fn is_basic_credential(value: &str) -> bool {
    let mut bits: u32 = 0;
    let mut pending = 0;
    let mut colon = false;
    for b in value.trim_end_matches('=').bytes() {
        let six = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return false,
        };
        bits = (bits << 6 | u32::from(six)) & 0xffff;
        pending += 6;
        if pending >= 8 {
            pending -= 8;
            let byte = (bits >> pending) as u8;
            colon |= byte == b':';
            if byte < b' ' || byte == 0x7f {
                return false;
            }
        }
    }
    colon
}
