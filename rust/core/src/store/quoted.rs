//! Erases purged texts from the states of sessions. A state quotes statements that are not stored yet.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::history::Said;

/// A text of fewer words is erased only where it stands alone, because many sentences contain these words.
const LEAST_WORDS: usize = 3;

/// A text of so many bytes may have been cut within a quotation, and even within a word of it.
const CUT_BYTES: usize = 1_000;

/// Purged texts by their first word, and the sessions and messages that they are from.
#[derive(Debug, Default)]
pub struct Quoted {
    texts: HashMap<String, Vec<Vec<String>>>,
    sessions: BTreeSet<String>,
    messages: BTreeSet<String>,
}

impl Quoted {
    /// Add the text of one version of a memory, with its sessions and its message.
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

    /// Return the state of a session without the purged texts; `None` if it quotes none of them.
    ///
    /// The members of a state are texts and lists of records. A text that quotes a purged one is emptied, and such a record
    /// is dropped. The session of a purged text loses all its free texts, because they may say the same in other words.
    pub fn erase_from(&self, session: &str, state: &str) -> Option<String> {
        let is_own = self.sessions.contains(session);
        let Ok(Value::Object(mut members)) = serde_json::from_str(state) else {
            return is_own.then(|| "{}".to_owned());
        };
        let mut has_changed = false;
        for (name, member) in &mut members {
            match member {
                // Without its folder, a session would belong to no project, and what it says would become global.
                _ if name == "directory" => {}
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
            let rest = &words[place..];
            self.texts.get(&rest[0]).is_some_and(|texts| {
                texts.iter().any(|quoted| {
                    let same = quoted.iter().zip(rest).take_while(|(one, other)| one == other).count();
                    let is_whole = same == quoted.len() && (same >= LEAST_WORDS || same == words.len());
                    is_whole || (text.len() >= CUT_BYTES && same >= LEAST_WORDS && rest.len() - same <= 1)
                })
            })
        })
    }
}

/// The words of a text in lower case, without punctuation. Where letters have no case, as in Chinese, there may be no
/// spaces between words, so each letter counts as a word.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_open = false;
    for letter in text.chars() {
        let is_cased = letter.is_lowercase() || letter.is_uppercase() || letter.is_numeric();
        match words.last_mut() {
            Some(word) if is_open && is_cased => word.extend(letter.to_lowercase()),
            _ if letter.is_alphanumeric() => words.push(letter.to_lowercase().collect()),
            _ => {}
        }
        is_open = is_cased;
    }
    words
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
    fn folder_of_a_session_stays() {
        let state = r#"{"directory":"/home/ann/shop","title":"home: Ann, shop"}"#;
        let left = quoted("Home Ann shop").erase_from("other", state);
        assert_eq!(left.as_deref(), Some(r#"{"directory":"/home/ann/shop","title":""}"#));
    }

    #[test]
    fn one_word_is_erased_only_where_it_stands_alone() {
        let state = r#"{"goal":"pnpm is slow","offer":"pnpm"}"#;
        let left = quoted("pnpm").erase_from("other", state);
        assert_eq!(left.as_deref(), Some(r#"{"goal":"pnpm is slow","offer":""}"#));
    }

    #[test]
    fn text_without_spaces_and_a_text_that_is_cut_are_erased() {
        let quotes = |content: &str, goal: &str| {
            quoted(content).erase_from("other", &serde_json::json!({ "goal": goal }).to_string()).is_some()
        };
        assert!(quotes("部署密钥在保险库里", "请记住：我们的部署密钥在保险库里。谢谢"));
        assert!(!quotes("部署密钥在保险库里", "部署密钥在桌子上"));
        let begun = "Look where the keys lie in Zanzi";
        assert!(quotes("The keys lie in Zanzibar near the port.", &format!("{}{begun}", "Well. ".repeat(200))));
        assert!(!quotes("The keys lie in Zanzibar near the port.", begun));
    }

    #[test]
    fn damaged_state_of_the_own_session_is_dropped() {
        assert_eq!(quoted("x").erase_from("own", "{").as_deref(), Some("{}"));
        assert_eq!(quoted("x").erase_from("other", "{"), None);
    }
}
