//! Groups of vectors: k-means on the sphere.

use std::cmp::Reverse;

use super::Vectors;

/// Most rounds of one run. Runs on real memories end after about ten, because no vector moves any more.
const ROUNDS: usize = 30;
/// Runs with other starts, of which the best counts.
const RUNS: u64 = 5;
/// Partial sums of a product, so that the compiler uses vector instructions.
const LANES: usize = 8;

/// Group unit vectors into at most `number` groups, the largest first.
///
/// Each group has the places of its vectors in the given order, the one nearest to its centre first.
pub fn group(vectors: Vectors<'_>, number: usize) -> Vec<Vec<usize>> {
    let number = number.min(vectors.len());
    if number == 0 {
        return Vec::new();
    }
    let mut best = Grouping::from(vectors, &choose_starts(vectors, number, 0));
    for seed in 1..RUNS {
        let other = Grouping::from(vectors, &choose_starts(vectors, number, seed));
        if other.nearness > best.nearness {
            best = other;
        }
    }
    let mut groups: Vec<Vec<usize>> = (0..number).map(|label| best.by_nearness(vectors, label)).collect();
    groups.retain(|group| !group.is_empty());
    groups.sort_by_key(|group| (Reverse(group.len()), group[0]));
    groups
}

/// The group of each vector, and the centres of the groups.
struct Grouping {
    labels: Vec<usize>,
    centres: Vec<f32>,
    /// Sum of the cosines between vectors and the centres of their groups.
    nearness: f32,
}

impl Grouping {
    /// Move centres and vectors in turn until no vector changes its group.
    fn from(vectors: Vectors<'_>, starts: &[usize]) -> Self {
        let mut centres: Vec<f32> = starts.iter().flat_map(|at| vectors.row(*at)).copied().collect();
        let mut labels = vec![usize::MAX; vectors.len()];
        let mut nearness = 0.0;
        for _ in 0..ROUNDS {
            let mut has_changed = false;
            nearness = 0.0;
            for (row, label) in vectors.rows().zip(&mut labels) {
                let (nearest, cosine) = find_nearest(row, &centres, vectors.dimension);
                has_changed |= nearest != *label;
                *label = nearest;
                nearness += cosine;
            }
            if !has_changed {
                break;
            }
            move_centres(vectors, &labels, &mut centres);
        }
        Self { labels, centres, nearness }
    }

    fn by_nearness(&self, vectors: Vectors<'_>, label: usize) -> Vec<usize> {
        let centre = &self.centres[label * vectors.dimension..(label + 1) * vectors.dimension];
        let mut members: Vec<(f32, usize)> = (0..vectors.len())
            .filter(|at| self.labels[*at] == label)
            .map(|at| (dot(vectors.row(at), centre), at))
            .collect();
        members.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        members.into_iter().map(|(_, at)| at).collect()
    }
}

/// Choose vectors as first centres, each with a probability that grows with its distance from those chosen before.
fn choose_starts(vectors: Vectors<'_>, number: usize, seed: u64) -> Vec<usize> {
    let mut random = Random(seed);
    let mut starts = vec![(random.next() * vectors.len() as f32) as usize];
    let mut distances = vec![f32::INFINITY; vectors.len()];
    while starts.len() < number {
        let last = vectors.row(starts[starts.len() - 1]);
        for (row, distance) in vectors.rows().zip(&mut distances) {
            *distance = distance.min((1.0 - dot(row, last)).max(0.0));
        }
        let mut left = random.next() * distances.iter().sum::<f32>();
        let chosen = distances.iter().position(|distance| {
            left -= distance;
            left < 0.0
        });
        // Rounding may leave a rest after the last one, and equal vectors have no distance at all.
        starts.push(chosen.unwrap_or(starts.len()));
    }
    starts
}

fn find_nearest(row: &[f32], centres: &[f32], dimension: usize) -> (usize, f32) {
    let mut nearest = (0, f32::NEG_INFINITY);
    for (label, centre) in centres.chunks_exact(dimension).enumerate() {
        let cosine = dot(row, centre);
        if cosine > nearest.1 {
            nearest = (label, cosine);
        }
    }
    nearest
}

/// Move each centre into the mean direction of its group. A centre without vectors stays where it is.
fn move_centres(vectors: Vectors<'_>, labels: &[usize], centres: &mut [f32]) {
    let mut sums = vec![0.0; centres.len()];
    for (row, label) in vectors.rows().zip(labels) {
        let start = label * vectors.dimension;
        for (sum, value) in sums[start..start + vectors.dimension].iter_mut().zip(row) {
            *sum += value;
        }
    }
    for (centre, sum) in centres.chunks_exact_mut(vectors.dimension).zip(sums.chunks_exact(vectors.dimension)) {
        let length = dot(sum, sum).sqrt();
        if length > 0.0 {
            for (value, sum) in centre.iter_mut().zip(sum) {
                *value = sum / length;
            }
        }
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a, rest_a) = a.as_chunks::<LANES>();
    let (b, rest_b) = b.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f32>() + rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum::<f32>()
}

/// Random numbers that are the same in each run (`SplitMix64`, <https://prng.di.unimi.it/splitmix64.c>).
struct Random(u64);

impl Random {
    /// A number from 0 to 1, 1 excluded.
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 40) as f32 / (1_u64 << 24) as f32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_vector_is_in_one_group(values in prop::collection::vec(-1.0_f32..1.0, 0..120), number in 0_usize..9) {
            let vectors = Vectors::new(&values[..values.len() / 3 * 3], 3).unwrap();
            let groups = group(vectors, number);
            prop_assert!(groups.len() <= number);
            let mut members: Vec<usize> = groups.into_iter().flatten().collect();
            members.sort_unstable();
            let expected: Vec<usize> = (0..if number == 0 { 0 } else { vectors.len() }).collect();
            prop_assert_eq!(members, expected);
        }
    }

    #[test]
    fn vectors_of_one_direction_are_one_group() {
        let values = [1.0, 0.0, 0.0, 1.0, 0.98, 0.199, 0.0, 1.0, 0.96, 0.28];
        assert_eq!(group(Vectors::new(&values, 2).unwrap(), 2), [vec![2, 4, 0], vec![1, 3]]);
    }
}
