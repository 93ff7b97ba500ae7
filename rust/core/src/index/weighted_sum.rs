//! Cosine of a query with a weighted sum of stored vectors, without writing the sum to memory.

use std::sync::LazyLock;

use super::slab::Slab;

/// A slot, and the weight of its vector in a sum.
pub type Weighted = (u32, f32);

/// Cosine of a unit query and the weighted sum of the vectors of some slots; `None` if the sum is zero.
///
/// # Panics
///
/// If the lengths differ; callers compare vectors of one model only.
pub fn cosine_of_sum(slab: &Slab, query: &[f32], weighted: &[Weighted]) -> Option<f32> {
    assert_eq!(query.len(), slab.dimension(), "compared vectors must have the same length");
    let (product, squares) = PROJECT_SUM(slab, query, weighted);
    (squares > 0.0).then(|| product / squares.sqrt())
}

/// Returns the product of a query and a weighted sum, and the squared length of the sum.
type ProjectSum = fn(&Slab, &[f32], &[Weighted]) -> (f32, f32);

static PROJECT_SUM: LazyLock<ProjectSum> = LazyLock::new(|| {
    #[cfg(target_arch = "x86_64")]
    if super::exact::x86::is_available() {
        // SAFETY: the required processor features were just detected.
        return |slab, query, weighted| unsafe { x86::project_sum(slab, query, weighted) };
    }
    portable_project_sum
});

fn portable_project_sum(slab: &Slab, query: &[f32], weighted: &[Weighted]) -> (f32, f32) {
    project_sum_from(0, slab, query, weighted)
}

/// Sum up the components from number `first` on.
fn project_sum_from(first: usize, slab: &Slab, query: &[f32], weighted: &[Weighted]) -> (f32, f32) {
    let (mut product, mut squares) = (0.0, 0.0);
    for (at, query) in query.iter().enumerate().skip(first) {
        let sum: f32 = weighted.iter().map(|(slot, weight)| weight * slab.get(*slot)[at].to_f32()).sum();
        product += sum * query;
        squares += sum * sum;
    }
    (product, squares)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm_loadu_si128, _mm256_cvtph_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps, _mm256_setzero_ps,
    };

    use super::{Slab, Weighted};
    use crate::index::exact::x86::add_lanes;

    /// Products of the weighted sum, eight lanes at a time. The sum stays in registers.
    #[target_feature(enable = "avx2,fma,f16c")]
    pub fn project_sum(slab: &Slab, query: &[f32], weighted: &[Weighted]) -> (f32, f32) {
        let (queries, rest) = query.as_chunks::<8>();
        let (mut products, mut squares) = (_mm256_setzero_ps(), _mm256_setzero_ps());
        for (at, query) in queries.iter().enumerate() {
            let mut sum = _mm256_setzero_ps();
            for (slot, weight) in weighted {
                let row = &slab.get(*slot).as_chunks::<8>().0[at];
                // SAFETY: the pointer reads the 8 values that its array holds; f16 has the layout of u16.
                let values = _mm256_cvtph_ps(unsafe { _mm_loadu_si128(row.as_ptr().cast()) });
                sum = _mm256_fmadd_ps(_mm256_set1_ps(*weight), values, sum);
            }
            // SAFETY: the pointer reads the 8 values that its array holds.
            products = _mm256_fmadd_ps(sum, unsafe { _mm256_loadu_ps(query.as_ptr()) }, products);
            squares = _mm256_fmadd_ps(sum, sum, squares);
        }
        let (product, square) = super::project_sum_from(query.len() - rest.len(), slab, query, weighted);
        (product + add_lanes(products), square + add_lanes(squares))
    }
}

#[cfg(test)]
mod tests {
    use half::f16;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cosine_of_sum_equals_cosine_of_summed_vectors(
            query in prop::collection::vec(-1.0_f32..1.0, 1..40),
            parts in prop::collection::vec((0..4_u32, 0.0_f32..2.0), 1..6),
        ) {
            let dimension = query.len();
            let mut slab = Slab::new(dimension);
            let value = |slot: u32, lane: usize| f16::from_f32((slot as usize * 7 + lane * 3) as f32 % 5.0 - 1.7);
            for slot in 0..4 {
                slab.put(slot, &(0..dimension).flat_map(|lane| value(slot, lane).to_le_bytes()).collect::<Vec<u8>>());
            }
            let sum: Vec<f64> = (0..dimension)
                .map(|lane| parts.iter().map(|(slot, weight)| f64::from(*weight) * value(*slot, lane).to_f64()).sum())
                .collect();
            let product: f64 = sum.iter().zip(&query).map(|(a, b)| a * f64::from(*b)).sum();
            let squares: f64 = sum.iter().map(|value| value * value).sum();
            for (found, squared) in [
                PROJECT_SUM(&slab, &query, &parts),
                portable_project_sum(&slab, &query, &parts),
            ] {
                prop_assert!((f64::from(found) - product).abs() < 1e-3, "{found} {product}");
                prop_assert!((f64::from(squared) - squares).abs() < 1e-3 * (1.0 + squares), "{squared} {squares}");
            }
            let cosine = cosine_of_sum(&slab, &query, &parts);
            prop_assert!(cosine.is_none_or(|cosine| (f64::from(cosine) - product / squares.sqrt()).abs() < 1e-2));
        }
    }
}
