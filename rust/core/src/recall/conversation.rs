//! Conversation turns of memories: session, speaker and position, and the neighbours of each turn.
//!
//! The indexes do not contain neighbours. The mirror keeps the turns, so that a recall can look up the neighbours of a
//! hit.

use rustc_hash::FxHashMap;

use super::NONE;
use crate::store::memory::MirrorRow;
use crate::text::Traits;

/// A memory as a turn of a conversation. A memory outside of conversations has no position.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    /// Number of the conversation, or [`NONE`].
    pub session: u32,
    /// Number of the speaker, or [`NONE`].
    pub speaker: u32,
    /// Position in the conversation, or [`NO_POSITION`].
    position: i64,
    /// Properties of the text that affect ranking.
    pub traits: Traits,
    /// Key of the memory. Memories at the same position of a conversation are ordered by key, newest first.
    key: i64,
    /// Next newer memory at the same position of the same conversation, or [`NONE`].
    newer: u32,
    /// Next older memory at that position, or [`NONE`].
    older: u32,
}

const NO_POSITION: i64 = i64::MIN;

impl Turn {
    /// Whether the memory has a position in a conversation.
    pub fn has_position(&self) -> bool {
        self.position != NO_POSITION
    }
}

const EMPTY: Turn = Turn {
    session: NONE,
    speaker: NONE,
    position: NO_POSITION,
    traits: Traits { words: 0, asks: false, names_a_time: false },
    key: 0,
    newer: NONE,
    older: NONE,
};

/// The turns of all memories, by the memory's place in the mirror.
#[derive(Debug, Default)]
pub struct Conversations {
    turns: Vec<Turn>,
    /// Session numbers by project and name, because the same name in two projects means two conversations.
    sessions: FxHashMap<(i64, String), u32>,
    speakers: FxHashMap<String, u32>,
    speaker_names: Vec<String>,
    /// The newest memory at each position of each conversation. One message may have produced several memories.
    at: FxHashMap<(u32, i64), u32>,
}

impl Conversations {
    /// Insert or replace the turn of the memory at `place`.
    pub fn put(&mut self, place: u32, row: &MirrorRow<'_>) {
        if self.turns.len() <= place as usize {
            self.turns.resize(place as usize + 1, EMPTY);
        }
        let session = row.session.map_or(NONE, |name| self.session_number(row.columns.project, name));
        let speaker = row.speaker.map_or(NONE, |name| self.speaker_number(name));
        let position = row.position.filter(|_| session != NONE).unwrap_or(NO_POSITION);
        let before = self.turns[place as usize];
        let stays = (before.session, before.position, before.key) == (session, position, row.columns.key);
        if !stays {
            self.unlink(place);
        }
        let turn = &mut self.turns[place as usize];
        *turn = Turn { session, speaker, position, traits: row.traits, key: row.columns.key, ..*turn };
        if !stays && position != NO_POSITION {
            self.link(place);
        }
    }

    /// Remove the turn of the memory at `place`.
    pub fn remove(&mut self, place: u32) {
        if (place as usize) < self.turns.len() {
            self.unlink(place);
            self.turns[place as usize] = EMPTY;
        }
    }

    fn link(&mut self, place: u32) {
        let Turn { session, position, key, .. } = self.turns[place as usize];
        let (mut newer, mut older) = (NONE, self.at.get(&(session, position)).copied().unwrap_or(NONE));
        // A new memory has the greatest key so far, so this loop rarely takes a step.
        while older != NONE && self.turns[older as usize].key > key {
            (newer, older) = (older, self.turns[older as usize].older);
        }
        let turn = &mut self.turns[place as usize];
        (turn.newer, turn.older) = (newer, older);
        if older != NONE {
            self.turns[older as usize].newer = place;
        }
        match newer {
            NONE => drop(self.at.insert((session, position), place)),
            newer => self.turns[newer as usize].older = place,
        }
    }

    fn unlink(&mut self, place: u32) {
        let Turn { session, position, newer, older, .. } = self.turns[place as usize];
        if position == NO_POSITION {
            return;
        }
        match (newer, older) {
            (NONE, NONE) => drop(self.at.remove(&(session, position))),
            (NONE, older) => drop(self.at.insert((session, position), older)),
            (newer, older) => self.turns[newer as usize].older = older,
        }
        if older != NONE {
            self.turns[older as usize].newer = newer;
        }
        let turn = &mut self.turns[place as usize];
        (turn.newer, turn.older) = (NONE, NONE);
    }

    /// Turn of the memory at `place`.
    #[inline]
    pub fn turn(&self, place: u32) -> &Turn {
        self.turns.get(place as usize).unwrap_or(&EMPTY)
    }

