//! Places the later of two contradicting memories before the earlier one.
//!
//! Both stay in the answer. The later one is fetched if the filter permits it, even if its own words did not match.

use super::filter::Filter;
use super::view::{Current, View};
use crate::error::Result;
use crate::model::{Hit, Memory, Signal};
use crate::store::{link, memory};

/// Number of moves in one answer, so that a ring of links cannot keep the loop going.
const MOST_MOVES: usize = 32;

/// Reorder the hits of an answer, best first. At most `limit` hits remain.
pub fn place_later_first(
    (view, at): &Current<'_>,
    filter: &Filter,
    hits: &mut Vec<Hit>,
    limit: usize,
    explain: bool,
) -> Result<()> {
    let view: &View = view;
    let (mut number, mut moves) = (0, 0);
    while number < hits.len() && moves < MOST_MOVES {
        let mut latest: Option<Memory> = None;
        for id in link::contradicting(at, &hits[number].memory.id)? {
            if hits[..number].iter().any(|hit| hit.memory.id == id) {
                continue;
            }
            let Some(other) = memory::by_id(at, &id)? else { continue };
            let is_permitted = view.mirror.row_of(other.key).is_some_and(|place| filter.allows(view.mirror.row(place)));
            let is_later = other.said_at() > latest.as_ref().unwrap_or(&hits[number].memory).said_at();
            if is_permitted && is_later {
                latest = Some(other);
            }
        }
        let Some(later) = latest else {
            number += 1;
            continue;
        };
        moves += 1;
        let score = hits[number].score;
        let mut hit = match hits.iter().position(|hit| hit.memory.id == later.id) {
            Some(place) => hits.remove(place),
            None => Hit {
                memory: later,
                score: 0.0,
                rank: 0,
                relevance: None,
                floor: hits[number].floor,
                signals: Vec::new(),
            },
        };
        if explain && hit.score < score {
            hit.signals.push(Signal {
                name: "later",
                raw: 1.0,
                rank: None,
                contribution: score - hit.score,
                detail: format!(
                    "contradicts an earlier memory, which is not ranked above it: {:+.3}",
                    score - hit.score
                ),
            });
        }
        hit.score = hit.score.max(score);
        hits.insert(number, hit);
        hits.truncate(limit);
    }
    for (number, hit) in hits.iter_mut().enumerate() {
        hit.rank = number + 1;
    }
    Ok(())
}
