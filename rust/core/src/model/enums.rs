//! Closed enums. Their numbers are stored, so they never change; new members go at the end.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};

macro_rules! closed_set {
    ($(#[$doc:meta])* $name:ident, $field:literal, { $($(#[$variant_doc:meta])* $variant:ident = $number:literal $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$variant_doc])* $variant = $number),+ }

        impl $name {
            /// Every member, in order of its number.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The name, as in files and in the API.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The member of a stored number.
            pub fn from_number(number: i64) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)+ _ => None }
            }

            /// Parse a name; the error suggests the nearest name.
            pub fn parse(text: &str) -> Result<Self> {
                let wanted = text.trim().to_lowercase();
                match wanted.as_str() {
                    $($text => Ok(Self::$variant),)+
                    _ => Err(unknown($field, text, &[$($text),+])),
                }
            }

            /// This member's bit in a set.
            pub fn bit(self) -> u32 {
                1 << (self as u32)
            }
        }

        // The history and exports hold names, so that people can read them.
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
                Self::parse(&String::deserialize(from)?).map_err(D::Error::custom)
            }
        }
    };
}

closed_set! {
    /// The kind of statement.
    Category, "category", {
        /// A choice between alternatives.
        Decision = 0 "decision",
        /// A rule of the project.
        Convention = 1 "convention",
        /// A preference of the user.
        Preference = 2 "preference",
        /// Steps to do something.
        Procedure = 3 "procedure",
        /// A fact.
        Fact = 4 "fact",
        /// Background information.
        Context = 5 "context",
        /// The solution of a problem.
        Solution = 6 "solution",
        /// An obstacle.
        Blocker = 7 "blocker",
        /// Something that happened.
        Event = 8 "event",
        /// A standing instruction of the user.
        Directive = 9 "directive",
        /// Planned work.
        Plan = 10 "plan",
        /// Possible work.
        Idea = 11 "idea",
        /// A message of a conversation.
        Conversation = 12 "conversation",
    }
}

closed_set! {
    /// The state of a memory. Expiry is computed and is not a status.
    Status, "status", {
        /// In use.
        Active = 0 "active",
        /// Waits for review.
        Candidate = 1 "candidate",
        /// Replaced by a newer statement.
        Superseded = 2 "superseded",
        /// Not in use; can be restored.
        Archived = 3 "archived",
    }
}

closed_set! {
    /// The origin that vouches for a memory; a smaller number is more trust.
    Trust, "trust", {
        /// The user.
        User = 0 "user",
        /// A model that called a tool to remember.
        Agent = 1 "agent",
        /// The extraction from sessions.
        Extracted = 2 "extracted",
        /// The output of a tool.
        Tool = 3 "tool",
        /// An imported file.
        Imported = 4 "imported",
    }
}

closed_set! {
    /// The state of a decision of the ledger.
    State, "state", {
        /// Made; not yet confirmed by the host.
        Offered = 0 "offered",
        /// Its text was added to the message.
        Shown = 1 "shown",
        /// No memory was relevant.
        Nothing = 2 "nothing",
        /// The message was sent before the decision arrived.
        Late = 3 "late",
        /// A memory of it was purged.
        Erased = 4 "erased",
    }
}

closed_set! {
    /// The outcome of a shown memory.
    Outcome, "outcome", {
        /// It was used.
        Used = 0 "used",
        /// It was contradicted.
        Contradicted = 1 "contradicted",
    }
}

impl Trust {
    /// Whether this trust is at least as high as `other`.
    pub fn is_at_least(self, other: Self) -> bool {
        self <= other
    }
}

fn unknown(field: &'static str, given: &str, known: &[&str]) -> Error {
    let shown: String = given.chars().take(40).collect();
    let nearest = known.iter().min_by_key(|name| edit_distance(&shown.to_lowercase(), name));
    let suggestion = nearest
        .filter(|name| edit_distance(&shown.to_lowercase(), name) <= 1 + name.len() / 3)
        .map_or(String::new(), |name| format!("; did you mean {name:?}?"));
    Error::InvalidInput {
        field,
        message: format!("{shown:?} is not one of {}{suggestion}", known.join(", ")),
        limit: Some(known.join(", ")),
    }
}

/// Levenshtein distance over characters; both sides are short names.
pub(crate) fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_round_trip() {
        for &category in Category::ALL {
            assert_eq!(Category::parse(category.as_str()).unwrap(), category);
            assert_eq!(Category::from_number(category as i64), Some(category));
        }
    }

    #[test]
    fn an_unknown_category_suggests_the_nearest() {
        let message = Category::parse("desicion").unwrap_err().to_string();
        assert!(message.contains("did you mean \"decision\"?"), "{message}");
        let message = Category::parse("zebra").unwrap_err().to_string();
        assert!(!message.contains("did you mean"), "{message}");
    }
}
