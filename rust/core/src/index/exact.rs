//! Exact comparison of half-precision vectors with a single-precision query.
//!
//! The kernel is chosen once, by the features of the processor. All kernels give equal scores up to rounding in the last
//! bits, and a vector gets the same score from a scan as from the graph.

use std::sync::LazyLock;

use half::f16;

/// Inner product of a single-precision and a half-precision vector.
///
/// # Panics
///
/// If the lengths differ; callers compare vectors of one model only.
#[inline]
pub fn dot(query: &[f32], row: &[f16]) -> f32 {
    assert_eq!(query.len(), row.len(), "compared vectors must have the same length");
    DOT(query, row)
}

type Dot = fn(&[f32], &[f16]) -> f32;

static DOT: LazyLock<Dot> = LazyLock::new(|| {
    #[cfg(target_arch = "x86_64")]
    if x86::is_available() {
        // SAFETY: the required processor features were just detected.
        return |query, row| unsafe { x86::dot(query, row) };
    }
    portable_dot
});

fn portable_dot(query: &[f32], row: &[f16]) -> f32 {
    let mut sums = [0.0_f32; 8];
    let (queries, query_rest) = query.as_chunks::<8>();
    let (rows, row_rest) = row.as_chunks::<8>();
    for (a, b) in queries.iter().zip(rows) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane].to_f32();
        }
    }
    let rest: f32 = query_rest.iter().zip(row_rest).map(|(a, b)| a * b.to_f32()).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use std::arch::x86_64::{
        __m256, _mm_loadu_si128, _mm256_add_ps, _mm256_cvtph_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_setzero_ps,
        _mm256_storeu_ps,
    };

    use half::f16;

    /// Whether the processor has the features that the kernels need.
    pub fn is_available() -> bool {
        std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("fma")
            && std::arch::is_x86_feature_detected!("f16c")
    }

    /// Inner product, sixteen lanes at a time.
    #[target_feature(enable = "avx2,fma,f16c")]
    pub fn dot(query: &[f32], row: &[f16]) -> f32 {
        let (queries, query_rest) = query.as_chunks::<16>();
        let (rows, row_rest) = row.as_chunks::<16>();
        let mut low = _mm256_setzero_ps();
        let mut high = _mm256_setzero_ps();
        for (a, b) in queries.iter().zip(rows) {
            // SAFETY: each pointer reads 8 of the 16 values that its array holds; unaligned loads are asked for, and
            // f16 has the layout of u16.
            unsafe {
                let first = _mm256_cvtph_ps(_mm_loadu_si128(b.as_ptr().cast()));
                let second = _mm256_cvtph_ps(_mm_loadu_si128(b.as_ptr().add(8).cast()));
                low = _mm256_fmadd_ps(_mm256_loadu_ps(a.as_ptr()), first, low);
                high = _mm256_fmadd_ps(_mm256_loadu_ps(a.as_ptr().add(8)), second, high);
            }
        }
        let rest: f32 = query_rest.iter().zip(row_rest).map(|(a, b)| a * b.to_f32()).sum();
        add_lanes(_mm256_add_ps(low, high)) + rest
    }

    /// Sum of the lanes.
    #[target_feature(enable = "avx2")]
    pub fn add_lanes(values: __m256) -> f32 {
        let mut lanes = [0.0_f32; 8];
        // SAFETY: `lanes` holds the eight values that are stored.
        unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), values) };
        lanes.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn dot_kernels_agree_with_f64(values in prop::collection::vec((-1.0_f32..1.0, -1.0_f32..1.0), 0..100)) {
            let query: Vec<f32> = values.iter().map(|pair| pair.0).collect();
            let row: Vec<f16> = values.iter().map(|pair| f16::from_f32(pair.1)).collect();
            let exact: f64 = query.iter().zip(&row).map(|(a, b)| f64::from(*a) * b.to_f64()).sum();
            prop_assert!((f64::from(dot(&query, &row)) - exact).abs() < 1e-4);
            prop_assert!((f64::from(portable_dot(&query, &row)) - exact).abs() < 1e-4);
        }
    }
}
