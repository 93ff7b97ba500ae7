//! Decides whether two statements have the same subject, and whether the newer one replaces the older one.
//!
//! The same subject means: the same value is given (one port, one database, one owner) in the same circumstances, or
//! the newer statement rejects or reverses what the older one says. Circumstances that differ on both sides make two
//! statements unrelated: `Postgres for tests` and `MySQL in production` are both true.
//!
//! Refuses to guess. If the newer statement has other circumstances, or does not say that something changed, the two
//! statements only contradict each other. Invariants: a statement is unrelated to itself, and a statement that asks,
//! guesses or adds replaces nothing.

mod claim;
mod cues;
mod opposite;
mod options;
mod rejections;
mod things;
mod values;
mod words;

use super::same_statement::same_statement;
use claim::{Claim, Cue};
use opposite::contradicts;
use options::{ATTRIBUTES, FAMILIES, PLACES, ROLES};
use values::{Kind, Value};

/// From this cosine on, fewer common words suffice.
const NEAR: f32 = 0.6;
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

/// Reasons of contradictions in which both statements may hold, each in its own circumstances.
const EXCEPTION: &str = "an exception to the older statement";
const ELSEWHERE: &str = "rejects it in other circumstances";
const REVERSAL: &str = "asserts what the older statement rejects";
const PERHAPS_ELSEWHERE: &str = "gives another value, perhaps in other circumstances";
const DIFFERENT: &str = "says that something is different now";
const OTHER_NUMBER: &str = "the same words but for a number";
const TENTATIVE: &str = "suggests that something changed";

impl Relation {
    /// Whether the two statements surely have one subject, so that a reader needs the newer one first of all.
    pub fn is_of_one_subject(self) -> bool {
        match self {
            Self::Replaces(_) => true,
            Self::Contradicts(reason) => {
                ![EXCEPTION, ELSEWHERE, REVERSAL, PERHAPS_ELSEWHERE, DIFFERENT, OTHER_NUMBER, TENTATIVE]
                    .contains(&reason)
            }
            Self::Unrelated => false,
        }
    }
}

/// A newer statement, read once for many comparisons.
#[derive(Debug)]
pub struct Statement<'t> {
    text: &'t str,
    claim: Claim,
    clauses: Vec<Claim>,
}

/// Compare a newer statement with an older one. `cosine` is the cosine of their vectors if both have vectors.
pub fn compare(newer: &str, older: &str, cosine: Option<f32>) -> Relation {
    Statement::read(newer).map_or(Relation::Unrelated, |newer| newer.compare(older, cosine))
}

impl<'t> Statement<'t> {
    /// Read a statement. `None` if it can neither replace nor contradict another one.
    pub fn read(text: &'t str) -> Option<Self> {
        let claim = Claim::read(text)?;
        let mut clauses = Claim::read_clauses(text);
        for clause in clauses.iter_mut().filter(|_| claim.is_inverted) {
            // "It's the other way round: A depends on B." announces its second clause.
            (clause.is_inverted, clause.cue) = (true, Cue::Strong);
        }
        Some(Self { text, claim, clauses })
    }

    /// Whether a search for older statements on the same subject is worth its cost.
    pub fn may_replace(&self) -> bool {
        self.claim.may_replace()
    }

    /// The words by which older statements on the same subject are found: its own words and the other options.
    pub fn search_text(&self) -> String {
        let mut text = self.text.to_owned();
        for value in self.claim.values.iter().chain(&self.claim.rejected_values) {
            if let Kind::Option(number) = value.kind {
                for word in FAMILIES[number].options {
                    text.push(' ');
                    text.push_str(word);
                }
            }
        }
        text
    }

    /// Compare this newer statement with an older one.
    pub fn compare(&self, older: &str, cosine: Option<f32>) -> Relation {
        if same_statement(self.text, older) || things::are_different_things(self.text, older) {
            return Relation::Unrelated;
        }
        let Some(older_claim) = Claim::read(older) else { return Relation::Unrelated };
        let mut found = compare_claims(&self.claim, &older_claim, || contradicts(self.text, older), cosine);
        for clause in self.clauses.iter().filter(|clause| !clause.is_tentative && !clause.adds) {
            if !matches!(found, Relation::Replaces(_))
                && let replaces @ Relation::Replaces(_) = compare_claims(clause, &older_claim, || false, cosine)
            {
                found = replaces;
            }
        }
        match found {
            Relation::Replaces(_) if self.claim.is_tentative => Relation::Contradicts(TENTATIVE),
            _ if self.claim.adds => Relation::Unrelated,
            other => other,
        }
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
        return Relation::Contradicts(if is_negation { "the same words but for a negation" } else { OTHER_NUMBER });
    }
    if found == Relation::Unrelated { compare_change(newer, older, cosine) } else { found }
}

