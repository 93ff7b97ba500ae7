//! The mirror of a session index, which has turns in place of memories.

use super::Mirror;
use crate::error::Result;
use crate::index::slab::Slab;
use crate::recall::vectors::Chunks;
use crate::store::Connection;
use crate::store::embedding::Model;
use crate::store::memory::MirrorRow;
use crate::store::turns;

impl Mirror {
    /// Make the mirror equal to a snapshot of a session index.
    pub fn refresh_turns(&mut self, at: &Connection) -> Result<()> {
        let head = turns::head(at)?;
        if self.is_at(&head) {
            return Ok(());
        }
        let mine = self.head.take().filter(|mine| mine.store_id == head.store_id);
        let model = turns::model(at)?;
        let same_model = self.model.as_ref().map(|model| (model.name.as_str(), model.dimension))
            == model.as_ref().map(|(name, dimension)| (name.as_str(), *dimension));
        let changed = match mine {
            Some(mine) if same_model && self.dead_rows <= self.by_key.len() => turns::changed_since(at, mine.seq)?,
            _ => None,
        };
        if let Some(keys) = changed {
            for key in keys {
                if !turns::mirrored(at, key, |row, vectors| self.put_turn(row, vectors))? {
                    self.remove(key);
                }
            }
        } else {
            *self = Self { loads: self.loads + 1, ..Self::default() };
            self.slab = Slab::new(model.as_ref().map_or(0, |(_, dimension)| *dimension));
            self.model = model.map(|(name, dimension)| Model { id: 1, name, dimension });
            turns::for_each_mirrored(at, |row, vectors| self.put_turn(row, vectors))?;
        }
        self.head = Some(head);
        Ok(())
    }

    fn put_turn(&mut self, row: &MirrorRow<'_>, vectors: &[u8]) {
        self.drop_vectors(row.columns.key);
        self.put(row);
        let bytes = self.slab.dimension().checked_mul(2);
        if let Some(count) = bytes.and_then(|bytes| vectors.len().checked_div(bytes)) {
            self.place_vectors(&Chunks::of(row.columns.key, count, vectors));
        }
    }
}
