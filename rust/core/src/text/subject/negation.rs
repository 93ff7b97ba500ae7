//! Compares what one statement rejects with what the other one asserts.

use super::claim::{Claim, Cue};
use super::places::Place;
use super::values::{Kind, Value};
use super::{FEW, Relation, family_words, reasons};

/// Prepositions of circumstances.
const AROUND: &[&str] = &["at", "during", "for", "in", "inside", "on", "under", "while", "within"];
/// Stems of words in front of what is chosen.
const CHOOSING: &[&str] = &["use", "prefer", "is", "are", "be", "on"];

/// The newer statement rejects what the older one asserts: "not X", "instead of X", "no longer X".
pub(super) fn compare_rejection(newer: &Claim, older: &Claim) -> Relation {
    let words = family_words(newer.rejected_values.iter().chain(&older.values));
    let core: Vec<&String> = newer.rejected.iter().filter(|term| !words.contains(&term.as_str())).collect();
    if core.is_empty() {
        return Relation::Unrelated;
    }
    // "Write PostgreSQL instead of Postgres" is about the spelling.
    if core.iter().all(|term| newer.asserted.contains(term)) {
        return Relation::Unrelated;
    }
    let says = |term: &String| older.asserted.contains(term);
    if !core.iter().all(|term| says(term)) {
        let rest = || older.asserted.iter().filter(|term| !words.contains(&term.as_str()));
        let is_exception = rest().count() > 0
            && rest().all(|term| newer.rejected.contains(term))
            && newer.rejected_values.iter().all(|value| older.values.contains(value));
        return if is_exception { Relation::Contradicts(reasons::EXCEPTION) } else { Relation::Unrelated };
    }
    let extra: Vec<&String> = older
        .asserted
        .iter()
        .filter(|term| !core.contains(term) && !newer.asserted.contains(*term) && !words.contains(&term.as_str()))
        .collect();
    let is_narrower = newer.scoped.iter().any(|term| {
        let is_choice = is_value(newer, term) && !is_place(newer, term) && !is_circumstance(newer, term)
            || words.contains(&term.as_str());
        !older.asserted.contains(term) && !is_choice
    });
    let names_another = newer.asserted.iter().any(|term| !older.asserted.contains(term));
    let same_kind =
        newer.values.iter().any(|value| newer.rejected_values.iter().any(|rejected| rejected.kind == value.kind));
    let has_other_subject = newer.asserted.iter().any(|term| !older.asserted.contains(term) && !is_value(newer, term));
    if has_other_subject && !extra.is_empty() && !newer.retracts && !same_kind {
        return Relation::Unrelated;
    }
    if newer.exempts {
        // "Comments are optional" leaves "comments are written in English" as it is.
        return match extra.len() {
            0 if older.is_order && !is_narrower && !newer.is_limited_against(older) && newer.lasts() => {
                Relation::Replaces("says that it is no duty")
            }
            few if few <= FEW => Relation::Contradicts(reasons::NO_DUTY),
            _ => Relation::Unrelated,
        };
    }
    if is_narrower {
        return if extra.len() <= FEW { Relation::Contradicts(reasons::ELSEWHERE) } else { Relation::Unrelated };
    }
    // "You can use X instead of Y" leaves Y as it is.
    if newer.permits && names_another && extra.len() <= FEW {
        return Relation::Contradicts(reasons::EXCEPTION);
    }
    if extra.is_empty() && (newer.cue == Cue::Strong || newer.is_order || older.is_order || names_another) {
        return Relation::Replaces("rejects what the older statement says");
    }
    // "Run `npm test` before you commit" says more than which tool is used.
    let is_tool = newer.rejected_values.iter().any(|value| matches!(value.kind, Kind::Option(_)));
    let is_detail = same_kind && is_tool && !chooses(older, &newer.rejected_values);
    if !is_detail && (newer.retracts && extra.len() <= FEW + 1 || same_kind && extra.len() <= FEW) {
        return Relation::Replaces("says that it no longer holds");
    }
    match extra.len() {
        few if few > FEW + 1 => Relation::Unrelated,
        _ if is_detail => Relation::Contradicts(reasons::NAMED),
        _ => Relation::Contradicts("the negation of the older statement"),
    }
}

/// The newer statement asserts what the older one rejects.
pub(super) fn compare_reversal(newer: &Claim, older: &Claim) -> Relation {
    let words = family_words(older.rejected_values.iter().chain(&newer.values));
    let core: Vec<&String> = older.rejected.iter().filter(|term| !words.contains(&term.as_str())).collect();
    if core.is_empty()
        || newer.reminds
        || !core.iter().all(|term| newer.asserted.contains(term))
        || core.iter().any(|term| newer.rejected.contains(term))
    {
        return Relation::Unrelated;
    }
    let extra = newer
        .asserted
        .iter()
        .filter(|term| !core.contains(term) && !older.asserted.contains(term) && !words.contains(&term.as_str()));
    // "You can delete migrations that were never deployed" permits less than "never delete migrations" forbids.
    let rejects_more =
        newer.rejected.iter().any(|term| !older.asserted.contains(term) && !older.rejected.contains(term));
    let permits = newer.permits && !newer.is_limited_against(older) && newer.lasts();
    match extra.count() {
        0 if !rejects_more && (newer.is_order && !newer.permits || permits || newer.cue == Cue::Strong) => {
            Relation::Replaces("asserts what the older statement rejects")
        }
        count if count <= FEW => Relation::Contradicts(reasons::REVERSAL),
        _ => Relation::Unrelated,
    }
}

/// Whether a statement says that one of these values is used, rather than naming it in passing.
fn chooses(claim: &Claim, values: &[Value]) -> bool {
    claim
        .stems
        .windows(2)
        .any(|pair| CHOOSING.contains(&pair[0].as_str()) && values.iter().any(|value| value.text == pair[1]))
}

/// Whether a value is a file or a folder, in which a statement holds: "in utils.py".
fn is_place(claim: &Claim, term: &str) -> bool {
    claim.values.iter().any(|value| value.text == term && value.kind == Kind::Code && term.contains(['.', '/']))
}

/// Whether a value tells where or for what something is rejected: "Windows" in "we no longer use Docker on Windows". A
/// value of the same kind as what is rejected is chosen instead, and so is one behind "but".
fn is_circumstance(claim: &Claim, term: &str) -> bool {
    let Some(value) = claim.values.iter().find(|value| value.text == term) else { return false };
    let is_named = |place: &Place| place.text == term || place.stem == term;
    let is_around = |place: &Place| is_named(place) && AROUND.contains(&place.preposition.as_str());
    let follows_but = claim.stems.windows(3).any(|three| three[0] == "but" && three[2] == term);
    !claim.rejected_values.is_empty()
        && claim.rejected_values.iter().all(|rejected| rejected.kind != value.kind)
        && claim.places.iter().any(is_around)
        && !follows_but
}

fn is_value(claim: &Claim, term: &str) -> bool {
    claim.values.iter().any(|value| value.text == term)
}
