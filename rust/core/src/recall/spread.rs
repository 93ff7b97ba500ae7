//! Spreading activation: how near memories are to a query, also through other memories.
//!
//! A convention often shares neither words nor meaning with the request that it governs, but it is near to memories that
//! do. The memories form a graph, in which each is linked to those that it resembles most, by words and by meaning. A
//! random walk begins at the memories nearest to the query, follows links, and now and then begins anew. A memory is near
//! to the query if the walk is often there, compared with the strength of its links. The store is not involved, and the
//! same input always gives the same result.

use std::cmp::Ordering;

use half::f16;
use rustc_hash::FxHashMap;

use crate::index::quantised::{dot, quantise, quantise_into, unit};
use crate::text::analyze;

/// Number of memories to which a memory is linked; others may be linked to it as well.
const NEIGHBOURS: usize = 20;
/// Number of memories at which a walk may begin.
const SEEDS: usize = 10;
/// Share of the steps that follow a link. With the others, the walk begins anew.
const FOLLOWED: f64 = 0.8;
/// Number of steps. About a thousandth of the walk is left after them.
const STEPS: usize = 30;
/// Weight of words, where meaning has 1.
const WORDS: f32 = 2.0;
/// Exponent of a similarity in the strength of a link.
const SHARPNESS: i32 = 3;
/// Similarity of a memory that is known to be near; as of a text to itself, by meaning.
const KNOWN: f32 = 1.0;
/// Added to the strength of a memory's links, so that a memory with hardly any links is not near to everything.
const LINKED: f64 = 1.0;
/// Bytes of a text that are read.
const READ_BYTES: usize = 500;
/// Number of memories in which a word may always occur. The limits on words bound the time of a comparison.
const FEW: usize = 8;
/// A word that occurs in more than this part of the memories links none of them.
const COMMON: usize = 5;
/// Number of words of a memory, rarest first, that link it.
const MOST_WORDS: usize = 32;

/// A memory to which a query is compared.
#[derive(Debug, Clone)]
pub struct Point<'a> {
    /// Its text.
    pub text: &'a str,
    /// Its quantised vector. A memory without one is compared by its words.
    pub vector: Option<Vec<i8>>,
}

impl<'a> Point<'a> {
    /// A memory with its unit vector, if it has one. An error of a thousandth changes no link that counts.
    pub fn new(text: &'a str, vector: Option<&[f16]>) -> Self {
        let quantise = |vector: &[f16]| {
            let mut row = vec![0; vector.len()];
            quantise_into(vector, &mut row);
            row
        };
        Self { text, vector: vector.map(quantise) }
    }
}

