//! Fuzz tests of the parsers of texts: any string is accepted, nothing panics, redaction is idempotent, parts
//! of a text lie on character boundaries, and the time grows with the length, not with its square.
//!
//! `PROPTEST_CASES` increases the number of cases. A fragment of a text that failed belongs into [`FRAGMENTS`],
//! a text that failed as a file into `tests/data/fuzz/texts`.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use opencode_memory_core::text::{
    Question, Statement, Traits, analyze, analyze_query, compare, content_hash, date_expressions, day_of, normalise,
    redact, same_statement, subject, text_hash, year_of,
};
use proptest::prelude::*;

/// Fragments with a meaning for a parser. Random ones are combined and repeated.
const FRAGMENTS: &[&str] = &[
    "`",
    "```",
    "~~~\n",
    "\"",
    "'",
    "(",
    "[",
    "{",
    "<private>",
    "</private>",
    "\\_",
    "\\",
    "/",
    "//",
    "://",
    ":",
    "=",
    "-",
    "--",
    "_",
    ".",
    ",",
    "@",
    "#",
    "!",
    "%",
    "\n",
    "\r\n",
    "\t",
    " ",
    "\0",
    "\u{200b}",
    "\u{2060}",
    "\u{feff}",
    "\u{ad}",
    "\u{202e}",
    "\u{301}",
    "\u{fe0f}",
    "\u{1f468}\u{200d}\u{1f469}",
    "\u{e0041}",
    "漢",
    "ह",
    "ก",
    "İ",
    "ß",
    "ſ",
    "ﬁ",
    "Ǆ",
    "a",
    "A",
    "0",
    "9",
    "a1",
    "aB",
    "fooBar",
    "HTTPServer",
    "v1.2.3",
    "not ",
    "no longer ",
    "instead of ",
    "use ",
    "we use ",
    "Postgres",
    "Redis ",
    "on ",
    "in May ",
    "May 5, 2024",
    "2024-02-30",
    "9999-99",
    "last ",
    "week ",
    "a couple of ",
    "999 years ago",
    "when ",
    "how many ",
    "password",
    "password=",
    "token: ",
    "api key ",
    "Bearer ",
    "Basic ",
    "sk-",
    "ghp_",
    "AKIA",
    "eyJ",
    "glpat-",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----END",
    "machine ",
    "login ",
    "mysql -p",
    "curl -u ",
    "postgres://u:",
    "[redacted:",
    "Zm9vYmFyYmF6",
    "0123456789abcdef",
    "please remember that ",
    "do you know ",
    "because ",
    "the other way round: ",
];

/// Texts that are kept in the repository.
fn seeds() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/fuzz/texts");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

/// Parts of the seeds, cut at random.
fn cut_seed() -> impl Strategy<Value = String> {
    (prop::sample::select(seeds()), any::<prop::sample::Index>(), any::<prop::sample::Index>()).prop_map(
        |(seed, first, last)| {
            let chars: Vec<char> = seed.chars().collect();
            let (first, last) = (first.index(chars.len()), last.index(chars.len()));
            chars[first.min(last)..=first.max(last)].iter().collect()
        },
    )
}

fn text() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![8 => prop::sample::select(FRAGMENTS).prop_map(str::to_owned), 2 => "\\PC{0,6}", 1 => cut_seed(), 1 => any::<String>()];
    prop::collection::vec(fragment, 0..40).prop_map(|parts| parts.concat())
}

/// Call every function with a text, and check what holds for all texts.
fn take(text: &str, other: &str, now_ms: i64) {
    black_box((analyze(text), analyze_query(text), Traits::of(text), content_hash(text), text_hash(text)));
    black_box((Question::of(text, now_ms), year_of(now_ms), day_of(now_ms)));
    let clean = redact(text);
    assert_eq!(clean.kinds.is_empty(), clean.text == text, "{text:?}");
    let again = redact(&clean.text);
    assert_eq!((again.text.as_str(), again.kinds.len()), (clean.text.as_str(), 0), "{text:?}");
    let normal = normalise(text);
    assert_eq!(normalise(&normal), normal, "{text:?}");
    for part in date_expressions(text) {
        assert!(is_part(part, text), "{text:?}");
    }
    black_box(subject(text));
    assert!(same_statement(text, text), "{text:?}");
    black_box(compare(text, other, Some(0.9)));
    if let Some(statement) = Statement::read(text) {
        black_box((statement.may_replace(), statement.search_text(), statement.compare(other, None)));
    }
}

