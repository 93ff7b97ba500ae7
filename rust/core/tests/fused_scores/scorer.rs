//! The naive scorer. It reads all texts and vectors and follows the documentation of the formulas; it shares only the
//! analysis of texts with the engine.

use opencode_memory_core::model::{Category, Memory};
use opencode_memory_core::text;

use crate::floor::Signals;
use crate::queries::{Query, year_of};
use crate::texts::{PERSONS, SPEAKERS, TIMES, vector};
use crate::{DAY_MS, NOW};

/// Positions of neighbours relative to a turn, and their weights in its window.
const NEIGHBOURS: [(i64, f64); 4] = [(-1, 1.0), (1, 0.5), (-2, 0.4), (2, 0.4)];

/// A memory of a store with all that is searched.
pub struct Document {
    pub memory: Memory,
    /// Terms of the text by field, 0 for prose and 1 for identifiers.
    terms: [Vec<String>; 2],
    /// Vectors of the chunks; none if the memory is not embedded yet.
    vectors: Vec<Vec<f32>>,
}

impl Document {
    pub fn new(memory: Memory, vectors: Vec<Vec<f32>>) -> Self {
        let analysis = text::analyze(&memory.searched_text());
        Self { memory, terms: [analysis.prose, analysis.identifiers], vectors }
    }

    /// Project, conversation and position of a turn; `None` for a statement.
    fn place(&self) -> Option<(i64, &str, i64)> {
        Some((self.memory.project_id, self.memory.session.as_deref()?, self.memory.position?))
    }

    fn is_turn(&self) -> bool {
        self.place().is_some()
    }

    fn count(&self, term: &Term) -> f64 {
        self.terms[term.field].iter().filter(|own| **own == term.text).count() as f64
    }

    fn words(&self) -> f64 {
        self.memory.content.split_whitespace().count() as f64
    }

    fn asks(&self) -> bool {
        self.memory.content.ends_with('?')
    }

    fn is_said_by(&self, names: &[&str]) -> bool {
        self.memory.speaker.as_deref().is_some_and(|speaker| names.contains(&speaker))
    }
}

/// A term of the query.
struct Term {
    field: usize,
    text: String,
    /// Rarity in the store, times the weight of the field.
    weight: f64,
    /// Whether the term belongs to a day. A memory need not contain it.
    is_of_date: bool,
}

/// The score of a memory, and the signals that the floor judges.
pub struct Scored {
    pub id: String,
    pub score: f64,
    pub signals: Signals,
}

/// Neighbours of a member in the pool with their weights, and the one before it.
type Neighbours = (Vec<(usize, f64)>, Option<usize>);

/// A member of the pool: the memory, its own scores and its neighbours in the pool with their weights.
struct Member<'a> {
    document: &'a Document,
    words: f64,
    cosine: Option<f64>,
    coverage: f64,
    neighbours: Vec<(usize, f64)>,
    before: Option<usize>,
}

fn rarity(field: usize, frequency: usize, documents: usize) -> f64 {
    let (frequency, documents) = (frequency.max(1) as f64, documents.max(frequency) as f64);
    (1.0 + (documents - frequency + 0.5).max(0.0) / (frequency + 0.5)).ln() * [1.0, 0.3][field]
}

fn bm25(weight: f64, count: f64, length: f64, average: f64) -> f64 {
    weight * 2.2 * count / (count + 1.2 * (0.25 + 0.75 * length / average.max(1.0)))
}

fn scale(value: f64, (least, greatest): (f64, f64)) -> f64 {
    if greatest > least {
        (value - least) / (greatest - least)
    } else if greatest > 0.0 {
        0.5
    } else {
        0.0
    }
}

fn range(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let values: Vec<f64> = values.into_iter().collect();
    match values[..] {
        [] => (0.0, 0.0),
        _ => (values.iter().copied().fold(f64::MAX, f64::min), values.iter().copied().fold(f64::MIN, f64::max)),
    }
}

