//! Vectors quantised to eight bits per component, which preselect the vectors for the exact comparison.
//!
//! They take half the memory of half precision. The product of two unit vectors has an error of about 0.001.

use std::sync::LazyLock;

use half::f16;

/// Scale of the components. Components of a unit vector are about 1/√d; values above six times that are clipped.
fn scale(dimension: usize) -> f32 {
    127.0 * (dimension as f32).sqrt() / 6.0
}

/// Factor that converts the product of two quantised vectors to their cosine.
pub fn unit(dimension: usize) -> f32 {
    1.0 / (scale(dimension) * scale(dimension))
}

/// Quantise a unit vector of single precision.
pub fn quantise(vector: &[f32]) -> Vec<i8> {
    let scale = scale(vector.len());
    vector.iter().map(|value| round_to_i8(value * scale)).collect()
}

/// Quantise a unit vector of half precision.
///
/// # Panics
///
/// If the lengths differ.
pub fn quantise_into(vector: &[f16], into: &mut [i8]) {
    assert_eq!(vector.len(), into.len(), "a vector and its quantised form must have the same length");
    (KERNELS.quantise_into)(vector, scale(vector.len()), into);
}

/// Inner product of two quantised vectors.
///
/// # Panics
///
/// If the lengths differ; callers compare vectors of one model only.
#[inline]
pub fn dot(a: &[i8], b: &[i8]) -> i32 {
    assert_eq!(a.len(), b.len(), "compared vectors must have the same length");
    (KERNELS.dot)(a, b)
}

fn round_to_i8(value: f32) -> i8 {
    value.round_ties_even().clamp(-127.0, 127.0) as i8
}

struct Kernels {
    dot: fn(&[i8], &[i8]) -> i32,
    quantise_into: fn(&[f16], f32, &mut [i8]),
}

static KERNELS: LazyLock<Kernels> = LazyLock::new(|| {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("f16c") {
        let has_vnni = std::arch::is_x86_feature_detected!("avx512vnni")
            && std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("avx512f");
        return Kernels {
            // SAFETY: the required processor features were just detected.
            dot: if has_vnni { |a, b| unsafe { x86::dot_vnni(a, b) } } else { |a, b| unsafe { x86::dot(a, b) } },
            // SAFETY: as above.
            quantise_into: |vector, scale, into| unsafe { x86::quantise_into(vector, scale, into) },
        };
    }
    Kernels { dot: portable_dot, quantise_into: portable_quantise_into }
});

