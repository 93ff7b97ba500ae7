//! Products of activations and weights.
//!
//! A matrix of weights is stored in panels of [`PANEL`] columns, which lie one after the other. A product widens one
//! panel to single precision and multiplies it by all rows before it turns to the next panel, so that the widened panel
//! stays in the cache. Few rows, such as those of a query, are multiplied by the panel as it is stored.

use half::f16;

use crate::kernel::{Kernel, PANEL, Panel};

/// Values in a line of the cache. A panel starts with a line, because a load across two lines takes longer.
const LINE: usize = 16;

/// A matrix in panels, in half precision.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a> {
    /// Values, `columns / PANEL` panels of `rows` times `PANEL` values.
    pub values: &'a [f16],
    /// Number of rows, which is the length of the vectors that it is multiplied by.
    pub rows: usize,
    /// Number of columns, a multiple of [`PANEL`].
    pub columns: usize,
}

/// The function that is applied to a sum before it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// It stays as it is.
    None,
    /// The Gaussian error linear unit.
    Gelu,
}

/// Multiply each row of `source` by a matrix and add the bias; `target` has one row of `matrix.columns` for each.
///
/// # Panics
///
/// If the lengths do not fit each other; the encoder allocates them together.
pub fn multiply(
    kernel: Kernel,
    source: &[f32],
    matrix: Matrix<'_>,
    bias: &[f32],
    activation: Activation,
    panel: &mut Vec<f32>,
    target: &mut [f32],
) {
    let count = source.len() / matrix.rows;
    assert_eq!(source.len(), count * matrix.rows, "rows of the source must be as long as the matrix is high");
    assert_eq!(target.len(), count * matrix.columns, "the target must have room for all rows");
    assert_eq!(bias.len(), matrix.columns, "there must be one bias for each column");
    let length = matrix.rows * PANEL;
    panel.resize(length + LINE, 0.0);
    let aligned = panel.as_ptr().align_offset(LINE * size_of::<f32>());
    let panel = &mut panel[aligned..][..length];
    let panels = matrix.values.chunks_exact(matrix.rows * PANEL);
    for (number, (halves, bias)) in panels.zip(bias.as_chunks::<PANEL>().0).enumerate() {
        let columns = &mut target[number * PANEL..];
        let panel = if count <= kernel.few_rows() {
            Panel::Halves(halves)
        } else {
            kernel.widen(halves, panel);
            Panel::Singles(panel)
        };
        kernel.multiply(source, matrix.rows, panel, bias, columns, matrix.columns, count);
        if activation == Activation::Gelu {
            for row in columns.chunks_mut(matrix.columns) {
                kernel.gelu(&mut row[..PANEL]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::Level;

    fn product(level: Level, source: &[f32], matrix: Matrix<'_>, bias: &[f32]) -> Vec<f32> {
        let mut target = vec![f32::NAN; source.len() / matrix.rows * matrix.columns];
        multiply(Kernel::new(level), source, matrix, bias, Activation::None, &mut Vec::new(), &mut target);
        target
    }

    proptest! {
        #[test]
        fn product_equals_the_definition_on_every_level(
            count in 1..40_usize, rows in 1..50_usize, panels in 1..3_usize, seed in any::<u32>()
        ) {
            let columns = panels * PANEL;
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / 8_388_608.0 - 1.0
            };
            let source: Vec<f32> = (0..count * rows).map(|_| next()).collect();
            let values: Vec<f16> = (0..rows * columns).map(|_| f16::from_f32(next())).collect();
            let bias: Vec<f32> = (0..columns).map(|_| next()).collect();
            let matrix = Matrix { values: &values, rows, columns };
            for level in Level::available() {
                let target = product(level, &source, matrix, &bias);
                for (at, found) in target.iter().enumerate() {
                    let (row, column) = (at / columns, at % columns);
                    let (panel, place) = (column / PANEL, column % PANEL);
                    let expected = (0..rows).fold(f64::from(bias[column]), |sum, k| {
                        let weight = values[panel * rows * PANEL + k * PANEL + place].to_f64();
                        sum + f64::from(source[row * rows + k]) * weight
                    });
                    prop_assert!((f64::from(*found) - expected).abs() < 1e-4, "{level:?} {at}: {found} {expected}");
                }
            }
        }
    }
}