fn product(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

/// Terms of a query with their weights. Terms of a day are searched, but a memory need not contain them.
fn terms_of(query: &Query, documents: &[Document]) -> Vec<Term> {
    let analysis = text::analyze_query(&text::subject(&query.text));
    let of_date = query.date.map(|date| text::analyze_query(date.text)).unwrap_or_default();
    let fields = [(analysis.prose, of_date.prose), (analysis.identifiers, of_date.identifiers)];
    fields
        .into_iter()
        .enumerate()
        .flat_map(|(field, (terms, of_date))| {
            terms.into_iter().map(move |text| {
                let frequency = documents.iter().filter(|document| document.terms[field].contains(&text)).count();
                let weight = rarity(field, frequency, documents.len());
                Term { field, is_of_date: of_date.contains(&text), text, weight }
            })
        })
        .collect()
}

/// Share of the terms for which `counts` holds that a memory contains. Of a day, only an identifier such as `2026-11-09`
/// counts, and only in a memory that contains it.
fn share(document: &Document, terms: &[Term], counts: impl Fn(&Term) -> bool) -> f64 {
    let (mut sum, mut found) = (0.0, 0.0);
    for term in terms.iter().filter(|term| counts(term)) {
        let contains = document.count(term) > 0.0;
        if !term.is_of_date || (term.field == 1 && contains) {
            sum += term.weight;
            found += if contains { term.weight } else { 0.0 };
        }
    }
    if sum > 0.0 { found / sum } else { 0.0 }
}

/// All memories that match by words or by meaning, and the turns around them.
fn pool<'a>(
    documents: &[Document],
    permitted: &[&'a Document],
    terms: &[Term],
    asked: Option<&[f32]>,
) -> Vec<Member<'a>> {
    let average = [0, 1].map(|field| {
        documents.iter().map(|document| document.terms[field].len()).sum::<usize>() as f64 / documents.len() as f64
    });
    let member = |document: &&'a Document| {
        let length = |term: &Term| document.terms[term.field].len() as f64;
        let word = |term: &Term| bm25(term.weight, document.count(term), length(term), average[term.field]);
        // Chunks after the first count slightly less, because a long text has many chances of a match.
        let chunk = |(number, own): (usize, &Vec<f32>)| Some(product(own, asked?) * if number > 0 { 0.9 } else { 1.0 });
        Member {
            document,
            words: terms.iter().map(word).sum(),
            cosine: document.vectors.iter().enumerate().filter_map(chunk).reduce(f64::max),
            coverage: share(document, terms, |_| true),
            neighbours: Vec::new(),
            before: None,
        }
    };
    let all: Vec<Member<'a>> = permitted.iter().map(member).collect();
    // The newest of several memories of one message is the neighbour.
    let neighbour = |of: &Document, offset: i64| {
        let (project, session, position) = of.place()?;
        let wanted = Some((project, session, position + offset));
        let at = |number: &usize| all[*number].document.place() == wanted;
        (0..all.len()).filter(at).max_by_key(|number| all[*number].document.memory.key)
    };
    let is_found = |member: &Member<'_>| member.words > 0.0 || member.cosine.is_some();
    let mut numbers: Vec<usize> = (0..all.len()).filter(|number| is_found(&all[*number])).collect();
    for found in numbers.clone() {
        numbers.extend(NEIGHBOURS.iter().filter_map(|(offset, _)| neighbour(all[found].document, *offset)));
    }
    numbers.sort_unstable();
    numbers.dedup();
    let in_pool = |of: usize, offset: i64| numbers.binary_search(&neighbour(all[of].document, offset)?).ok();
    let around: Vec<Neighbours> = numbers
        .iter()
        .map(|&number| {
            let weighted = |(offset, near): &(i64, f64)| {
                let other = in_pool(number, *offset)?;
                Some((other, near * (40.0 / all[numbers[other]].document.words().max(1.0)).min(1.0)))
            };
            (NEIGHBOURS.iter().filter_map(weighted).collect(), in_pool(number, -1))
        })
        .collect();
    let mut around = around.into_iter();
    let is_member = |(number, member): (usize, Member<'a>)| numbers.binary_search(&number).is_ok().then_some(member);
    let members = all.into_iter().enumerate().filter_map(is_member);
    members
        .map(|member| {
            let (neighbours, before) = around.next().expect("neighbours of each member");
            Member { neighbours, before, ..member }
        })
        .collect()
}

/// Words and meaning of each turn together with its neighbours, as one text and one vector.
fn windows(pool: &[Member<'_>], terms: &[Term], asked: Option<&[f32]>) -> Vec<(f64, Option<f64>)> {
    let sum = |member: &Member<'_>, value: &dyn Fn(&Document) -> f64| {
        let around = member.neighbours.iter().map(|(other, weight)| weight * value(pool[*other].document));
        value(member.document) + around.sum::<f64>()
    };
    let length = |member: &Member<'_>, field: usize| sum(member, &|document| document.terms[field].len() as f64);
    let average =
        [0, 1].map(|field| pool.iter().map(|member| length(member, field)).sum::<f64>() / pool.len().max(1) as f64);
    let one = |member: &Member<'_>| {
        let word = |term: &Term| {
            let count = sum(member, &|document| document.count(term));
            bm25(term.weight, count, length(member, term.field), average[term.field])
        };
        let cosine = asked.zip(member.document.vectors.first()).map(|(asked, first)| {
            let mut mean: Vec<f32> = first.clone();
            for (other, weight) in &member.neighbours {
                if let Some(vector) = pool[*other].document.vectors.first() {
                    mean.iter_mut().zip(vector).for_each(|(sum, value)| *sum += *weight as f32 * value);
                }
            }
            product(&mean, asked) / product(&mean, &mean).sqrt()
        });
        (terms.iter().map(word).sum(), cosine)
    };
    pool.iter().map(one).collect()
}

