//! Reads a statement: what it asserts, what it rejects, the values that it gives, and whether it says that something
//! changed.
//!
//! Refuses to understand grammar. A statement is a list of words with roles, found by short lists of cues.

use super::super::stop_words::is_stop_word;
use super::behaviour::{Part, changed_part, only_corrects, only_stresses, says_changed};
use super::circumstances::{is_partial, leading, named};
use super::cues::{
    ADDS, ALLOWS, CONDITIONS, ENDS_RULES, EXEMPTS, FOREIGN, HYPOTHESES, IMPERATIVE, LIMITS, MOVES, PERMITS, QUESTIONS,
    REMINDS, SCOPE, STRONG, SUBJECT_ENDS, TASKS, TENTATIVE, WEAK, WISHES,
};
use super::dimensions::state_of;
use super::kept::negated_end;
use super::options::{GENERIC, family_of};
use super::places::{Place, places_of};
use super::rejections::{
    drop_phrases, drop_reasons, mark_ends, mark_exemptions, mark_negations, mark_rejections, negates_only,
};
use super::values::{Kind, Value, date_at, value_at};
use super::words::{MOST_WORDS, Role, Word, find, stem_of, words_of};

/// A clause with fewer words, such as "we do that", is not compared on its own.
const LEAST_OF_CLAUSE: usize = 4;

/// The clarity with which a statement says that something changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cue {
    /// It does not say so.
    None,
    /// "now", "new".
    Weak,
    /// "instead", "no longer", "switched to", "actually".
    Strong,
}

/// A statement, read.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent properties of one text")]
pub(super) struct Claim {
    pub cue: Cue,
    /// Whether words such as "actually" are all by which it says that something changed.
    pub is_stressed: bool,
    /// Whether words such as "scratch that" or "actually" are all by which it says that something changed.
    pub only_corrects: bool,
    /// What changed, if a verb such as "renamed" or "moved to" is all by which it says that something changed.
    pub changed: Option<Part>,
    /// Whether it says that an earlier statement no longer holds.
    pub retracts: bool,
    /// Whether it reminds of an earlier statement: "do not forget".
    pub reminds: bool,
    /// See [`negated_end`].
    pub negated_end: Option<String>,
    /// Whether it adds to other statements: "also".
    pub adds: bool,
    /// Whether it asks, guesses, tells of the past, or holds for a while only.
    pub is_tentative: bool,
    /// Whether it is an order or a rule: "never", "do not", "always", or an imperative.
    pub is_order: bool,
    /// Whether only an imperative makes it an order, so that it may be meant for once.
    pub is_task: bool,
    /// Whether it may well be a task that is done once: "run npm install".
    pub may_be_once: bool,
    /// Whether it is an order to do or not to do something: "use X", "never use X".
    pub commands: bool,
    /// Whether it says what is wanted, rather than what is the case: an order, "we", "should".
    pub is_wish: bool,
    /// "the other way round".
    pub is_inverted: bool,
    /// "you may", "is fine".
    pub permits: bool,
    /// Whether it says in general that something is allowed or no duty: "is optional", "is not required".
    pub is_general: bool,
    /// Words by which it may hold only under a condition, for some people, or once.
    pub conditions: Vec<String>,
    /// Whether it says that something is no duty: "you do not need to", "is optional".
    pub exempts: bool,
    /// Stems of the asserted words that name subject, circumstances and value.
    pub asserted: Vec<String>,
    /// Stems of the rejected words.
    pub rejected: Vec<String>,
    /// Stems of words behind "for", "in", "when" and the like.
    pub scoped: Vec<String>,
    /// Stems of the circumstances with which it begins: "on Windows, …".
    pub circumstances: Vec<String>,
    /// See [`is_partial`].
    pub is_partial: bool,
    /// Stems of the words in front of the verb, of a statement about a thing: "the frontend team switched to npm".
    pub subject: Vec<String>,
    /// All stems, generic ones too.
    pub stems: Vec<String>,
    /// The asserted words in their order, each with its preposition.
    pub places: Vec<Place>,
    /// See [`state_of`].
    pub state: Option<String>,
    pub values: Vec<Value>,
    pub rejected_values: Vec<Value>,
}

