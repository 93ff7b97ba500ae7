//! Small score bonuses that depend on the memory and not on the query: recency, pin and category.
//!
//! The bonuses are bounded. They reorder hits of nearly equal score, but a strong match is never ranked low because of
//! its age.

use super::mirror::Row;
use crate::clock::DAY_MS;
use crate::model::{Category, Signal};

/// Bonus of a new statement, halved every [`HALF_LIFE_DAYS`]. Turns of a conversation get no bonus, because a turn
/// records its day and does not become outdated.
const RECENCY: f64 = 0.01;
const HALF_LIFE_DAYS: f64 = 90.0;
const PINNED: f64 = 0.02;
/// Bonus of a memory that records a decision or an instruction of the user.
const DELIBERATE: f64 = 0.01;

/// Compute the bonuses of one row, each with its reason.
pub fn boosts(row: &Row, is_turn: bool, now_ms: i64) -> impl Iterator<Item = Signal> {
    let signal = |name, raw: f64, contribution: f64, reason: String| Signal {
        name,
        raw,
        rank: None,
        contribution,
        detail: format!("{reason}: +{contribution:.3}"),
    };
    let age_days = age_days(row, now_ms);
    let recent = (!is_turn).then(|| signal("recency", age_days, recency(age_days), format!("{age_days:.0} days old")));
    let pinned = row.columns.pinned.then(|| signal("pinned", 1.0, PINNED, "pinned".to_owned()));
    let category = deliberate(row);
    let deliberate = category.map(|category| signal("category", 1.0, DELIBERATE, format!("a {}", category.as_str())));
    recent.into_iter().chain(pinned).chain(deliberate)
}

/// Compute the sum of a row's bonuses.
pub fn total(row: &Row, is_turn: bool, now_ms: i64) -> f64 {
    let recent = if is_turn { 0.0 } else { recency(age_days(row, now_ms)) };
    let pinned = if row.columns.pinned { PINNED } else { 0.0 };
    recent + pinned + deliberate(row).map_or(0.0, |_| DELIBERATE)
}

fn age_days(row: &Row, now_ms: i64) -> f64 {
    now_ms.saturating_sub(row.columns.time).max(0) as f64 / DAY_MS as f64
}

fn recency(age_days: f64) -> f64 {
    RECENCY * 0.5_f64.powf(age_days / HALF_LIFE_DAYS)
}

fn deliberate(row: &Row) -> Option<Category> {
    Category::from_number(i64::from(row.columns.category)).filter(|category| is_deliberate(*category))
}

fn is_deliberate(category: Category) -> bool {
    matches!(
        category,
        Category::Decision | Category::Convention | Category::Preference | Category::Directive | Category::Solution
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::FilterRow;

    #[test]
    fn boosts_add_up_to_total_and_are_bounded() {
        let columns = FilterRow {
            key: 1,
            project: 0,
            time: 0,
            created_at: 0,
            updated_at: 0,
            expires_at: i64::MAX,
            category: Category::Decision as u8,
            status: 0,
            trust: 0,
            pinned: true,
        };
        let row = Row { columns, first_slot: 0, slots: 0, alive: true };
        for now in [0, 30 * DAY_MS, 9000 * DAY_MS] {
            for is_turn in [false, true] {
                let sum: f64 = boosts(&row, is_turn, now).map(|signal| signal.contribution).sum();
                assert!((sum - total(&row, is_turn, now)).abs() < 1e-12);
                assert!(sum <= 0.04 + 1e-12);
            }
        }
        assert!(total(&row, true, 0) + RECENCY <= total(&row, false, 0) + 1e-12, "a turn must get no recency bonus");
    }
}
