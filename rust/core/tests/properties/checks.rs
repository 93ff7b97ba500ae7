//! Comparisons of the engine's answers with the model's.

use std::collections::{BTreeMap, BTreeSet};

use opencode_memory_core::Engine;
use opencode_memory_core::model::query::{Scope, Selection};
use opencode_memory_core::model::{RecallRequest, Status};

use crate::model::Item;
use crate::pair::Pair;
use crate::steps::{CATEGORIES, PROJECTS, TAGS, TEXTS};
use crate::support::{all, assert_clean, cosines, everything, ids, near, question, vector, word};

/// Maximum number of answers at which the pool of a recall is certainly complete.
const POOL: usize = 60;
/// Relevance floors of an answer and of each hit by vectors alone, and the distance to a floor within which rounding
/// may decide.
const ANSWER_OF_ONE: f32 = 0.13;
const GROWTH: f32 = 0.0234;
const ANSWER_OF_SEVERAL: f32 = 0.14;
const SEVERAL: usize = 5;
const TELLING: f32 = 0.1;
const UNSURE: f32 = 0.005;

impl Pair {
    /// Check that the engine and the model give the same answers to all queries.
    pub fn check(&self) {
        let listed: BTreeMap<String, Item> =
            all(self.engine()).iter().map(|memory| (memory.id.clone(), memory.into())).collect();
        let expected: BTreeMap<String, Item> =
            self.model.items.iter().map(|(id, held)| (id.clone(), held.item.clone())).collect();
        assert_eq!(listed, expected);
        for id in &self.model.known {
            assert_eq!(self.engine().get(id).ok().map(|memory| Item::from(&memory)), expected.get(id).cloned());
        }
        self.check_selections();
        self.check_recall();
        self.check_values();
        self.check_numbers();
    }

    /// Check that updating the indexes changes no answer and no score of a vector search.
    pub fn answers_stay_the_same(&self, forward: fn(&Engine)) {
        let ask = || {
            let texts = (0..TEXTS).map(|number| ids(&self.recall(question(&word(number)))));
            let words = TAGS.iter().map(|tag| ids(&self.recall(question(tag)))).chain(texts);
            let meanings = self.model.items.values().map(|held| cosines(&self.recall(near(&held.item.content))));
            (words.collect::<Vec<_>>(), meanings.collect::<Vec<_>>())
        };
        let before = ask();
        forward(self.engine());
        assert_eq!(before, ask());
        let report = assert_clean(self.engine());
        assert_eq!(report.lexical_documents, self.model.items.len());
    }

    fn recall(&self, request: RecallRequest) -> Vec<opencode_memory_core::model::Hit> {
        self.engine().recall(request).expect("a recall")
    }

    /// Ids of the items that match a selection and `fits`.
    fn expected(&self, selection: &Selection, fits: impl Fn(&Item) -> bool) -> BTreeSet<String> {
        let wanted =
            self.model.items.iter().filter(|(_, held)| self.model.wants(selection, &held.item) && fits(&held.item));
        wanted.map(|(id, _)| id.clone()).collect()
    }

    fn check_selections(&self) {
        for selection in selections() {
            let expected = self.expected(&selection, |_| true);
            let listed = self.engine().list(&selection, 10_000, 0, None).expect("a list");
            assert_eq!(listed.into_iter().map(|memory| memory.id).collect::<BTreeSet<_>>(), expected, "{selection:?}");
            assert_eq!(self.engine().count(&selection).expect("a count"), expected.len(), "{selection:?}");
        }
    }

    fn check_recall(&self) {
        let texts: BTreeSet<&str> = self.model.items.values().map(|held| held.item.content.as_str()).collect();
        for number in 0..TEXTS {
            let text = crate::support::text(number);
            let expected = self.expected(&Selection::of(Scope::Everything), |item| item.content == text);
            assert_eq!(ids(&self.recall(question(&word(number)))), expected, "{text}");
        }
        for selection in selections() {
            // A query of all words would exceed the pool, so each text is queried separately.
            let number = (self.model.items.len() + self.model.known.len()) % TEXTS;
            let text = crate::support::text(number);
            let expected = self.expected(&selection, |item| item.content == text);
            assert_eq!(ids(&self.recall(RecallRequest { selection, ..question(&word(number)) })), expected, "{text}");
        }
        for text in texts.into_iter().take(8) {
            for selection in selections() {
                self.check_meaning(text, selection);
            }
        }
    }