impl Claim {
    /// Read a statement. `None` if it is too long, empty or a question.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut words = words_of(text)?;
        if words.is_empty() || words.len() > MOST_WORDS || text.trim_end().ends_with('?') {
            return None;
        }
        let circumstances = leading(&words);
        let negated_end = negated_end(&words);
        let is_negative = mark_negations(&mut words);
        let negates_only = negates_only(&words);
        let (rejects_next, rejects_before) = (mark_rejections(&mut words), mark_ends(&mut words));
        let is_general = has_phrase(&words, EXEMPTS) || has_phrase(&words, ALLOWS);
        let exempts = mark_exemptions(&mut words);
        let has = |list: &[&[&str]]| has_phrase(&words, list);
        let always =
            words.iter().any(|word| matches!(word.text.as_str(), "always" | "only" | "every" | "must" | "should"));
        let moves =
            rejects_next && words.iter().any(|word| MOVES.contains(&word.text.as_str()) && word.role == Role::Dropped);
        let cue = if says_changed(&words) || rejects_before || moves {
            Cue::Strong
        } else if has(WEAK) {
            Cue::Weak
        } else {
            Cue::None
        };
        let retracts = rejects_before
            || rejects_next && cue == Cue::Strong
            || is_negative && has(&[&["any", "more"], &["anymore"], &["any", "longer"]]);
        let first = words.iter().find(|word| {
            word.text != "please"
                && word.text != "always"
                && word.text != "never"
                && word.text != "not"
                && word.text != "do"
        });
        let is_imperative = first.is_some_and(|word| IMPERATIVE.contains(&word.text.as_str()));
        let is_rule = always || words.iter().any(|word| word.text == "never");
        let is_wish = is_imperative
            || is_rule
            || first.is_some_and(|word| ENDS_RULES.contains(&word.text.as_str()))
            || words.iter().any(|word| WISHES.contains(&word.text.as_str()))
            || has(&[&["from", "now", "on"], &["going", "forward"], &["have", "to"], &["has", "to"], &["needs", "to"]]);
        let mut claim = Self {
            cue,
            is_stressed: !rejects_before && !moves && only_stresses(&words),
            only_corrects: !rejects_before && !moves && only_corrects(&words),
            changed: changed_part(&words, moves).filter(|_| !rejects_before),
            retracts,
            reminds: words.iter().any(|word| word.text == REMINDS && word.role == Role::Dropped),
            negated_end,
            adds: has(ADDS) || negates_only,
            // "The old ledger was on MySQL" tells of the past.
            is_tentative: has(TENTATIVE)
                || QUESTIONS.contains(&words[0].text.as_str())
                || is_imperative && !is_rule && (has(&[&["here"]]) || ends_with_there(&words))
                || cue == Cue::None && has(&[&["was"], &["were"]]),
            is_order: is_rule || is_imperative,
            is_task: is_imperative && !is_rule,
            may_be_once: !is_rule && !is_negative && first.is_some_and(|word| TASKS.contains(&word.text.as_str())),
            commands: is_imperative,
            is_wish: is_wish || exempts || is_general || has(PERMITS),
            is_inverted: has(&[&["other", "way", "round"], &["other", "way", "around"], &["vice", "versa"]]),
            permits: has(PERMITS) && !is_negative,
            conditions: words
                .iter()
                .map(|word| &word.text)
                .filter(|text| CONDITIONS.contains(&text.as_str()))
                .cloned()
                .collect(),
            exempts,
            is_general,
            asserted: Vec::new(),
            rejected: Vec::new(),
            scoped: Vec::new(),
            circumstances: named(&words[..circumstances]),
            is_partial: is_partial(&words),
            subject: subject_of(&words),
            stems: words.iter().map(|word| stem_of(&word.text)).collect(),
            places: Vec::new(),
            state: None,
            values: Vec::new(),
            rejected_values: Vec::new(),
        };
        for list in STRONG.iter().copied().chain([WEAK, ADDS, if claim.permits { PERMITS } else { &[] }]) {
            drop_phrases(&mut words, list);
        }
        drop_reasons(&mut words);
        claim.places = places_of(&words);
        claim.state = state_of(&words);
        claim.collect(&words, circumstances);
        Some(claim)
    }

    /// The clauses of a text that stand alone. A clause is left out if the next one limits it: "…, only in tests". So is
    /// one behind circumstances: "on Windows, …".
    pub(super) fn read_clauses(text: &str) -> Vec<Self> {
        let parts: Vec<&str> = text.split_inclusive([',', ';', '.', ':']).collect();
        // The mark before a letter or a digit belongs to a name, a number or a path.
        let mut clauses: Vec<String> = Vec::new();
        for part in parts {
            match clauses.last_mut().filter(|_| !part.starts_with(char::is_whitespace)) {
                Some(last) => last.push_str(part),
                None => clauses.push(part.to_owned()),
            }
        }
        let limits = |clause: &String| {
            let words: Vec<String> = clause.split_whitespace().take(3).map(str::to_lowercase).collect();
            let is_one = |at: usize, list: &[&str]| words.get(at).is_some_and(|word| list.contains(&word.as_str()));
            // "This is for CI", but not "it listens on port 90".
            let is_about = is_one(1, &["applies", "counts", "goes", "holds", "is", "was"]);
            let points = is_one(0, &["it", "that", "this"]) && is_about && is_one(2, SCOPE);
            words.is_empty() || is_one(0, LIMITS) || is_one(0, SCOPE) || points
        };
        if clauses.len() < 2 || text.trim_end().ends_with('?') {
            return Vec::new();
        }
        let elsewhere = behind_circumstances(&clauses);
        let first_of = |number: usize| clauses[number].split_whitespace().next().unwrap_or_default().to_lowercase();
        // "Fix the compose file, it starts MySQL": the pronoun stands for the file. "The API no longer listens on port 80,
        // it listens on port 90" is about the API.
        let has_pronoun = |number: usize| {
            let is_pronoun = matches!(first_of(number).as_str(), "he" | "it" | "she" | "they");
            let is_same_sentence = number > 0 && !clauses[number - 1].trim_end().ends_with(['.', ';']);
            let is_about_thing = || {
                matches!(first_of(number - 1).as_str(), "a" | "an" | "my" | "our" | "the" | "this")
                    || Self::read(&clauses[number - 1]).is_some_and(|before| !before.subject.is_empty())
            };
            is_pronoun && is_same_sentence && !is_about_thing()
        };
        let stands_alone = |number: &usize| {
            !limits(&clauses[*number])
                && !has_pronoun(*number)
                && !elsewhere[*number]
                && clauses.get(number + 1).is_none_or(|next| !limits(next))
                && clauses[*number].split_whitespace().count() >= LEAST_OF_CLAUSE
        };
        let mut read: Vec<Self> =
            (0..clauses.len()).filter(stands_alone).filter_map(|number| Self::read(&clauses[number])).collect();
        for clause in &mut read {
            // "Push to main, CI is down" is a task with its reason, and no rule.
            clause.is_order &= !clause.is_task;
        }
        read
    }

    /// Whether its words say that it holds from now on. A permission without such words may be meant for once.
    pub(super) fn lasts(&self) -> bool {
        self.cue != Cue::None || self.retracts || self.is_general
    }

    /// Whether it permits one thing instead of another: "you can use X instead of Y".
    pub(super) fn permits_alternative(&self) -> bool {
        let is_alternative = |value: &Value| self.rejected_values.iter().any(|rejected| rejected.kind == value.kind);
        self.permits && self.values.iter().any(is_alternative)
    }

    /// Whether it is about another thing, or about a part of what another statement is about.
    pub(super) fn has_other_subject(&self, other: &Self) -> bool {
        self.subject.iter().any(|term| !other.stems.contains(term))
    }

    /// Whether it begins with circumstances that another statement does not name, or says that it holds in a part only.
    pub(super) fn is_elsewhere_than(&self, other: &Self) -> bool {
        self.is_partial && !other.is_partial || self.circumstances.iter().any(|stem| !other.stems.contains(stem))
    }

    /// Whether it has a condition that another statement does not have.
    pub(super) fn is_limited_against(&self, other: &Self) -> bool {
        self.conditions.iter().any(|condition| !other.conditions.contains(condition))
    }

    /// Whether it holds only if something else is so, which another statement does not ask for.
    pub(super) fn is_hypothetical_against(&self, other: &Self) -> bool {
        self.conditions.iter().any(|word| HYPOTHESES.contains(&word.as_str()) && !other.conditions.contains(word))
    }

    /// Whether the statement could replace another one at all, so that it is worth a search.
    pub(super) fn may_replace(&self) -> bool {
        !self.is_tentative
            && (self.cue != Cue::None || !self.rejected.is_empty() || !self.values.is_empty() || self.is_order)
    }

    /// `circumstances` is the number of words of the circumstances with which it begins.
    fn collect(&mut self, words: &[Word], circumstances: usize) {
        let mut scope = circumstances > 0;
        let mut at = 0;
        while at < words.len() {
            let word = &words[at];
            let pair = words.get(at + 1).map(|next| format!("{} {}", word.text, next.text));
            let two = pair.as_deref().filter(|pair| family_of(pair).is_some() && !word.ends);
            let (text, mut taken) = two.map_or((word.text.as_str(), 1), |pair| (pair, 2));
            if SCOPE.contains(&text) {
                scope = true;
            }
            let value = value_at(words, at, text);
            let (terms, values) = match word.role {
                Role::Asserted => (&mut self.asserted, &mut self.values),
                Role::Rejected => (&mut self.rejected, &mut self.rejected_values),
                Role::Dropped => {
                    at += taken;
                    continue;
                }
            };
            let kept = if let Some(value) = value {
                let term = value.text.clone();
                let unit_follows = matches!(value.kind, Kind::Quantity(_)) && value.text.contains(' ');
                if let Some((_, length)) = date_at(words, at) {
                    taken = length;
                }
                if unit_follows
                    && words
                        .get(at + 1)
                        .is_some_and(|next| value.text.ends_with(&next.text) && family_of(&next.text).is_none())
                {
                    taken = 2;
                }
                if !values.contains(&value) {
                    values.push(value);
                }
                Some(term)
            } else {
                let term = stem_of(text);
                // "C" and "R" are names, but "x" is a variable.
                let is_letter = text.chars().nth(1).is_none() && !word.is_capital;
                let says_nothing = is_stop_word(text) || GENERIC.contains(&term.as_str()) || is_letter;
                (!says_nothing).then_some(term)
            };
            if let Some(term) = kept {
                if scope && word.role == Role::Asserted {
                    self.scoped.push(term.clone());
                }
                if !terms.contains(&term) {
                    terms.push(term);
                }
            }
            if word.ends {
                scope = false;
            }
            at += taken;
        }
    }
}

