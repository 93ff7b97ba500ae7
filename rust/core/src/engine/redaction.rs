//! Redaction of secrets in all text fields, before a write.

use serde_json::Value;

use crate::error::{Error, Result};
use crate::model::NewMemory;
use crate::text::redact;

/// The kinds of secrets that were found, each once.
#[derive(Debug, Default)]
pub struct Kinds(Vec<&'static str>);

impl Kinds {
    /// The kinds, in the order in which they were found.
    pub fn into_vec(self) -> Vec<&'static str> {
        self.0
    }

    fn add(&mut self, kinds: &[&'static str]) {
        for kind in kinds {
            if !self.0.contains(kind) {
                self.0.push(kind);
            }
        }
    }

    /// Redact a text.
    pub fn clean(&mut self, text: &mut String) {
        let redacted = redact(text);
        if !redacted.kinds.is_empty() {
            self.add(&redacted.kinds);
            *text = redacted.text;
        }
    }

    fn clean_all<'t>(&mut self, texts: impl IntoIterator<Item = &'t mut String>) {
        texts.into_iter().for_each(|text| self.clean(text));
    }

    /// Redact the strings of a JSON text. If it is not JSON, the error names `field`.
    pub fn clean_json(&mut self, field: &'static str, json: &mut String) -> Result<()> {
        let mut value: Value =
            serde_json::from_str(json).map_err(|error| Error::invalid(field, format!("is not JSON: {error}")))?;
        let found_before = self.0.len();
        let mut changed = false;
        self.clean_value(None, &mut value, &mut changed);
        if changed || self.0.len() > found_before {
            *json = value.to_string();
        }
        Ok(())
    }

    fn clean_value(&mut self, name: Option<&str>, value: &mut Value, changed: &mut bool) {
        match value {
            Value::String(text) => {
                let before = text.clone();
                self.clean(text);
                // The name of a value may mark it as a secret, for example {"password": "…"}.
                if let (true, Some(name)) = (*text == before, name) {
                    let named = redact(&format!("{name}=\"{text}\""));
                    if let Some(kind) = named.kinds.first() {
                        self.add(&named.kinds);
                        *text = format!("[redacted:{kind}]");
                    }
                }
                *changed |= *text != before;
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.clean_value(name, value, changed)),
            Value::Object(members) => {
                if members.keys().any(|name| !redact(name).kinds.is_empty()) {
                    let cleaned = std::mem::take(members).into_iter().map(|(mut name, value)| {
                        self.clean(&mut name);
                        (name, value)
                    });
                    *members = cleaned.collect();
                    *changed = true;
                }
                members.iter_mut().for_each(|(name, value)| self.clean_value(Some(name), value, changed));
            }
            _ => {}
        }
    }
}

/// Refuse a name that contains a secret. After redaction its owner could not be found by name.
pub fn refuse(field: &'static str, name: &str) -> Result<()> {
    match redact(name).kinds.first() {
        Some(kind) => Err(Error::invalid(field, format!("contains a secret ({kind}); choose another name"))),
        None => Ok(()),
    }
}

/// Redact all texts of a memory.
pub fn clean(memory: &mut NewMemory) -> Result<Kinds> {
    let mut kinds = Kinds::default();
    kinds.clean(&mut memory.content);
    kinds.clean_all(memory.topic.iter_mut().chain(&mut memory.speaker).chain(&mut memory.session));
    kinds.clean_all(memory.tags.iter_mut().chain(&mut memory.entities));
    let source = &mut memory.source;
    let parts = [&mut source.tool, &mut source.session, &mut source.message, &mut source.file, &mut source.commit];
    kinds.clean_all(parts.into_iter().flatten());
    kinds.clean_json("metadata", &mut memory.metadata)?;
    Ok(kinds)
}
