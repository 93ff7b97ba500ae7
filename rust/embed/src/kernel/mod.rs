//! Loops over numbers, compiled once for each level of the processor.
//!
//! The same algorithms run on each level. Results of two levels differ only by rounding.

mod elementwise;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use half::f16;

/// Columns in a panel of a matrix; also the width of an attention head.
pub const PANEL: usize = 32;

/// A panel of a matrix: rows of [`PANEL`] values, one after the other.
#[derive(Debug, Clone, Copy)]
pub enum Panel<'a> {
    /// In half precision. Each tile of rows widens it anew.
    Halves(&'a [f16]),
    /// In single precision.
    Singles(&'a [f32]),
}

/// A level of instructions of the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Level {
    /// Instructions that every processor of the target has (NEON on arm64).
    Portable,
    /// AVX2, FMA and F16C.
    Avx2,
    /// AVX-512 F and VL.
    Avx512,
}

impl Level {
    /// All levels that this processor has, the best one last.
    pub fn available() -> Vec<Self> {
        #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut))]
        let mut levels = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected;
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c") {
                levels.push(Self::Avx2);
                if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
                    levels.push(Self::Avx512);
                }
            }
        }
        levels
    }

    /// Name of the level in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// The best level of this processor.
    pub fn best() -> Self {
        Self::available().last().copied().unwrap_or(Self::Portable)
    }
}

/// Loops of one level. Its functions are safe, because [`Kernel::new`] takes no level that the processor lacks.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    level: Level,
}

impl Kernel {
    /// Use a level; the best one of this processor if it lacks that level.
    pub fn new(level: Level) -> Self {
        let level = if Level::available().contains(&level) { level } else { Level::best() };
        Self { level }
    }

    /// The level in use.
    pub fn level(self) -> Level {
        self.level
    }

    /// Greatest number of rows for which a panel need not be widened first, because each tile of rows widens it at no
    /// cost. With AVX2, that was not faster for any number of rows.
    pub fn few_rows(self) -> usize {
        match self.level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => 2 * x86::ROWS_AVX512,
            _ => 0,
        }
    }

    /// Multiply `count` rows of `source`, `stride` apart, by a panel, and store the sums in the first columns of the rows
    /// of `target`, which are `target_stride` apart.
    ///
    /// # Panics
    ///
    /// If a row of the source or of the target is out of bounds.
    #[expect(clippy::too_many_arguments, reason = "two matrices with their strides")]
    pub fn multiply(
        self,
        source: &[f32],
        stride: usize,
        panel: Panel<'_>,
        bias: &[f32; PANEL],
        target: &mut [f32],
        target_stride: usize,
        count: usize,
    ) {
        let depth = panel.len() / PANEL;
        if count == 0 {
            return;
        }
        assert!((count - 1) * stride + depth <= source.len(), "the source is too short");
        assert!((count - 1) * target_stride + PANEL <= target.len(), "the target is too short");
        match (self.level, panel) {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has the level, see `new`, and the bounds were just checked.
            (Level::Avx512, Panel::Halves(panel)) => unsafe {
                x86::multiply_avx512(source, stride, panel, bias, target, target_stride, count);
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            (Level::Avx512, Panel::Singles(panel)) => unsafe {
                x86::multiply_avx512(source, stride, panel, bias, target, target_stride, count);
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            (Level::Avx2, Panel::Singles(panel)) => unsafe {
                x86::multiply_avx2(source, stride, panel, bias, target, target_stride, count);
            },
            (_, Panel::Singles(panel)) => {
                portable::multiply(source, stride, panel, bias, target, target_stride, count);
            }
            (_, Panel::Halves(halves)) => {
                let mut panel = vec![0.0; halves.len()];
                self.widen(halves, &mut panel);
                self.multiply(source, stride, Panel::Singles(&panel), bias, target, target_stride, count);
            }
        }
    }
}

impl Panel<'_> {
    /// Number of values.
    fn len(self) -> usize {
        match self {
            Self::Halves(values) => values.len(),
            Self::Singles(values) => values.len(),
        }
    }
}

impl Kernel {
    /// Widen values to single precision, as many as the shorter slice has.
    pub fn widen(self, halves: &[f16], singles: &mut [f32]) {
        match self.level {
            Level::Portable => portable::widen(halves, singles),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has the level, see `new`.
            Level::Avx2 | Level::Avx512 => unsafe { x86::widen(halves, singles) },
            #[cfg(not(target_arch = "x86_64"))]
            _ => portable::widen(halves, singles),
        }
    }
}

/// Define functions of [`Kernel`] that run a loop of `elementwise`, compiled for the level.
macro_rules! on_each_level {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $kind:ty),*);)*) => {
        impl Kernel {
            $($(#[$doc])*
            pub fn $name(self, $($argument: $kind),*) {
                #[cfg(target_arch = "x86_64")]
                {
                    #[target_feature(enable = "avx2,fma,f16c")]
                    fn avx2($($argument: $kind),*) {
                        elementwise::$name::<true>($($argument),*);
                    }
                    #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512vl")]
                    fn avx512($($argument: $kind),*) {
                        elementwise::$name::<true>($($argument),*);
                    }
                    match self.level {
                        // SAFETY: the processor has the level, see `new`.
                        Level::Avx512 => return unsafe { avx512($($argument),*) },
                        // SAFETY: as above.
                        Level::Avx2 => return unsafe { avx2($($argument),*) },
                        Level::Portable => {}
                    }
                }
                elementwise::$name::<{ cfg!(target_arch = "aarch64") }>($($argument),*);
            })*
        }
    };
}

on_each_level! {
    /// Apply the Gaussian error linear unit to each value.
    gelu(values: &mut [f32]);
    /// Replace the values by their shares: `exp(value) / sum of exp`.
    softmax(values: &mut [f32]);
    /// Add `other` to a row, bring the row to mean 0 and variance 1, and scale and shift it.
    add_and_normalise(row: &mut [f32], other: &[f32], gain: &[f32], shift: &[f32]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panel_in_either_precision_gives_the_same_product_on_every_level() {
        let (rows, depth) = (5, 7);
        let source: Vec<f32> = (0..rows * depth).map(|at| at as f32 / 8.0 - 2.0).collect();
        let halves: Vec<f16> = (0..depth * PANEL).map(|at| f16::from_f32((at % 13) as f32 / 4.0 - 1.5)).collect();
        let singles: Vec<f32> = halves.iter().map(|half| half.to_f32()).collect();
        for level in Level::available() {
            let product = |panel| {
                let mut target = vec![f32::NAN; rows * PANEL];
                Kernel::new(level).multiply(&source, depth, panel, &[0.5; PANEL], &mut target, PANEL, rows);
                target
            };
            // All sums are exact, so their order does not matter.
            assert_eq!(product(Panel::Halves(&halves)), product(Panel::Singles(&singles)), "{level:?}");
        }
    }
}