/// Whether a slice lies inside a text.
fn is_part(part: &str, text: &str) -> bool {
    let (first, last) = (text.as_ptr() as usize, text.as_ptr() as usize + text.len());
    let at = part.as_ptr() as usize;
    first <= at && at + part.len() <= last && text.is_char_boundary(at - first)
}

/// A function over text, by its name.
type Parser = (&'static str, fn(&str));

const PARSERS: &[Parser] = &[
    ("analyze", |text| ignore(analyze(text))),
    ("analyze_query", |text| ignore(analyze_query(text))),
    ("Traits::of", |text| ignore(Traits::of(text))),
    ("normalise", |text| ignore(normalise(text))),
    ("redact", |text| ignore(redact(text))),
    ("Question::of", |text| ignore(Question::of(text, 0))),
    ("date_expressions", |text| ignore(date_expressions(text).count())),
    ("subject", |text| ignore(subject(text))),
    ("same_statement", |text| ignore(same_statement(text, &format!("not {text}")))),
    ("compare", |text| ignore(compare(text, &format!("not {text}"), Some(0.9)))),
];

fn ignore<T>(result: T) {
    black_box(result);
}

/// Bytes of the shorter text, and how many times longer the other one is. Linear time grows by `LONGER`, quadratic time by
/// its square (256).
const SHORT: usize = 2_000;
const LONGER: usize = 16;
const MOST: f64 = 100.0;
/// A call that ends sooner is too short to be measured.
const QUICK: Duration = Duration::from_millis(8);

fn repeated(pump: &str, bytes: usize) -> String {
    pump.repeat(bytes / pump.len() + 1)
}

fn quickest(parser: fn(&str), text: &str, rounds: usize) -> Duration {
    let time = |_| {
        let begin = Instant::now();
        parser(text);
        begin.elapsed()
    };
    (0..rounds).map(time).min().unwrap()
}

/// Whether a function takes quadratic time for a repeated text. A suspicion counts only if it is found eight times.
fn is_quadratic(parser: fn(&str), short: &str, long: &str) -> bool {
    let is_slow = |_| {
        let late = quickest(parser, long, 1);
        late > QUICK
            && quickest(parser, long, 2).min(late).as_secs_f64() > MOST * quickest(parser, short, 5).as_secs_f64()
    };
    (0..8).all(is_slow)
}

fn assert_linear(pump: &str) {
    let (short, long) = (repeated(pump, SHORT), repeated(pump, SHORT * LONGER));
    for &(name, parser) in PARSERS {
        assert!(!is_quadratic(parser, &short, &long), "{name} takes more than linear time for {pump:?} repeated");
    }
}

#[test]
fn quadratic_function_is_found() {
    let quadratic = |text: &str| {
        ignore(
            (0..text.len())
                .map(|at| text.as_bytes()[at..].iter().filter(|byte| **byte == black_box(b'b')).count())
                .sum::<usize>(),
        )
    };
    assert!(is_quadratic(quadratic, &repeated("a", SHORT), &repeated("a", SHORT * LONGER)));
}

#[test]
fn every_seed_is_accepted_in_linear_time() {
    for seed in seeds() {
        take(&seed, &seed, 0);
        assert_linear(&seed);
    }
}

#[test]
fn every_fragment_is_accepted_in_linear_time() {
    for fragment in FRAGMENTS {
        take(fragment, fragment, 0);
        assert_linear(fragment);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(400), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_accepted(text in text(), other in text(), now_ms in any::<i64>()) {
        take(&text, &other, now_ms);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(24), failure_persistence: None, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn no_repeated_text_takes_quadratic_time(parts in prop::collection::vec(prop::sample::select(FRAGMENTS), 1..5)) {
        assert_linear(&parts.concat());
    }
}

/// Number of cases of each property. The environment can increase it.
fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}
