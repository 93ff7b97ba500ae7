//! Marks the words that a statement rejects: behind "not" and "instead of", and before "is gone".

use super::behaviour::forgets;
use super::cues::{
    CALLED_OFF, CHANGES, DUTIES, EXEMPTS, MOVES, NEGLECTS, REASON, REJECT_BEFORE, REJECT_NEXT, REMINDS, SCOPE,
};
use super::words::{Role, Word, find};

/// Words whose negation adds to a statement.
const ALONE: &[&str] = &["exclusively", "just", "merely", "only", "solely"];
/// Words that a rejection such as "instead of X" covers.
const REJECTED_WORDS: usize = 5;

pub(super) fn drop_phrases(words: &mut [Word], phrases: &[&[&str]]) {
    for phrase in phrases {
        if let Some(at) = find(words, phrase) {
            for word in &mut words[at..at + phrase.len()] {
                word.role = Role::Dropped;
            }
        }
    }
}

pub(super) fn drop_reasons(words: &mut [Word]) {
    let mut drops = false;
    for word in words {
        drops |= REASON.contains(&word.text.as_str());
        if drops {
            word.role = Role::Dropped;
        }
        if word.stops {
            drops = false;
        }
    }
}

/// Reject the words after "not", "never", and "no longer need to"; whether there are any.
pub(super) fn mark_negations(words: &mut [Word]) -> bool {
    let mut found = false;
    let mut at = 0;
    while at < words.len() {
        let text = words[at].text.as_str();
        let is_bare = text == "no" && words.get(at + 1).is_some_and(|next| next.text != "longer") && !words[at].ends;
        let is_ended_duty = begins_with(&words[at..], &["no", "longer"])
            && DUTIES.iter().any(|duty| begins_with(&words[at + 2..], duty));
        if !(text == "not" || text == "never" || is_bare || is_ended_duty) {
            at += 1;
            continue;
        }
        if let Some(verb) = reminds(words, at) {
            // "Do not forget X" wants X.
            for word in &mut words[at..=verb] {
                word.role = Role::Dropped;
            }
            REMINDS.clone_into(&mut words[verb].text);
            at = verb + 1;
            continue;
        }
        found = true;
        let of_verb = text == "never"
            || is_ended_duty
            || at == 0
            || matches!(
                words[at - 1].text.as_str(),
                "do" | "does"
                    | "did"
                    | "is"
                    | "are"
                    | "was"
                    | "should"
                    | "must"
                    | "can"
                    | "will"
                    | "may"
                    | "has"
                    | "have"
                    | "i"
                    | "we"
                    | "they"
            );
        let ended_before = at > 0 && words[at - 1].ends;
        let mut end = at + if is_ended_duty { 2 } else { 1 };
        let mut ended = words[at].ends;
        for word in &mut words[at..end] {
            word.role = Role::Dropped;
        }
        while end < words.len() && !ended {
            let word = &words[end];
            let breaks =
                matches!(word.text.as_str(), "but" | "instead" | "rather") || REASON.contains(&word.text.as_str());
            let contrast = !of_verb && !ended_before && SCOPE.contains(&word.text.as_str());
            if breaks || contrast || (!of_verb && end - at > REJECTED_WORDS) {
                break;
            }
            words[end].role = Role::Rejected;
            ended = words[end].ends;
            end += 1;
        }
        at = end.max(at + 1);
    }
    found
}

/// Whether a statement says that something is not all: "do not only run the unit tests". It is read behind
/// [`mark_negations`].
pub(super) fn negates_only(words: &[Word]) -> bool {
    let is_rejected = |word: &Word| word.role == Role::Rejected && ALONE.contains(&word.text.as_str());
    words.iter().any(is_rejected) || ALONE.iter().any(|alone| find(words, &["no", "longer", alone]).is_some())
}

/// The place of the verb if the negation at a place negates a neglect: "do not forget", "never ever skip".
fn reminds(words: &[Word], at: usize) -> Option<usize> {
    let verb = at + 1 + usize::from(words.get(at + 1).is_some_and(|word| word.text == "ever"));
    let is_neglect = words.get(verb).is_some_and(|word| NEGLECTS.contains(&word.text.as_str()));
    (is_neglect && !words[at..verb].iter().any(|word| word.ends)).then_some(verb)
}

fn begins_with(words: &[Word], phrase: &[&str]) -> bool {
    words.len() >= phrase.len() && words.iter().zip(phrase).all(|(word, wanted)| word.text == *wanted)
}

