//! Reads a statement: what it asserts, what it rejects, the values that it gives, and whether it says that something
//! changed.
//!
//! Refuses to understand grammar. A statement is a list of words with roles, found by short lists of cues.

use super::super::spelling::plain_characters;
use super::super::statement::is_label;
use super::super::stop_words::is_stop_word;
use super::super::terms::stem;
use super::options::{DAYS, FAMILIES, GENERIC, canonical, family_of};

/// A longer text makes several statements, so no single subject can be found in it.
const MOST_WORDS: usize = 60;
/// A shorter part of a sentence says nothing alone.
const LEAST_OF_CLAUSE: usize = 4;
/// A clause that begins with one of these limits the one before it.
const LIMITS: &[&str] = &[
    "not", "never", "only", "but", "and", "or", "except", "unless", "instead", "also", "too", "no", "rather", "even",
    "then", "which", "who", "that",
];
/// Words that a rejection such as "instead of X" covers.
const REJECTED_WORDS: usize = 5;

/// How clearly a statement says that something changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cue {
    /// It does not say so.
    None,
    /// "now", "new".
    Weak,
    /// "instead", "no longer", "switched to", "actually".
    Strong,
}

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An option of a family, by its number.
    Option(usize),
    /// A number without a unit.
    Number,
    /// A number with a unit, by the dimension of the unit.
    Quantity(&'static str),
    /// A day, a month or a date.
    Day,
    /// A path, a flag or another identifier.
    Code,
    /// A proper name.
    Name,
    /// A word after "is", "to" or "=", for example an unknown tool.
    Word,
}

/// A value that a statement gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value {
    pub kind: Kind,
    pub text: String,
}

/// A statement, read.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent properties of one text")]
pub(super) struct Claim {
    pub cue: Cue,
    /// Whether it says that an earlier statement no longer holds.
    pub retracts: bool,
    /// Whether it adds to other statements: "also".
    pub adds: bool,
    /// Whether it asks, guesses, or holds for a while only.
    pub is_tentative: bool,
    /// Whether it is an order or a rule: "never", "do not", "always", or an imperative.
    pub is_order: bool,
    /// "the other way round".
    pub is_inverted: bool,
    /// Stems of the asserted words that name subject, circumstances and value.
    pub asserted: Vec<String>,
    /// Stems of the rejected words.
    pub rejected: Vec<String>,
    /// Stems of words behind "for", "in", "when" and the like.
    pub scoped: Vec<String>,
    /// All stems, generic ones too.
    pub stems: Vec<String>,
    pub values: Vec<Value>,
    pub rejected_values: Vec<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Asserted,
    Rejected,
    Dropped,
}

#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent properties of one text")]
struct Word {
    /// In lower case, without punctuation around it.
    text: String,
    is_capital: bool,
    is_code: bool,
    /// Whether a comma or a full stop follows.
    ends: bool,
    /// Whether the sentence ends here.
    stops: bool,
    role: Role,
}

