//! Writes the session index: words into a full-text index of its own, everything else into its tables.
//!
//! The words are committed first. A crash between the two commits leaves words of keys that no turn has; the next run
//! removes them. In the other order, a crash would leave turns without words.

use std::path::Path;

use super::lexical::{LexicalWriter, Mark};
use crate::error::{Error, Result};
use crate::store::change::Head;
use crate::store::turns::{self, Page, TurnStore};
use crate::store::{Connection, make_private};
use crate::text;

/// A step that changes the tables; returns the key and text of each turn that it added.
type Step<'a> = dyn Fn(&Connection) -> Result<Vec<(i64, &'a str)>> + 'a;

/// Add the turns of some pages. `model` has made their vectors, if they have any. Returns false, without adding them, if
/// the index could not be used and was deleted.
pub fn put(store: &TurnStore, folder: &Path, model: Option<(&str, usize)>, pages: &[Page<'_>]) -> Result<bool> {
    change(store, folder, &|write| {
        turns::complete_indexes(write)?;
        if let Some((name, dimension)) = model {
            turns::set_model(write, name, dimension)?;
        }
        let mut added = Vec::new();
        for page in pages {
            let session = turns::put_session(write, page)?;
            if page.restart {
                turns::drop_turns(write, session)?;
            }
            for turn in &page.turns {
                added.push((turns::add(write, session, turn)?, turn.text.as_str()));
            }
        }
        Ok(added)
    })
}

/// Drop sessions of a database. Returns false if the index could not be used and was deleted.
pub fn drop_sessions(store: &TurnStore, folder: &Path, database: &str, sessions: &[String]) -> Result<bool> {
    change(store, folder, &|write| {
        sessions.iter().try_for_each(|session| turns::drop_session(write, database, session))?;
        Ok(Vec::new())
    })
}

/// Delete the index, but not the lock, which the caller holds. The next turns start a new index.
///
/// Were the lock deleted too, another process would lock a new file, and both would write.
pub fn remove(folder: &Path) -> Result<()> {
    LexicalWriter::remove(folder)?;
    TurnStore::remove(folder)
}

fn change(store: &TurnStore, folder: &Path, step: &Step<'_>) -> Result<bool> {
    let mut writer = match LexicalWriter::open(folder) {
        Ok(writer) => writer,
        Err(Error::Index { .. }) => {
            remove(folder)?;
            return Ok(false);
        }
        Err(error) => return Err(error),
    };
    let is_ours = store.read(|at| {
        let (head, (_, turns)) = (turns::head(at)?, turns::counts(at)?);
        Ok(writer.mark().map_or(turns == 0, |mark| mark.head.store_id == head.store_id))
    })?;
    if !is_ours {
        drop(writer);
        remove(folder)?;
        return Ok(false);
    }
    store.write(|write| {
        let last_given = turns::last_key_given(write)?;
        let (before, last_before) = writer.mark().map_or((0, 0), |mark| (mark.documents, mark.last_key));
        let added = step(write)?;
        // Words of a run that was killed before its turns were stored.
        let orphans = last_given + 1..=last_before;
        let gone = turns::gone(write)?;
        let removed = gone.len() + orphans.clone().count();
        gone.iter().copied().chain(orphans).for_each(|key| writer.delete(key));
        let count = added.len();
        for (key, text) in added {
            writer.add(key, text::analyze(text))?;
        }
        if removed + count > 0 || writer.mark().is_none() {
            let head = Head { seq: 0, ..turns::head(write)? };
            let last_key = turns::last_key_given(write)?;
            writer.commit(&Mark::at(head, last_key, (before + count).saturating_sub(removed)))?;
        }
        turns::forget_gone(write, &gone)
    })?;
    writer.finish()?;
    make_private(folder)?;
    make_private(&super::lexical::folder(folder))?;
    Ok(true)
}
