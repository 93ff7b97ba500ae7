//! The scale of a model's cosines, for limits that were measured with the bundled model.
//!
//! Some models give 0.7 to unrelated texts. One number maps their cosines to the scale of the bundled model: the distance
//! 1 - cosine is multiplied by it, so equal texts keep the cosine 1. `meta` has a row for each model that was measured; a
//! model without a row, such as the bundled one, keeps its cosines as they are.

use rusqlite::{Connection, OptionalExtension};

use super::WriteTx;
use super::change::Op;
use super::embedding;
use crate::error::{Error, Result};

/// Greatest factor; the unrelated texts of such a model would have a cosine of 0.99.
const MOST: f64 = 100.0;

/// Factor of the distances of a model.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scale(Option<f64>);

impl Scale {
    /// A cosine of the model on the scale of the bundled model.
    pub fn apply(self, cosine: f32) -> f32 {
        match self.0 {
            Some(factor) => (1.0 - factor * (1.0 - f64::from(cosine))) as f32,
            None => cosine,
        }
    }

    /// The cosine of the model that has this cosine on the scale of the bundled model.
    pub fn invert(self, cosine: f32) -> f32 {
        match self.0 {
            Some(factor) => (1.0 - (1.0 - f64::from(cosine)) / factor) as f32,
            None => cosine,
        }
    }
}

/// The factor of a model by its name; `None` if it was not measured.
pub fn of_name(connection: &Connection, name: &str) -> Result<Option<f64>> {
    let sql = "SELECT value FROM meta WHERE name = (SELECT 'scale:' || id FROM model WHERE name = ?1)";
    Ok(connection.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()?)
}

/// The scale of a model by its name.
pub fn of_model(connection: &Connection, name: &str) -> Result<Scale> {
    Ok(Scale(of_name(connection, name)?))
}

/// The scale of the active model.
pub fn active(connection: &Connection) -> Result<Scale> {
    match embedding::active_model(connection)? {
        Some(model) => of_model(connection, &model.name),
        None => Ok(Scale::default()),
    }
}

impl WriteTx<'_> {
    /// Set the factor of a model that the store knows.
    pub fn set_scale(&self, name: &str, factor: f64) -> Result<()> {
        if !(factor > 0.0 && factor <= MOST) {
            let message = format!("{factor} is not more than 0 and at most {MOST}");
            return Err(Error::over_limit("scale", message, MOST as usize));
        }
        let sql = "SELECT id FROM model WHERE name = ?1";
        let id: Option<i64> = self.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()?;
        let Some(id) = id else {
            return Err(Error::Conflict(format!("the store has no vectors of {name}; embed texts first")));
        };
        self.execute(
            "INSERT INTO meta(name, value) VALUES (?1, ?2) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
            (format!("scale:{id}"), factor),
        )?;
        if embedding::active_model(self)?.is_some_and(|active| active.id == id) {
            // Key 0 tells every process to read the vectors and the scale again.
            self.log(0, Op::Embed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosine_without_a_measured_factor_is_not_changed() {
        for cosine in [-1.0_f32, 0.1, 0.123_456_79, 1.0] {
            assert_eq!(Scale::default().apply(cosine).to_bits(), cosine.to_bits());
            assert_eq!(Scale::default().invert(cosine).to_bits(), cosine.to_bits());
        }
    }

    #[test]
    fn squeezed_cosines_are_stretched_and_equal_texts_stay_equal() {
        let scale = Scale(Some(1.0 / 0.3));
        for cosine in [0.0_f32, 0.25, 0.6, 1.0] {
            let squeezed = 0.7 + 0.3 * cosine;
            assert!((scale.apply(squeezed) - cosine).abs() < 1e-5, "{squeezed}");
            assert!((scale.invert(cosine) - squeezed).abs() < 1e-5, "{cosine}");
        }
    }
}
