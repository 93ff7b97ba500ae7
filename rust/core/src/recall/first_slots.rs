//! First slot by embedding key.
//!
//! Keys are dense, and the graph looks up every vector that it visits, so they are indexes of a vector. Damage may change a
//! key into any number, for which such a vector would take all memory. Greater keys are therefore hashed.

use rustc_hash::FxHashMap;

use super::NONE;

/// Number of keys that are indexes. They take 64 MB at most.
const INDEXED: u64 = 1 << 24;

/// First slot of each embedding.
#[derive(Debug, Default)]
pub struct FirstSlots {
    indexed: Vec<u32>,
    hashed: FxHashMap<i64, u32>,
}

impl FirstSlots {
    /// The slot of an embedding, or [`NONE`].
    #[inline]
    pub fn get(&self, embedding: i64) -> u32 {
        match self.indexed.get(embedding as usize) {
            Some(slot) => *slot,
            None if self.hashed.is_empty() => NONE,
            None => self.hashed.get(&embedding).copied().unwrap_or(NONE),
        }
    }

    /// Set the slot of an embedding; returns the former one, or [`NONE`].
    pub fn replace(&mut self, embedding: i64, slot: u32) -> u32 {
        if embedding as u64 >= INDEXED {
            return self.hashed.insert(embedding, slot).unwrap_or(NONE);
        }
        let at = embedding as usize;
        if self.indexed.len() <= at {
            self.indexed.resize(at + 1, NONE);
        }
        std::mem::replace(&mut self.indexed[at], slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_its_own_slot() {
        let mut slots = FirstSlots::default();
        let keys = [0, 1, 70, INDEXED as i64 - 1, INDEXED as i64, 1 << 40, i64::MAX, -1, i64::MIN];
        for (slot, key) in (0..).zip(keys) {
            assert_eq!((slots.get(key), slots.replace(key, slot)), (NONE, NONE));
        }
        for (slot, key) in (0..).zip(keys) {
            assert_eq!((slots.get(key), slots.replace(key, slot + 100)), (slot, slot));
        }
        assert_eq!((slots.get(2), slots.get(1 << 41), slots.get(-2)), (NONE, NONE, NONE));
    }
}
