//! Parses date expressions in queries: "7 July 2023", "in May", "2024-03", "last week", "since Tuesday", "three days
//! ago".
//!
//! Days are numbered from 1970-01-01. Time zones are ignored, because a date only adds a bonus that fades over weeks.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use time::{Date, Duration, Month, OffsetDateTime, Weekday};

/// An inclusive range of days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// First and last day.
    Days(i64, i64),
    /// A part of every year: month, first and last day.
    EveryYear(u8, u8, u8),
}

const MONTHS: &str = "january|february|march|april|may|june|july|august|september|october|november|december\
                      |jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec";
const DAYS: &str = "monday|tuesday|wednesday|thursday|friday|saturday|sunday";

// A month needs a day, a year or a preposition of time next to it, because "may" is also a verb.
static MONTH: LazyLock<Regex> = LazyLock::new(|| {
    compile(&format!(
        r"(?i)(?:\b(?P<before>in|on|since|during|before|after|by|of|until|from|around|early|late|mid|last|this|next)\s+)?(?:\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?\b(?P<month>{MONTHS})\b\.?(?:\s+(?P<after>\d{{1,2}})(?:st|nd|rd|th)?\b)?(?:,?\s*(?P<year>(?:19|20)\d\d)\b)?"
    ))
});
static ISO: LazyLock<Regex> =
    LazyLock::new(|| compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)(?:-(?P<day>\d\d))?\b"));
static RELATIVE: LazyLock<Regex> = LazyLock::new(|| {
    compile(&format!(
        r"(?i)\b(?:(?P<near>today|tonight|yesterday|last night)|(?P<which>this|last|past) (?P<unit>week|weekend|month|year)|(?P<since>since|last|on) (?P<weekday>{DAYS})|(?P<count>\d{{1,3}}|an?|one|two|three|four|five|six|seven|eight|nine|ten|a few|a couple of) (?P<units>days?|weeks?|months?|years?) ago)\b"
    ))
});

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|error| unreachable!("a pattern that a test compiles: {error}"))
}

// "May I deploy on Friday?" asks about every Friday, "What did we deploy on Friday?" about the last one.
static PAST: LazyLock<Regex> = LazyLock::new(|| compile(r"(?i)\b(?:did|was|were|had)\b"));

/// Parses the days that a text names, relative to `now_ms`.
pub fn spans(text: &str, now_ms: i64) -> Vec<Span> {
    let Ok(now) = OffsetDateTime::from_unix_timestamp(now_ms.div_euclid(1000)) else { return Vec::new() };
    let today = now.date();
    let months = MONTH.captures_iter(text).filter_map(|found| month_span(&found, today));
    let isos = ISO.captures_iter(text).filter_map(|found| {
        let (year, month) = (number(&found, "year")?, Month::try_from(number(&found, "month")? as u8).ok()?);
        days_of(year, month, number(&found, "day"))
    });
    let relative = RELATIVE.captures_iter(text).filter(|found| names_a_day(found, text));
    let relative = relative.filter_map(|found| relative_span(&found, today));
    months.chain(isos).chain(relative).collect()
}

fn names_a_day(relative: &Captures<'_>, text: &str) -> bool {
    let is_any = relative.name("since").is_some_and(|word| word.as_str().eq_ignore_ascii_case("on"));
    !is_any || PAST.is_match(text)
}

impl Span {
    fn has_begun(self, today: Date) -> bool {
        matches!(self, Self::Days(first, _) if first <= day_number(today))
    }

    /// First and last day of the span in a year; `None` if the first day does not exist in that year.
    pub fn in_year(self, year: i32) -> Option<(i64, i64)> {
        match self {
            Self::Days(first, last) => Some((first, last)),
            Self::EveryYear(month, first, last) => {
                let month = Month::try_from(month).ok()?;
                let date = |day| Date::from_calendar_date(year, month, day).ok();
                Some((day_number(date(first)?), day_number(date(last.min(month.length(year)))?)))
            }
        }
    }
}

/// Finds the parts of a text that name days.
pub fn date_expressions(text: &str) -> impl Iterator<Item = &str> {
    let named = |found: &Captures<'_>| {
        found.name("day").or(found.name("after")).or(found.name("year")).or(found.name("before")).is_some()
    };
    let months = MONTH.captures_iter(text).filter(named).filter_map(|found| found.get(0));
    let relative = RELATIVE.captures_iter(text).filter(move |found| names_a_day(found, text));
    let others = ISO.captures_iter(text).chain(relative).filter_map(|found| found.get(0));
    months.chain(others).map(|found| found.as_str())
}

