//! Identifiers: `UUIDv7` for memories, which users and links see, and random numbers for transactions.

use parking_lot::Mutex;
use uuid::{ContextV7, Timestamp, Uuid};

use crate::clock::since_1970;

/// State by which the ids of this process stay in order, also if the clock is set back.
static CONTEXT: Mutex<ContextV7> = Mutex::new(ContextV7::new());

/// Create a memory id. Ids are time-ordered within a process and unique across processes.
pub fn new_memory_id() -> String {
    new_uuid().to_string()
}

/// Create a store id, for a store that is created or replaced by a backup.
pub fn new_store_id() -> String {
    new_uuid().to_string()
}

/// Create the random nonce of a transaction. It distinguishes two histories with the same sequence number.
pub fn new_nonce() -> i64 {
    let (high, low) = new_uuid().as_u64_pair();
    (high.rotate_left(32) ^ low) as i64
}

/// Convert an id to its canonical form; `None` if it is not a UUID.
pub fn canonical(id: &str) -> Option<String> {
    Uuid::try_parse(id.trim()).ok().map(|uuid| uuid.to_string())
}

/// Create a `UUIDv7`. `Uuid::now_v7` would panic if the clock is set before 1970.
fn new_uuid() -> Uuid {
    let now = since_1970();
    Uuid::new_v7(Timestamp::from_unix(&*CONTEXT.lock(), now.as_secs(), now.subsec_nanos()))
}