const STRONG: &[&[&str]] = &[
    &["instead"],
    &["actually"],
    &["no", "longer"],
    &["any", "more"],
    &["anymore"],
    &["any", "longer"],
    &["from", "now", "on"],
    &["switched"],
    &["switch", "to"],
    &["switching", "to"],
    &["migrated"],
    &["moved", "to"],
    &["moved", "from"],
    &["moving", "to"],
    &["has", "moved"],
    &["have", "moved"],
    &["have", "changed"],
    &["has", "changed"],
    &["changed", "to"],
    &["changed", "from"],
    &["was", "changed"],
    &["were", "changed"],
    &["we", "changed"],
    &["is", "wrong"],
    &["was", "wrong"],
    &["not", "right"],
    &["correction"],
    &["changed", "my", "mind"],
    &["changed", "our", "mind"],
    &["scratch", "that"],
    &["forget"],
    &["replaced"],
    &["replaces"],
    &["replace"],
    &["took", "over"],
    &["takes", "over"],
    &["going", "forward"],
    &["other", "way", "round"],
    &["other", "way", "around"],
    &["vice", "versa"],
    &["reverted", "to"],
    &["back", "to"],
    &["dropped"],
    &["ditched"],
    &["bumped", "to"],
    &["upgraded", "to"],
    &["raised", "to"],
    &["lowered", "to"],
    &["renamed"],
    &["postponed"],
    &["pushed", "back"],
    &["went", "with"],
    &["gone"],
    &["retired"],
    &["deprecated"],
    &["turns", "out"],
];
const WEAK: &[&[&str]] = &[
    &["now"],
    &["new"],
    &["currently"],
    &["these", "days"],
    &["nowadays"],
    &["already"],
    &["as", "of"],
    &["after", "all"],
];
/// The words after one of these are rejected.
const REJECT_NEXT: &[&[&str]] = &[
    &["instead", "of"],
    &["rather", "than"],
    &["in", "place", "of"],
    &["no", "longer"],
    &["stop", "using"],
    &["stopped", "using"],
    &["forget", "about"],
    &["forget"],
    &["dropped"],
    &["ditched"],
    &["got", "rid", "of"],
    &["get", "rid", "of"],
    &["away", "from"],
    &["switched", "from"],
    &["moved", "from"],
    &["migrated", "from"],
    &["changed", "from"],
    &["avoid"],
    &["replaces"],
    &["replaced"],
    &["replace"],
    &["took", "over", "from"],
    &["takes", "over", "from"],
    &["renamed", "from"],
];
/// The words before one of these are rejected.
const REJECT_BEFORE: &[&[&str]] = &[
    &["is", "gone"],
    &["are", "gone"],
    &["is", "retired"],
    &["is", "deprecated"],
    &["is", "dead"],
    &["was", "removed"],
    &["were", "removed"],
    &["has", "been", "removed"],
    &["have", "been", "removed"],
    &["was", "shut", "down"],
    &["has", "been", "shut", "down"],
    &["was", "dropped"],
    &["is", "not", "used"],
    &["was", "retired"],
    &["no", "longer", "exists"],
    &["no", "longer", "exist"],
    &["was", "replaced", "by"],
    &["has", "been", "replaced", "by"],
    &["is", "replaced", "by"],
    &["were", "replaced", "by"],
    &["was", "deleted"],
    &["no", "longer", "applies"],
    &["no", "longer", "needed"],
    &["is", "history"],
];
const ADDS: &[&[&str]] = &[
    &["also"],
    &["too"],
    &["additionally"],
    &["as", "well"],
    &["both"],
    &["besides"],
    &["another"],
    &["second"],
    &["in", "addition"],
    &["plus"],
    &["and", "also"],
];
const TENTATIVE: &[&[&str]] = &[
    &["maybe"],
    &["perhaps"],
    &["might"],
    &["could"],
    &["what", "if"],
    &["considering"],
    &["would"],
    &["for", "now"],
    &["temporarily"],
    &["today"],
    &["this", "week"],
    &["until"],
    &["for", "the", "moment"],
    &["this", "time"],
    &["just", "once"],
    &["probably"],
    &["wondering"],
    &["i", "think"],
    &["try"],
    &["tried"],
    &["trying"],
    &["if", "we"],
    &["for", "this", "pr"],
    &["for", "this", "branch"],
    &["experiment"],
    &["used", "to"],
];
/// A place or a value follows that is left: "moved the docs from A to B".
const MOVES: &[&str] =
    &["moved", "move", "moving", "switched", "migrated", "changed", "went", "renamed", "raised", "lowered", "ported"];
/// A reason or a detail follows; it belongs to no subject.
const REASON: &[&str] = &["because", "otherwise", "which", "so", "due", "where", "whereas", "though", "although"];
/// Circumstances follow.
const SCOPE: &[&str] = &[
    "for", "in", "on", "at", "when", "while", "during", "under", "within", "inside", "before", "after", "if", "unless",
    "except", "until", "with", "of", "from", "to", "into", "by", "per",
];
/// Verbs that begin an order.
const IMPERATIVE: &[&str] = &[
    "use", "run", "squash", "rebase", "merge", "commit", "deploy", "write", "add", "keep", "put", "push", "call",
    "test", "format", "lint", "indent", "name", "prefer", "store", "build", "install", "log", "ask", "review",
    "document", "import", "export", "wrap", "return", "throw", "catch", "mock", "prefix", "sort", "split", "tag",
    "release", "open", "close", "start", "stop", "check", "update", "bump", "cache", "validate", "handle", "avoid",
    "create", "make", "delete", "edit", "touch", "enable", "disable",
];
/// Verbs in front of a negation's object, which name no subject.
const COPULA: &[&str] = &[
    "is", "are", "=", "to", "was", "be", "becomes", "equals", "at", "on", "into", "with", "by", "use", "using", "uses",
    "via", "called",
];

