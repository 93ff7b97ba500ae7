//! Small JSON documents with a checksum of their own content, so that a flipped bit is detected.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

#[derive(Serialize, Deserialize)]
struct Sealed<T> {
    /// xxh3-128 of the other fields, hexadecimal.
    seal: String,
    #[serde(flatten)]
    value: T,
}

/// Serialize `value` with its checksum.
pub fn seal<T: Serialize>(value: &T) -> serde_json::Result<String> {
    serde_json::to_string_pretty(&Sealed { seal: digest(value)?, value })
}

/// Parse a sealed value. Return `None` if the JSON is invalid or its checksum differs.
pub fn unseal<T: Serialize + DeserializeOwned>(json: &[u8]) -> Option<T> {
    let sealed: Sealed<T> = serde_json::from_slice(json).ok()?;
    (digest(&sealed.value).ok()? == sealed.seal).then_some(sealed.value)
}

fn digest<T: Serialize>(value: &T) -> serde_json::Result<String> {
    Ok(format!("{:032x}", xxh3_128(&serde_json::to_vec(value)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unseal_returns_sealed_value_and_rejects_changed_json() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Value {
            name: String,
            number: i64,
        }
        let value = Value { name: "a name".into(), number: i64::MIN };
        let json = seal(&value).unwrap();
        assert_eq!(unseal::<Value>(json.as_bytes()), Some(value));
        for (from, to) in [("a name", "a nome"), ("-9", "-8"), ("}", "")] {
            assert!(json.contains(from));
            assert_eq!(unseal::<Value>(json.replace(from, to).as_bytes()), None);
        }
    }
}