/// Reject the words after "instead of" and the like; whether there are any.
pub(super) fn mark_rejections(words: &mut [Word]) -> bool {
    let mut found = false;
    for phrase in REJECT_NEXT {
        let Some(at) = find(words, phrase) else { continue };
        let passive = at > 0 && matches!(words[at - 1].text.as_str(), "was" | "were" | "been" | "is" | "are");
        if passive && matches!(phrase[0], "replaced" | "dropped" | "ditched")
            || phrase[0] == "forget" && forgets(words, at)
        {
            continue;
        }
        let is_comparison = matches!(phrase, ["instead", "of"] | ["rather", "than"]);
        if is_comparison && at > 0 && words[at - 1].role == Role::Rejected && !words[at - 1].ends {
            continue; // "do not use X instead of Y" wants Y
        }
        let start = at + phrase.len();
        let mut ended = words[start - 1].ends;
        let mut end = start;
        while end < words.len() && !ended && end - start < REJECTED_WORDS {
            let text = words[end].text.as_str();
            let is_scope = SCOPE.contains(&text) && phrase[0] != "forget";
            if is_scope || text == "and" || text == "but" || text == "->" || REASON.contains(&text) {
                break;
            }
            words[end].role = Role::Rejected;
            ended = words[end].ends;
            end += 1;
        }
        found |= end > start;
    }
    // "moved X from A to B"
    if let Some(moved) = words.iter().position(|word| MOVES.contains(&word.text.as_str()))
        && let Some(from) = words[moved..].iter().position(|word| word.text == "from").map(|from| moved + from)
        && let Some(to) =
            words[from..].iter().take(REJECTED_WORDS + 1).position(|word| word.text == "to").map(|to| from + to)
    {
        words[moved].role = Role::Dropped;
        for word in &mut words[from..to] {
            word.role = Role::Rejected;
        }
        found |= to > from + 1;
    }
    // "prefer X over Y"
    if let Some(prefer) =
        words.iter().position(|word| matches!(word.text.as_str(), "prefer" | "favour" | "favor" | "preferred"))
        && let Some(over) = words[prefer..].iter().position(|word| word.text == "over")
    {
        words[prefer + over].role = Role::Dropped;
        for word in words[prefer + over + 1..].iter_mut().take(2) {
            word.role = Role::Rejected;
            if word.ends {
                break;
            }
        }
        found = true;
    }
    found
}

/// Reject the words before "is gone" and the like; whether there are any.
pub(super) fn mark_ends(words: &mut [Word]) -> bool {
    reject_before(words, REJECT_BEFORE) || mark_called_off(words)
}

/// Reject the new thing of "the move to X for Y is cancelled". "The move from X" and "the idea to drop X" would confirm X.
fn mark_called_off(words: &mut [Word]) -> bool {
    let change = words.windows(2).position(|pair| CHANGES.contains(&pair[0].text.as_str()) && pair[1].text == "to");
    let Some(change) = change.filter(|_| !words.iter().any(|word| matches!(word.text.as_str(), "from" | "away")))
    else {
        return false;
    };
    let is_marked = reject_before(words, CALLED_OFF);
    if is_marked {
        words[change].role = Role::Dropped;
    }
    is_marked
}

/// Reject a duty that no longer holds: behind "you do not need to", and before "is optional"; whether there is one.
pub(super) fn mark_exemptions(words: &mut [Word]) -> bool {
    let mut found = reject_before(words, EXEMPTS);
    for phrase in DUTIES {
        let Some(at) = find(words, phrase) else { continue };
        if words[at].role == Role::Rejected {
            for word in &mut words[at..at + phrase.len()] {
                word.role = Role::Dropped;
            }
            found = true;
        }
    }
    found
}

fn is_after_end(text: &str) -> bool {
    SCOPE.contains(&text) || REASON.contains(&text) || matches!(text, "and" | "as" | "now" | "since")
}

fn reject_before(words: &mut [Word], phrases: &[&[&str]]) -> bool {
    for phrase in phrases {
        let Some(at) = find(words, phrase) else { continue };
        let start = words[..at].iter().rposition(|word| word.ends).map_or(0, |end| end + 1);
        // "The job is dead slow" and "the view is history based" end nothing.
        let last = at + phrase.len() - 1;
        let is_end = words[last].ends || words.get(last + 1).is_none_or(|next| is_after_end(&next.text));
        if start == at || matches!(phrase[last - at], "dead" | "history") && !is_end {
            continue;
        }
        for word in &mut words[start..at] {
            word.role = Role::Rejected;
        }
        for word in &mut words[at..at + phrase.len()] {
            word.role = Role::Dropped;
        }
        return true;
    }
    false
}
