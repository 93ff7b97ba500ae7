//! Limits that every write path checks.

/// Characters of one memory.
pub const CONTENT_CHARS: usize = 100_000;
/// Characters of a topic.
pub const TOPIC_CHARS: usize = 512;
/// Characters of a name: project, session, speaker, tag, entity, source part, key of the key-value store.
pub const NAME_CHARS: usize = 512;
/// Tags or entities of one memory.
pub const LABELS: usize = 64;
/// Bytes of a memory's metadata as JSON.
pub const METADATA_BYTES: usize = 64 * 1024;
/// Characters of a query; the rest is ignored.
pub const QUERY_CHARS: usize = 8_000;
/// Hits of one recall.
pub const RECALL_LIMIT: usize = 1_000;
/// Bytes of a value of the key-value store, as JSON.
pub const KV_VALUE_BYTES: usize = 1024 * 1024;
/// Bytes of the text that is added to a message.
pub const SHOWN_TEXT_BYTES: usize = 256 * 1024;
/// Memories in such a text.
pub const SHOWN_MEMORIES: usize = 200;
/// Characters of the explanation of a shown memory.
pub const WHY_CHARS: usize = 4_000;
/// Days between two reminders or two reviews of a memory: at most ten years.
pub const INTERVAL_DAYS: std::ops::RangeInclusive<i64> = 1..=3_650;
/// Earliest and latest time, UTC milliseconds: the years 1 and 9999.
pub const TIME_RANGE_MS: std::ops::RangeInclusive<i64> = -62_135_596_800_000..=253_402_300_799_999;
