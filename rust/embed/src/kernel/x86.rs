//! Product of rows and a panel with AVX2 and with AVX-512.
//!
//! A tile keeps the sums of some rows and columns in registers. The number of rows is a constant, so that the compiler
//! unrolls the loops over them.

use std::arch::x86_64::{
    __m512, _mm_loadu_si128, _mm256_cvtph_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_set1_ps,
    _mm256_storeu_ps, _mm512_cvtph_ps, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_set1_ps, _mm512_storeu_ps,
};

use half::f16;

use super::PANEL;

/// Rows of a tile with AVX2: 12 registers of 16 hold sums of 16 columns.
const ROWS_AVX2: usize = 6;
/// Rows of a tile with AVX-512: 24 registers of 32 hold sums of 32 columns.
pub const ROWS_AVX512: usize = 12;

/// Call a tile with the number of rows as a constant.
macro_rules! with_rows {
    ($rows:expr, $tile:ident, $arguments:tt, [$($number:literal)*]) => {
        match $rows {
            $($number => $tile::<$number> $arguments,)*
            _ => unreachable!("a tile has fewer rows"),
        }
    };
}

/// A value of a panel, which is loaded in single precision.
pub trait Weight: Copy {
    /// Load 16 values.
    ///
    /// # Safety
    ///
    /// The processor has AVX-512 F, and 16 values lie at `at`.
    unsafe fn load(at: *const Self) -> __m512;
}

impl Weight for f32 {
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512vl")]
    unsafe fn load(at: *const Self) -> __m512 {
        // SAFETY: the caller guarantees the values; an unaligned load is asked for.
        unsafe { _mm512_loadu_ps(at) }
    }
}

impl Weight for f16 {
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512vl")]
    unsafe fn load(at: *const Self) -> __m512 {
        // SAFETY: as above; f16 has the layout of u16.
        _mm512_cvtph_ps(unsafe { _mm256_loadu_si256(at.cast()) })
    }
}

/// See `Kernel::widen`.
#[target_feature(enable = "avx2,fma,f16c")]
pub fn widen(halves: &[f16], singles: &mut [f32]) {
    let length = halves.len().min(singles.len());
    let (chunks, rest) = halves[..length].as_chunks::<8>();
    let (targets, target_rest) = singles[..length].as_chunks_mut::<8>();
    for (chunk, target) in chunks.iter().zip(targets) {
        // SAFETY: each pointer reads or writes the 8 values that its array holds; f16 has the layout of u16.
        unsafe { _mm256_storeu_ps(target.as_mut_ptr(), _mm256_cvtph_ps(_mm_loadu_si128(chunk.as_ptr().cast()))) };
    }
    for (half, single) in rest.iter().zip(target_rest) {
        *single = half.to_f32();
    }
}

/// See `Kernel::multiply`.
///
/// # Safety
///
/// The processor has AVX2 and FMA. `count` rows of `panel.len() / PANEL` values lie in `source`, and `count` rows of
/// `PANEL` values in `target`.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn multiply_avx2(
    source: &[f32],
    stride: usize,
    panel: &[f32],
    bias: &[f32; PANEL],
    target: &mut [f32],
    target_stride: usize,
    count: usize,
) {
    let depth = panel.len() / PANEL;
    for row in (0..count).step_by(ROWS_AVX2) {
        for column in [0, PANEL / 2] {
            // SAFETY: the caller guarantees the rows; both columns leave 16 values of a row of the panel and of the bias.
            unsafe {
                let a = source.as_ptr().add(row * stride);
                let b = panel.as_ptr().add(column);
                let c = target.as_mut_ptr().add(row * target_stride + column);
                let bias = bias.as_ptr().add(column);
                let rows = (count - row).min(ROWS_AVX2);
                with_rows!(rows, tile_avx2, (a, stride, b, depth, bias, c, target_stride), [1 2 3 4 5 6]);
            }
        }
    }
}

/// See `Kernel::multiply`.
///
/// # Safety
///
/// As for `multiply_avx2`, with AVX-512 F.
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512vl")]
pub unsafe fn multiply_avx512(
    source: &[f32],
    stride: usize,
    panel: &[impl Weight],
    bias: &[f32; PANEL],
    target: &mut [f32],
    target_stride: usize,
    count: usize,
) {
    let depth = panel.len() / PANEL;
    for row in (0..count).step_by(ROWS_AVX512) {
        // SAFETY: the caller guarantees the rows.
        unsafe {
            let a = source.as_ptr().add(row * stride);
            let c = target.as_mut_ptr().add(row * target_stride);
            let rows = (count - row).min(ROWS_AVX512);
            let (b, bias) = (panel.as_ptr(), bias.as_ptr());
            with_rows!(rows, tile_avx512, (a, stride, b, depth, bias, c, target_stride), [1 2 3 4 5 6 7 8 9 10 11 12]);
        }
    }
}

/// Sums of `R` rows and 16 columns.
///
/// # Safety
///
/// `R` rows of `depth` values lie at `a`, `depth` rows of 16 values, `PANEL` apart, at `b`, 16 values at `bias`, and `R`
/// rows of 16 values at `c`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn tile_avx2<const R: usize>(
    a: *const f32,
    stride: usize,
    mut b: *const f32,
    depth: usize,
    bias: *const f32,
    c: *mut f32,
    target_stride: usize,
) {
    // SAFETY: the caller guarantees that all places are in bounds; unaligned loads and stores are asked for.
    unsafe {
        let mut sums = [[_mm256_loadu_ps(bias), _mm256_loadu_ps(bias.add(8))]; R];
        for k in 0..depth {
            let (left, right) = (_mm256_loadu_ps(b), _mm256_loadu_ps(b.add(8)));
            for (row, sums) in sums.iter_mut().enumerate() {
                let factor = _mm256_set1_ps(*a.add(row * stride + k));
                sums[0] = _mm256_fmadd_ps(factor, left, sums[0]);
                sums[1] = _mm256_fmadd_ps(factor, right, sums[1]);
            }
            b = b.add(PANEL);
        }
        for (row, sums) in sums.iter().enumerate() {
            _mm256_storeu_ps(c.add(row * target_stride), sums[0]);
            _mm256_storeu_ps(c.add(row * target_stride + 8), sums[1]);
        }
    }
}

/// Sums of `R` rows and 32 columns.
///
/// # Safety
///
/// As for `tile_avx2`, with 32 columns.
#[inline]
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512vl")]
unsafe fn tile_avx512<const R: usize>(
    a: *const f32,
    stride: usize,
    mut b: *const impl Weight,
    depth: usize,
    bias: *const f32,
    c: *mut f32,
    target_stride: usize,
) {
    // SAFETY: the caller guarantees that all places are in bounds; unaligned loads and stores are asked for.
    unsafe {
        let mut sums = [[_mm512_loadu_ps(bias), _mm512_loadu_ps(bias.add(16))]; R];
        for k in 0..depth {
            let (left, right) = (Weight::load(b), Weight::load(b.add(16)));
            for (row, sums) in sums.iter_mut().enumerate() {
                let factor = _mm512_set1_ps(*a.add(row * stride + k));
                sums[0] = _mm512_fmadd_ps(factor, left, sums[0]);
                sums[1] = _mm512_fmadd_ps(factor, right, sums[1]);
            }
            b = b.add(PANEL);
        }
        for (row, sums) in sums.iter().enumerate() {
            _mm512_storeu_ps(c.add(row * target_stride), sums[0]);
            _mm512_storeu_ps(c.add(row * target_stride + 16), sums[1]);
        }
    }
}
