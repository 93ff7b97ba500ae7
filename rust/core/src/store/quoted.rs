//! Erases the texts of purged memories from the states of sessions, which quote what may still become a memory.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::history::Said;

/// A shorter text is only erased where it stands alone, because a word or two stand in many sentences.
const LEAST_WORDS: usize = 3;

/// The texts, by their first word, with the sessions and messages that they are from.
#[derive(Debug, Default)]
pub struct Quoted {
    texts: HashMap<String, Vec<Vec<String>>>,
    sessions: BTreeSet<String>,
    messages: BTreeSet<String>,
}

impl Quoted {
    /// Add what a version of a memory says.
    pub fn add(&mut self, said: Said) {
        let words = words(said.content.as_deref().unwrap_or_default());
        if let Some(first) = words.first() {
            let texts = self.texts.entry(first.clone()).or_default();
            if !texts.contains(&words) {
                texts.push(words);
            }
        }
        self.sessions.extend(said.sessions.into_iter().flatten());
        self.messages.extend(said.message);
    }

    /// The state of a session without the texts; `None` if it has none of them.
    ///
    /// The members of a state are texts, or lists of records. A text is emptied, and a record is left out. In a session
    /// that one of the texts is from, all free texts are emptied, because they may say the same in other words.
    pub fn erase_from(&self, session: &str, state: &str) -> Option<String> {
        let is_own = self.sessions.contains(session);
        let Ok(Value::Object(mut members)) = serde_json::from_str(state) else {
            return is_own.then(|| "{}".to_owned());
        };
        let mut has_changed = false;
        for member in members.values_mut() {
            match member {
                Value::String(text) if !text.is_empty() => {
                    let is_free = is_own && text.contains(char::is_whitespace);
                    if is_free || self.is_in(text) {
                        text.clear();
                        has_changed = true;
                    }
                }
                Value::Array(records) => {
                    let before = records.len();
                    records.retain(|record| !self.is_quoted(record));
                    has_changed |= records.len() < before;
                }
                _ => {}
            }
        }
        has_changed.then(|| Value::Object(members).to_string())
    }

    fn is_quoted(&self, record: &Value) -> bool {
        match record {
            Value::String(text) => self.is_in(text),
            Value::Array(parts) => parts.iter().any(|part| self.is_quoted(part)),
            Value::Object(members) => members.iter().any(|(name, value)| {
                let message = value.as_str().filter(|_| name == "message");
                message.is_some_and(|message| self.messages.contains(message)) || self.is_quoted(value)
            }),
            _ => false,
        }
    }

    fn is_in(&self, text: &str) -> bool {
        let words = words(text);
        (0..words.len()).any(|place| {
            self.texts.get(&words[place]).is_some_and(|texts| {
                texts.iter().any(|quoted| {
                    words[place..].starts_with(quoted) && (quoted.len() >= LEAST_WORDS || quoted.len() == words.len())
                })
            })
        })
    }
}

/// The words of a text in lower case, without punctuation.
fn words(text: &str) -> Vec<String> {
    text.split(|one: char| !one.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::{Quoted, Said};

    fn quoted(content: &str) -> Quoted {
        let mut quoted = Quoted::default();
        quoted.add(Said {
            content: Some(content.into()),
            sessions: [Some("own".into()), None],
            message: Some("msg_1".into()),
        });
        quoted
    }

    #[test]
    fn texts_are_emptied_and_records_left_out() {
        let state = r#"{"goal":"Well, the keys: lie in\nZanzibar!","own":2,"said":[7],"removed":["msg_1"],
            "blockers":[["t","The keys lie in Zanzibar."],["u","No disk."]],
            "pending":[{"content":"Keys.","message":"msg_1"},{"content":"Use tabs.","message":"msg_2"}]}"#;
        let left = quoted("The keys lie in Zanzibar").erase_from("other", state).expect("changed");
        let expected = r#"{"goal":"","own":2,"said":[7],"removed":["msg_1"],"blockers":[["u","No disk."]],
            "pending":[{"content":"Use tabs.","message":"msg_2"}]}"#;
        let [left, expected]: [serde_json::Value; 2] =
            [&left, expected].map(|json| serde_json::from_str(json).expect("JSON"));
        assert_eq!(left, expected);
    }

    #[test]
    fn own_session_keeps_no_free_text() {
        let state = r#"{"action":"bash ls","goal_from":"msg_9"}"#;
        assert_eq!(
            quoted("The keys lie in Zanzibar").erase_from("own", state).as_deref(),
            Some(r#"{"action":"","goal_from":"msg_9"}"#)
        );
        assert_eq!(quoted("The keys lie in Zanzibar").erase_from("other", state), None);
    }

    #[test]
    fn one_word_is_erased_only_where_it_stands_alone() {
        let state = r#"{"goal":"pnpm is slow","offer":"pnpm"}"#;
        let left = quoted("pnpm").erase_from("other", state);
        assert_eq!(left.as_deref(), Some(r#"{"goal":"pnpm is slow","offer":""}"#));
    }

    #[test]
    fn damaged_state_of_the_own_session_is_dropped() {
        assert_eq!(quoted("x").erase_from("own", "{").as_deref(), Some("{}"));
        assert_eq!(quoted("x").erase_from("other", "{"), None);
    }
}