    /// Places of the memories `offset` positions later in the same conversation, newest first.
    #[inline]
    pub fn neighbours(&self, place: u32, offset: i64) -> impl Iterator<Item = u32> + '_ {
        let turn = self.turn(place);
        let position = turn.position.checked_add(offset).filter(|_| turn.has_position());
        let first = position.and_then(|position| {
            // Turns of a session mostly have adjacent places. Reading one is faster than looking up its position.
            let probable = place.wrapping_add(offset as u32);
            let found = self.turn(probable);
            if (found.session, found.position, found.newer) == (turn.session, position, NONE) {
                return Some(probable);
            }
            self.at.get(&(turn.session, position)).copied()
        });
        std::iter::successors(first, |place| Some(self.turn(*place).older).filter(|older| *older != NONE))
    }

    /// Name of a speaker in lower case; empty for [`NONE`].
    pub fn speaker_name(&self, speaker: u32) -> &str {
        self.speaker_names.get(speaker as usize).map_or("", String::as_str)
    }

    fn session_number(&mut self, project: i64, name: &str) -> u32 {
        let next = self.sessions.len() as u32;
        *self.sessions.entry((project, name.to_owned())).or_insert(next)
    }

    fn speaker_number(&mut self, name: &str) -> u32 {
        let name = name.trim().to_lowercase();
        if let Some(&known) = self.speakers.get(&name) {
            return known;
        }
        let next = self.speaker_names.len() as u32;
        self.speaker_names.push(name.clone());
        self.speakers.insert(name, next);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::FilterRow;

    fn row(project: i64, session: Option<&str>, position: Option<i64>) -> MirrorRow<'_> {
        keyed(0, project, session, position)
    }

    fn keyed(key: i64, project: i64, session: Option<&str>, position: Option<i64>) -> MirrorRow<'_> {
        let columns = FilterRow { key, project, ..FilterRow::NOTHING };
        MirrorRow { columns, session, position, speaker: Some(" Ada "), traits: Traits::default() }
    }

    fn neighbours(conversations: &Conversations, place: u32, offset: i64) -> Vec<u32> {
        let mut places: Vec<u32> = conversations.neighbours(place, offset).collect();
        places.sort_unstable();
        places
    }

    #[test]
    fn neighbours_belong_to_the_same_conversation_and_project() {
        let mut conversations = Conversations::default();
        for (place, project, session, position) in
            [(0, 1, Some("s"), Some(4)), (1, 1, Some("s"), Some(5)), (2, 2, Some("s"), Some(6)), (3, 1, None, Some(6))]
        {
            conversations.put(place, &row(project, session, position));
        }
        assert_eq!((neighbours(&conversations, 0, 1), neighbours(&conversations, 1, -1)), (vec![1], vec![0]));
        for (place, offset) in [(1, 1), (2, -1), (3, -1), (0, i64::MAX), (0, i64::MIN)] {
            assert_eq!(neighbours(&conversations, place, offset), Vec::<u32>::new(), "{place} {offset}");
        }
        assert_eq!(conversations.speaker_name(conversations.turn(3).speaker), "ada");
    }

    #[test]
    fn moved_or_removed_turn_is_no_longer_a_neighbour() {
        let mut conversations = Conversations::default();
        for place in 0..3 {
            conversations.put(place, &row(1, Some("s"), Some(i64::from(place))));
        }
        conversations.put(1, &row(1, Some("s"), Some(9)));
        assert_eq!(neighbours(&conversations, 0, 1), Vec::<u32>::new());
        conversations.put(1, &row(1, Some("s"), Some(1)));
        assert_eq!(neighbours(&conversations, 0, 1), vec![1]);
        conversations.remove(1);
        assert_eq!(
            (neighbours(&conversations, 0, 1), neighbours(&conversations, 1, 1)),
            (Vec::<u32>::new(), Vec::<u32>::new())
        );
    }

    #[test]
    fn memories_of_one_message_stay_newest_first_when_one_is_removed_and_put_back() {
        let newest_first = |conversations: &Conversations| conversations.neighbours(0, 1).collect::<Vec<u32>>();
        for removed in 1..=4 {
            let mut conversations = Conversations::default();
            conversations.put(0, &keyed(1, 1, Some("s"), Some(0)));
            for place in [2, 4, 1, 3] {
                conversations.put(place, &keyed(i64::from(place), 1, Some("s"), Some(1)));
            }
            assert_eq!(newest_first(&conversations), [4, 3, 2, 1]);
            conversations.remove(removed);
            assert_eq!(
                newest_first(&conversations),
                (1..=4).rev().filter(|place| *place != removed).collect::<Vec<u32>>()
            );
            conversations.put(removed, &keyed(i64::from(removed), 1, Some("s"), Some(1)));
            // Put the row twice, as a pin does.
            conversations.put(removed, &keyed(i64::from(removed), 1, Some("s"), Some(1)));
            assert_eq!(newest_first(&conversations), [4, 3, 2, 1]);
        }
    }
}
