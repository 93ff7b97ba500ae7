//! The naive floor. Each decision is taken with a slack on both sides, because the engine's signals are rounded.

use crate::ROUNDING;
use crate::scorer::Scored;

/// Difference of a signal between the engine and the scorer.
pub const SLACK: f64 = 0.002;
/// Number of best memories that are judged, and of those whose mean is judged.
const JUDGED: usize = 10;
const SEVERAL: usize = 5;

/// Signals of a memory before they are scaled.
#[derive(Debug, Clone, Copy)]
pub struct Signals {
    pub nearest: Option<f64>,
    pub coverage: f64,
    /// Whether the turn before is a question with the words of the query.
    pub answers: bool,
}

impl Signals {
    /// Relevance of the memory by itself. `slack` is added to its signals.
    pub fn relevance(&self, slack: f64) -> f64 {
        let by_words = if self.coverage + slack >= 0.75 { 0.24 } else { 0.0 };
        let usual = match self.nearest {
            Some(cosine) => cosine + 0.3 * self.coverage + slack,
            None => (self.coverage + slack) / 0.3 * 0.24,
        };
        usual.max(by_words)
    }

    fn suffices(&self, compared: usize, slack: f64) -> bool {
        let is_strong = match self.nearest {
            Some(_) => self.relevance(slack) >= least_relevance(compared),
            None => self.coverage + slack >= 0.3,
        };
        is_strong || self.coverage + slack >= 0.75
    }

    /// Whether a memory of a relevant answer is returned.
    pub fn is_relevant(&self, slack: f64) -> bool {
        let is_strong = match self.nearest {
            Some(cosine) => cosine.max(self.coverage) + slack >= 0.1,
            None => self.coverage + slack >= 0.3,
        };
        self.answers || is_strong
    }
}

/// The relevance that one memory must reach, if so many are compared.
pub fn least_relevance(compared: usize) -> f64 {
    let compared = compared.max(1) as f64;
    0.13 + 0.0234 * compared.min(110.0).ln() + 0.0075 * (compared / 110.0).max(1.0).ln()
}

fn is_answer(judged: &[&Scored], compared: usize, slack: f64) -> bool {
    let mut means: Vec<f64> = judged
        .iter()
        .filter(|scored| scored.signals.nearest.is_some())
        .map(|scored| scored.signals.relevance(slack))
        .collect();
    means.sort_unstable_by(|a, b| b.total_cmp(a));
    let least_mean = 0.14 + 0.0234 * (compared as f64 / 58.0).max(1.0).ln();
    judged.iter().any(|scored| scored.signals.suffices(compared, slack))
        || means.get(..SEVERAL).is_some_and(|best| best.iter().sum::<f64>() / SEVERAL as f64 >= least_mean)
}

/// The hits of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Required,
    Possible,
    Forbidden,
}

/// Decide about each memory; `None` if rounding decides whether there is an answer.
pub fn decide(scored: &[Scored], compared: usize) -> Option<Vec<Presence>> {
    let better = |than: f64| scored.iter().filter(|other| other.score > than).count();
    let surely: Vec<&Scored> = scored.iter().filter(|one| better(one.score - 2.0 * ROUNDING) <= JUDGED).collect();
    let maybe: Vec<&Scored> = scored.iter().filter(|one| better(one.score + 2.0 * ROUNDING) < JUDGED).collect();
    match (is_answer(&surely, compared, -SLACK), is_answer(&maybe, compared, SLACK)) {
        (true, _) => Some(scored.iter().map(|one| presence(&one.signals)).collect()),
        (false, false) => Some(vec![Presence::Forbidden; scored.len()]),
        (false, true) => None,
    }
}

fn presence(signals: &Signals) -> Presence {
    match (signals.is_relevant(-SLACK), signals.is_relevant(SLACK)) {
        (true, _) => Presence::Required,
        (false, true) => Presence::Possible,
        (false, false) => Presence::Forbidden,
    }
}
