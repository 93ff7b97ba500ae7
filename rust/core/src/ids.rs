//! Identifiers: `UUIDv7` for memories (what people and links see), random numbers for transactions.

use uuid::Uuid;

/// A new memory id: time-ordered within this process, random enough across processes.
pub fn new_memory_id() -> String {
    Uuid::now_v7().to_string()
}

/// A new store id, made when a store is created or replaced by a backup.
pub fn new_store_id() -> String {
    Uuid::now_v7().to_string()
}

/// The random mark of one transaction; two histories that reached the same sequence number differ in it.
pub fn new_nonce() -> i64 {
    let (high, low) = Uuid::now_v7().as_u64_pair();
    (high.rotate_left(32) ^ low) as i64
}

/// The canonical form of a given id, or nothing if it is no UUID.
pub fn canonical(id: &str) -> Option<String> {
    Uuid::try_parse(id.trim()).ok().map(|uuid| uuid.to_string())
}
