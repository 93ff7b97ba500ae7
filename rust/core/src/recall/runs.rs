//! Numbers given out in runs, one project after the other, so that what a filter by project looks at lies side by side:
//! a scan of neighbours reads memory several times as fast as one that jumps.

use std::ops::Range;

use rustc_hash::FxHashMap;

/// Numbers of one run. A project with one memory wastes the rest; a longer run would be no faster.
const RUN: u32 = 128;

/// What is left of the run of each project.
#[derive(Debug, Default)]
pub struct Runs {
    open: FxHashMap<i64, Range<u32>>,
    end: u32,
}

impl Runs {
    /// The first of `count` numbers in a row that nobody has.
    pub fn take(&mut self, project: i64, count: u32) -> u32 {
        let run = self.open.entry(project).or_default();
        if (run.len() as u32) < count {
            *run = self.end..self.end + count.max(RUN);
            self.end = run.end;
        }
        let first = run.start;
        run.start += count;
        first
    }

    /// Beyond the last number of every run.
    pub fn end(&self) -> u32 {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_project_lie_side_by_side_and_nobody_gets_one_twice() {
        let mut runs = Runs::default();
        assert_eq!((runs.take(7, 1), runs.take(7, 3), runs.take(7, 1)), (0, 1, 4));
        assert_eq!((runs.take(8, 2), runs.take(7, 1), runs.take(8, 1)), (RUN, 5, RUN + 2));
        assert_eq!(runs.take(8, RUN), 2 * RUN);
        assert_eq!((runs.take(8, 2 * RUN), runs.end()), (3 * RUN, 5 * RUN));
    }
}
