//! The view of a session index. It has no overlay, because words are committed before turns, and no graph.

use std::path::Path;

use super::View;
use crate::error::Result;
use crate::index::lexical::{Lexical, Places};
use crate::store::scale::Scale;
use crate::store::turns::{self, TurnStore};

impl View {
    /// Create an empty view of the session index under `folder`.
    pub fn of_turns(folder: &Path) -> Self {
        Self::new(folder, usize::MAX)
    }

    /// Whether the view equals the session index.
    pub fn has_turns_of(&self, store: &TurnStore) -> Result<bool> {
        Ok(self.indexes_are_current() && self.mirror.is_at(&store.read(turns::head)?))
    }

    /// Set the scale of the cosines of the session index.
    pub fn set_scale(&mut self, scale: Scale) {
        self.mirror.scale = scale;
    }

    /// Make the view equal to the session index.
    pub fn refresh_turns(&mut self, store: &TurnStore) -> Result<()> {
        self.is_whole = false;
        // The words of a turn are committed before the turn, so this reader has the words of every turn of the snapshot
        // except of those that are added meanwhile.
        self.open_lexical();
        let id = store.read(|at| {
            self.mirror.refresh_turns(at)?;
            Ok(turns::head(at)?.store_id)
        })?;
        let is_ours = |index: &Lexical| index.mark().has_current_layout() && index.mark().head.store_id == id;
        if !self.lexical.as_ref().is_some_and(is_ours) {
            self.lexical = None;
        }
        self.document_places = match &self.lexical {
            Some(index) => index.places(|key| self.mirror.row_of(key))?,
            None => Places::default(),
        };
        self.places_are_stale = false;
        self.is_whole = true;
        Ok(())
    }
}
