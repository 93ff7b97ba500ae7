//! Compares two statements of which the newer one says that something changed.

use super::claim::{Claim, Cue};
use super::dimensions::{States, compare_states};
use super::values::Kind;
use super::{FEW, Relation, reasons, slot};

/// From this cosine on, fewer common words suffice.
const NEAR: f32 = 0.6;

/// The newer statement says that something changed, and shares nearly all words of the older one.
pub(super) fn compare_change(newer: &Claim, older: &Claim, cosine: Option<f32>) -> Relation {
    // "5433 instead of 5432" explains that the port is 5433.
    let mut values = older.values.iter().filter(|value| value.kind != Kind::Word).peekable();
    let gives_the_same = !newer.rejected_values.is_empty()
        && values.peek().is_some()
        && values.all(|value| newer.values.contains(value));
    if newer.cue == Cue::None || gives_the_same {
        return Relation::Unrelated;
    }
    let shared = newer.asserted.iter().filter(|term| older.asserted.contains(term)).count();
    let (added, lost) = (newer.asserted.len() - shared, older.asserted.len() - shared);
    let states = compare_states(newer.state.as_deref(), older.state.as_deref());
    if states == Some(States::Independent) {
        return Relation::Unrelated;
    }
    let are_alternative = states == Some(States::Alternative);
    let least = if are_alternative || cosine.is_some_and(|cosine| cosine >= NEAR) { 1 } else { 2 };
    if shared < least {
        return Relation::Unrelated;
    }
    if newer.is_inverted && added <= 1 && lost <= 1 {
        return Relation::Replaces("says that it is the other way round");
    }
    let is_exchange = added > 0 && lost > 0;
    if !are_alternative && slot::is_another(newer, older) {
        return Relation::Unrelated;
    }
    let is_open = newer.only_corrects && !slot::answer_one_question(newer, older) || rejects_another(newer, older);
    let is_sure = newer.cue == Cue::Strong && !is_open;
    if is_sure && is_exchange && added <= FEW && lost <= FEW && shared >= added.max(lost) {
        return match states {
            Some(States::Unknown) => Relation::Contradicts(reasons::ANOTHER_STATE),
            _ => Relation::Replaces("says that something changed"),
        };
    }
    if is_exchange && added <= FEW + 1 && lost <= FEW && shared >= lost {
        return Relation::Contradicts(reasons::DIFFERENT);
    }
    Relation::Unrelated
}

/// Whether a statement names what it ends, and the older one does not say that: "dropped support for CSV".
fn rejects_another(newer: &Claim, older: &Claim) -> bool {
    !newer.rejected.is_empty() && !newer.is_inverted && !newer.rejected.iter().any(|stem| older.stems.contains(stem))
}