/// Year of a timestamp.
pub fn year_of(ms: i64) -> Option<i32> {
    OffsetDateTime::from_unix_timestamp(ms.div_euclid(1000)).ok().map(OffsetDateTime::year)
}

/// Day number of a timestamp.
pub fn day_of(ms: i64) -> i64 {
    ms.div_euclid(86_400_000)
}

fn number(found: &Captures<'_>, name: &str) -> Option<i32> {
    found.name(name)?.as_str().parse().ok()
}

fn day_number(date: Date) -> i64 {
    i64::from(date.to_julian_day()) - 2_440_588
}

fn days(first: Date, last: Date) -> Span {
    Span::Days(day_number(first), day_number(last))
}

fn days_of(year: i32, month: Month, day: Option<i32>) -> Option<Span> {
    let (first, last) = match day {
        Some(day) => (day as u8, day as u8),
        None => (1, month.length(year)),
    };
    let date = |day| Date::from_calendar_date(year, month, day).ok();
    Some(days(date(first)?, date(last)?))
}

fn month_span(found: &Captures<'_>, today: Date) -> Option<Span> {
    let name = found.name("month")?.as_str().to_lowercase();
    let position = MONTHS.split('|').take(12).position(|month| month.starts_with(&name[..3]))?;
    let month = Month::try_from(position as u8 + 1).ok()?;
    let day = number(found, "day").or_else(|| number(found, "after"));
    let before = found.name("before").map(|word| word.as_str().to_lowercase());
    let until_today = |span: Span| match span {
        Span::Days(first, last) => Span::Days(first, last.max(day_number(today))),
        every_year @ Span::EveryYear(..) => every_year,
    };
    if let Some(year) = number(found, "year") {
        let span = days_of(year, month, day)?;
        return Some(if before.as_deref() == Some("since") { until_today(span) } else { span });
    }
    if day.is_none() && before.is_none() {
        return None;
    }
    // Use the latest matching month that has begun.
    let latest = || {
        let this_year = days_of(today.year(), month, day).filter(|span| span.has_begun(today));
        this_year.or_else(|| days_of(today.year() - 1, month, day))
    };
    match before.as_deref() {
        Some("last") => latest(),
        Some("since") => latest().map(until_today),
        _ => {
            let last = day.map_or(31, |day| day as u8);
            (1..=31).contains(&last).then_some(Span::EveryYear(month as u8, day.map_or(1, |day| day as u8), last))
        }
    }
}

fn relative_span(found: &Captures<'_>, today: Date) -> Option<Span> {
    let back = |days: i64| today.checked_sub(Duration::days(days));
    if let Some(near) = found.name("near") {
        let day = back(i64::from(matches!(near.as_str().to_lowercase().as_str(), "yesterday" | "last night")))?;
        return Some(days(day, day));
    }
    if let Some(weekday) = found.name("weekday") {
        let wanted = weekday_of(weekday.as_str())?;
        let ago = (1..=7).find(|ago| back(*ago).is_some_and(|day| day.weekday() == wanted))?;
        let is_open = found.name("since").is_some_and(|word| word.as_str().eq_ignore_ascii_case("since"));
        let day = back(ago)?;
        return Some(days(day, if is_open { today } else { day }));
    }
    if let (Some(which), Some(unit)) = (found.name("which"), found.name("unit")) {
        let is_this = which.as_str().eq_ignore_ascii_case("this");
        let since_monday = i64::from(today.weekday().number_days_from_monday());
        return match (unit.as_str().to_lowercase().as_str(), is_this) {
            ("week", true) => Some(days(back(since_monday)?, today)),
            ("week", false) => Some(days(back(since_monday + 7)?, back(since_monday + 1)?)),
            ("weekend", true) => Some(days(back(since_monday - 5)?, back(since_monday - 6)?)),
            ("weekend", false) => Some(days(back(since_monday + 2)?, back(since_monday + 1)?)),
            ("month", true) => Some(days(today.replace_day(1).ok()?, today)),
            ("month", false) => {
                let last = today.replace_day(1).ok()?.previous_day()?;
                Some(days(last.replace_day(1).ok()?, last))
            }
            (_, true) => Some(days(Date::from_ordinal_date(today.year(), 1).ok()?, today)),
            (_, false) => {
                let year = today.year() - 1;
                Some(days(
                    Date::from_ordinal_date(year, 1).ok()?,
                    Date::from_calendar_date(year, Month::December, 31).ok()?,
                ))
            }
        };
    }
    let count = match found.name("count")?.as_str().to_lowercase().as_str() {
        "a" | "an" | "one" => 1,
        "two" | "a couple of" => 2,
        "three" | "a few" => 3,
        "four" => 4,
        "five" => 5,
        "six" => 6,
        "seven" => 7,
        "eight" => 8,
        "nine" => 9,
        "ten" => 10,
        digits => digits.parse::<i64>().ok()?,
    };
    // Widen the range with the distance, because people estimate dates that are long ago.
    let (unit, slack) = match found.name("units")?.as_str().to_lowercase().trim_end_matches('s') {
        "day" => (1, count / 4),
        "week" => (7, 3),
        "month" => (30, 15),
        _ => (365, 180),
    };
    Some(days(back(count * unit + slack)?, back((count * unit - slack).max(0))?))
}

