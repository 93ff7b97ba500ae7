//! A memory before and after it is stored.

use serde::{Deserialize, Serialize};

use super::enums::{Category, Status, Trust};

/// Where a memory came from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The tool that produced it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool: Option<String>,
    /// The session that it was said in.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<String>,
    /// The message that it was said in.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<String>,
    /// The file that it was read from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    /// The line in that file, from 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<i64>,
    /// The commit that it speaks of.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub commit: Option<String>,
}

/// A memory to be written, as the caller gave it.
#[derive(Debug, Clone)]
pub struct NewMemory {
    /// The text.
    pub content: String,
    /// Kind of statement.
    pub category: Category,
    /// Name of the project; `None` is global.
    pub project: Option<String>,
    /// Unique per scope: writing it again updates.
    pub topic: Option<String>,
    /// Conversation that it comes from.
    pub session: Option<String>,
    /// Place in that conversation, from 0.
    pub position: Option<i64>,
    /// Who said it.
    pub speaker: Option<String>,
    /// The moment that it speaks of, UTC milliseconds; by default now.
    pub time: Option<i64>,
    /// When it stops being returned, UTC milliseconds.
    pub expires_at: Option<i64>,
    /// Where it came from.
    pub source: Source,
    /// What it is about.
    pub entities: Vec<String>,
    /// Free labels.
    pub tags: Vec<String>,
    /// Who vouches for it.
    pub trust: Trust,
    /// Kept in sight by a person.
    pub pinned: bool,
    /// `Active` or `Candidate`; an import may carry the others.
    pub status: Status,
    /// 0 to 1, of what was extracted.
    pub confidence: Option<f64>,
    /// A JSON object, kept as it is.
    pub metadata: Option<String>,
    /// An import keeps its id: the memory with this id is replaced.
    pub id: Option<String>,
    /// An import keeps when it was first written.
    pub created_at: Option<i64>,
    /// An import keeps when it was last changed.
    pub updated_at: Option<i64>,
    /// An import keeps when it was last confirmed.
    pub verified_at: Option<i64>,
    /// An import keeps the id of its successor.
    pub superseded_by: Option<String>,
    /// A move to another machine keeps when the store acknowledged it first.
    pub stored_at: Option<i64>,
}

impl NewMemory {
    /// A global fact of the user, the plainest memory there is.
    pub fn new(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            category: Category::Fact,
            project: None,
            topic: None,
            session: None,
            position: None,
            speaker: None,
            time: None,
            expires_at: None,
            source: Source::default(),
            entities: Vec::new(),
            tags: Vec::new(),
            trust: Trust::User,
            pinned: false,
            status: Status::Active,
            confidence: None,
            metadata: None,
            id: None,
            created_at: None,
            updated_at: None,
            verified_at: None,
            superseded_by: None,
            stored_at: None,
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
    /// Name of its project.
    pub project: Option<String>,
    /// Kind of statement.
    #[serde(with = "as_name")]
    pub category: Category,
    /// Where it is in its life.
    #[serde(with = "as_name")]
    pub status: Status,
    /// Who vouches for it.
    #[serde(with = "as_name")]
    pub trust: Trust,
    /// Kept in sight by a person.
    pub pinned: bool,
    /// The moment that it speaks of.
    pub time: i64,
    /// When it was first written.
    pub created_at: i64,
    /// When it was last changed.
    pub updated_at: i64,
    /// When this store acknowledged it first; the start of its life for "as of".
    pub stored_at: i64,
    /// When it stops being returned.
    pub expires_at: Option<i64>,
    /// When it was last confirmed.
    pub verified_at: Option<i64>,
    /// Conversation that it comes from.
    pub session: Option<String>,
    /// Place in that conversation.
    pub position: Option<i64>,
    /// Who said it.
    pub speaker: Option<String>,
    /// Unique among active memories of a scope.
    pub topic: Option<String>,
    /// Id of its successor.
    pub superseded_by: Option<String>,
    /// 0 to 1.
    pub confidence: Option<f64>,
    /// Where it came from.
    pub source: Source,
    /// What it is about.
    pub entities: Vec<String>,
    /// Free labels.
    pub tags: Vec<String>,
    /// A JSON object as text.
    pub metadata: String,
    /// The text.
    pub content: String,
    /// How often it was returned and then used.
    #[serde(skip)]
    pub uses: i64,
    /// When it was last used.
    #[serde(skip)]
    pub used_at: Option<i64>,
}

impl Memory {
    /// Whether it is past its life at `now_ms`.
    pub fn is_expired(&self, now_ms: i64) -> bool {
        self.expires_at.is_some_and(|at| at <= now_ms)
    }

    /// The text that the lexical index sees.
    pub fn searched_text(&self) -> String {
        let mut text = self.embedding_text();
        for label in self.topic.iter().chain(&self.tags).chain(&self.entities) {
            text.push('\n');
            text.push_str(label);
        }
        text
    }

    /// The text that the embedder sees: who said it is part of what was said.
    pub fn embedding_text(&self) -> String {
        embedding_text(self.speaker.as_deref(), &self.content)
    }
}

/// The text that the embedder sees for `content` as said by `speaker`.
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
    /// New kind.
    pub category: Option<Category>,
    /// New topic, or none.
    pub topic: Option<Option<String>>,
    /// New labels.
    pub tags: Option<Vec<String>>,
    /// New entities.
    pub entities: Option<Vec<String>>,
    /// New end of life, or none.
    pub expires_at: Option<Option<i64>>,
    /// New time that it speaks of.
    pub time: Option<i64>,
    /// New metadata.
    pub metadata: Option<String>,
    /// New project name, or global.
    pub project: Option<Option<String>>,
    /// New trust.
    pub trust: Option<Trust>,
    /// Confirmed just now.
    pub verified: bool,
}

mod as_name {
    //! Enums travel by name in history and exports, so that a person can read them.

    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    use super::{Category, Status, Trust};

    pub trait Named: Sized {
        fn name(&self) -> &'static str;
        fn named(name: &str) -> crate::error::Result<Self>;
    }

    macro_rules! named {
        ($($kind:ty),+) => {
            $(impl Named for $kind {
                fn name(&self) -> &'static str {
                    self.as_str()
                }
                fn named(name: &str) -> crate::error::Result<Self> {
                    Self::parse(name)
                }
            })+
        };
    }
    named!(Category, Status, Trust);

    pub fn serialize<T: Named, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(value.name())
    }

    pub fn deserialize<'de, T: Named, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        let name = String::deserialize(from)?;
        T::named(&name).map_err(D::Error::custom)
    }
}