impl Claim {
    /// Read a statement. `None` if it is too long, empty or a question.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut words = words_of(text)?;
        if words.is_empty() || words.len() > MOST_WORDS || text.trim_end().ends_with('?') {
            return None;
        }
        let is_negative = mark_negations(&mut words);
        let (rejects_next, rejects_before) = (mark_rejections(&mut words), mark_ends(&mut words));
        let has = |list: &[&[&str]]| list.iter().any(|phrase| find(&words, phrase).is_some());
        let always =
            words.iter().any(|word| matches!(word.text.as_str(), "always" | "only" | "every" | "must" | "should"));
        let moves =
            rejects_next && words.iter().any(|word| MOVES.contains(&word.text.as_str()) && word.role == Role::Dropped);
        let cue = if has(STRONG) || rejects_before || moves {
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
        let mut claim = Self {
            cue,
            retracts,
            adds: has(ADDS),
            is_tentative: has(TENTATIVE),
            is_order: always || is_imperative || words.iter().any(|word| word.text == "never"),
            is_inverted: has(&[&["other", "way", "round"], &["other", "way", "around"], &["vice", "versa"]]),
            asserted: Vec::new(),
            rejected: Vec::new(),
            scoped: Vec::new(),
            stems: words.iter().map(|word| stem(word.text.clone())).collect(),
            values: Vec::new(),
            rejected_values: Vec::new(),
        };
        for list in [STRONG, WEAK, ADDS] {
            drop_phrases(&mut words, list);
        }
        drop_reasons(&mut words);
        claim.collect(&words);
        Some(claim)
    }

    /// The clauses of a text that stand alone. A clause is left out if the next one limits it: "…, only in tests".
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
            clause.split_whitespace().next().is_none_or(|word| {
                LIMITS.contains(&word.to_lowercase().as_str()) || SCOPE.contains(&word.to_lowercase().as_str())
            })
        };
        if clauses.len() < 2 || text.trim_end().ends_with('?') {
            return Vec::new();
        }
        let stands_alone = |number: &usize| {
            !limits(&clauses[*number])
                && clauses.get(number + 1).is_none_or(|next| !limits(next))
                && clauses[*number].split_whitespace().count() >= LEAST_OF_CLAUSE
        };
        (0..clauses.len()).filter(stands_alone).filter_map(|number| Self::read(&clauses[number])).collect()
    }

    /// Whether the statement could replace another one at all, so that it is worth a search.
    pub(super) fn may_replace(&self) -> bool {
        !self.is_tentative
            && (self.cue != Cue::None || !self.rejected.is_empty() || !self.values.is_empty() || self.is_order)
    }

    fn collect(&mut self, words: &[Word]) {
        let mut scope = false;
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
                let term = stem(text.to_owned());
                let says_nothing =
                    is_stop_word(text) || GENERIC.contains(&term.as_str()) || text.chars().nth(1).is_none();
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

/// Splits a text into words. Contractions of "not" become two words.
fn words_of(text: &str) -> Option<Vec<Word>> {
    let plain = plain_characters(text);
    let mut words: Vec<Word> = Vec::new();
    for (number, token) in plain.split_whitespace().enumerate() {
        if number > MOST_WORDS {
            return None;
        }
        if matches!(token, "-" | "*" | "–" | "—" | ";" | "," | ".") {
            if let Some(last) = words.last_mut() {
                last.ends = true;
            }
            continue;
        }
        let is_code = token.contains('`')
            || token.trim_end_matches(['.', ',', ':', ';']).contains(['/', '_', '.', '\\', '@', '('])
            || token.starts_with("--")
            || token.starts_with('.');
        let bare = token.trim_matches(|c: char| "\"'()[]{}*,;:?!«»…`".contains(c)).trim_end_matches('.');
        let bare = bare.trim_matches(|c: char| "`\"'".contains(c));
        let stops = token.trim_end_matches(['"', '\'', ')']).ends_with(['.', '!', ';']);
        let ends = stops || token.ends_with([',', ':']);
        for part in bare.split(['=']).flat_map(split_port) {
            let lower = part.to_lowercase();
            let is_capital = part.starts_with(char::is_uppercase);
            let one = |text: &str| Word {
                text: text.to_owned(),
                is_capital,
                is_code,
                ends: false,
                stops: false,
                role: Role::Asserted,
            };
            if let Some(verb) = lower.strip_suffix("n't") {
                let verb = match verb {
                    "ca" => "can",
                    "wo" => "will",
                    other => other,
                };
                words.extend([one(verb), one("not")]);
            } else if lower == "cannot" {
                words.extend([one("can"), one("not")]);
            } else if let Some((word, end)) =
                lower.split_once('\'').filter(|(_, end)| matches!(*end, "s" | "re" | "ve" | "ll" | "m" | "d"))
            {
                words.push(one(word));
                if matches!(word, "that" | "it" | "there" | "what" | "here") && end == "s" {
                    words.push(one("is"));
                }
            } else if !lower.is_empty() {
                words.push(one(&lower));
            }
        }
        if let Some(last) = words.last_mut() {
            last.ends |= ends;
            last.stops |= stops;
        }
    }
    Some(words)
}

/// Splits `localhost:8080` and `port:8080` before the number.
fn split_port(part: &str) -> Vec<&str> {
    match part.rsplit_once(':') {
        Some((before, number)) if number.len() >= 2 && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            if before.is_empty() { vec!["port", number] } else { vec![before, number] }
        }
        _ => vec![part],
    }
}

