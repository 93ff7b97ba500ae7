//! The closed sets. Their numbers are stored, so they never change; new members go at the end.

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

            /// The name that people and files use.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The member of a stored number.
            pub fn from_number(number: i64) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)+ _ => None }
            }

            /// Parse a name; the error suggests the nearest one.
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
    /// What kind of statement a memory is.
    Category, "category", {
        /// A choice that was made.
        Decision = 0 "decision",
        /// How things are done here.
        Convention = 1 "convention",
        /// What a person likes.
        Preference = 2 "preference",
        /// How to do something.
        Procedure = 3 "procedure",
        /// Something that is so.
        Fact = 4 "fact",
        /// Background.
        Context = 5 "context",
        /// What solved a problem.
        Solution = 6 "solution",
        /// What stands in the way.
        Blocker = 7 "blocker",
        /// Something that happened.
        Event = 8 "event",
        /// A standing order of the user.
        Directive = 9 "directive",
        /// What is to be done.
        Plan = 10 "plan",
        /// What could be done.
        Idea = 11 "idea",
        /// What was said.
        Conversation = 12 "conversation",
    }
}

closed_set! {
    /// Where a memory is in its life; expiry is computed.
    Status, "status", {
        /// In use.
        Active = 0 "active",
        /// Waiting for review.
        Candidate = 1 "candidate",
        /// Replaced by a newer statement.
        Superseded = 2 "superseded",
        /// Put away; can be restored.
        Archived = 3 "archived",
    }
}

closed_set! {
    /// Who vouches for a memory; a smaller number is more trust.
    Trust, "trust", {
        /// The person.
        User = 0 "user",
        /// A model that was told to remember.
        Agent = 1 "agent",
        /// Our own extraction.
        Extracted = 2 "extracted",
        /// Output of a tool.
        Tool = 3 "tool",
        /// A file that was imported.
        Imported = 4 "imported",
    }
}

closed_set! {
    /// What became of the decision on a message.
    State, "state", {
        /// Made, and not yet seen to arrive.
        Offered = 0 "offered",
        /// Its text stands beside the message.
        Shown = 1 "shown",
        /// Nothing was worth showing.
        Nothing = 2 "nothing",
        /// It came when the message had gone on without it.
        Late = 3 "late",
        /// A memory in it was purged.
        Erased = 4 "erased",
    }
}

closed_set! {
    /// What a memory that was shown came to.
    Outcome, "outcome", {
        /// It was of use.
        Used = 0 "used",
        /// It was found to be wrong.
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
