//! Filter of a recall, applied to rows of the mirror before any top-k selection.

use rustc_hash::FxHashSet;

use super::mirror::{Mirror, Row};
use crate::error::Result;
use crate::model::{Scope, Selection, Status};
use crate::store::Connection;
use crate::store::{memory, project};

/// Number of rows sampled to estimate the selectivity of a filter.
const SAMPLE: usize = 128;
/// Odd multiplier whose products scatter the sampled rows.
const SCATTER: usize = 0x9E37_79B1;

/// A [`Selection`] resolved to keys and columns of the mirror.
#[derive(Debug)]
pub struct Filter {
    projects: Projects,
    categories: u32,
    statuses: u32,
    since: i64,
    until: i64,
    created_before: i64,
    now_ms: i64,
    with_expired: bool,
    pinned_only: bool,
    keys: Option<FxHashSet<i64>>,
}

#[derive(Debug, PartialEq, Eq)]
enum Projects {
    All,
    /// Every project, without the global memories.
    Any,
    These(Vec<i64>),
}

/// The rows that pass a filter.
#[derive(Debug)]
pub enum Remaining {
    /// Places of all rows that pass.
    Places(Vec<u32>),
    /// Estimated share of the existing memories that pass.
    Share(f64),
}

impl Remaining {
    /// Number of memories that pass, estimated for a share.
    pub fn count(&self, mirror: &Mirror) -> usize {
        match self {
            Self::Places(places) => places.len(),
            Self::Share(share) => (share * mirror.len() as f64).round() as usize,
        }
    }
}

impl Filter {
    /// Resolve the names of a selection against the snapshot.
    pub fn new(at: &Connection, selection: &Selection, now_ms: i64) -> Result<Self> {
        let projects = match &selection.scope {
            Scope::Everything => Projects::All,
            Scope::EveryProject => Projects::Any,
            Scope::Global => Projects::These(vec![0]),
            Scope::Project { name, with_global } => {
                let global = with_global.then_some(0);
                // An unknown project has no memories.
                Projects::These(project::id_of(at, Some(name))?.into_iter().chain(global).collect())
            }
        };
        let mut keys: Option<FxHashSet<i64>> = None;
        if let Some(entity) = &selection.entity {
            keys = Some(memory::keys_mentioning(at, entity)?.into_iter().collect());
        }
        if let Some(tag) = &selection.tag {
            let tagged = memory::keys_tagged(at, tag)?.into_iter();
            keys = Some(match keys {
                Some(keys) => tagged.filter(|key| keys.contains(key)).collect(),
                None => tagged.collect(),
            });
        }
        Ok(Self {
            projects,
            categories: selection.categories.iter().fold(0, |bits, category| bits | category.bit()),
            statuses: selection.wanted_statuses().iter().fold(0, |bits, status| bits | status.bit()),
            since: selection.since.unwrap_or(i64::MIN),
            until: selection.until.unwrap_or(i64::MAX),
            created_before: selection.created_before.unwrap_or(i64::MAX),
            now_ms,
            with_expired: selection.with_expired,
            pinned_only: selection.pinned_only,
            keys,
        })
    }

    /// Select turns of a session index by their projects, or all with `None`, and by their time.
    pub fn of_turns(projects: Option<Vec<i64>>, since: Option<i64>, until: Option<i64>) -> Self {
        Self {
            projects: projects.map_or(Projects::All, Projects::These),
            categories: 0,
            statuses: Status::Active.bit(),
            since: since.unwrap_or(i64::MIN),
            until: until.unwrap_or(i64::MAX),
            created_before: i64::MAX,
            now_ms: i64::MIN,
            with_expired: true,
            pinned_only: false,
            keys: None,
        }
    }

    /// Whether a row may be returned.
    #[inline]
    pub fn allows(&self, row: &Row) -> bool {
        let columns = &row.columns;
        row.alive
            && self.statuses & (1 << columns.status) != 0
            && match &self.projects {
                Projects::All => true,
                Projects::Any => columns.project != 0,
                Projects::These(wanted) => wanted.contains(&columns.project),
            }
            && (self.categories == 0 || self.categories & (1 << columns.category) != 0)
            && columns.time >= self.since
            && columns.time < self.until
            && columns.created_at < self.created_before
            && (self.with_expired || columns.expires_at > self.now_ms)
            && (!self.pinned_only || columns.pinned)
            && self.keys.as_ref().is_none_or(|keys| keys.contains(&columns.key))
    }

    /// Places of all rows that may be returned, sorted.
    pub fn places(&self, mirror: &Mirror) -> Vec<u32> {
        let mut places: Vec<u32> = match (&self.keys, &self.projects) {
            (Some(keys), _) => keys.iter().filter_map(|key| mirror.row_of(*key)).collect(),
            (None, Projects::All | Projects::Any) => mirror.places().collect(),
            (None, Projects::These(projects)) => {
                projects.iter().flat_map(|project| mirror.places_in(*project)).copied().collect()
            }
        };
        places.retain(|place| self.allows(mirror.row(*place)));
        places.sort_unstable(); // Memories of a project are adjacent, so a scan reads vectors in order.
        places.dedup(); // A row that returned to a project is listed twice.
        places
    }

    /// Return the rows that pass if they are at most `few`, otherwise their estimated share.
    pub fn remaining(&self, mirror: &Mirror, few: usize) -> Remaining {
        let all = mirror.places().len();
        if self.count_listed(mirror) > few {
            let sampled = sampled_places(all).count();
            let sample = || sampled_places(all).map(|place| mirror.row(place as u32)).filter(|row| row.alive);
            let allowed = sample().filter(|row| self.allows(row)).count();
            // Count exactly near the bound, because a wrong estimate costs a search of the whole graph.
            if 2 * allowed * all / sampled > 3 * few {
                return Remaining::Share(allowed as f64 / sample().count().max(1) as f64);
            }
        }
        let places = self.places(mirror);
        if places.len() <= few {
            return Remaining::Places(places);
        }
        Remaining::Share(places.len() as f64 / mirror.len().max(1) as f64)
    }

    /// Number of rows to check in order to find all rows that pass.
    fn count_listed(&self, mirror: &Mirror) -> usize {
        match (&self.keys, &self.projects) {
            (Some(keys), _) => keys.len(),
            (None, Projects::All | Projects::Any) => mirror.places().len(),
            (None, Projects::These(projects)) => projects.iter().map(|project| mirror.places_in(*project).len()).sum(),
        }
    }
}

/// Places of a sample of `all` rows, in order.
///
/// Their distances differ. At equal distances, a sample could meet one kind of memory alone if kinds alternate.
fn sampled_places(all: usize) -> impl Iterator<Item = usize> {
    let step = (all / SAMPLE).max(1);
    (0..all).step_by(step).map(move |at| (at + (at.wrapping_mul(SCATTER) >> 8) % step).min(all - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_represents_kinds_that_alternate() {
        for all in [1, 127, 128, 33_000, 66_048, 100_000] {
            let places: Vec<usize> = sampled_places(all).collect();
            assert!(places.len() >= all.min(SAMPLE) && places.is_sorted() && places.iter().all(|place| *place < all));
        }
        for kinds in 2..12 {
            // The distance without scattering is a multiple of the number of kinds.
            let places: Vec<usize> = sampled_places(SAMPLE * kinds * 40).collect();
            let of_kind = |kind: usize| places.iter().filter(|place| *place % kinds == kind).count();
            let usual = places.len() / kinds;
            assert!((0..kinds).all(|kind| (usual / 3..=3 * usual).contains(&of_kind(kind))), "{kinds}");
        }
    }
}
