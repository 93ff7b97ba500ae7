//! Who said what after what: the neighbours of a memory in its conversation.
//!
//! Nothing in an index depends on a neighbour; the mirror knows them, so that they can be looked up when somebody asks.

use rustc_hash::FxHashMap;

use super::mirror::NONE;
use crate::store::memory::MirrorRow;
use crate::text::Traits;

/// How a memory was said.
#[derive(Debug, Clone, Copy)]
pub struct Said {
    /// Number of its conversation, or [`NONE`].
    pub session: u32,
    /// Number of its speaker, or [`NONE`].
    pub speaker: u32,
    /// Place in its conversation, or [`NOWHERE`].
    position: i64,
    /// What kind of text it is.
    pub traits: Traits,
    /// Key of the memory: of several at one place of a conversation the newest comes first.
    key: i64,
    /// The next newer memory at the same place of the same conversation, or [`NONE`].
    newer: u32,
    /// The next older one, or [`NONE`].
    older: u32,
}

const NOWHERE: i64 = i64::MIN;

impl Said {
    /// Whether it has a place in a conversation.
    pub fn has_position(&self) -> bool {
        self.position != NOWHERE
    }
}

const NOTHING: Said = Said {
    session: NONE,
    speaker: NONE,
    position: NOWHERE,
    traits: Traits { words: 0, asks: false, names_a_time: false },
    key: 0,
    newer: NONE,
    older: NONE,
};

/// How every memory was said, by its place in the mirror.
#[derive(Debug, Default)]
pub struct Talk {
    said: Vec<Said>,
    /// By project and name: the same name in two projects is two conversations.
    sessions: FxHashMap<(i64, String), u32>,
    speakers: FxHashMap<String, u32>,
    speaker_names: Vec<String>,
    /// The newest memory at each place of each conversation; several may come from one message.
    at: FxHashMap<(u32, i64), u32>,
}

impl Talk {
    /// Note how the memory at `place` was said, in place of what was noted before.
    pub fn put(&mut self, place: u32, row: &MirrorRow<'_>) {
        if self.said.len() <= place as usize {
            self.said.resize(place as usize + 1, NOTHING);
        }
        let session = row.session.map_or(NONE, |name| self.session(row.columns.project, name));
        let speaker = row.speaker.map_or(NONE, |name| self.speaker(name));
        let position = row.position.filter(|_| session != NONE).unwrap_or(NOWHERE);
        let before = self.said[place as usize];
        let stays = (before.session, before.position, before.key) == (session, position, row.columns.key);
        if !stays {
            self.unlink(place);
        }
        let said = &mut self.said[place as usize];
        *said = Said { session, speaker, position, traits: row.traits, key: row.columns.key, ..*said };
        if !stays && position != NOWHERE {
            self.link(place);
        }
    }

    /// Forget the memory at `place`.
    pub fn remove(&mut self, place: u32) {
        if (place as usize) < self.said.len() {
            self.unlink(place);
            self.said[place as usize] = NOTHING;
        }
    }

    fn link(&mut self, place: u32) {
        let Said { session, position, key, .. } = self.said[place as usize];
        let (mut newer, mut older) = (NONE, self.at.get(&(session, position)).copied().unwrap_or(NONE));
        // What is written has the greatest key so far, so this rarely takes a step.
        while older != NONE && self.said[older as usize].key > key {
            (newer, older) = (older, self.said[older as usize].older);
        }
        let said = &mut self.said[place as usize];
        (said.newer, said.older) = (newer, older);
        if older != NONE {
            self.said[older as usize].newer = place;
        }
        match newer {
            NONE => drop(self.at.insert((session, position), place)),
            newer => self.said[newer as usize].older = place,
        }
    }

    fn unlink(&mut self, place: u32) {
        let Said { session, position, newer, older, .. } = self.said[place as usize];
        if position == NOWHERE {
            return;
        }
        match (newer, older) {
            (NONE, NONE) => drop(self.at.remove(&(session, position))),
            (NONE, older) => drop(self.at.insert((session, position), older)),
            (newer, older) => self.said[newer as usize].older = older,
        }
        if older != NONE {
            self.said[older as usize].newer = newer;
        }
        let said = &mut self.said[place as usize];
        (said.newer, said.older) = (NONE, NONE);
    }

