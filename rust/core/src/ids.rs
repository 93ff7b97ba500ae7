//! Identifiers: `UUIDv7` for memories, which users and links see, and random numbers for transactions.

use uuid::Uuid;

/// Create a memory id. Ids are time-ordered within a process and unique across processes.
pub fn new_memory_id() -> String {
    Uuid::now_v7().to_string()
}

/// Create a store id, for a store that is created or replaced by a backup.
pub fn new_store_id() -> String {
    Uuid::now_v7().to_string()
}

/// Create the random nonce of a transaction. It distinguishes two histories with the same sequence number.
pub fn new_nonce() -> i64 {
    let (high, low) = Uuid::now_v7().as_u64_pair();
    (high.rotate_left(32) ^ low) as i64
}

/// Convert an id to its canonical form; `None` if it is not a UUID.
pub fn canonical(id: &str) -> Option<String> {
    Uuid::try_parse(id.trim()).ok().map(|uuid| uuid.to_string())
}
