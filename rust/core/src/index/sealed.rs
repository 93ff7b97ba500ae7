//! Small JSON that carries a checksum of itself: a bit that flipped in it must not pass for what was written.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

#[derive(Serialize, Deserialize)]
struct Sealed<T> {
    /// xxh3-128 of the rest, hexadecimal.
    seal: String,
    #[serde(flatten)]
    value: T,
}

/// The JSON of `value` and its checksum.
pub fn seal<T: Serialize>(value: &T) -> serde_json::Result<String> {
    serde_json::to_string_pretty(&Sealed { seal: digest(value)?, value })
}

/// The value, or nothing when it is not the one that was written.
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
    fn what_was_sealed_comes_back_and_anything_else_does_not() {
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