/// Return how near each memory is to a query, on a scale of this query.
///
/// `vector` is the unit vector of the query. Vectors must have the same length. The walk also begins at the memories with
/// the places `known`, which are near for another reason.
pub fn spread(query: &str, vector: Option<&[f32]>, points: &[Point<'_>], known: &[usize]) -> Vec<f64> {
    let words = Words::of(points);
    let mut nearest = words.compare(&words.weigh(&count(&analyze(head(query)).prose)));
    if let Some(vector) = vector {
        add_cosines(points, &quantise(vector), &mut nearest);
    }
    keep_largest(&mut nearest, SEEDS);
    nearest.extend(known.iter().map(|place| (*place, KNOWN)));
    Graph::of(points, &words).walk(&nearest)
}

/// Add the cosine of a vector with each memory.
fn add_cosines(points: &[Point<'_>], vector: &[i8], similar: &mut [(usize, f32)]) {
    let unit = unit(vector.len());
    for (similarity, point) in similar.iter_mut().zip(points) {
        if let Some(row) = &point.vector {
            similarity.1 += unit * dot(vector, row) as f32;
        }
    }
}

/// The words of memories, weighed by their rarity among these memories.
struct Words {
    rarity: FxHashMap<String, (u32, f32)>,
    /// The places and weights of each word.
    postings: Vec<Vec<(u32, f32)>>,
    rows: Vec<Vec<(u32, f32)>>,
}

impl Words {
    fn of(points: &[Point<'_>]) -> Self {
        let texts: Vec<FxHashMap<String, u32>> =
            points.iter().map(|point| count(&analyze(head(point.text)).prose)).collect();
        let mut frequency: FxHashMap<&String, usize> = FxHashMap::default();
        for word in texts.iter().flat_map(FxHashMap::keys) {
            *frequency.entry(word).or_default() += 1;
        }
        frequency.retain(|_, many| *many <= FEW.max(points.len() / COMMON));
        let all = points.len() as f32;
        let rarity: FxHashMap<String, (u32, f32)> = frequency
            .into_iter()
            .enumerate()
            .map(|(id, (word, many))| {
                (word.clone(), (id as u32, ((all - many as f32 + 0.5) / (many as f32 + 0.5)).ln_1p()))
            })
            .collect();
        let mut words = Self { postings: vec![Vec::new(); rarity.len()], rarity, rows: Vec::new() };
        words.rows = texts.iter().map(|text| words.weigh(text)).collect();
        for (place, row) in words.rows.iter().enumerate() {
            for (word, weight) in row {
                words.postings[*word as usize].push((place as u32, *weight));
            }
        }
        words
    }

    /// Weigh the known words of a text, as a vector of the length 1.
    fn weigh(&self, counts: &FxHashMap<String, u32>) -> Vec<(u32, f32)> {
        let mut row: Vec<(u32, f32)> = counts
            .iter()
            .filter_map(|(word, many)| {
                let (id, rarity) = self.rarity.get(word)?;
                Some((*id, rarity * (1.0 + (*many as f32).ln())))
            })
            .collect();
        let length = row.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        row.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        row.truncate(MOST_WORDS);
        for (_, weight) in &mut row {
            *weight /= length;
        }
        row
    }

    /// Compare a text with each memory. Return the places, each with the weighted similarity of the words.
    fn compare(&self, text: &[(u32, f32)]) -> Vec<(usize, f32)> {
        let mut similar: Vec<(usize, f32)> = (0..self.rows.len()).map(|place| (place, 0.0)).collect();
        for (word, weight) in text {
            for (place, other) in &self.postings[*word as usize] {
                similar[*place as usize].1 += WORDS * weight * other;
            }
        }
        similar
    }
}

/// The links of memories.
struct Graph {
    /// The neighbours of each memory, with the strength of the link.
    links: Vec<Vec<(u32, f64)>>,
}

impl Graph {
    fn of(points: &[Point<'_>], words: &Words) -> Self {
        let mut links: Vec<Vec<(u32, f64)>> = vec![Vec::new(); points.len()];
        for (place, point) in points.iter().enumerate() {
            let mut similar = words.compare(&words.rows[place]);
            if let Some(vector) = &point.vector {
                add_cosines(points, vector, &mut similar);
            }
            similar.swap_remove(place);
            keep_largest(&mut similar, NEIGHBOURS);
            for (other, similarity) in similar.into_iter().filter(|(_, similarity)| *similarity > 0.0) {
                let strength = f64::from(similarity).powi(SHARPNESS);
                links[place].push((other as u32, strength));
                links[other].push((place as u32, strength));
            }
        }
        for neighbours in &mut links {
            // Both ends may have chosen the other.
            neighbours.sort_unstable_by_key(|(other, _)| *other);
            neighbours.dedup_by_key(|(other, _)| *other);
        }
        Self { links }
    }

    /// Walk from the seeds. Return the share of the walk at each memory, divided by the root of the strength of its links.
    ///
    /// Without the division, a memory with many links would be near to every query.
    fn walk(&self, seeds: &[(usize, f32)]) -> Vec<f64> {
        let begin = self.begin_at(seeds);
        let strengths: Vec<f64> =
            self.links.iter().map(|neighbours| neighbours.iter().map(|(_, strength)| strength).sum::<f64>()).collect();
        let mut now = begin.clone();
        for _ in 0..STEPS {
            let mut next: Vec<f64> = begin.iter().map(|share| (1.0 - FOLLOWED) * share).collect();
            for (place, neighbours) in self.links.iter().enumerate() {
                let flow = FOLLOWED * now[place] / strengths[place].max(f64::MIN_POSITIVE);
                for (other, strength) in neighbours {
                    next[*other as usize] += flow * strength;
                }
            }
            now = next;
        }
        now.iter().zip(&strengths).map(|(share, strength)| share / (LINKED + strength).sqrt()).collect()
    }

    /// Distribute the beginnings of the walk among the seeds, by the square of their similarity.
    fn begin_at(&self, seeds: &[(usize, f32)]) -> Vec<f64> {
        let mut begin = vec![0.0; self.links.len()];
        for (place, similarity) in seeds {
            begin[*place] += f64::from(similarity.max(0.0)).powi(2);
        }
        let sum: f64 = begin.iter().sum();
        for share in &mut begin {
            *share /= sum.max(f64::MIN_POSITIVE);
        }
        begin
    }
}

fn count(terms: &[String]) -> FxHashMap<String, u32> {
    let mut counts = FxHashMap::default();
    for term in terms {
        *counts.entry(term.clone()).or_default() += 1;
    }
    counts
}

fn head(text: &str) -> &str {
    let end = (0..=READ_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// Keep the largest; of equal ones, those with the lowest places.
fn keep_largest(similar: &mut Vec<(usize, f32)>, most: usize) {
    let order = |a: &(usize, f32), b: &(usize, f32)| -> Ordering { b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)) };
    if similar.len() > most {
        similar.select_nth_unstable_by(most, order);
        similar.truncate(most);
    }
    similar.sort_unstable_by(order);
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 5] = [
        "Invoices are numbered without gaps",
        "The number of an invoice comes from the ledger table",
        "Schema changes of the ledger are written by hand",
        "Screens of the phone app are tested with Maestro",
        "Maestro flows run on a real phone every night",
    ];

    fn points<'a>(texts: &[&'a str], vectors: &[Option<Vec<f16>>]) -> Vec<Point<'a>> {
        texts.iter().zip(vectors).map(|(text, vector)| Point::new(text, vector.as_deref())).collect()
    }

    /// A unit vector in the plane of the first two of eight directions, or a third direction without an angle.
    fn vector(degrees: Option<f32>) -> Vec<f16> {
        let mut vector = vec![f16::ZERO; 8];
        match degrees.map(f32::to_radians) {
            Some(angle) => (vector[0], vector[1]) = (f16::from_f32(angle.cos()), f16::from_f32(angle.sin())),
            None => vector[2] = f16::ONE,
        }
        vector
    }

    #[test]
    fn memory_that_shares_nothing_with_the_query_is_near_through_another_one() {
        let near = spread("invoice numbering", None, &points(&TEXTS, &vec![None; 5]), &[]);
        assert!(near[2] > near[3], "the ledger is two links away, the phone is not linked: {near:?}");
        assert!(near[0] > near[2] && near[1] > near[2], "a link takes away from the nearness: {near:?}");
        assert!(near[3] <= 0.0, "{near:?}");
    }

    #[test]
    fn links_by_meaning_need_no_common_words() {
        let texts = ["alpha", "beta", "gamma", "delta"];
        let vectors = [Some(0.0), Some(45.0), Some(90.0), None].map(|degrees| Some(vector(degrees)));
        let query = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let near = spread("epsilon", Some(&query), &points(&texts, &vectors), &[]);
        assert!(near[2] > 0.0, "linked to a memory that is near to the query: {near:?}");
        assert!(near[3] <= 0.0, "{near:?}");
    }

    #[test]
    fn memory_without_vector_is_linked_by_its_words() {
        let vectors = [Some(vector(Some(0.0))), None, None, Some(vector(None)), Some(vector(None))];
        let query = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let near = spread("without any common word", Some(&query), &points(&TEXTS, &vectors), &[]);
        assert!(near[1] > near[3] && near[2] > near[3], "{near:?}");
    }

    #[test]
    fn nothing_is_near_to_a_query_that_resembles_nothing() {
        assert!(spread("walrus", None, &points(&TEXTS, &vec![None; 5]), &[]).iter().all(|near| *near <= 0.0));
        assert!(spread("", None, &[], &[]).is_empty());
        assert!(spread("", None, &points(&["", "one"], &[None, None]), &[]).iter().all(|near| *near <= 0.0));
    }

    #[test]
    fn memories_that_are_known_to_be_near_lead_to_others() {
        let near = spread("", None, &points(&TEXTS, &vec![None; 5]), &[4]);
        assert!(near[4] > near[3] && near[3] > 0.0, "{near:?}");
        assert!(near[0] <= 0.0, "{near:?}");
    }

    #[test]
    fn memory_with_hardly_any_links_is_not_above_the_subject() {
        // The last memory shares one word with the query, and one of many words with another memory.
        let words: Vec<String> = (0..60).map(|number| format!("w{number}")).collect();
        let stray = format!("numbering {} turbine", words.join(" "));
        let texts = [TEXTS[0], TEXTS[1], TEXTS[2], "A turbine turns", &stray];
        let near = spread("invoice numbering without gaps", None, &points(&texts, &vec![None; 5]), &[]);
        assert!(near[0] > near[4] && near[1] > near[3], "{near:?}");
    }

    #[test]
    fn words_behind_the_part_that_is_read_link_nothing() {
        let long = "ö".repeat(READ_BYTES);
        let texts = [&*format!("a{long} walrus"), "a walrus"];
        let near = spread("walrus", None, &points(&texts, &[None, None]), &[]);
        assert!(near[0] <= 0.0 && near[1] > 0.0, "{near:?}");
    }

    #[test]
    fn word_of_most_memories_links_none() {
        let texts: Vec<String> = (0..40).map(|number| format!("crane crane{number}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let near = spread("crane", None, &points(&texts, &vec![None; 40]), &[]);
        assert!(near.iter().all(|near| *near <= 0.0), "{near:?}");
    }
}
