//! A memory before and after it is stored.

use serde::{Deserialize, Serialize};

use super::enums::{Category, Status, Trust};

/// The origin of a memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The tool that produced it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool: Option<String>,
    /// The session of the message.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<String>,
    /// The message.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<String>,
    /// The file that contains it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    /// The line in that file, from 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<i64>,
    /// The commit that it is about.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub commit: Option<String>,
}

/// Define [`NewMemory`] and [`Memory`] from one list of the fields that both have. A field has a type and a default.
///
/// Without this macro both structs would hold a third one, flattened by serde. But serde cannot read a number of a
/// flattened struct when `serde_json` has arbitrary precision, which keeps the large numbers of metadata exact.
macro_rules! memory_structs {
    ($($(#[$doc:meta])* $field:ident: $type:ty = $default:expr,)+) => {
        /// A memory to be written, as the caller gave it.
        #[derive(Debug, Clone)]
        pub struct NewMemory {
            $($(#[$doc])* pub $field: $type,)+
            /// The time that the memory is about, UTC milliseconds; by default the current time.
            pub time: Option<i64>,
            /// Only for imports: the memory with this id is replaced.
            pub id: Option<String>,
            /// Only for imports: when it was first written.
            pub created_at: Option<i64>,
            /// Only for imports: when it was last changed.
            pub updated_at: Option<i64>,
            /// Only for a move to another machine: when the old store first acknowledged it.
            pub stored_at: Option<i64>,
        }

        impl NewMemory {
            /// A global fact of the user that has only a text.
            pub fn new(content: impl Into<String>) -> Self {
                let mut memory = Self {
                    $($field: $default,)+
                    time: None,
                    id: None,
                    created_at: None,
                    updated_at: None,
                    stored_at: None,
                };
                memory.content = content.into();
                memory
            }

            /// The memory to be stored at `now_ms` under `id`. It has no key yet.
            pub fn to_memory(&self, id: &str, project_id: i64, now_ms: i64) -> Memory {
                let created_at = self.created_at.unwrap_or(now_ms);
                Memory {
                    key: 0,
                    id: id.to_owned(),
                    project_id,
                    time: self.time.unwrap_or(created_at),
                    created_at,
                    updated_at: self.updated_at.unwrap_or(created_at),
                    stored_at: self.stored_at.unwrap_or(now_ms).min(now_ms),
                    $($field: self.$field.clone(),)+
                    uses: 0,
                    used_at: None,
                }
            }
        }

        /// A memory as it is stored. `id` names it for ever, `key` names this version of its text.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub struct Memory {
            /// This version of the text.
            pub key: i64,
            /// The memory.
            pub id: String,
            /// Row of its project; 0 is global.
            pub project_id: i64,
            /// The time that the memory is about.
            pub time: i64,
            /// When it was first written.
            pub created_at: i64,
            /// When it was last changed.
            pub updated_at: i64,
            /// When this store first acknowledged it. Queries "as of" an earlier time do not see it.
            pub stored_at: i64,
            $($(#[$doc])* pub $field: $type,)+
            /// Number of times that it was returned and then used.
            #[serde(skip)]
            pub uses: i64,
            /// When it was last used.
            #[serde(skip)]
            pub used_at: Option<i64>,
        }
    };
}

memory_structs! {
    /// The text.
    content: String = String::new(),
    /// Kind of statement.
    category: Category = Category::Fact,
    /// Name of the project; `None` is global.
    project: Option<String> = None,
    /// Unique among the active memories of a scope: writing a topic again updates the memory that holds it.
    topic: Option<String> = None,
    /// Conversation that it comes from.
    session: Option<String> = None,
    /// Place in that conversation, from 0.
    position: Option<i64> = None,
    /// The speaker.
    speaker: Option<String> = None,
    /// When it stops being returned, UTC milliseconds.
    expires_at: Option<i64> = None,
    /// Its origin.
    source: Source = Source::default(),
    /// Files, people, tickets and other things that it is about.
    entities: Vec<String> = Vec::new(),
    /// Free labels.
    tags: Vec<String> = Vec::new(),
    /// The origin that vouches for it.
    trust: Trust = Trust::User,
    /// Pinned by the user.
    pinned: bool = false,
    /// A new memory is `Active` or `Candidate`; an import may have the others.
    status: Status = Status::Active,
    /// 0 to 1, for extracted memories.
    confidence: Option<f64> = None,
    /// A JSON object as text, stored unchanged.
    metadata: String = "{}".to_owned(),
    /// When it was last confirmed. Only an import gives it with a new memory.
    verified_at: Option<i64> = None,
    /// Id of its successor. Only an import gives it with a new memory.
    superseded_by: Option<String> = None,
    /// When it is shown as a reminder, UTC milliseconds.
    remind_at: Option<i64> = None,
    /// Days from one reminder to the next; `None` reminds once.
    remind_every: Option<i64> = None,
    /// When it should be reviewed, UTC milliseconds.
    review_after: Option<i64> = None,
    /// Days from one review to the next; `None` asks once.
    review_every: Option<i64> = None,
}

impl Memory {
    /// Whether it is expired at `now_ms`.
    pub fn is_expired(&self, now_ms: i64) -> bool {
        self.expires_at.is_some_and(|at| at <= now_ms)
    }

    /// Whether it was read from a message and not confirmed since.
    pub fn is_learned(&self) -> bool {
        self.source.session.is_some() && self.source.message.is_some() && self.verified_at.is_none()
    }

    /// When its words were said last, with its key for words of the same time. Of a learned memory, that is the time of
    /// the message.
    ///
    /// A repetition renews the time of a memory. A time before its creation, or after its last change, is the day of an
    /// event that the words are about.
    pub fn said_at(&self) -> (i64, i64) {
        let said = if self.is_learned() { self.time } else { self.time.min(self.updated_at).max(self.created_at) };
        (said, self.key)
    }

    /// Whether its time is when its words were said, and not the day of an event that its writer gave.
    pub fn has_time_of_words(&self) -> bool {
        let is_from_message = self.source.session.is_some() && self.source.message.is_some();
        is_from_message || (self.created_at..=self.updated_at).contains(&self.time)
    }

    /// The text for the lexical index.
    pub fn searched_text(&self) -> String {
        let mut text = self.embedding_text();
        for label in self.topic.iter().chain(&self.tags).chain(&self.entities) {
            text.push('\n');
            text.push_str(label);
        }
        text
    }

    /// The text for the embedder. The speaker is part of it, because recalls may ask for a speaker's words.
    pub fn embedding_text(&self) -> String {
        embedding_text(self.speaker.as_deref(), &self.content)
    }
}

/// The text for the embedder, for `content` said by `speaker`.
pub fn embedding_text(speaker: Option<&str>, content: &str) -> String {
    match speaker {
        Some(speaker) => format!("{speaker}: {content}"),
        None => content.to_owned(),
    }
}

/// A change to a stored memory: `None` leaves a field as it is.
#[derive(Debug, Clone, Default)]
pub struct Patch {
    /// New text.
    pub content: Option<String>,
    /// New category.
    pub category: Option<Category>,
    /// New topic; `Some(None)` removes it.
    pub topic: Option<Option<String>>,
    /// New tags.
    pub tags: Option<Vec<String>>,
    /// New entities.
    pub entities: Option<Vec<String>>,
    /// New expiry; `Some(None)` removes it.
    pub expires_at: Option<Option<i64>>,
    /// New time that it is about.
    pub time: Option<i64>,
    /// New metadata.
    pub metadata: Option<String>,
    /// New project; `Some(None)` makes it global.
    pub project: Option<Option<String>>,
    /// New trust.
    pub trust: Option<Trust>,
    /// Whether it was confirmed just now.
    pub verified: bool,
    /// New time of its reminder; `Some(None)` removes the reminder.
    pub remind_at: Option<Option<i64>>,
    /// New days between reminders; `Some(None)` reminds once.
    pub remind_every: Option<Option<i64>>,
    /// New time of its review; `Some(None)` asks for none.
    pub review_after: Option<Option<i64>>,
    /// New days between reviews; `Some(None)` asks once.
    pub review_every: Option<Option<i64>>,
}
