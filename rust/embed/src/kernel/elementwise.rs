//! Loops over single values, which the compiler vectorizes for each level.
//!
//! `FMA` says whether the level has an instruction for `a * b + c`. Without it, `mul_add` would call a function.

#![expect(clippy::inline_always, reason = "a function is compiled for the level of the caller only if it is inlined")]

/// Added to a variance, as in the model's description.
const EPSILON: f32 = 1e-12;

#[inline(always)]
fn mul_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Exponential function for values up to about 88; less than -87 gives almost 0. The relative error is below 2e-7.
#[inline(always)]
fn exp<const FMA: bool>(x: f32) -> f32 {
    /// The sum of this number and a small one holds the nearest integer in its lowest bits.
    const ROUND: f32 = 12_582_912.0;
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 88.0);
    let shifted = mul_add::<FMA>(x, std::f32::consts::LOG2_E, ROUND);
    let count = shifted - ROUND;
    let rest = mul_add::<FMA>(count, -LN_2_LOW, mul_add::<FMA>(count, -LN_2_HIGH, x));
    // The minimax polynomial of Cephes' expf.
    let mut sum = 1.987_569_1e-4;
    sum = mul_add::<FMA>(sum, rest, 1.398_199_9e-3);
    sum = mul_add::<FMA>(sum, rest, 8.333_452e-3);
    sum = mul_add::<FMA>(sum, rest, 4.166_579_6e-2);
    sum = mul_add::<FMA>(sum, rest, 1.666_666_5e-1);
    sum = mul_add::<FMA>(sum, rest, 0.5);
    let sum = mul_add::<FMA>(sum, rest * rest, rest + 1.0);
    let power = f32::from_bits(shifted.to_bits().wrapping_shl(23).wrapping_add(1.0_f32.to_bits()));
    sum * power
}

/// The error function. The absolute error is below 3e-7: Abramowitz and Stegun, 7.1.26.
#[inline(always)]
fn erf<const FMA: bool>(x: f32) -> f32 {
    let size = x.abs();
    let t = 1.0 / mul_add::<FMA>(0.327_591_1, size, 1.0);
    let mut sum = 1.061_405_4;
    sum = mul_add::<FMA>(sum, t, -1.453_152);
    sum = mul_add::<FMA>(sum, t, 1.421_413_7);
    sum = mul_add::<FMA>(sum, t, -0.284_496_74);
    sum = mul_add::<FMA>(sum, t, 0.254_829_6);
    mul_add::<FMA>(-(sum * t), exp::<FMA>(-size * size), 1.0).copysign(x)
}

#[inline(always)]
pub fn gelu<const FMA: bool>(values: &mut [f32]) {
    for value in values {
        let half = 0.5 * *value;
        *value = mul_add::<FMA>(half, erf::<FMA>(*value * std::f32::consts::FRAC_1_SQRT_2), half);
    }
}

#[inline(always)]
pub fn softmax<const FMA: bool>(values: &mut [f32]) {
    let greatest = fold(values, f32::NEG_INFINITY, |value| value, f32::max);
    for value in &mut *values {
        *value = exp::<FMA>(*value - greatest);
    }
    let share = 1.0 / fold(values, 0.0, |value| value, |a, b| a + b);
    for value in values {
        *value *= share;
    }
}

#[inline(always)]
pub fn add_and_normalise<const FMA: bool>(row: &mut [f32], other: &[f32], gain: &[f32], shift: &[f32]) {
    for (value, other) in row.iter_mut().zip(other) {
        *value += other;
    }
    let length = row.len() as f32;
    let mean = fold(row, 0.0, |value| value, |a, b| a + b) / length;
    let variance = fold(row, 0.0, |value| (value - mean) * (value - mean), |a, b| a + b) / length;
    let scale = 1.0 / (variance + EPSILON).sqrt();
    for ((value, gain), shift) in row.iter_mut().zip(gain).zip(shift) {
        *value = mul_add::<FMA>((*value - mean) * scale, *gain, *shift);
    }
}

/// Fold values in 16 lanes, which the compiler keeps in vector registers.
#[inline(always)]
fn fold(values: &[f32], start: f32, map: impl Fn(f32) -> f32, join: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [start; 16];
    let (chunks, rest) = values.as_chunks::<16>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = join(*lane, map(*value));
        }
    }
    let joined = lanes.into_iter().fold(start, &join);
    rest.iter().fold(joined, |sum, value| join(sum, map(*value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_within_its_error() {
        for step in -8_600..=8_800 {
            let x = step as f32 / 100.0;
            let expected = f64::from(x).exp();
            for found in [exp::<true>(x), exp::<false>(x)] {
                assert!((f64::from(found) / expected - 1.0).abs() < 4e-7, "{x}: {found} instead of {expected}");
            }
        }
    }

    #[test]
    fn gelu_is_within_its_error() {
        // Values of the normal distribution function, from its tables.
        for (x, below) in
            [(-3.0, 0.001_349_9), (-1.0, 0.158_655_25), (0.0, 0.5), (0.5, 0.691_462_5), (2.0, 0.977_249_9)]
        {
            let mut values = [x];
            gelu::<true>(&mut values);
            assert!((values[0] - x * below).abs() < 1e-6, "{x}: {}", values[0]);
        }
    }

    #[test]
    fn softmax_shares_add_up_to_one_for_great_values() {
        let mut values: Vec<f32> = (0..40).map(|at| at as f32 * 5.0 - 300.0).collect();
        softmax::<true>(&mut values);
        assert!((values.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!(values.is_sorted());
    }

    #[test]
    fn normalised_row_has_mean_zero_and_variance_one() {
        let mut row: Vec<f32> = (0..384).map(|at| (at % 7) as f32).collect();
        let (other, gain, shift) = (vec![3.0; 384], vec![2.0; 384], vec![1.0; 384]);
        add_and_normalise::<true>(&mut row, &other, &gain, &shift);
        let mean = row.iter().sum::<f32>() / 384.0;
        let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / 384.0;
        assert!((mean - 1.0).abs() < 1e-5 && (variance - 4.0).abs() < 1e-4, "{mean} {variance}");
    }
}
