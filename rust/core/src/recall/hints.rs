//! Score adjustments for turns of a conversation, based on their length, form, speaker and date.
//!
//! Each hint is bounded. Only the date hint applies to memories outside of conversations, so that rules made for chats
//! do not change the ranking of notes, decisions and code.

use super::NONE;
use super::view::View;
use crate::model::Signal;
use crate::text::{self, Question, Span, day_of};

/// Penalty of a short turn, which contains little information even if its words match.
const SHORT: f64 = 0.04;
/// Number of words at which a turn no longer counts as short.
const SHORT_WORDS: f64 = 40.0;
/// Penalty of a short question, which is rarely its own answer.
const ASKS: f64 = 0.21;
/// Number of words at which a text that ends with a question is no longer penalised.
const ASKS_WORDS: f64 = 40.0;
/// Penalty if the query names another speaker.
const OTHER_SPEAKER: f64 = 0.04;
/// Bonus if the query asks when, and the text names a time.
const NAMES_A_TIME: f64 = 0.125;
/// Penalty of an assistant's turn, because the user's own words count more.
const ASSISTANT: f64 = 0.25;
/// Bonus if the query names a day and the memory is about that day.
const DATE: f64 = 0.42;
/// Distance in days from a named day at which the bonus has fallen to about a third.
const DATE_FADES_DAYS: f64 = 7.0;

/// Speaker names of assistants.
const ASSISTANTS: [&str; 5] = ["assistant", "ai", "agent", "model", "bot"];

/// The parts of a query that hints depend on, extracted once per query.
#[derive(Debug)]
pub struct QueryCues {
    /// The query in lower case.
    query: String,
    /// The words of the query in lower case.
    words: Vec<String>,
    question: Question,
}

impl QueryCues {
    /// Extract the cues of a query, with dates relative to `now_ms`.
    pub fn of(query: &str, now_ms: i64) -> Self {
        let lower = query.to_lowercase();
        let words = lower.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
        let words = words.map(str::to_owned).collect();
        Self { words, question: Question::of(query, now_ms), query: lower }
    }

    /// Whether the query contains a name as whole words. In scripts without spaces, a substring is enough.
    fn names(&self, name: &str) -> bool {
        if name.contains(text::is_unspaced) {
            return self.query.contains(name);
        }
        let name: Vec<&str> =
            name.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        !name.is_empty() && self.words.windows(name.len()).any(|words| words == name)
    }
}

/// One hint: name, contribution to the score, reason.
type Hint = (&'static str, f64, &'static str);

/// Computes the hints of one query for each memory of a pool.
#[derive(Debug)]
pub struct Hints<'a> {
    view: &'a View,
    cues: QueryCues,
    /// Numbers of the speakers in the pool that the query names.
    named: Vec<u32>,
    /// Ranges of days that the query names. A day without a year is expanded to each year that occurs in the pool.
    spans: Vec<(i64, i64)>,
}

impl<'a> Hints<'a> {
    /// Prepare the hints of a query for the memories at `places`.
    pub fn new(view: &'a View, cues: QueryCues, places: &[u32]) -> Self {
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

    /// All hints for the memory at `place` except the date, including those that contribute 0.
    fn all(&self, place: u32) -> [Hint; 5] {
        let turn = self.view.mirror.conversations().turn(place);
        let words = f64::from(turn.traits.words);
        let in_conversation = |hint: f64| if turn.has_position() { hint } else { 0.0 };
        let asks = if turn.traits.asks { ASKS * (1.0 - words / ASKS_WORDS).max(0.0) } else { 0.0 };
        let is_other = !self.named.is_empty() && turn.speaker != NONE && !self.named.contains(&turn.speaker);
        let names_a_time = self.cues.question.asks_when && turn.traits.names_a_time;
        let is_assistant = ASSISTANTS.contains(&self.view.mirror.conversations().speaker_name(turn.speaker));
        let assistant = if is_assistant { ASSISTANT } else { 0.0 };
        [
            ("short", -in_conversation(SHORT * (1.0 - words / SHORT_WORDS).max(0.0)), "a short turn"),
            ("question", -in_conversation(asks), "a question itself"),
            (
                "speaker",
                -in_conversation(if is_other { OTHER_SPEAKER } else { 0.0 }),
                "the question names another speaker",
            ),
            ("time", in_conversation(if names_a_time { NAMES_A_TIME } else { 0.0 }), "asked when, and it names a time"),
            ("assistant", -in_conversation(assistant), "said by an assistant"),
        ]
    }

    /// Date bonus of the memory at `place`; it decreases with the distance to the nearest named day.
    fn date(&self, place: u32) -> f64 {
        if self.spans.is_empty() {
            return 0.0;
        }
        let day = day_of(self.view.mirror.row(place).columns.time);
        let away =
            self.spans.iter().map(|(first, last)| (first - day).max(day - last).max(0)).min().unwrap_or(i64::MAX);
        DATE * (-(away as f64) / DATE_FADES_DAYS).exp()
    }

    /// The sum of all hints for a memory.
    pub fn total(&self, place: u32) -> f64 {
        self.all(place).iter().map(|(_, contribution, _)| contribution).sum::<f64>() + self.date(place)
    }

    /// The hints that contribute to a memory's score, each with its reason.
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
