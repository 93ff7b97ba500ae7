//! Compares the values of two statements: another port, another tool, another owner.

use super::claim::{Claim, Cue};
use super::dimensions::{States, compare_states};
use super::options::{ATTRIBUTES, FAMILIES, Family, PLACES, ROLES};
use super::values::{Kind, Value};
use super::{FEW, Relation, reasons, slot};

/// Prepositions that each ask for something else: by whom, in what form, for whom, with what.
const QUESTIONS: &[&str] = &["by", "in", "for", "with", "from"];

/// Kinds of options of which a project may have one for each purpose.
const SHARED: &[&str] = &["broker", "chat", "issue tracker", "merging"];

/// Words in front of an amount, so that the number behind one is no year.
const COUNTED: &[&str] = &["is", "are", "be", "to", "at"];

/// Both give a value, and the values differ.
pub(super) fn compare_values(newer: &Claim, older: &Claim) -> Relation {
    let mut found = Relation::Unrelated;
    for value in &newer.values {
        let (Some(new), Some(old)) = (only(&newer.values, value.kind), only(&older.values, value.kind)) else {
            continue;
        };
        if new.text == old.text
            || newer.asserted.contains(&old.text)
            || older.asserted.contains(&new.text)
            || same_number((newer, new), (older, old))
        {
            continue;
        }
        if rejects_another(newer, old) {
            found = Relation::Contradicts(reasons::PERHAPS_ELSEWHERE);
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
    let may_both_be = |claim| is_one_of_several(claim) && newer.cue < Cue::Strong;
    if answer_other_questions((newer, new), (older, old)) || may_both_be(newer) || may_both_be(older) {
        return Relation::Unrelated;
    }
    let states =
        if new.kind == Kind::Word { compare_states(newer.state.as_deref(), older.state.as_deref()) } else { None };
    if states == Some(States::Independent) {
        return Relation::Unrelated;
    }
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
        Kind::Number => {
            common(ATTRIBUTES) || are_ports((newer, new), (older, old)) || is_version(newer, older, new, old)
        }
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
    let is_same_slot = slot::is_known(new.kind) || !slot::is_another(newer, older);
    match (extra_new.len(), extra_old.len()) {
        (0, 0) if newer.cue < Cue::Strong && family.is_some_and(|family| have_other_purposes(newer, older, family)) => {
            Relation::Contradicts(reasons::PERHAPS_ELSEWHERE)
        }
        (0, 0) if one_value => Relation::Replaces("gives another value for what has one value"),
        (0, 0) if newer.cue >= Cue::Weak && states == Some(States::Unknown) => {
            Relation::Contradicts(reasons::ANOTHER_STATE)
        }
        (0, 0) if newer.cue >= Cue::Weak && is_same_slot => Relation::Replaces("says that the value changed"),
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
            Relation::Contradicts(reasons::PERHAPS_ELSEWHERE)
        }
        (1, 1) if newer.cue == Cue::Strong && one_value && here.len() > 1 => {
            Relation::Contradicts("gives another value and says that something changed")
        }
        _ => Relation::Unrelated,
    }
}

/// Whether two statements give options of a kind for different purposes: "Slack for the team", "Discord for
/// announcements".
fn have_other_purposes(newer: &Claim, older: &Claim, family: &Family) -> bool {
    let purposes = |claim: &Claim| -> Vec<String> {
        claim.stems.iter().filter(|stem| family.words.contains(&stem.as_str())).cloned().collect()
    };
    let (new, old) = (purposes(newer), purposes(older));
    let differ = !new.is_empty() && !old.is_empty() && !new.iter().any(|stem| old.contains(stem));
    SHARED.contains(&family.name) && differ
}

/// Whether a statement gives one value of several: "Python 3.12 is supported", but not "only Python 3.12 is supported".
fn is_one_of_several(claim: &Claim) -> bool {
    let says = |list: &[&str]| claim.stems.iter().any(|stem| list.contains(&stem.as_str()));
    says(&["support", "compat"]) && !says(&["onli", "min", "minimum", "max", "maximum", "oldest", "lowest", "least"])
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

/// Whether two names follow different prepositions: "written by Anika" and "written in Markdown" are both true.
fn answer_other_questions(newer: (&Claim, &Value), older: (&Claim, &Value)) -> bool {
    let preposition = |(claim, value): (&Claim, &Value)| -> Option<String> {
        let is_name = matches!(value.kind, Kind::Name | Kind::Word);
        let found = word_before(claim, value).filter(|word| is_name && QUESTIONS.contains(word));
        found.map(str::to_owned)
    };
    preposition(newer).zip(preposition(older)).is_some_and(|(new, old)| new != old)
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

/// Whether both numbers are ports, and at least one statement says so: "on port 8080" and "on 8090".
fn are_ports(newer: (&Claim, &Value), older: (&Claim, &Value)) -> bool {
    let looks_like_port = |(claim, value): (&Claim, &Value)| {
        let is_number = value.text.len() >= 4 && value.text.parse::<u16>().is_ok();
        is_number && matches!(word_before(claim, value), Some("on" | "at" | "to"))
    };
    let is_port = |one: (&Claim, &Value)| listens(one.0) || looks_like_port(one);
    (listens(newer.0) || listens(older.0)) && is_port(newer) && is_port(older)
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

/// Whether a statement says which amount or day it changes, and that is not the one of the older statement: "8 instead of
/// 5" where the older one says 1.
fn rejects_another(newer: &Claim, old: &Value) -> bool {
    let number = |value: &Value| value.text.split(' ').next().map(str::to_owned); // without its unit
    let mut rejected = newer.rejected_values.iter().filter(|value| value.kind == old.kind).peekable();
    matches!(old.kind, Kind::Number | Kind::Quantity(_) | Kind::Day)
        && rejected.peek().is_some()
        && rejected.all(|value| value.text != old.text && number(value) != number(old))
}

/// Whether both values are one number, or years, which tell when and not how much.
fn same_number((newer, new): (&Claim, &Value), (older, old): (&Claim, &Value)) -> bool {
    if new.kind != Kind::Number {
        return false;
    }
    let number = |value: &Value| value.text.split(' ').next().and_then(|text| text.parse::<f64>().ok());
    let equal = number(new).zip(number(old)).is_some_and(|(new, old)| (new - old).abs() < f64::EPSILON);
    equal && !is_version(newer, older, new, old) || is_year(newer, new) && is_year(older, old)
}

/// Whether a number is a year: 2024 in "grew in 2024", but not in "the limit is 2000".
fn is_year(claim: &Claim, value: &Value) -> bool {
    let looks = value.text.len() == 4 && (value.text.starts_with("19") || value.text.starts_with("20"));
    let is_amount = word_before(claim, value).is_some_and(|word| COUNTED.contains(&word)) || listens(claim);
    looks && !is_amount
}
