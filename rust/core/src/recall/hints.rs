//! What speaks for or against a turn of a conversation besides words and meaning: how it was said, by whom, and when.
//!
//! Each hint is bounded, and none but the date touches a memory that has no place in a conversation, so that what fits a
//! chat does not disturb notes, decisions and code.

use super::NONE;
use super::view::View;
use crate::model::Signal;
use crate::text::{self, Question, Span, day_of};

/// A turn of a few words says little, however well these fit.
const SHORT: f64 = 0.04;
/// Words from which on a turn is not short.
const SHORT_WORDS: f64 = 40.0;
/// A short question is rarely its own answer.
const ASKS: f64 = 0.21;
/// Words from which on a text is more than its question.
const ASKS_WORDS: f64 = 40.0;
/// The question names a speaker, and it was another one.
const OTHER_SPEAKER: f64 = 0.04;
/// The question asks when, and the text names a time.
const NAMES_A_TIME: f64 = 0.125;
/// What an assistant said counts less than what the person said.
const ASSISTANT: f64 = 0.25;
/// So much less when the question is about what the assistant said.
const ASKED_OF_ASSISTANT: f64 = 0.08;
/// The question names a day, and the memory speaks of that day.
const DATE: f64 = 0.42;
/// Days after which a memory beside a named day gets about a third of that.
const DATE_FADES_DAYS: f64 = 7.0;

/// Names under which assistants speak.
const ASSISTANTS: [&str; 5] = ["assistant", "ai", "agent", "model", "bot"];

/// What the hints look for, once for a query.
#[derive(Debug)]
pub struct QueryCues {
    /// In small letters.
    query: String,
    /// The same, word by word.
    words: Vec<String>,
    question: Question,
}

impl QueryCues {
    /// Look at a query asked at `now_ms`.
    pub fn of(query: &str, now_ms: i64) -> Self {
        let lower = query.to_lowercase();
        let words = lower.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
        let words = words.map(str::to_owned).collect();
        Self { words, question: Question::of(query, now_ms), query: lower }
    }

    /// Whether the query has a name, word after word; in scripts without spaces, anywhere.
    fn names(&self, name: &str) -> bool {
        if name.contains(text::is_unspaced) {
            return self.query.contains(name);
        }
        let name: Vec<&str> =
            name.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        !name.is_empty() && self.words.windows(name.len()).any(|words| words == name)
    }
}

/// One hint: its name, what it adds, why.
type Hint = (&'static str, f64, &'static str);

/// The hints of a query, ready to be asked about each memory of a pool.
#[derive(Debug)]
pub struct Hints<'a> {
    view: &'a View,
    cues: &'a QueryCues,
    /// Speakers of the pool that the query names.
    named: Vec<u32>,
    /// Days named without a year, in each year that the pool speaks of; and those with one.
    spans: Vec<(i64, i64)>,
}

impl<'a> Hints<'a> {
    /// Hints for a query about the memories at `places`.
    pub fn new(view: &'a View, cues: &'a QueryCues, places: &[u32]) -> Self {
        let conversations = view.mirror.conversations();
        let mut speakers: Vec<u32> = places.iter().map(|place| conversations.turn(*place).speaker).collect();
        speakers.sort_unstable();
        speakers.dedup();
        speakers.retain(|speaker| {
            let name = conversations.speaker_name(*speaker);
            *speaker != NONE && name != "user" && !ASSISTANTS.contains(&name) && cues.names(name)
        });
        let mut spans = Vec::new();
        if !cues.question.spans.is_empty() {
            let mut years: Vec<i32> =
                places.iter().filter_map(|place| text::year_of(view.mirror.row(*place).columns.time)).collect();
            years.sort_unstable();
            years.dedup();
            for span in &cues.question.spans {
                match *span {
                    Span::Days(first, last) => spans.push((first, last)),
                    Span::EveryYear(..) => spans.extend(years.iter().filter_map(|year| span.in_year(*year))),
                }
            }
        }
        Self { view, cues, named: speakers, spans }
    }

    /// Every hint about the memory at `place`, zero ones included.
    fn all(&self, place: u32) -> [Hint; 5] {
        let turn = self.view.mirror.conversations().turn(place);
        let words = f64::from(turn.traits.words);
        let in_conversation = |hint: f64| if turn.has_position() { hint } else { 0.0 };
        let asks = if turn.traits.asks { ASKS * (1.0 - words / ASKS_WORDS).max(0.0) } else { 0.0 };
        let is_other = !self.named.is_empty() && turn.speaker != NONE && !self.named.contains(&turn.speaker);
        let names_a_time = self.cues.question.asks_when && turn.traits.names_a_time;
        let is_assistant = ASSISTANTS.contains(&self.view.mirror.conversations().speaker_name(turn.speaker));
        let assistant = match (is_assistant, self.cues.question.addresses_assistant) {
            (false, _) => 0.0,
            (true, false) => ASSISTANT,
            (true, true) => ASSISTANT - ASKED_OF_ASSISTANT,
        };
        [
            ("short", -in_conversation(SHORT * (1.0 - words / SHORT_WORDS).max(0.0)), "a short turn"),
            ("question", -in_conversation(asks), "a question itself"),
            (
                "speaker",
                -in_conversation(if is_other { OTHER_SPEAKER } else { 0.0 }),
                "the question names somebody else",
            ),
            ("time", in_conversation(if names_a_time { NAMES_A_TIME } else { 0.0 }), "asked when, and it names a time"),
            ("assistant", -in_conversation(assistant), "said by an assistant"),
        ]
    }

    /// What the named days add to a memory that speaks of `time`.
    fn date(&self, place: u32) -> f64 {
        if self.spans.is_empty() {
            return 0.0;
        }
        let day = day_of(self.view.mirror.row(place).columns.time);
        let away =
            self.spans.iter().map(|(first, last)| (first - day).max(day - last).max(0)).min().unwrap_or(i64::MAX);
        DATE * (-(away as f64) / DATE_FADES_DAYS).exp()
    }

    /// The sum of the hints about a memory.
    pub fn total(&self, place: u32) -> f64 {
        self.all(place).iter().map(|(_, contribution, _)| contribution).sum::<f64>() + self.date(place)
    }

    /// The hints that say something, each with its reason.
    pub fn signals(&self, place: u32) -> Vec<Signal> {
        let signal = |name, contribution: f64, reason: &str| Signal {
            name,
            raw: 1.0,
            rank: None,
            contribution,
            detail: format!("{reason}: {contribution:+.3}"),
        };
        let mut signals: Vec<Signal> = self
            .all(place)
            .into_iter()
            .filter(|(_, contribution, _)| *contribution != 0.0)
            .map(|(name, contribution, reason)| signal(name, contribution, reason))
            .collect();
        let date = self.date(place);
        if date > 0.0 {
            signals.push(signal("date", date, "close to a day that the question names"));
        }
        signals
    }
}
