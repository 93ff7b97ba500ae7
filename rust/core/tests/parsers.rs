//! Properties of the parsers in Rust: days of a query, subject of a request, traits, redaction, names of closed sets,
//! manifests, and memories in JSON.
//!
//! `text_fuzz.rs` shows that any text is accepted, in linear time. Here, what is parsed is compared with what was written.
//! `PROPTEST_CASES` increases the number of cases.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use half::f16;
use opencode_memory_core::index::graph::build::Graph;
use opencode_memory_core::index::graph::links::Links;
use opencode_memory_core::index::graph::search::Vectors;
use opencode_memory_core::index::graph::snapshot::{self, Manifest};
use opencode_memory_core::index::slab::Slab;
use opencode_memory_core::model::enums::{Category, Outcome, State, Status, Trust};
use opencode_memory_core::model::{Memory, NewMemory};
use opencode_memory_core::store::change::Head;
use opencode_memory_core::text::{
    Question, Span, Traits, analyze_query, content_hash, date_expressions, normalise, redact, subject, text_hash,
};
use proptest::prelude::*;
use proptest::sample::select;
use time::{Date, Duration, Month};

use support::BEGINNING;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Texts that no parser here knows.
const PLAIN: &[&str] =
    &["", "honey", "the lantern of Zoë", "ハチミツ", "a, b; (c)", "\u{1f41d}", "fn main() {}", "\n\n- "];

fn plain() -> impl Strategy<Value = String> {
    select(PLAIN).prop_map(str::to_owned)
}

fn words() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => "[a-zA-Z]{1,9}",
        2 => select(&["can you", "list the order in which", "I brought up", "in order", "across our chats", "recap", "?", "please"][..]).prop_map(str::to_owned),
        1 => "\\PC{0,4}",
        1 => plain(),
    ];
    prop::collection::vec(word, 0..12).prop_map(|words| words.join(" "))
}

/// Dates that a query can name with a year.
fn date() -> impl Strategy<Value = Date> {
    let first = Date::from_calendar_date(1900, Month::January, 1).unwrap();
    (0_i64..73_048).prop_map(move |days| first + Duration::days(days))
}

fn day_number(date: Date) -> i64 {
    (date - Date::from_calendar_date(1970, Month::January, 1).unwrap()).whole_days()
}

fn days(first: Date, last: Date) -> Vec<Span> {
    vec![Span::Days(day_number(first), day_number(last))]
}

/// All ways to write a date with its year.
fn writings(date: Date) -> Vec<String> {
    let (year, month, day) = (date.year(), MONTHS[date.month() as usize - 1], date.day());
    let ending = match day {
        1 | 21 | 31 => "st",
        2 | 22 => "nd",
        3 | 23 => "rd",
        _ => "th",
    };
    vec![
        format!("{year}-{:02}-{day:02}", date.month() as u8),
        format!("{day} {month} {year}"),
        format!("{month} {day}, {year}"),
        format!("{}. {day}{ending}, {year}", &month[..3]),
        format!("the {day}{ending} of {} {year}", month.to_uppercase()),
    ]
}

/// Whether `words` are some of the characters of `text`, in the same order. White space does not count.
fn is_subsequence(words: &str, text: &str) -> bool {
    let mut rest = text.chars();
    words.chars().filter(|letter| !letter.is_whitespace()).all(|letter| rest.any(|other| other == letter))
}

fn damage(json: &[u8], edits: &[(prop::sample::Index, u8, u8)]) -> Vec<u8> {
    let mut damaged = json.to_vec();
    for (place, kind, byte) in edits {
        let at = place.index(damaged.len().max(1)).min(damaged.len().saturating_sub(1));
        match kind % 4 {
            0 if !damaged.is_empty() => damaged[at] ^= byte | 1,
            1 => damaged.truncate(at),
            2 => damaged.insert(at, *byte),
            _ if !damaged.is_empty() => drop(damaged.remove(at)),
            _ => {}
        }
    }
    damaged
}