/// The newer statement rejects what the older one asserts: "not X", "instead of X", "no longer X".
fn compare_rejection(newer: &Claim, older: &Claim) -> Relation {
    let words = family_words(newer.rejected_values.iter().chain(&older.values));
    let core: Vec<&String> = newer.rejected.iter().filter(|term| !words.contains(&term.as_str())).collect();
    if core.is_empty() {
        return Relation::Unrelated;
    }
    let says = |term: &String| older.asserted.contains(term);
    if !core.iter().all(|term| says(term)) {
        let rest = || older.asserted.iter().filter(|term| !words.contains(&term.as_str()));
        let is_exception = rest().count() > 0
            && rest().all(|term| newer.rejected.contains(term))
            && newer.rejected_values.iter().all(|value| older.values.contains(value));
        return if is_exception { Relation::Contradicts(EXCEPTION) } else { Relation::Unrelated };
    }
    let extra: Vec<&String> = older
        .asserted
        .iter()
        .filter(|term| !core.contains(term) && !newer.asserted.contains(*term) && !words.contains(&term.as_str()))
        .collect();
    let is_narrower = newer
        .scoped
        .iter()
        .any(|term| !older.asserted.contains(term) && !is_value(newer, term) && !words.contains(&term.as_str()));
    let names_another = newer.asserted.iter().any(|term| !older.asserted.contains(term));
    let same_kind =
        newer.values.iter().any(|value| newer.rejected_values.iter().any(|rejected| rejected.kind == value.kind));
    let has_other_subject = newer.asserted.iter().any(|term| !older.asserted.contains(term) && !is_value(newer, term));
    if has_other_subject && !extra.is_empty() && !newer.retracts && !same_kind {
        return Relation::Unrelated;
    }
    if is_narrower {
        return if extra.len() <= FEW { Relation::Contradicts(ELSEWHERE) } else { Relation::Unrelated };
    }
    if extra.is_empty() && (newer.cue == Cue::Strong || newer.is_order || older.is_order || names_another) {
        return Relation::Replaces("rejects what the older statement says");
    }
    if newer.retracts && extra.len() <= FEW + 1 || same_kind && extra.len() <= FEW {
        return Relation::Replaces("says that it no longer holds");
    }
    if extra.len() <= FEW + 1 {
        Relation::Contradicts("the negation of the older statement")
    } else {
        Relation::Unrelated
    }
}

/// The newer statement asserts what the older one rejects.
fn compare_reversal(newer: &Claim, older: &Claim) -> Relation {
    let words = family_words(older.rejected_values.iter().chain(&newer.values));
    let core: Vec<&String> = older.rejected.iter().filter(|term| !words.contains(&term.as_str())).collect();
    if core.is_empty()
        || !core.iter().all(|term| newer.asserted.contains(term))
        || core.iter().any(|term| newer.rejected.contains(term))
    {
        return Relation::Unrelated;
    }
    let extra = newer
        .asserted
        .iter()
        .filter(|term| !core.contains(term) && !older.asserted.contains(term) && !words.contains(&term.as_str()));
    match extra.count() {
        0 if newer.is_order || newer.cue == Cue::Strong => {
            Relation::Replaces("asserts what the older statement rejects")
        }
        count if count <= FEW => Relation::Contradicts(REVERSAL),
        _ => Relation::Unrelated,
    }
}

/// Both give a value, and the values differ.
fn compare_values(newer: &Claim, older: &Claim) -> Relation {
    let mut found = Relation::Unrelated;
    for value in &newer.values {
        let (Some(new), Some(old)) = (only(&newer.values, value.kind), only(&older.values, value.kind)) else {
            continue;
        };
        if new.text == old.text
            || newer.asserted.contains(&old.text)
            || older.asserted.contains(&new.text)
            || same_number(new, old)
        {
            continue;
        }
        match compare_value(newer, older, new, old) {
            replaces @ Relation::Replaces(_) => return replaces,
            Relation::Unrelated => {}
            other => found = other,
        }
    }
    if found == Relation::Unrelated { compare_purpose(newer, older) } else { found }
}