fn portable_dot(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

fn portable_quantise_into(vector: &[f16], scale: f32, into: &mut [i8]) {
    for (slot, value) in into.iter_mut().zip(vector) {
        *slot = round_to_i8(value.to_f32() * scale);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm_loadu_si128, _mm_packs_epi16, _mm_packs_epi32, _mm_storeu_si128, _mm256_add_epi32, _mm256_castsi256_si128,
        _mm256_cvtepi8_epi16, _mm256_cvtph_ps, _mm256_cvtps_epi32, _mm256_extracti128_si256, _mm256_madd_epi16,
        _mm256_max_ps, _mm256_min_ps, _mm256_mul_ps, _mm256_set1_ps, _mm256_setzero_si256, _mm256_storeu_si256,
        _mm512_dpbusd_epi32, _mm512_loadu_si512, _mm512_reduce_add_epi32, _mm512_set1_epi8, _mm512_setzero_si512,
        _mm512_sub_epi32, _mm512_xor_si512,
    };

    use half::f16;

    /// Inner product, thirty-two lanes at a time.
    #[target_feature(enable = "avx2")]
    pub fn dot(a: &[i8], b: &[i8]) -> i32 {
        let (a_chunks, a_rest) = a.as_chunks::<32>();
        let (b_chunks, b_rest) = b.as_chunks::<32>();
        let mut low = _mm256_setzero_si256();
        let mut high = _mm256_setzero_si256();
        for (a, b) in a_chunks.iter().zip(b_chunks) {
            // SAFETY: each load reads 16 of the 32 bytes that its array holds; unaligned loads are asked for.
            let (a_low, a_high, b_low, b_high) = unsafe {
                (
                    _mm_loadu_si128(a.as_ptr().cast()),
                    _mm_loadu_si128(a.as_ptr().add(16).cast()),
                    _mm_loadu_si128(b.as_ptr().cast()),
                    _mm_loadu_si128(b.as_ptr().add(16).cast()),
                )
            };
            low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_cvtepi8_epi16(a_low), _mm256_cvtepi8_epi16(b_low)));
            high =
                _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_cvtepi8_epi16(a_high), _mm256_cvtepi8_epi16(b_high)));
        }
        let mut lanes = [0_i32; 8];
        // SAFETY: `lanes` holds the eight values that are stored.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), _mm256_add_epi32(low, high)) };
        lanes.iter().sum::<i32>() + super::portable_dot(a_rest, b_rest)
    }

    /// Inner product, sixty-four lanes at a time.
    ///
    /// The instruction multiplies unsigned by signed lanes. So `a` is moved up by 128, and 128 times the sum of `b` is
    /// subtracted.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub fn dot_vnni(a: &[i8], b: &[i8]) -> i32 {
        let (a_chunks, a_rest) = a.as_chunks::<64>();
        let (b_chunks, b_rest) = b.as_chunks::<64>();
        let up = _mm512_set1_epi8(-128); // As unsigned, 128; adding it is flipping the highest bit.
        let (mut moved, mut excess) = (_mm512_setzero_si512(), _mm512_setzero_si512());
        for (a, b) in a_chunks.iter().zip(b_chunks) {
            // SAFETY: each load reads the 64 bytes that its array holds; unaligned loads are asked for.
            let (a, b) = unsafe { (_mm512_loadu_si512(a.as_ptr().cast()), _mm512_loadu_si512(b.as_ptr().cast())) };
            moved = _mm512_dpbusd_epi32(moved, _mm512_xor_si512(a, up), b);
            excess = _mm512_dpbusd_epi32(excess, up, b);
        }
        _mm512_reduce_add_epi32(_mm512_sub_epi32(moved, excess)) + super::portable_dot(a_rest, b_rest)
    }

    /// Quantise sixteen lanes at a time, rounding half to even.
    #[target_feature(enable = "avx2,f16c")]
    pub fn quantise_into(vector: &[f16], scale: f32, into: &mut [i8]) {
        let (chunks, rest) = vector.as_chunks::<16>();
        let (slots, rest_slots) = into.as_chunks_mut::<16>();
        let factor = _mm256_set1_ps(scale);
        let (least, greatest) = (_mm256_set1_ps(-127.0), _mm256_set1_ps(127.0));
        for (chunk, slots) in chunks.iter().zip(slots) {
            // SAFETY: each load reads 8 of the 16 values that the array holds, and f16 has the layout of u16.
            let halves =
                unsafe { [_mm_loadu_si128(chunk.as_ptr().cast()), _mm_loadu_si128(chunk.as_ptr().add(8).cast())] };
            let words = halves.map(|half| {
                let scaled = _mm256_mul_ps(_mm256_cvtph_ps(half), factor);
                let whole = _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(scaled, least), greatest));
                _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256::<1>(whole))
            });
            // SAFETY: `slots` holds the sixteen values that are stored.
            unsafe { _mm_storeu_si128(slots.as_mut_ptr().cast(), _mm_packs_epi16(words[0], words[1])) };
        }
        super::portable_quantise_into(rest, scale, rest_slots);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn dot_kernels_agree(values in prop::collection::vec((-127..=127_i8, -127..=127_i8), 0..200)) {
            let (a, b): (Vec<i8>, Vec<i8>) = values.into_iter().unzip();
            prop_assert_eq!(dot(&a, &b), portable_dot(&a, &b));
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the required processor feature was just detected. Newer processors have a faster kernel.
                prop_assert_eq!(unsafe { x86::dot(&a, &b) }, portable_dot(&a, &b));
            }
        }

        #[test]
        fn quantise_kernels_agree(values in prop::collection::vec(-1.5_f32..1.5, 0..100)) {
            let halves: Vec<f16> = values.iter().map(|value| f16::from_f32(*value)).collect();
            let singles: Vec<f32> = halves.iter().map(|value| value.to_f32()).collect();
            let (mut fast, mut portable) = (vec![0; halves.len()], vec![0; halves.len()]);
            quantise_into(&halves, &mut fast);
            portable_quantise_into(&halves, scale(halves.len()), &mut portable);
            prop_assert_eq!(&fast, &portable);
            prop_assert_eq!(&fast, &quantise(&singles));
        }
    }

    #[test]
    fn product_is_close_to_cosine() {
        let unit_vector = |seed: u32| {
            let raw: Vec<f32> = (0..384_u32)
                .map(|lane| ((seed + lane * 37).wrapping_mul(2_654_435_761) % 1009) as f32 - 504.0)
                .collect();
            let length = raw.iter().map(|value| value * value).sum::<f32>().sqrt();
            raw.iter().map(|value| value / length).collect::<Vec<f32>>()
        };
        for seed in 0..50 {
            let (a, b) = (unit_vector(seed), unit_vector(seed * 7 + 3));
            let exact: f32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            let rough = dot(&quantise(&a), &quantise(&b)) as f32 * unit(384);
            assert!((exact - rough).abs() < 0.004, "{exact} {rough}");
        }
    }
}