fn manifest() -> impl Strategy<Value = Manifest> {
    let head = ("\\PC{0,12}", any::<i64>(), any::<i64>());
    (head, any::<i64>(), "\\PC{0,12}", any::<[usize; 4]>(), "\\PC{0,20}", any::<u64>(), "[0-9a-f]{32}").prop_map(
        |((store_id, seq, nonce), last_embedding, model, numbers, file, bytes, checksum)| Manifest {
            head: Head { store_id, seq, nonce },
            last_embedding,
            model,
            dimension: numbers[0],
            connectivity: numbers[1],
            ef_construction: numbers[2],
            vectors: numbers[3],
            file,
            bytes,
            checksum,
        },
    )
}

fn stored_memory() -> impl Strategy<Value = Memory> {
    let texts = (any::<String>(), any::<Option<String>>(), prop::collection::vec(any::<String>(), 0..3));
    let numbers = (any::<[i64; 4]>(), any::<Option<i64>>(), prop::option::of(0.0..=1.0_f64));
    (texts, numbers, select(Category::ALL), select(Status::ALL), select(Trust::ALL), any::<bool>()).prop_map(
        |((content, name, tags), (times, position, confidence), category, status, trust, pinned)| {
            let new = NewMemory {
                category,
                status,
                trust,
                pinned,
                position,
                confidence,
                topic: name.clone(),
                session: name.clone(),
                speaker: name,
                entities: tags.clone(),
                tags,
                time: Some(times[0]),
                created_at: Some(times[1]),
                updated_at: Some(times[2]),
                expires_at: Some(times[3]),
                ..NewMemory::new(content)
            };
            new.to_memory("01a2", times[3], times[0])
        },
    )
}