    fn check_meaning(&self, text: &str, selection: Selection) {
        let query = vector(text);
        let cosine = |item: &Item| vector(&item.content).iter().zip(&query).map(|(a, b)| a * b).sum::<f32>();
        let embedded = |id: &String| self.model.items[id].embedded;
        let allowed: Vec<String> = self.expected(&selection, |_| true).into_iter().filter(embedded).collect();
        if allowed.len() > POOL {
            return;
        }
        let over = |floor: f32| -> BTreeSet<String> {
            allowed.iter().filter(|id| cosine(&self.model.items[*id].item) >= floor).cloned().collect()
        };
        // The floor of an answer grows with the number of memories that pass. At most [`POOL`] of them are compared here.
        let passing = self.expected(&selection, |_| true).len().max(1) as f32;
        let answer = ANSWER_OF_ONE + GROWTH * passing.ln();
        // A memory that points away from the query counts as unrelated.
        let mut strengths: Vec<f32> = allowed.iter().map(|id| cosine(&self.model.items[id].item).max(0.0)).collect();
        strengths.sort_by(|a, b| b.total_cmp(a));
        let strongest = strengths.get(..SEVERAL).map(|best| best.iter().sum::<f32>() / SEVERAL as f32);
        let answers = |best: f32, several: f32| !over(best).is_empty() || strongest.is_some_and(|mean| mean >= several);
        let least = if !answers(answer + UNSURE, ANSWER_OF_SEVERAL + UNSURE) {
            BTreeSet::new()
        } else {
            over(TELLING + UNSURE)
        };
        let most = if !answers(answer - UNSURE, ANSWER_OF_SEVERAL - UNSURE) {
            BTreeSet::new()
        } else {
            over(TELLING - UNSURE)
        };
        let found = ids(&self.recall(RecallRequest { selection, ..near(text) }));
        assert!(
            least.is_subset(&found) && found.is_subset(&most),
            "{text}: {found:?} lies not between {least:?} and {most:?}; cosines {strengths:?}, {passing} memories"
        );
    }

    fn check_values(&self) {
        for project in [None, Some(PROJECTS[0]), Some(PROJECTS[1])] {
            let listed = self.engine().kv_list(project, "").expect("values");
            let expected: Vec<_> = self
                .model
                .kv
                .iter()
                .filter(|((of, _), (_, end))| of.as_deref() == project && end.is_none_or(|end| end > self.model.now))
                .map(|((_, key), (value, end))| (key.clone(), value.clone(), *end))
                .collect();
            assert_eq!(
                listed.into_iter().map(|value| (value.name, value.value, value.expires_at)).collect::<Vec<_>>(),
                expected
            );
        }
    }

    fn check_numbers(&self) {
        let stats = self.engine().stats().expect("numbers");
        let items = || self.model.items.values();
        for (name, number) in stats.by_status {
            assert_eq!(number, items().filter(|held| held.item.status.as_str() == name).count(), "{name}");
        }
        assert_eq!(stats.pending_embeddings, items().filter(|held| !held.embedded).count());
        assert_eq!(stats.vectors, items().filter(|held| held.embedded).count());
        assert_eq!(
            stats.expired,
            items().filter(|held| held.item.status == Status::Active && !self.model.is_visible(&held.item)).count()
        );
    }
}

fn selections() -> Vec<Selection> {
    let project = |name: &str, with_global| Selection::of(Scope::Project { name: name.to_owned(), with_global });
    let all = Selection::of(Scope::Everything);
    vec![
        Selection::of(Scope::Global),
        project(PROJECTS[0], true),
        project(PROJECTS[1], false),
        project("unheard-of", false),
        Selection { categories: CATEGORIES[1..].to_vec(), ..all.clone() },
        Selection { statuses: vec![Status::Archived, Status::Candidate], ..all.clone() },
        Selection { tag: Some(TAGS[0].to_owned()), ..project(PROJECTS[1], true) },
        Selection { with_expired: true, ..all.clone() },
        everything(),
        all,
    ]
}
