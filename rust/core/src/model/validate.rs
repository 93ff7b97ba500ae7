//! Validation, shared by all write paths. Each error names the field and the limit; no value is changed silently.

use half::f16;

use super::limits;
use super::memory::{Memory, NewMemory, Source};
use crate::error::{Error, Result};

/// Validate the text of a memory.
pub fn content(text: &str) -> Result<()> {
    if text.chars().all(is_invisible) {
        return Err(Error::invalid("content", "is empty; a memory needs at least one visible character"));
    }
    no_nul("content", text)?;
    let chars = text.chars().count();
    if chars > limits::CONTENT_CHARS {
        return Err(Error::over_limit(
            "content",
            format!("has {chars} characters; at most {} are kept in one memory, split it", limits::CONTENT_CHARS),
            limits::CONTENT_CHARS,
        ));
    }
    Ok(())
}

/// Validate a short name; `field` names it in the error.
pub fn name(field: &'static str, text: &str) -> Result<()> {
    bounded(field, text, limits::NAME_CHARS)
}

/// Validate a topic.
pub fn topic(text: &str) -> Result<()> {
    bounded("topic", text, limits::TOPIC_CHARS)
}

/// Validate a short text that may be empty.
pub fn optional(field: &'static str, text: &str) -> Result<()> {
    if text.is_empty() { Ok(()) } else { bounded(field, text, limits::TOPIC_CHARS) }
}

/// Validate the name of a project. `*` stands for every project in requests, so no project can have it.
pub fn project_name(text: &str) -> Result<()> {
    bounded("project", text, limits::NAME_CHARS)?;
    if text == "*" {
        return Err(Error::invalid("project", "\"*\" stands for every project and cannot name one"));
    }
    Ok(())
}

/// Validate the name of a new project. A project of an earlier version may have a name that is refused here.
pub fn new_project_name(text: &str) -> Result<()> {
    project_name(text)?;
    if text.chars().any(rewrites_a_line) {
        return Err(Error::invalid("project", format!("the name {text:?} has control characters; remove them")));
    }
    Ok(())
}

/// Whether a character in a name would break or reorder the line that shows it.
pub fn rewrites_a_line(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Validate a list of labels.
pub fn labels(field: &'static str, labels: &[String]) -> Result<()> {
    if labels.len() > limits::LABELS {
        return Err(Error::over_limit(
            field,
            format!("has {} members; at most {} are kept", labels.len(), limits::LABELS),
            limits::LABELS,
        ));
    }
    labels.iter().try_for_each(|label| name(field, label))
}

/// Validate a time.
pub fn time(field: &'static str, at: Option<i64>) -> Result<()> {
    match at {
        Some(ms) if !limits::TIME_RANGE_MS.contains(&ms) => Err(Error::over_limit(
            field,
            format!("{ms} is outside of the years 1 to 9999 (UTC milliseconds since 1970 are expected)"),
            "years 1 to 9999",
        )),
        _ => Ok(()),
    }
}

/// Validate all times of a stored memory.
pub fn times(memory: &Memory) -> Result<()> {
    time("time", Some(memory.time))?;
    time("created_at", Some(memory.created_at))?;
    time("updated_at", Some(memory.updated_at))?;
    time("stored_at", Some(memory.stored_at))?;
    time("expires_at", memory.expires_at)?;
    time("verified_at", memory.verified_at)?;
    schedule((memory.remind_at, memory.remind_every), (memory.review_after, memory.review_every))
}

/// Validate the weight of a link.
pub fn weight(weight: f64) -> Result<()> {
    if (0.0..=1.0).contains(&weight) {
        return Ok(());
    }
    Err(Error::over_limit("weight", "must be between 0 and 1", "0 to 1"))
}

/// Validate the length of a lease, and return it.
pub fn lease(lease_ms: i64, longest_ms: i64) -> Result<i64> {
    if (1..=longest_ms).contains(&lease_ms) {
        return Ok(lease_ms);
    }
    let limit = longest_ms / 1000;
    Err(Error::over_limit("lease_seconds", format!("must be more than 0 and at most {limit}"), limit))
}

/// Validate the values of a vector. A cosine with a value that is no number orders nothing, and half precision turns a large
/// value into infinity.
pub fn vector(field: &'static str, values: &[f32]) -> Result<()> {
    let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length <= f16::MAX.to_f32() {
        return Ok(());
    }
    Err(Error::over_limit(field, "has values that are not finite or too large", f16::MAX))
}

/// Validate the length of a value of the key-value store, or of the body of a document, as JSON.
pub fn json_value(field: &'static str, json: &str) -> Result<()> {
    if json.len() <= limits::KV_VALUE_BYTES {
        return Ok(());
    }
    let message = format!("has {} bytes as JSON; at most {} are kept", json.len(), limits::KV_VALUE_BYTES);
    Err(Error::over_limit(field, message, limits::KV_VALUE_BYTES))
}

/// Validate the reminder and the review of a memory, each with its days until the next.
pub fn schedule(reminder: (Option<i64>, Option<i64>), review: (Option<i64>, Option<i64>)) -> Result<()> {
    time("remind_at", reminder.0)?;
    time("review_after", review.0)?;
    for (field, needed, (at, every)) in
        [("remind_every", "remind_at", reminder), ("review_every", "review_after", review)]
    {
        let Some(days) = every else { continue };
        if at.is_none() {
            return Err(Error::invalid(field, format!("needs {needed}, from which the days are counted")));
        }
        if !limits::INTERVAL_DAYS.contains(&days) {
            return Err(Error::over_limit(field, format!("{days} is not between 1 and 3650 days"), "1 to 3650"));
        }
    }
    Ok(())
}

/// Validate metadata: a JSON object of limited size.
pub fn metadata(json: &str) -> Result<()> {
    json_object("metadata", json)
}

/// Validate a JSON object that has at most the size of metadata.
pub fn json_object(field: &'static str, json: &str) -> Result<()> {
    if json.len() > limits::METADATA_BYTES {
        return Err(Error::over_limit(
            field,
            format!("has {} bytes as JSON; at most {} are kept", json.len(), limits::METADATA_BYTES),
            limits::METADATA_BYTES,
        ));
    }
    match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(json) {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::invalid(field, format!("is not a JSON object: {error}"))),
    }
}

