//! Decides whether two statements have the same subject, and whether the newer one replaces the older one.
//!
//! The same subject means: the same value is given (one port, one database, one owner) in the same circumstances, or
//! the newer statement rejects or reverses what the older one says. Circumstances that differ on both sides make two
//! statements unrelated: `Postgres for tests` and `MySQL in production` are both true.
//!
//! Refuses to guess. If the newer statement has other circumstances, or does not say that something changed, the two
//! statements only contradict each other. Invariants: a statement is unrelated to itself, and a statement that asks,
//! guesses or adds replaces nothing.

mod behaviour;
mod change;
mod circumstances;
mod claim;
mod contrasts;
mod cues;
mod dimensions;
mod environments;
mod frame;
mod kept;
mod negation;
mod opposite;
mod options;
mod order;
mod other_value;
mod places;
mod reasons;
mod rejections;
mod slot;
mod things;
mod values;
mod words;

use rustc_hash::FxHashSet;

use super::same_statement::have_same_tokens;
use super::statement::{Token, significant_tokens};
use change::compare_change;
use claim::{Claim, Cue};
use frame::compare_frames;
use negation::{compare_rejection, compare_reversal};
use opposite::contradicts;
use options::FAMILIES;
use other_value::compare_values;
use values::{Kind, Value};

/// Number of words by which the circumstances of one subject may differ.
const FEW: usize = 2;

/// The relation of a newer statement to an older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// The newer statement takes the place of the older one, with the reason.
    Replaces(&'static str),
    /// Both cannot be right, but it is not sure that the newer one takes the place of the older one.
    Contradicts(&'static str),
    /// Both may be right.
    Unrelated,
}

impl Relation {
    /// Whether the two statements surely have one subject, so that a reader needs the newer one first of all.
    pub fn is_of_one_subject(self) -> bool {
        match self {
            Self::Replaces(_) => true,
            Self::Contradicts(reason) => !reasons::BOTH_MAY_HOLD.contains(&reason),
            Self::Unrelated => false,
        }
    }
}

/// A statement, read once for comparisons with many newer ones.
#[derive(Debug)]
pub struct Reading<'t> {
    text: &'t str,
    claim: Claim,
    tokens: Vec<Token>,
    /// See [`things::numbers_of_subject`].
    numbers: FxHashSet<String>,
}

/// A newer statement, read once for comparisons with many older ones.
#[derive(Debug)]
pub struct Statement<'t> {
    reading: Reading<'t>,
    clauses: Vec<Claim>,
}

/// Compare a newer statement with an older one. `cosine` is the cosine of their vectors if both have vectors.
pub fn compare(newer: &str, older: &str, cosine: Option<f32>) -> Relation {
    Statement::read(newer).map_or(Relation::Unrelated, |newer| newer.compare(older, cosine))
}

impl<'t> Reading<'t> {
    /// The text of the statement.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// Read a statement. `None` if it can neither replace nor contradict another one, and none can replace it.
    pub fn read(text: &'t str) -> Option<Self> {
        let claim = Claim::read(text)?;
        Some(Self { text, claim, tokens: significant_tokens(text), numbers: things::numbers_of_subject(text) })
    }
}

impl<'t> Statement<'t> {
    /// Read a statement. `None` if it can neither replace nor contradict another one.
    pub fn read(text: &'t str) -> Option<Self> {
        let reading = Reading::read(text)?;
        let claim = &reading.claim;
        let mut clauses = Claim::read_clauses(text);
        for clause in clauses.iter_mut().filter(|_| claim.is_inverted) {
            // "It's the other way round: A depends on B." announces its second clause.
            (clause.is_inverted, clause.cue) = (true, Cue::Strong);
        }
        Some(Self { reading, clauses })
    }

