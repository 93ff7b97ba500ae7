//! Places of vectors on a plane: near groups lie near to each other, and a vector near the others of its group.

use super::Vectors;
use crate::error::{Error, Result};

/// Size of a group on the plane, as a share of the distance between groups.
const SPREAD: f64 = 0.6;
/// Most rounds of the search for a direction.
const ROUNDS: usize = 300;
/// A direction is found once a round moves it by less than this.
const MOVED: f64 = 1e-7;
/// Coordinates that differ by less than this are equal.
const EQUAL: f64 = f32::EPSILON as f64;

/// Coordinates, each from 0 to 1.
type Place = [f64; 2];

/// Place vectors on a plane, given the groups that they form.
///
/// # Errors
///
/// [`Error::InvalidInput`] if the groups do not have each vector once.
pub fn place(vectors: Vectors<'_>, groups: &[Vec<usize>]) -> Result<Vec<Place>> {
    let mut group_of = vec![usize::MAX; vectors.len()];
    for (number, group) in groups.iter().enumerate() {
        for at in group {
            match group_of.get_mut(*at) {
                Some(of) if *of == usize::MAX => *of = number,
                _ => return Err(Error::invalid("groups", format!("{at} is no vector, or in two groups"))),
            }
        }
    }
    if group_of.contains(&usize::MAX) {
        return Err(Error::invalid("groups", "a vector is in no group"));
    }
    let centres: Vec<Vec<f64>> = groups.iter().map(|group| mean(vectors, group)).collect();
    // A group counts as often as it has vectors, so that a small one does not push all others together.
    let of_group: Vec<Vec<f64>> = group_of.iter().map(|number| centres[*number].clone()).collect();
    let from_centre: Vec<Vec<f64>> = vectors
        .rows()
        .zip(&of_group)
        .map(|(row, centre)| row.iter().zip(centre).map(|(value, centre)| f64::from(*value) - centre).collect())
        .collect();
    let between = to_unit(&flatten(of_group));
    let within = to_unit(&flatten(from_centre));
    let size = SPREAD / (groups.len().max(1) as f64).sqrt();
    let places: Vec<Place> = between
        .iter()
        .zip(&within)
        .map(|(between, within)| std::array::from_fn(|axis| between[axis] + (within[axis] - 0.5) * size))
        .collect();
    Ok(to_unit(&places))
}

fn mean(vectors: Vectors<'_>, group: &[usize]) -> Vec<f64> {
    let mut sum = vec![0.0; vectors.dimension];
    for at in group {
        for (sum, value) in sum.iter_mut().zip(vectors.row(*at)) {
            *sum += f64::from(*value) / group.len() as f64;
        }
    }
    sum
}

/// Project rows on the two directions in which they differ most.
fn flatten(mut rows: Vec<Vec<f64>>) -> Vec<Place> {
    let dimension = rows.first().map_or(0, Vec::len);
    let mut mean = vec![0.0; dimension];
    for row in &rows {
        add(&mut mean, row, 1.0 / rows.len() as f64);
    }
    for row in &mut rows {
        add(row, &mean, -1.0);
    }
    let mut places = vec![[0.0; 2]; rows.len()];
    for axis in 0..2 {
        let direction = find_direction(&rows);
        for (row, place) in rows.iter_mut().zip(&mut places) {
            place[axis] = dot(row, &direction);
            // What is left differs in other directions.
            add(row, &direction, -place[axis]);
        }
    }
    places
}

/// Find the direction in which centred rows differ most, by power iteration from the longest row.
fn find_direction(rows: &[Vec<f64>]) -> Vec<f64> {
    let longest = rows.iter().max_by(|a, b| dot(a, a).total_cmp(&dot(b, b)));
    let mut direction = longest.cloned().unwrap_or_default();
    if !normalise(&mut direction) {
        return direction;
    }
    for _ in 0..ROUNDS {
        let mut next = vec![0.0; direction.len()];
        for row in rows {
            add(&mut next, row, dot(row, &direction));
        }
        if !normalise(&mut next) {
            break;
        }
        let moved = 1.0 - dot(&next, &direction);
        direction = next;
        if moved < MOVED {
            break;
        }
    }
    direction
}

/// Scale each coordinate to 0 to 1, or to 0.5 if all are equal.
fn to_unit(places: &[Place]) -> Vec<Place> {
    let mut scaled = vec![[0.5; 2]; places.len()];
    for axis in 0..2 {
        let values = || places.iter().map(|place| place[axis]);
        let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        if most - least > EQUAL {
            for (scaled, value) in scaled.iter_mut().zip(values()) {
                scaled[axis] = (value - least) / (most - least);
            }
        }
    }
    scaled
}

/// Scale a vector to length 1. Return false if it has no length.
fn normalise(vector: &mut [f64]) -> bool {
    let length = dot(vector, vector).sqrt();
    if length <= EQUAL {
        return false;
    }
    for value in vector {
        *value /= length;
    }
    true
}

fn add(sum: &mut [f64], row: &[f64], factor: f64) {
    for (sum, value) in sum.iter_mut().zip(row) {
        *sum += factor * value;
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_distances_in_the_two_main_directions() {
        // Variance is greatest along (1, 1, 0), then along (0, 0, 1).
        let rows = vec![vec![3.0, 3.0, 0.0], vec![-3.0, -3.0, 0.0], vec![0.1, -0.1, 2.0], vec![-0.1, 0.1, -2.0]];
        let places = flatten(rows);
        let far = 18.0_f64.sqrt();
        for (place, expected) in places.iter().zip([[far, 0.0], [far, 0.0], [0.0, 2.0], [0.0, 2.0]]) {
            assert!((place[0].abs() - expected[0]).abs() < 0.01, "{places:?}");
            assert!((place[1].abs() - expected[1]).abs() < 0.01, "{places:?}");
        }
        assert!(places[0][0] * places[1][0] < 0.0);
    }

    #[test]
    fn wrong_groups_are_refused() {
        let vectors = Vectors::new(&[1.0, 0.0, 0.0, 1.0], 2).unwrap();
        for groups in [vec![vec![0]], vec![vec![0, 0]], vec![vec![0, 1, 2]], vec![vec![0, 1], vec![1]]] {
            assert!(place(vectors, &groups).is_err(), "{groups:?}");
        }
        assert_eq!(place(vectors, &[vec![0, 1]]).unwrap().len(), 2);
    }
}