/// Both name one tool of different kinds for the same purpose: `SQLite for the local cache`,
/// `Redis for the local cache`.
fn compare_purpose(newer: &Claim, older: &Claim) -> Relation {
    let tool = |claim: &Claim| -> Option<String> {
        let mut tools = claim.values.iter().filter(|value| matches!(value.kind, Kind::Option(_) | Kind::Name));
        let first = tools.next()?.text.clone();
        (tools.next().is_none() && claim.stems.iter().any(|stem| stem == "for")).then_some(first)
    };
    let (Some(new), Some(old)) = (tool(newer), tool(older)) else { return Relation::Unrelated };
    let purpose = |claim: &Claim, tool: &String| -> Vec<String> {
        let mut terms: Vec<String> = claim.asserted.iter().filter(|term| *term != tool).cloned().collect();
        terms.sort_unstable();
        terms
    };
    let (here, there) = (purpose(newer, &new), purpose(older, &old));
    if new == old || here.len() < 2 || here != there {
        return Relation::Unrelated;
    }
    if newer.cue >= Cue::Weak {
        Relation::Replaces("names another tool for the same purpose")
    } else {
        Relation::Contradicts("names another tool for the same purpose")
    }
}

fn compare_value(newer: &Claim, older: &Claim, new: &Value, old: &Value) -> Relation {
    let family = match new.kind {
        Kind::Option(number) => Some(&FAMILIES[number]),
        _ => None,
    };
    let has = |claim: &Claim, list: &[&str]| claim.stems.iter().any(|stem| list.contains(&stem.as_str()));
    let common =
        |list: &[&str]| newer.stems.iter().any(|stem| list.contains(&stem.as_str()) && older.stems.contains(stem));
    let one_value = match new.kind {
        Kind::Option(number) => FAMILIES[number].exclusive,
        Kind::Name => has(newer, ROLES) && has(older, ROLES) || common(ATTRIBUTES),
        Kind::Code => {
            has(newer, PLACES) && has(older, PLACES) && is_place(newer, new) && is_place(older, old)
                || common(ATTRIBUTES)
        }
        Kind::Number => common(ATTRIBUTES) || listens(newer) && listens(older) || is_version(newer, older, new, old),
        Kind::Quantity(_) | Kind::Day | Kind::Word => common(ATTRIBUTES),
    };
    let words: &[&str] = family.map_or(&[], |family| family.words);
    let ignored = |term: &String| {
        words.contains(&term.as_str())
            || match new.kind {
                // "two spaces" and "tabs" differ in the option, not in the circumstances.
                Kind::Option(_) => [newer, older].iter().any(|claim| {
                    claim
                        .values
                        .iter()
                        .any(|other| other.text == **term && matches!(other.kind, Kind::Quantity("indent")))
                }),
                Kind::Name => ROLES.contains(&term.as_str()),
                Kind::Code => PLACES.contains(&term.as_str()),
                Kind::Number => matches!(term.as_str(), "port" | "listen" | "localhost" | "version"),
                _ => false,
            }
    };
    let context = |claim: &Claim, value: &Value| -> Vec<String> {
        claim.asserted.iter().filter(|term| **term != value.text && !ignored(term)).cloned().collect()
    };
    let (here, there) = (context(newer, new), context(older, old));
    let extra_new: Vec<&String> = here.iter().filter(|term| !there.contains(term)).collect();
    let extra_old: Vec<&String> = there.iter().filter(|term| !here.contains(term)).collect();
    let shares = here.iter().any(|term| there.contains(term)) || family.is_some() || one_value;
    if !shares {
        return Relation::Unrelated;
    }
    let scoped = |claim: &Claim, extra: &[&String]| extra.iter().any(|term| claim.scoped.contains(term));
    match (extra_new.len(), extra_old.len()) {
        (0, 0) if one_value => Relation::Replaces("gives another value for what has one value"),
        (0, 0) if newer.cue >= Cue::Weak => Relation::Replaces("says that the value changed"),
        // Numbers without a unit, and codes that are no places, are mostly names, such as "note 7" and `ERR_12`.
        (0, 0) if matches!(new.kind, Kind::Word | Kind::Number) => Relation::Unrelated,
        (0, 0) if new.kind == Kind::Code && !(is_predicate(newer, new) && is_predicate(older, old)) => {
            Relation::Unrelated
        }
        (0, 0) if new.kind == Kind::Name && has_digit(new) && has_digit(old) => Relation::Unrelated,
        (0, 0) => Relation::Contradicts("gives another value"),
        (0, few) if few <= FEW && newer.cue >= Cue::Weak && (one_value || family.is_some()) => {
            Relation::Replaces("says that the value changed")
        }
        (few, 0) if few <= FEW && newer.cue == Cue::Strong && one_value && !scoped(newer, &extra_new) => {
            Relation::Replaces("says that the value changed")
        }
        (0, few) | (few, 0) if few <= FEW && (one_value || newer.cue >= Cue::Weak) && new.kind != Kind::Word => {
            Relation::Contradicts(PERHAPS_ELSEWHERE)
        }
        (1, 1) if newer.cue == Cue::Strong && one_value && here.len() > 1 => {
            Relation::Contradicts("gives another value and says that something changed")
        }
        _ => Relation::Unrelated,
    }
}

