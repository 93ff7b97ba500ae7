//! Small, bounded additions for what a memory is, not for how well it matches: they reorder near-ties and never bury a
//! strong match because it is old.

use super::mirror::Row;
use crate::clock::DAY_MS;
use crate::model::{Category, Signal};

/// A memory that changed just now gets this much; half of it after [`HALF_LIFE_DAYS`].
const RECENCY: f64 = 0.0;
const HALF_LIFE_DAYS: f64 = 90.0;
const PINNED: f64 = 0.02;
/// What a person decided or ordered, before what was merely said.
const DELIBERATE: f64 = 0.01;

/// The additions of one row, each with its reason.
pub fn boosts(row: &Row, now_ms: i64) -> impl Iterator<Item = Signal> {
    let columns = row.columns;
    let age_days = (now_ms - columns.time).max(0) as f64 / DAY_MS as f64;
    let recency = RECENCY * 0.5_f64.powf(age_days / HALF_LIFE_DAYS);
    let recent = Signal {
        name: "recency",
        raw: age_days,
        rank: None,
        contribution: recency,
        detail: format!("{age_days:.0} days old: +{recency:.3}"),
    };
    let pinned = columns.pinned.then(|| Signal {
        name: "pinned",
        raw: 1.0,
        rank: None,
        contribution: PINNED,
        detail: format!("pinned: +{PINNED:.3}"),
    });
    let category = Category::from_number(i64::from(columns.category)).filter(|category| is_deliberate(*category));
    let deliberate = category.map(|category| Signal {
        name: "category",
        raw: 1.0,
        rank: None,
        contribution: DELIBERATE,
        detail: format!("a {}: +{DELIBERATE:.3}", category.as_str()),
    });
    std::iter::once(recent).chain(pinned).chain(deliberate)
}

/// The sum of a row's additions, without the words.
pub fn total(row: &Row, now_ms: i64) -> f64 {
    let columns = row.columns;
    let age_days = (now_ms - columns.time).max(0) as f64 / DAY_MS as f64;
    let mut total = RECENCY * 0.5_f64.powf(age_days / HALF_LIFE_DAYS);
    if columns.pinned {
        total += PINNED;
    }
    if Category::from_number(i64::from(columns.category)).is_some_and(is_deliberate) {
        total += DELIBERATE;
    }
    total
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
    fn the_reasons_add_up_to_the_total_and_stay_small() {
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
            let sum: f64 = boosts(&row, now).map(|signal| signal.contribution).sum();
            assert!((sum - total(&row, now)).abs() < 1e-12);
            assert!(sum <= 0.05);
        }
    }
}