/// A name in another case and with space around it.
fn disguised(name: &'static str) -> impl Strategy<Value = String> {
    (prop::collection::vec(any::<bool>(), name.len()), "[ \t\n]{0,3}").prop_map(move |(upper, space)| {
        let name: String =
            name.chars().zip(upper).map(|(c, upper)| if upper { c.to_ascii_uppercase() } else { c }).collect();
        format!("{space}{name}{space}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(256), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn date_with_a_year_is_read_in_every_writing(date in date(), before in plain(), after in plain(), now in any::<i32>()) {
        for written in writings(date) {
            let text = format!("{before} {written} {after}");
            let question = Question::of(&text, i64::from(now) * 1000);
            prop_assert_eq!(question.spans, days(date, date), "{}", text);
            let named: String = date_expressions(&text).collect();
            prop_assert!(written.ends_with(&named) || named.ends_with(&written), "{} in {}", named, text);
        }
    }

    #[test]
    fn month_with_a_year_is_read_from_its_first_to_its_last_day(date in date(), now in any::<i32>()) {
        let (first, next) = (date.replace_day(1).unwrap(), date.replace_day(28).unwrap() + Duration::days(4));
        let expected = days(first, next.replace_day(1).unwrap() - Duration::days(1));
        let (name, number, year) = (MONTHS[date.month() as usize - 1], date.month() as u8, date.year());
        for written in [format!("in {name} {year}"), format!("{year}-{number:02}"), format!("{name}, {year}")] {
            prop_assert_eq!(Question::of(&written, i64::from(now) * 1000).spans, expected.clone(), "{}", written);
        }
    }

    #[test]
    fn distance_in_days_leads_to_a_span_around_that_day(count in 0_i64..1000, unit in select(&[("days", 1), ("weeks", 7), ("months", 30), ("years", 365)][..])) {
        let spans = Question::of(&format!("what happened {count} {} ago", unit.0), BEGINNING).spans;
        let day = BEGINNING.div_euclid(86_400_000) - count * unit.1;
        let [Span::Days(first, last)] = spans[..] else { panic!("{spans:?}") };
        prop_assert!(first <= day && day <= last && last <= day + count * unit.1, "{first} {day} {last}");
    }

    #[test]
    fn spans_of_any_text_are_ordered_and_exist(text in "((on|in|since|last|the|of|two|99|31|29|30|0) |(feb|June|MAY|sept|tuesday|week|month|2024|2023-0)[ -]|days ago |[0-9]{1,4}-?){0,12}", now in any::<i32>(), year in -9999_i32..9999) {
        for span in Question::of(&text, i64::from(now) * 1000).spans {
            if let Span::EveryYear(month, first, last) = span {
                prop_assert!((1..=12).contains(&month) && first <= last && (1..=31).contains(&last), "{:?}", span);
            }
            if let Some((first, last)) = span.in_year(year) {
                prop_assert!(first <= last, "{:?} in {}", span, text);
            }
        }
    }

    #[test]
    fn subject_only_leaves_words_out(request in words()) {
        let subject = subject(&request);
        prop_assert!(is_subsequence(&subject, &request), "{:?} of {:?}", subject, request);
        prop_assert_eq!(subject.trim().is_empty(), request.trim().is_empty());
        let is_empty = |text: &str| { let terms = analyze_query(text); terms.prose.is_empty() && terms.identifiers.is_empty() };
        prop_assert!(is_empty(&request) || !is_empty(&subject), "{:?} of {:?}", subject, request);
    }

    #[test]
    fn traits_of_a_text_are_those_of_its_parts(first in words(), second in words()) {
        let (a, b, both) = (Traits::of(&first), Traits::of(&second), Traits::of(&format!("{first}\n{second}")));
        prop_assert_eq!(both.words, a.words + b.words);
        prop_assert_eq!(both.asks, if second.trim().is_empty() { a.asks } else { b.asks });
        prop_assert!(both.names_a_time || !(a.names_a_time || b.names_a_time));
        prop_assert_eq!(Traits::from_bits(both.words, both.bits()), both);
    }

    #[test]
    fn redaction_removes_the_secret_and_nothing_else(before in words(), after in words(), token in "ghp_[A-Za-z0-9]{36}", space in select(&[" ", "\n", "\t", " (", " \"", "\u{3000}"][..])) {
        let text = format!("{before}{space}{token} {after}");
        let clean = redact(&text);
        prop_assert!(!clean.text.contains(&token), "{:?}", clean.text);
        prop_assert!(clean.kinds.contains(&"github-token"), "{:?}", clean);
        // The texts between the marks are those of the original, in their order.
        let mut rest = text.as_str();
        for (number, part) in clean.text.split("[redacted:").enumerate() {
            let part = if number == 0 { part } else { part.split_once(']').expect("a whole mark").1 };
            let at = rest.find(part);
            prop_assert!(at.is_some() && (number > 0 || at == Some(0)), "{:?} is not in {:?}", part, rest);
            rest = &rest[at.unwrap() + part.len()..];
        }
    }

    #[test]
    fn hashes_are_equal_for_texts_of_equal_form_only(a in words(), b in words()) {
        for (a, b) in [(a.clone(), b), (a.clone(), format!(" {} ", a.to_lowercase())), (a.clone(), a)] {
            prop_assert_eq!(content_hash(&a) == content_hash(&b), normalise(&a) == normalise(&b));
            prop_assert_eq!(text_hash(&a) == text_hash(&b), a == b);
        }
    }

    #[test]
    fn names_of_closed_sets_are_read_in_any_case(category in select(Category::ALL).prop_flat_map(|one| (Just(one), disguised(one.as_str()))), status in select(Status::ALL).prop_flat_map(|one| (Just(one), disguised(one.as_str())))) {
        prop_assert_eq!(Category::parse(&category.1).unwrap(), category.0);
        prop_assert_eq!(Status::parse(&status.1).unwrap(), status.0);
    }

    #[test]
    fn other_names_are_refused_briefly_with_the_known_ones(text in any::<String>(), number in any::<i64>()) {
        macro_rules! check {
            ($($set:ty),+) => {$(
                match <$set>::parse(&text) {
                    Ok(member) => prop_assert_eq!(member.as_str(), text.trim().to_lowercase()),
                    Err(error) => {
                        let message = error.to_string();
                        prop_assert!(<$set>::ALL.iter().all(|member| message.contains(member.as_str())), "{}", message);
                        prop_assert!(message.len() < 1_000, "{}", message);
                    }
                }
                prop_assert!(<$set>::from_number(number).is_none_or(|member| member as i64 == number));
            )+};
        }
        check!(Category, Status, Trust, State, Outcome);
    }

    #[test]
    fn memory_is_read_from_json_as_it_was_written(memory in stored_memory()) {
        let json = serde_json::to_string(&memory).unwrap();
        prop_assert_eq!(serde_json::from_str::<Memory>(&json).unwrap(), memory);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(128), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn i5_i8_damaged_manifest_is_refused_or_names_the_same(manifest in manifest(), edits in prop::collection::vec(any::<(prop::sample::Index, u8, u8)>(), 1..4)) {
        let dir = support::folder();
        std::fs::create_dir(snapshot::folder(dir.path())).unwrap();
        snapshot::write_manifest(dir.path(), &manifest).unwrap();
        prop_assert_eq!(snapshot::manifest(dir.path()), Some(manifest.clone()));
        let file = snapshot::manifest_file(dir.path());
        let written = std::fs::read(&file).unwrap();
        std::fs::write(&file, damage(&written, &edits)).unwrap();
        prop_assert!(snapshot::manifest(dir.path()).is_none_or(|read| read == manifest));
    }

    #[test]
    fn i8_damaged_graph_is_refused_or_searched(count in 0_u16..60, edits in prop::collection::vec(any::<(prop::sample::Index, u8, u8)>(), 0..4), is_short: bool) {
        let (content, slab) = graph(count);
        let links = |content: &[u8]| Links::read(&mut &*content, 8, i64::from(count));
        prop_assert_eq!(links(&content).unwrap().len(), usize::from(count));
        prop_assert!(links(&content[..content.len() - 1]).is_err());
        let damaged = damage(&content, &edits);
        // The checksum of a file refuses damage first. A file with a right checksum may still be another program's.
        let cut = if is_short { damaged.len() / 2 } else { damaged.len() };
        if let Ok(links) = links(&damaged[..cut]) {
            let vectors = Vectors { slab: &slab, slot_of: |embedding| u32::try_from(embedding - 1).ok() };
            prop_assert!(links.search(&vectors, &[0.5; 8], 5, |_| true).len() <= 5);
        }
    }

    #[test]
    fn manifest_names_no_file_of_another_folder(manifest in manifest(), path in "(\\.\\./|/|\\./|[a-z]{1,3}/)?[0-9]{1,8}\\.usearch(/\\.\\.)?") {
        let dir = support::folder();
        let examined = snapshot::examine(dir.path(), &Manifest { file: path.clone(), ..manifest });
        let message = examined.expect_err("there is no file").to_string();
        prop_assert_eq!(message.contains("invalid file name"), path.contains('/'), "{} {}", path, message);
    }
}

/// The file of a graph of that many vectors with eight components, and the vectors by slot.
fn graph(count: u16) -> (Vec<u8>, Slab) {
    let value = |number: u16, lane: u16| f16::from_f32(f32::from((number * 7 + lane * 3) % 11) / 31.0);
    let rows: Vec<(i64, Vec<f16>)> =
        (0..count).map(|number| (i64::from(number) + 1, (0..8).map(|lane| value(number, lane)).collect())).collect();
    let mut slab = Slab::new(8);
    for (slot, (_, row)) in (0..).zip(&rows) {
        slab.put(slot, &row.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
    }
    let graph = Graph::new(8, rows.len(), 1).unwrap();
    graph.add(&rows, 1, &|| false).unwrap();
    let dir = support::folder();
    let path = dir.path().join("g");
    graph.save(&path).unwrap();
    (std::fs::read(path).unwrap(), slab)
}

/// Number of cases of each property. The environment can increase it.
fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}