/// The newer statement says that something changed, and shares nearly all words of the older one.
fn compare_change(newer: &Claim, older: &Claim, cosine: Option<f32>) -> Relation {
    if newer.cue == Cue::None {
        return Relation::Unrelated;
    }
    let shared = newer.asserted.iter().filter(|term| older.asserted.contains(term)).count();
    let (added, lost) = (newer.asserted.len() - shared, older.asserted.len() - shared);
    let least = if cosine.is_some_and(|cosine| cosine >= NEAR) { 1 } else { 2 };
    if shared < least {
        return Relation::Unrelated;
    }
    if newer.is_inverted && added <= 1 && lost <= 1 {
        return Relation::Replaces("says that it is the other way round");
    }
    let is_exchange = added > 0 && lost > 0;
    if newer.cue == Cue::Strong && is_exchange && added <= FEW && lost <= FEW && shared >= added.max(lost) {
        return Relation::Replaces("says that something changed");
    }
    if is_exchange && added <= FEW + 1 && lost <= FEW && shared >= lost {
        return Relation::Contradicts(DIFFERENT);
    }
    Relation::Unrelated
}

fn family_words<'v>(values: impl Iterator<Item = &'v Value>) -> Vec<&'static str> {
    let words = values.filter_map(|value| match value.kind {
        Kind::Option(number) => Some(FAMILIES[number].words),
        _ => None,
    });
    words.flatten().copied().collect()
}

fn is_value(claim: &Claim, term: &str) -> bool {
    claim.values.iter().any(|value| value.text == term)
}

/// The value of a kind, if there is exactly one.
fn only(values: &[Value], kind: Kind) -> Option<&Value> {
    let mut found = values.iter().filter(|value| value.kind == kind);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

fn has_digit(value: &Value) -> bool {
    value.text.contains(|letter: char| letter.is_ascii_digit())
}

/// Whether a value follows a preposition of place: in "keep `a` in the list", `a` is the thing and not its place.
fn is_place(claim: &Claim, value: &Value) -> bool {
    let places = ["in", "into", "to", "at", "under", "from", "on", "inside", "below"];
    word_before(claim, value).is_some_and(|word| places.contains(&word))
}

/// Whether a statement says what something is: "the flag is `--dry-run`".
fn is_predicate(claim: &Claim, value: &Value) -> bool {
    word_before(claim, value).is_some_and(|word| matches!(word, "is" | "are" | "be" | "was"))
}

fn word_before<'c>(claim: &'c Claim, value: &Value) -> Option<&'c str> {
    let at = claim.stems.iter().position(|stem| *stem == value.text)?;
    Some(claim.stems[at.checked_sub(1)?].as_str())
}

/// Whether a statement is about a port.
fn listens(claim: &Claim) -> bool {
    claim.stems.iter().any(|stem| matches!(stem.as_str(), "port" | "listen" | "localhost"))
}

/// Whether both numbers are versions of one thing: Python 3.11 and Python 3.12.
fn is_version(newer: &Claim, older: &Claim, new: &Value, old: &Value) -> bool {
    let before = |claim: &Claim, value: &Value| {
        let at = claim.stems.iter().position(|stem| *stem == value.text)?;
        let mut named = claim.stems[..at].iter().rev().filter(|stem| *stem != "version");
        named.next().filter(|stem| claim.asserted.contains(stem)).cloned()
    };
    let looks = |value: &Value| value.text.len() <= 8;
    looks(new)
        && looks(old)
        && before(newer, new).is_some_and(|name| before(older, old).as_ref() == Some(&name) && is_product(newer, &name))
}

fn is_product(claim: &Claim, name: &str) -> bool {
    matches!(name, "node" | "java" | "php" | "go" | "jdk" | "deno" | "swift" | "net")
        || claim.values.iter().any(|value| value.text == name && matches!(value.kind, Kind::Name | Kind::Option(_)))
}

fn same_number(new: &Value, old: &Value) -> bool {
    let number = |value: &Value| value.text.split(' ').next().and_then(|text| text.parse::<f64>().ok());
    let is_year =
        |value: &Value| value.text.len() == 4 && (value.text.starts_with("19") || value.text.starts_with("20"));
    if new.kind != Kind::Number {
        return false;
    }
    let equal = number(new).zip(number(old)).is_some_and(|(new, old)| (new - old).abs() < f64::EPSILON);
    equal || is_year(new) && is_year(old)
}

#[cfg(test)]
mod tests;