    /// The statement as an older one, for comparisons with newer ones.
    pub fn reading(&self) -> &Reading<'t> {
        &self.reading
    }

    /// Whether a search for older statements on the same subject is worth its cost.
    pub fn may_replace(&self) -> bool {
        self.reading.claim.may_replace() || frame::has_frame(&self.reading.claim)
    }

    /// The words by which older statements on the same subject are found: its own words and the other options.
    pub fn search_text(&self) -> String {
        let claim = &self.reading.claim;
        let mut text = self.reading.text.to_owned();
        for value in claim.values.iter().chain(&claim.rejected_values) {
            if let Kind::Option(number) = value.kind {
                for word in FAMILIES[number].options {
                    text.push(' ');
                    text.push_str(word);
                }
            }
        }
        text
    }

    fn is_wish(&self) -> bool {
        self.reading.claim.is_wish || self.clauses.iter().any(|clause| clause.is_wish)
    }

    /// Compare this newer statement with an older one.
    pub fn compare(&self, older: &str, cosine: Option<f32>) -> Relation {
        Reading::read(older).map_or(Relation::Unrelated, |older| self.compare_read(&older, cosine))
    }

    /// Compare this newer statement with an older one that was read before.
    pub fn compare_read(&self, older: &Reading<'_>, cosine: Option<f32>) -> Relation {
        let newer = &self.reading;
        let is_same = newer.text == older.text || have_same_tokens(&newer.tokens, &older.tokens);
        if is_same || things::are_different(&newer.numbers, &older.numbers) {
            return Relation::Unrelated;
        }
        let mut found = Relation::Unrelated;
        if !newer.claim.adds {
            let are_opposite = || contradicts(&newer.tokens, &older.tokens);
            found = compare_things(&newer.claim, &older.claim, are_opposite, cosine);
        }
        for clause in self.clauses.iter().filter(|clause| !clause.is_tentative && !clause.adds) {
            if !matches!(found, Relation::Replaces(_))
                && let replaces @ Relation::Replaces(_) = compare_things(clause, &older.claim, || false, cosine)
            {
                found = replaces;
            }
        }
        match found {
            Relation::Replaces(_) if newer.claim.is_tentative => Relation::Contradicts(reasons::TENTATIVE),
            Relation::Replaces(_) if newer.claim.is_hypothetical_against(&older.claim) => {
                Relation::Contradicts(reasons::ELSEWHERE)
            }
            // A part leaves the whole, and the whole leaves an exception: "in tests, the limit is 1", "the limit is 8".
            Relation::Replaces(_)
                if newer.claim.is_elsewhere_than(&older.claim) || older.claim.is_elsewhere_than(&newer.claim) =>
            {
                Relation::Contradicts(reasons::ELSEWHERE)
            }
            // "The linter was removed by accident" does not end "run the linter before every commit".
            Relation::Replaces(_) if older.claim.commands && !self.is_wish() => {
                Relation::Contradicts(reasons::OBSERVED)
            }
            Relation::Replaces(_) if older.claim.commands && newer.claim.may_be_once => {
                Relation::Contradicts(reasons::ONCE)
            }
            other => other,
        }
    }
}

/// Compare two claims. One about another thing replaces none: "the sister project uses Vitest instead of Jest".
fn compare_things(newer: &Claim, older: &Claim, are_opposite: impl Fn() -> bool, cosine: Option<f32>) -> Relation {
    if newer.negated_end.as_ref().is_some_and(|verb| !older.stems.contains(verb))
        || !newer.is_inverted && order::is_mirrored(newer, older)
    {
        return Relation::Unrelated;
    }
    match compare_claims(newer, older, are_opposite, cosine) {
        Relation::Replaces(_) if newer.permits_alternative() => Relation::Contradicts(reasons::EXCEPTION),
        Relation::Replaces(_)
            if newer.has_other_subject(older)
                || environments::are_different(newer, older)
                || contrasts::are_different(newer, older) =>
        {
            Relation::Contradicts(reasons::PERHAPS_ELSEWHERE)
        }
        other => other,
    }
}

fn compare_claims(newer: &Claim, older: &Claim, are_opposite: impl Fn() -> bool, cosine: Option<f32>) -> Relation {
    let rules = [compare_rejection(newer, older), compare_reversal(newer, older), compare_values(newer, older)];
    let mut found = Relation::Unrelated;
    for relation in rules {
        match relation {
            Relation::Replaces(_) => return relation,
            Relation::Contradicts(_) if found == Relation::Unrelated => found = relation,
            _ => {}
        }
    }
    if are_opposite() {
        let is_order = newer.is_order || older.is_order;
        let is_negated = newer.rejected.is_empty() != older.rejected.is_empty();
        if is_order && is_negated {
            return Relation::Replaces("a later rule says the opposite of the same words");
        }
        // Entries of a list differ by a number, too, so a number alone does not make one subject.
        let numbers = |claim: &Claim| -> Vec<String> {
            let has_digit = |stem: &&String| stem.contains(|letter: char| letter.is_ascii_digit());
            claim.stems.iter().filter(has_digit).cloned().collect()
        };
        let is_negation = numbers(newer) == numbers(older);
        return Relation::Contradicts(if is_negation {
            "the same words but for a negation"
        } else {
            reasons::OTHER_NUMBER
        });
    }
    if found == Relation::Unrelated {
        found = compare_change(newer, older, cosine);
    }
    if found == Relation::Unrelated { compare_frames(newer, older) } else { found }
}

/// The words that name the families of some options, such as "database".
fn family_words<'v>(values: impl Iterator<Item = &'v Value>) -> Vec<&'static str> {
    let words = values.filter_map(|value| match value.kind {
        Kind::Option(number) => Some(FAMILIES[number].words),
        _ => None,
    });
    words.flatten().copied().collect()
}

#[cfg(test)]
mod tests;
