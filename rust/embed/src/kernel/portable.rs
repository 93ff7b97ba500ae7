//! Product of rows and a panel without special instructions. On arm64 the compiler vectorizes it with NEON.

use half::f16;
use half::slice::HalfFloatSliceExt;

use super::PANEL;

/// Rows that are multiplied at once, and columns of the panel. Their sums fit the registers of NEON.
const ROWS: usize = 6;
const COLUMNS: usize = 16;

/// See `Kernel::widen`.
pub fn widen(halves: &[f16], singles: &mut [f32]) {
    let length = halves.len().min(singles.len());
    halves[..length].convert_to_f32_slice(&mut singles[..length]);
}

/// See `Kernel::multiply`.
pub fn multiply(
    source: &[f32],
    stride: usize,
    panel: &[f32],
    bias: &[f32; PANEL],
    target: &mut [f32],
    target_stride: usize,
    count: usize,
) {
    let depth = panel.len() / PANEL;
    let mut row = 0;
    while row < count {
        let rows = (count - row).min(ROWS);
        for column in (0..PANEL).step_by(COLUMNS) {
            let sources = &source[row * stride..];
            let sums = match rows {
                6 => tile::<6>(sources, stride, panel, depth, bias, column).to_vec(),
                5 => tile::<5>(sources, stride, panel, depth, bias, column).to_vec(),
                4 => tile::<4>(sources, stride, panel, depth, bias, column).to_vec(),
                3 => tile::<3>(sources, stride, panel, depth, bias, column).to_vec(),
                2 => tile::<2>(sources, stride, panel, depth, bias, column).to_vec(),
                _ => tile::<1>(sources, stride, panel, depth, bias, column).to_vec(),
            };
            for (at, sums) in sums.iter().enumerate() {
                let start = (row + at) * target_stride + column;
                target[start..start + COLUMNS].copy_from_slice(sums);
            }
        }
        row += rows;
    }
}

#[inline]
fn tile<const R: usize>(
    source: &[f32],
    stride: usize,
    panel: &[f32],
    depth: usize,
    bias: &[f32; PANEL],
    column: usize,
) -> [[f32; COLUMNS]; R] {
    let mut sums = [[0.0; COLUMNS]; R];
    for sums in &mut sums {
        sums.copy_from_slice(&bias[column..column + COLUMNS]);
    }
    for (k, weights) in panel.as_chunks::<PANEL>().0.iter().enumerate().take(depth) {
        let weights = &weights[column..column + COLUMNS];
        for (row, sums) in sums.iter_mut().enumerate() {
            let factor = source[row * stride + k];
            for (sum, weight) in sums.iter_mut().zip(weights) {
                if cfg!(target_arch = "aarch64") {
                    *sum = factor.mul_add(*weight, *sum);
                } else {
                    *sum += factor * weight;
                }
            }
        }
    }
    sums
}