/// Words, names and meaning of each member and its window, without its conversation.
fn relevances(pool: &[Member<'_>], terms: &[Term], documents: usize, asked: Option<&[f32]>) -> Vec<f64> {
    let around = windows(pool, terms, asked);
    let whole: f64 = terms.iter().filter(|term| !term.is_of_date).map(|term| term.weight).sum();
    let least_of_names = 0.75 * rarity(1, 1, documents);
    let has_vectors = pool.iter().any(|member| member.cosine.is_some());
    let words = range(pool.iter().map(|member| member.words));
    let cosines = range(pool.iter().filter_map(|member| member.cosine));
    let words_around = range(around.iter().map(|(words, _)| *words));
    let cosines_around = range(around.iter().filter_map(|(_, cosine)| *cosine));
    let one = |(member, (near_words, near_cosine)): (&Member<'_>, &(f64, Option<f64>))| {
        let document = member.document;
        let weight_of_words = match (has_vectors, document.is_turn()) {
            (false, _) => 1.0,
            (true, true) => 0.4,
            (true, false) => 0.2,
        };
        let meaning = |cosine: Option<f64>, bounds: (f64, f64)| {
            (1.0 - weight_of_words) * cosine.map_or(member.coverage, |cosine| scale(cosine, bounds))
        };
        if !document.is_turn() && has_vectors {
            let is_name = |term: &Term| term.field == 1 && term.weight >= least_of_names - 1e-6;
            return weight_of_words * member.coverage * scale(member.words, (words.0, words.1.max(whole)))
                + 0.8 * share(document, terms, is_name)
                + meaning(member.cosine, cosines);
        }
        let own = weight_of_words * scale(member.words, words) + meaning(member.cosine, cosines);
        if member.neighbours.is_empty() {
            return own;
        }
        let weight = 1.6 * (40.0 / document.words().max(1.0)).min(1.0);
        let window = weight_of_words * scale(*near_words, words_around) + meaning(*near_cosine, cosines_around);
        (own + weight * window) / (1.0 + weight)
    };
    pool.iter().zip(&around).map(one).collect()
}

/// Signals of a memory beside words and meaning.
fn hints(query: &Query, pool: &[Member<'_>], document: &Document) -> f64 {
    let mut years: Vec<i64> = pool.iter().map(|member| year_of(member.document.memory.time)).collect();
    years.dedup();
    let away = query.date.and_then(|date| date.distance(document.memory.time, &years));
    let date = away.map_or(0.0, |days| 0.42 * (-(days as f64) / 7.0).exp());
    let pinned = if document.memory.pinned { 0.02 } else { 0.0 };
    let deliberate = if document.memory.category == Category::Decision { 0.01 } else { 0.0 };
    let always = date + pinned + deliberate;
    if !document.is_turn() {
        let days = (NOW - document.memory.time) as f64 / DAY_MS as f64;
        return always + 0.01 * 0.5_f64.powf(days / 90.0);
    }
    let is_short = (1.0 - document.words() / 40.0).max(0.0);
    // A speaker counts as named only if a memory of the pool is said by that person.
    let is_person = |name: &&str| {
        SPEAKERS[..PERSONS].contains(name) && pool.iter().any(|member| member.document.is_said_by(&[*name]))
    };
    let named = query.speaker.filter(is_person);
    let is_other = named.is_some_and(|name| document.memory.speaker.is_some() && !document.is_said_by(&[name]));
    let names_a_time = TIMES.iter().any(|time| document.memory.content.contains(time));
    let sum = [
        (document.asks(), -0.21 * is_short),
        (is_other, -0.04),
        (document.is_said_by(&SPEAKERS[PERSONS + 1..]), -0.25),
        (query.asks_when && names_a_time, 0.125),
    ];
    always - 0.04 * is_short + sum.iter().filter(|(holds, _)| *holds).map(|(_, value)| value).sum::<f64>()
}

/// Score the permitted memories of a store. The result is not sorted.
pub fn score(documents: &[Document], permitted: &[&Document], query: &Query, dimension: Option<usize>) -> Vec<Scored> {
    let asked = dimension.map(|dimension| vector(&query.text, dimension));
    let asked = asked.as_deref();
    let terms = terms_of(query, documents);
    let pool = pool(documents, permitted, &terms, asked);
    let relevances = relevances(&pool, &terms, documents.len(), asked);
    let best_of_session = |session: Option<(i64, &str, i64)>| {
        let (project, name, _) = session?;
        let same = |member: &Member<'_>| member.document.place().is_some_and(|(p, n, _)| (p, n) == (project, name));
        let scores = pool.iter().zip(&relevances).filter(|(member, _)| same(member)).map(|(_, score)| *score);
        scores.reduce(f64::max)
    };
    let scored = |(member, own): (&Member<'_>, &f64)| {
        let document = member.document;
        let drawn = best_of_session(document.place()).map_or(0.0, |best| (best - own) / 6.0);
        let nearest = document.vectors.iter().filter_map(|vector| Some(product(vector, asked?))).reduce(f64::max);
        let asks_the_same = |before: usize| pool[before].document.asks() && pool[before].coverage >= 0.3;
        Scored {
            id: document.memory.id.clone(),
            score: own + drawn + hints(query, &pool, document),
            signals: Signals { nearest, coverage: member.coverage, answers: member.before.is_some_and(asks_the_same) },
        }
    };
    pool.iter().zip(&relevances).map(scored).collect()
}
