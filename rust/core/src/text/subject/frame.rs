//! Compares two statements that share all words before their last preposition: `sessions are stored in Redis`,
//! `sessions are stored in Valkey`.

use super::super::stop_words::is_stop_word;
use super::claim::Claim;
use super::cues::IMPERATIVE;
use super::{Relation, reasons};

/// Prepositions whose object answers one question: where a thing is, what it is made of, what makes it.
const PREPOSITIONS: &[&str] = &["in", "with", "from", "on", "by", "at", "under", "as", "through", "via"];
/// Prepositions of a place or a target.
const TARGETS: &[&str] = &["to", "into", "in", "on", "at"];
/// Verbs that bring a thing to one place.
const PLACING: &[&str] =
    &["deploy", "host", "keep", "publish", "push", "put", "releas", "report", "save", "send", "store", "upload"];
const COPULA: &[&str] = &["is", "are", "be"];
/// Words that do not belong to a frame.
const ADVERBS: &[&str] = &["alway", "now", "by", "default", "onli", "current"];
/// The subject and the verb.
const LEAST_SHARED: usize = 2;
/// A longer object is a description rather than a name.
const LONGEST_OBJECT: usize = 3;

/// Both say the same but for the object of the last preposition.
pub(super) fn compare_frames(newer: &Claim, older: &Claim) -> Relation {
    let (Some(new), Some(old)) = (Frame::read(newer), Frame::read(older)) else { return Relation::Unrelated };
    let is_same_frame = new.preposition == old.preposition && new.terms == old.terms;
    let is_other_object = !new.object.iter().any(|term| old.object.contains(term));
    if is_same_frame && is_other_object { Relation::Contradicts(reasons::LAST_NAME) } else { Relation::Unrelated }
}

/// Whether other statements may share all words of a statement but the last name.
pub(super) fn has_frame(claim: &Claim) -> bool {
    Frame::read(claim).is_some()
}

/// A statement, cut at its last preposition.
struct Frame<'c> {
    /// The terms before the preposition.
    terms: Vec<&'c str>,
    preposition: &'c str,
    /// The terms behind it.
    object: Vec<&'c str>,
}

impl<'c> Frame<'c> {
    /// `None` if the words before the last preposition end with no participle, as in "the cache in the browser".
    fn read(claim: &'c Claim) -> Option<Self> {
        if !claim.rejected.is_empty() {
            return None;
        }
        let stems: Vec<&str> = claim.stems.iter().map(String::as_str).collect();
        let at = stems.iter().rposition(|stem| PREPOSITIONS.contains(stem) || TARGETS.contains(stem))?;
        let (before, object) = (&stems[..at], &stems[at + 1..]);
        let says_something = |stem: &&str| !is_stop_word(stem) && !ADVERBS.contains(stem);
        let terms: Vec<&str> = before.iter().copied().filter(says_something).collect();
        let object: Vec<&str> = object.iter().copied().filter(says_something).collect();
        let names_subject = terms.iter().any(|stem| claim.asserted.iter().any(|term| term == stem));
        let is_one_name = !object.is_empty() && stems.len() - at - 1 <= LONGEST_OBJECT;
        let verb = first_word(before);
        let has_verb = ends_with_participle(before)
            || stems[at] == "with" && verb.is_some_and(|verb| IMPERATIVE.contains(&verb))
            || TARGETS.contains(&stems[at]) && verb.is_some_and(|verb| PLACING.contains(&verb));
        (is_one_name && has_verb && names_subject && terms.len() >= LEAST_SHARED).then_some(Self {
            terms,
            preposition: stems[at],
            object,
        })
    }
}

/// "sessions are stored", "nightly builds are always made".
fn ends_with_participle(words: &[&str]) -> bool {
    let mut words = words.iter().rev().filter(|word| !ADVERBS.contains(word));
    words.next().is_some_and(|verb| !COPULA.contains(verb)) && words.next().is_some_and(|word| COPULA.contains(word))
}

/// The verb of "we format Go code" and "format Go code".
fn first_word<'w>(words: &[&'w str]) -> Option<&'w str> {
    words.iter().find(|word| !ADVERBS.contains(word) && **word != "we").copied()
}

#[cfg(test)]
mod tests {
    use super::super::compare;
    use super::*;

    /// Statements with the same frame and another object.
    const SAME_FRAME: &[(&str, &str)] = &[
        ("Thumbnails are generated with Sharp.", "Thumbnails are generated with libvips."),
        ("Feature branches are cut from integration.", "Feature branches are cut from next."),
        ("Audit events are written in CSV.", "Audit events are written in Parquet."),
        ("Invoices are rendered by the print service.", "Invoices are rendered by a billing worker."),
        ("Release notes are kept in CHANGES.md.", "Release notes are now kept in docs/releases."),
        ("We lint shell scripts with shellcheck.", "By default we lint shell scripts with bashate."),
        ("Avatars are served from the CDN.", "Avatars are served from S3."),
        ("Integration tests are always run on Jenkins.", "Integration tests are run on Buildkite."),
        ("Translations are stored in gettext files.", "Translations are stored in JSON."),
        ("Access tokens are signed with HS256.", "Access tokens are signed with EdDSA."),
        ("Deploy the demo stack to us-east-1.", "We deploy the demo stack to us-west-2."),
        ("Crash dumps are uploaded to a bucket.", "Crash dumps are uploaded to Backtrace."),
    ];
    /// Statements about different things, or with the same object.
    const OTHER_FRAME: &[(&str, &str)] = &[
        ("Sessions are stored in Redis.", "Uploads are stored in S3."),
        ("Backups are encrypted with age.", "Backups are checked with restic."),
        ("The exporter is deployed from main.", "The exports are written from next."),
        ("Tests are written in TypeScript for the web app.", "Tests are written in Python for the workers."),
        ("The API is documented in OpenAPI.", "The API is deployed on Fly.io."),
        ("Invoices are sent on Mondays.", "Reminders are sent on Fridays."),
        ("Money is stored in cents.", "Dates are stored in UTC."),
        ("We test the parser with hypothesis.", "We test the renderer with snapshots."),
        ("Errors are logged in the journal.", "Errors are also logged in Sentry."),
        ("Requests are logged with a trace id.", "Requests are logged with the id of the user."),
        ("The cache in the browser is cleared.", "The cache in the browser is large."),
        ("Use tabs in Makefiles.", "Use tabs in Go files."),
        ("Run the linter in CI.", "Run the linter in the editor."),
        ("The gateway is in Go.", "The gateway is on Fly.io."),
    ];

    #[test]
    fn statements_with_the_same_frame_are_linked() {
        for (older, newer) in SAME_FRAME {
            assert_ne!(compare(newer, older, None), Relation::Unrelated, "{older} | {newer}");
        }
    }

    #[test]
    fn statements_with_another_frame_or_the_same_object_stay_apart() {
        for (older, newer) in OTHER_FRAME {
            assert_eq!(compare(newer, older, None), Relation::Unrelated, "{older} | {newer}");
        }
    }

    #[test]
    fn a_frame_alone_replaces_nothing() {
        let found = compare("Thumbnails are generated with libvips.", "Thumbnails are generated with Sharp.", None);
        assert_eq!(found, Relation::Contradicts(reasons::LAST_NAME));
    }
}