/// For each clause of a text, whether the sentence begins with circumstances.
fn behind_circumstances(clauses: &[String]) -> Vec<bool> {
    let mut is_behind = false;
    let mut found = Vec::with_capacity(clauses.len());
    for (number, clause) in clauses.iter().enumerate() {
        found.push(is_behind);
        let next = clauses.get(number + 1).map_or("", String::as_str);
        is_behind |= words_of(&format!("{clause}{next}")).is_none_or(|words| leading(&words) > 0);
        is_behind &= !clause.trim_end().ends_with(['.', ';']);
    }
    found
}

/// The significant words in front of the verb. Empty if the statement begins with an order or a pronoun, or has no verb.
fn subject_of(words: &[Word]) -> Vec<String> {
    let Some(end) = words.iter().position(|word| SUBJECT_ENDS.contains(&word.text.as_str())) else { return Vec::new() };
    words[..end]
        .iter()
        .enumerate()
        .filter(|(at, word)| {
            let is_named = FOREIGN.contains(&word.text.as_str());
            let is_value = value_at(words, *at, &word.text).is_some();
            is_named || !(is_value || is_stop_word(&word.text) || GENERIC.contains(&stem_of(&word.text).as_str()))
        })
        .map(|(_, word)| stem_of(&word.text))
        .collect()
}

fn ends_with_there(words: &[Word]) -> bool {
    words.iter().enumerate().any(|(at, word)| word.text == "there" && (word.ends || at + 1 == words.len()))
}

fn has_phrase(words: &[Word], list: &[&[&str]]) -> bool {
    list.iter().any(|phrase| find(words, phrase).is_some())
}