/// Validate all fields of a new memory.
pub fn new_memory(memory: &NewMemory) -> Result<()> {
    content(&memory.content)?;
    memory.project.as_deref().map_or(Ok(()), project_name)?;
    memory.topic.as_deref().map_or(Ok(()), topic)?;
    memory.session.as_deref().map_or(Ok(()), |text| name("session", text))?;
    memory.speaker.as_deref().map_or(Ok(()), |text| name("speaker", text))?;
    labels("entities", &memory.entities)?;
    labels("tags", &memory.tags)?;
    source(&memory.source)?;
    time("time", memory.time)?;
    time("expires_at", memory.expires_at)?;
    time("created_at", memory.created_at)?;
    time("updated_at", memory.updated_at)?;
    time("stored_at", memory.stored_at)?;
    time("verified_at", memory.verified_at)?;
    schedule((memory.remind_at, memory.remind_every), (memory.review_after, memory.review_every))?;
    metadata(&memory.metadata)?;
    if memory.position.is_some_and(|position| position < 0) {
        return Err(Error::over_limit("position", "must be at least 0", 0));
    }
    if memory.position.is_some() && memory.session.is_none() {
        return Err(Error::invalid("position", "needs a session, because it is a place in a session"));
    }
    if memory.confidence.is_some_and(|confidence| !(0.0..=1.0).contains(&confidence)) {
        return Err(Error::over_limit("confidence", "must be between 0 and 1", "0 to 1"));
    }
    for (field, id) in [("id", &memory.id), ("superseded_by", &memory.superseded_by)] {
        if let Some(id) = id
            && crate::ids::canonical(id).is_none()
        {
            return Err(Error::invalid(field, format!("{id:?} is not a UUID")));
        }
    }
    Ok(())
}

fn source(source: &Source) -> Result<()> {
    let parts = [&source.tool, &source.session, &source.message, &source.file, &source.commit];
    parts.into_iter().flatten().try_for_each(|text| name("source", text))
}

fn bounded(field: &'static str, text: &str, most: usize) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::invalid(field, "is empty; leave it out instead"));
    }
    no_nul(field, text)?;
    let chars = text.chars().count();
    if chars > most {
        return Err(Error::over_limit(field, format!("has {chars} characters; at most {most} are kept"), most));
    }
    Ok(())
}

/// Whether a character is invisible: white space, or without width.
fn is_invisible(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{ad}' | '\u{180e}')
}

/// Refuse a NUL byte.
pub(super) fn no_nul(field: &'static str, text: &str) -> Result<()> {
    match text.find('\0') {
        Some(at) => Err(Error::invalid(field, format!("has a NUL byte at byte {at}; remove it"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(memory: &NewMemory) -> String {
        new_memory(memory).unwrap_err().to_string()
    }

    #[test]
    fn each_refusal_names_its_field_and_limit() {
        assert!(refused(&NewMemory::new(" \n\t")).starts_with("content: is empty"));
        assert!(refused(&NewMemory::new("a\0b")).contains("NUL byte at byte 1"));
        assert!(refused(&NewMemory::new("x".repeat(100_001))).contains("at most 100000"));
        let tags = NewMemory { tags: vec!["t".into(); 65], ..NewMemory::new("x") };
        assert!(refused(&tags).starts_with("tags: has 65 members; at most 64"));
        let position = NewMemory { position: Some(1), ..NewMemory::new("x") };
        assert!(refused(&position).starts_with("position: needs a session"));
        let metadata = NewMemory { metadata: "[1]".into(), ..NewMemory::new("x") };
        assert!(refused(&metadata).starts_with("metadata: is not a JSON object"));
        assert!(new_memory(&NewMemory::new("x".repeat(100_000))).is_ok());
    }

    #[test]
    fn new_project_name_has_no_control_characters() {
        for name in ["a\nb", "a\u{1b}[2J", "a\u{202e}b", "a\u{2028}b", "\u{7f}"] {
            assert!(new_project_name(name).unwrap_err().to_string().contains("has control characters"), "{name:?}");
            assert!(project_name(name).is_ok(), "{name:?}");
        }
        assert!(new_project_name("gitlab.com/gruppe/möwe 2").is_ok());
    }
}
