//! One vector for a text that was read in pieces.

use crate::error::{Error, Result};

/// Most by which the length of a vector may differ from 1.
const TOLERANCE: f32 = 1e-3;

/// Give each text one vector: that of its only piece, or the direction of the mean of its pieces.
///
/// `vectors` has one row for each piece, and `pieces` the number of rows of each text, in their order. A piece counts by
/// its `tokens`.
///
/// # Errors
///
/// [`Error::Shape`] if the numbers do not fit together, [`Error::NotUnit`] if a vector does not have length 1.
pub fn join(vectors: &[f32], dimension: usize, pieces: &[usize], tokens: &[usize]) -> Result<Vec<f32>> {
    let rows = tokens.len();
    let expected = pieces.iter().try_fold(0, |sum: usize, count| sum.checked_add(*count));
    let is_empty = dimension == 0 && rows > 0;
    if expected != Some(rows) || pieces.contains(&0) || is_empty || vectors.len() != rows * dimension {
        return Err(Error::Shape { values: vectors.len(), dimension, pieces: rows, texts: pieces.len() });
    }
    let mut joined = Vec::with_capacity(pieces.len() * dimension);
    let mut start = 0;
    for (text, count) in pieces.iter().enumerate() {
        let end = start + count;
        let rows = &vectors[start * dimension..end * dimension];
        if *count == 1 {
            joined.extend_from_slice(rows);
        } else {
            joined.extend(find_direction(rows, dimension, &tokens[start..end]));
        }
        let length = length(&joined[text * dimension..]);
        // The comparison is false for NaN, too.
        let is_unit = (length - 1.0).abs() < TOLERANCE;
        if !is_unit {
            return Err(Error::NotUnit { text, length });
        }
        start = end;
    }
    Ok(joined)
}

fn find_direction(rows: &[f32], dimension: usize, tokens: &[usize]) -> Vec<f32> {
    let mut sum = vec![0.0; dimension];
    for (row, tokens) in rows.chunks_exact(dimension).zip(tokens) {
        for (sum, value) in sum.iter_mut().zip(row) {
            *sum += *tokens as f32 * value;
        }
    }
    let length = length(&sum);
    sum.iter().map(|value| value / length).collect()
}

fn length(vector: &[f32]) -> f32 {
    vector.iter().map(|value| value * value).sum::<f32>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_count_by_their_tokens() {
        let vectors = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0];
        let joined = join(&vectors, 2, &[1, 2, 1], &[5, 3, 4, 5]).unwrap();
        assert_eq!(joined, [1.0, 0.0, 0.6, 0.8, 0.0, 1.0]);
        assert_eq!(join(&[], 2, &[], &[]).unwrap(), [0.0; 0]);
    }

    #[test]
    fn a_vector_of_another_length_is_an_error() {
        for value in [f32::NAN, f32::INFINITY, 0.0, 2.0] {
            let error = join(&[1.0, 0.0, value, 0.0], 2, &[1, 1], &[1, 1]).unwrap_err();
            assert!(matches!(error, Error::NotUnit { text: 1, .. }), "{value}: {error}");
        }
        // Opposite pieces have no mean direction.
        assert!(matches!(join(&[1.0, -1.0], 1, &[2], &[1, 1]), Err(Error::NotUnit { text: 0, .. })));
    }

    #[test]
    fn numbers_that_do_not_fit_are_an_error() {
        for (pieces, tokens) in [(vec![1], vec![1, 1]), (vec![2, 0], vec![1, 1]), (vec![1, 1, 1], vec![1, 1, 1])] {
            assert!(matches!(join(&[1.0, 1.0], 1, &pieces, &tokens), Err(Error::Shape { .. })), "{pieces:?}");
        }
        assert!(matches!(join(&[], 0, &[2], &[1, 1]), Err(Error::Shape { .. })));
        assert!(matches!(join(&[1.0], 1, &[usize::MAX, 2], &[1]), Err(Error::Shape { .. })));
    }
}
