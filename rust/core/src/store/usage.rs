//! Use counters. Written in batches and outside of the change log: a recall is not a write.

use super::WriteTx;
use crate::error::Result;

/// Add one use of each memory at `used_at`.
pub fn add(write: &WriteTx<'_>, uses: &[(String, i64)]) -> Result<()> {
    let mut upsert = write.prepare_cached(
        "INSERT INTO use_count(memory, uses, used_at) SELECT ?1, 1, ?2 WHERE EXISTS (SELECT 1 FROM memory WHERE id = ?1) \
         ON CONFLICT(memory) DO UPDATE SET uses = uses + 1, used_at = max(used_at, excluded.used_at)",
    )?;
    for (id, at) in uses {
        upsert.execute((id, at))?;
    }
    Ok(())
}