    /// How the memory at `place` was said.
    #[inline]
    pub fn said(&self, place: u32) -> &Said {
        self.said.get(place as usize).unwrap_or(&NOTHING)
    }

    /// Places of what was said `offset` places later in the same conversation, the newest first.
    #[inline]
    pub fn neighbours(&self, place: u32, offset: i64) -> impl Iterator<Item = u32> + '_ {
        let said = self.said(place);
        let position = said.position.checked_add(offset).filter(|_| said.has_position());
        let first = position.and_then(|position| self.at.get(&(said.session, position)).copied());
        std::iter::successors(first, |place| Some(self.said(*place).older).filter(|older| *older != NONE))
    }

    /// The name of a speaker in small letters; empty for [`NONE`].
    pub fn speaker_name(&self, speaker: u32) -> &str {
        self.speaker_names.get(speaker as usize).map_or("", String::as_str)
    }

    fn session(&mut self, project: i64, name: &str) -> u32 {
        let next = self.sessions.len() as u32;
        *self.sessions.entry((project, name.to_owned())).or_insert(next)
    }

    fn speaker(&mut self, name: &str) -> u32 {
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

    fn neighbours(talk: &Talk, place: u32, offset: i64) -> Vec<u32> {
        let mut places: Vec<u32> = talk.neighbours(place, offset).collect();
        places.sort_unstable();
        places
    }

    #[test]
    fn neighbours_are_of_the_same_conversation_and_project() {
        let mut talk = Talk::default();
        for (place, project, session, position) in
            [(0, 1, Some("s"), Some(4)), (1, 1, Some("s"), Some(5)), (2, 2, Some("s"), Some(6)), (3, 1, None, Some(6))]
        {
            talk.put(place, &row(project, session, position));
        }
        assert_eq!((neighbours(&talk, 0, 1), neighbours(&talk, 1, -1)), (vec![1], vec![0]));
        for (place, offset) in [(1, 1), (2, -1), (3, -1), (0, i64::MAX), (0, i64::MIN)] {
            assert_eq!(neighbours(&talk, place, offset), Vec::<u32>::new(), "{place} {offset}");
        }
        assert_eq!(talk.speaker_name(talk.said(3).speaker), "ada");
    }

    #[test]
    fn what_moves_or_goes_is_nobody_s_neighbour_any_more() {
        let mut talk = Talk::default();
        for place in 0..3 {
            talk.put(place, &row(1, Some("s"), Some(i64::from(place))));
        }
        talk.put(1, &row(1, Some("s"), Some(9)));
        assert_eq!(neighbours(&talk, 0, 1), Vec::<u32>::new());
        talk.put(1, &row(1, Some("s"), Some(1)));
        assert_eq!(neighbours(&talk, 0, 1), vec![1]);
        talk.remove(1);
        assert_eq!((neighbours(&talk, 0, 1), neighbours(&talk, 1, 1)), (Vec::<u32>::new(), Vec::<u32>::new()));
    }

    #[test]
    fn several_memories_of_one_message_come_newest_first_whichever_of_them_goes_or_comes_back() {
        let newest_first = |talk: &Talk| talk.neighbours(0, 1).collect::<Vec<u32>>();
        for gone in 1..=4 {
            let mut talk = Talk::default();
            talk.put(0, &keyed(1, 1, Some("s"), Some(0)));
            for place in [2, 4, 1, 3] {
                talk.put(place, &keyed(i64::from(place), 1, Some("s"), Some(1)));
            }
            assert_eq!(newest_first(&talk), [4, 3, 2, 1]);
            talk.remove(gone);
            assert_eq!(newest_first(&talk), (1..=4).rev().filter(|place| *place != gone).collect::<Vec<u32>>());
            talk.put(gone, &keyed(i64::from(gone), 1, Some("s"), Some(1)));
            talk.put(gone, &keyed(i64::from(gone), 1, Some("s"), Some(1))); // as after a pin
            assert_eq!(newest_first(&talk), [4, 3, 2, 1]);
        }
    }
}