fn weekday_of(name: &str) -> Option<Weekday> {
    let position = DAYS.split('|').position(|day| day.eq_ignore_ascii_case(name))?;
    (0..position).try_fold(Weekday::Monday, |day, _| Some(day.next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wednesday, 2024-05-15, noon.
    const NOW: i64 = 1_715_774_400_000;

    fn day(year: i32, month: u8, day: u8) -> i64 {
        day_number(Date::from_calendar_date(year, Month::try_from(month).unwrap(), day).unwrap())
    }

    #[test]
    fn date_expressions_are_parsed_to_spans() {
        let one = |year, month, number| vec![Span::Days(day(year, month, number), day(year, month, number))];
        let from = |a, b| vec![Span::Days(a, b)];
        for (text, expected) in [
            ("What happened on 7 July 2023?", one(2023, 7, 7)),
            ("on July 7th, 2023", one(2023, 7, 7)),
            ("the 2nd of March 2024", one(2024, 3, 2)),
            ("2024-03-09", one(2024, 3, 9)),
            ("in 2024-02", from(day(2024, 2, 1), day(2024, 2, 29))),
            ("in May 2023", from(day(2023, 5, 1), day(2023, 5, 31))),
            ("in May", vec![Span::EveryYear(5, 1, 31)]),
            ("on 7 July", vec![Span::EveryYear(7, 7, 7)]),
            ("last March", from(day(2024, 3, 1), day(2024, 3, 31))),
            ("last June", from(day(2023, 6, 1), day(2023, 6, 30))),
            ("since April", from(day(2024, 4, 1), day(2024, 5, 15))),
            ("yesterday", one(2024, 5, 14)),
            ("last weekend", from(day(2024, 5, 11), day(2024, 5, 12))),
            ("this weekend", from(day(2024, 5, 18), day(2024, 5, 19))),
            ("since 16 May", from(day(2023, 5, 16), day(2024, 5, 15))),
            ("since March 2023", from(day(2023, 3, 1), day(2024, 5, 15))),
            ("last 15 May", one(2024, 5, 15)),
            ("last week", from(day(2024, 5, 6), day(2024, 5, 12))),
            ("last month", from(day(2024, 4, 1), day(2024, 4, 30))),
            ("last year", from(day(2023, 1, 1), day(2023, 12, 31))),
            ("since Tuesday", from(day(2024, 5, 14), day(2024, 5, 15))),
            ("last Wednesday", one(2024, 5, 8)),
            ("three days ago", one(2024, 5, 12)),
            ("two weeks ago", from(day(2024, 4, 28), day(2024, 5, 4))),
            ("What did we deploy on Tuesday?", one(2024, 5, 14)),
            ("May I deploy on Friday?", vec![]),
            ("it may rain, the march went on", vec![]),
            ("99 July", vec![]),
            ("31 February 2024", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(spans(text, NOW), expected, "{text}");
        }
    }

    #[test]
    fn extreme_timestamps_do_not_panic() {
        for now in [i64::MIN, i64::MAX, 0, -1, 253_402_300_799_999] {
            spans("since Tuesday, 999 years ago, last year, last March, yesterday, in May", now);
        }
        assert_eq!((day_of(0), day_of(-1), day_of(86_400_000)), (0, -1, 1));
    }
}