/// The place of a phrase.
fn find(words: &[Word], phrase: &[&str]) -> Option<usize> {
    words.windows(phrase.len()).position(|window| window.iter().zip(phrase).all(|(word, wanted)| word.text == *wanted))
}

fn drop_phrases(words: &mut [Word], phrases: &[&[&str]]) {
    for phrase in phrases {
        if let Some(at) = find(words, phrase) {
            for word in &mut words[at..at + phrase.len()] {
                word.role = Role::Dropped;
            }
        }
    }
}

fn drop_reasons(words: &mut [Word]) {
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

/// Reject the words after "not" and "never"; whether there are any.
fn mark_negations(words: &mut [Word]) -> bool {
    let mut found = false;
    let mut at = 0;
    while at < words.len() {
        let text = words[at].text.as_str();
        let is_bare = text == "no" && words.get(at + 1).is_some_and(|next| next.text != "longer") && !words[at].ends;
        if !(text == "not" || text == "never" || is_bare) {
            at += 1;
            continue;
        }
        found = true;
        words[at].role = Role::Dropped;
        let of_verb = text == "never"
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
        let mut end = at + 1;
        let mut ended = words[at].ends;
        while end < words.len() && !ended {
            let word = &words[end];
            let breaks = word.text == "but" || REASON.contains(&word.text.as_str()) || word.text == "instead";
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

/// Reject the words after "instead of" and the like; whether there are any.
fn mark_rejections(words: &mut [Word]) -> bool {
    let mut found = false;
    for phrase in REJECT_NEXT {
        let Some(at) = find(words, phrase) else { continue };
        let passive = at > 0 && matches!(words[at - 1].text.as_str(), "was" | "were" | "been" | "is" | "are");
        if passive && matches!(phrase[0], "replaced" | "dropped" | "ditched") {
            continue;
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
fn mark_ends(words: &mut [Word]) -> bool {
    for phrase in REJECT_BEFORE {
        let Some(at) = find(words, phrase) else { continue };
        let start = words[..at].iter().rposition(|word| word.ends).map_or(0, |end| end + 1);
        if start == at {
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

/// The value that a word is.
fn value_at(words: &[Word], at: usize, text: &str) -> Option<Value> {
    let word = &words[at];
    let before = at.checked_sub(1).map_or("", |before| words[before].text.as_str());
    let value = |kind, text: &str| Some(Value { kind, text: text.to_owned() });
    if let Some(number) = family_of(text) {
        let is_branch = matches!(text, "main" | "master" | "develop" | "trunk" | "dev");
        let after = words.get(at + 1).map_or("", |next| next.text.as_str());
        let named = after == "branch"
            || before == "branch"
            || matches!(before, "from" | "to" | "into" | "off" | "onto" | "against" | "on" | "is" | "called");
        let is_attribute = FAMILIES[number].options.len() > 1
            && (!is_branch || (named && !matches!(after, "screen" | "server" | "container" | "mode" | "database")));
        return if is_attribute { value(Kind::Option(number), canonical(text)) } else { None };
    }
    if let Some((day, _)) = date_at(words, at) {
        return Some(Value { kind: Kind::Day, text: day });
    }
    if DAYS.contains(&text) || is_date(text) {
        return value(Kind::Day, text.strip_suffix('s').filter(|day| day.ends_with("day")).unwrap_or(text));
    }
    if is_label(before) && !(before == "node" && text.len() == 2) {
        return None; // issue 12 and step 3 are names, but Node 20 is a version
    }
    if let Some(number) = number_word(text)
        && !word.ends
        && let Some(next) = words.get(at + 1)
    {
        return match dimension(&next.text) {
            Some(dimension) => Some(Value { kind: Kind::Quantity(dimension), text: format!("{number} {}", next.text) }),
            None => value(Kind::Number, number),
        };
    }
    let digits = text.trim_start_matches(['v', '~', '<', '>', '=', '$', '€', '-']);
    if digits.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || ".,_%-x~<>=$€+".contains(c))
    {
        let end = digits.find(|c: char| !(c.is_ascii_digit() || ".,_".contains(c))).unwrap_or(digits.len());
        let (number, suffix) = digits.split_at(end);
        let number = number.replace([',', '_'], "");
        let next = words.get(at + 1).map_or("", |next| next.text.as_str());
        let unit = if suffix.is_empty() { next } else { suffix };
        return match dimension(unit) {
            Some(dimension) => Some(Value { kind: Kind::Quantity(dimension), text: format!("{number} {unit}") }),
            None => value(Kind::Number, if suffix.is_empty() { &number } else { text }),
        };
    }
    if word.is_code && text.len() >= 2 {
        return value(Kind::Code, text);
    }
    if word.is_capital
        && text.chars().count() >= 2
        && !is_stop_word(text)
        && !GENERIC.contains(&stem(text.to_owned()).as_str())
    {
        let starts = at == 0 || words[at - 1].stops;
        let owns = words.get(at + 1).is_some_and(|next| {
            matches!(
                next.text.as_str(),
                "owns"
                    | "own"
                    | "maintains"
                    | "leads"
                    | "is"
                    | "reviews"
                    | "handles"
                    | "manages"
                    | "approves"
                    | "took"
                    | "takes"
            )
        });
        if !starts || (owns && !word.is_code) {
            return value(Kind::Name, text);
        }
    }
    let is_word = COPULA.contains(&before)
        && !is_stop_word(text)
        && !text.ends_with("ed")
        && !GENERIC.contains(&stem(text.to_owned()).as_str());
    if is_word { value(Kind::Word, &stem(text.to_owned())) } else { None }
}

/// A date of several words, for example "15 March", "March 15" or "Friday the 12th", and the number of its words.
fn date_at(words: &[Word], at: usize) -> Option<(String, usize)> {
    let text = |number: usize| words.get(at + number).map_or("", |word| word.text.as_str());
    let is_number = |text: &str| {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        (1..=2).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && matches!(&text[digits.len()..], "" | "st" | "nd" | "rd" | "th")
    };
    let is_ordinal = |text: &str| is_number(text) && text.ends_with(|c: char| c.is_ascii_alphabetic());
    let is_day = |text: &str| DAYS.contains(&text);
    if words[at].ends {
        return is_ordinal(text(0)).then(|| (text(0).to_owned(), 1));
    }
    let is_named = is_day(text(1)) || matches!(text(1), "may" | "march");
    if is_number(text(0)) && is_named || (is_day(text(0)) || matches!(text(0), "may" | "march")) && is_number(text(1)) {
        return Some((format!("{} {}", text(0), text(1)), 2));
    }
    if is_day(text(0)) && text(1) == "the" && is_ordinal(text(2)) {
        return Some((format!("{} {}", text(0), text(2)), 3));
    }
    is_ordinal(text(0)).then(|| (text(0).to_owned(), 1))
}

fn number_word(text: &str) -> Option<&'static str> {
    const NUMBERS: &[&str] = &["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    const DIGITS: &[&str] = &["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
    NUMBERS.iter().position(|number| *number == text).map(|at| DIGITS[at])
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    parts.len() == 3 && parts.iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn dimension(unit: &str) -> Option<&'static str> {
    Some(match unit {
        "s" | "sec" | "secs" | "second" | "seconds" | "ms" | "millisecond" | "milliseconds" | "minute" | "minutes"
        | "min" | "mins" | "hour" | "hours" | "h" | "day" | "days" | "d" | "week" | "weeks" | "month" | "months"
        | "year" | "years" => "time",
        "b" | "kb" | "mb" | "gb" | "tb" | "kib" | "mib" | "gib" | "bytes" => "size",
        "%" | "percent" => "share",
        "characters" | "chars" | "columns" | "lines" | "line" => "length",
        "px" | "rem" | "em" => "pixels",
        "spaces" | "space" => "indent",
        "retries" | "attempts" | "times" | "approvals" | "reviewers" | "workers" | "replicas" | "threads"
        | "connections" | "requests" | "items" | "users" => "count",
        _ => return None,
    })
}
