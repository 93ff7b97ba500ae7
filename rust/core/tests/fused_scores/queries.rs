//! Random queries: words, and sometimes a day, a speaker, or the question when.

use crate::support::{BEGINNING, Random};
use crate::texts::{SPEAKERS, phrase};
use crate::{DAY_MS, NOW};

/// A part of a query that names days.
#[derive(Debug, Clone, Copy)]
pub struct DateExpression {
    pub text: &'static str,
    /// First and last day, relative to today.
    days: (i64, i64),
    /// Whether the expression names these days of every year. No year here is a leap year.
    is_yearly: bool,
}

const fn once(text: &'static str, first: i64, last: i64) -> DateExpression {
    DateExpression { text, days: (first, last), is_yearly: false }
}

const fn yearly(text: &'static str, first: i64, last: i64) -> DateExpression {
    DateExpression { text, days: (first, last), is_yearly: true }
}

/// Words that no memory contains. They reduce the share of the query that a memory covers.
const UNKNOWN: &str = "quasar zebra glacier";

/// Today is 2027-02-05, a Friday.
const DATE_EXPRESSIONS: [DateExpression; 13] = [
    once("today", 0, 0),
    once("yesterday", -1, -1),
    once("last week", -11, -5),
    once("last month", -35, -5),
    once("three days ago", -3, -3),
    once("two weeks ago", -17, -11),
    once("two months ago", -75, -45),
    once("on 7 October 2026", -121, -121),
    once("2026-11-09", -88, -88),
    once("in 2026-12", -66, -36),
    once("since Tuesday", -3, 0),
    yearly("in November", 269, 298),
    yearly("on 20 January", -16, -16),
];

/// Year of a time between 2025 and 2027.
pub fn year_of(time: i64) -> i64 {
    2026 + (time - BEGINNING).div_euclid(365 * DAY_MS)
}

impl DateExpression {
    /// Days between a memory and the nearest named day. `years` are those of the pool.
    pub fn distance(&self, time: i64, years: &[i64]) -> Option<i64> {
        let day = time.div_euclid(DAY_MS) - NOW.div_euclid(DAY_MS);
        let away = |(first, last): (i64, i64)| (first - day).max(day - last).max(0);
        if !self.is_yearly {
            return Some(away(self.days));
        }
        let in_year = |year: &i64| 365 * (year - 2027);
        years.iter().map(|year| away((self.days.0 + in_year(year), self.days.1 + in_year(year)))).min()
    }
}

/// A random query with the parts that hints depend on.
#[derive(Debug, Clone)]
pub struct Query {
    pub text: String,
    pub date: Option<DateExpression>,
    /// A speaker that the query names.
    pub speaker: Option<&'static str>,
    pub asks_when: bool,
}

impl Query {
    pub fn random(random: &mut Random) -> Self {
        let date = (random.below(3) == 0).then(|| DATE_EXPRESSIONS[random.below(DATE_EXPRESSIONS.len())]);
        let speaker = (random.below(4) == 0).then(|| SPEAKERS[random.below(SPEAKERS.len())]);
        let asks_when = random.below(5) == 0;
        let mut parts = vec![phrase(random, 1, 6)];
        if random.below(4) == 0 {
            parts.push(UNKNOWN.to_owned());
        }
        if asks_when {
            parts.insert(0, "When".to_owned());
        }
        parts.extend(speaker.map(str::to_uppercase));
        parts.extend(date.map(|date| date.text.to_owned()));
        Self { text: parts.join(" "), date, speaker, asks_when }
    }
}
