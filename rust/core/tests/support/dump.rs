//! The whole store as text, so that one comparison shows the complete effect of an operation.

use std::fmt::Write;

use opencode_memory_core::Engine;
use serde_json::Value;

/// All rows of an export, one per line, without empty fields.
pub fn dump(engine: &Engine) -> String {
    let mut text = String::new();
    for kind in ["project", "memory", "link", "history", "kv"] {
        writeln!(text, "[{kind}]").expect("a string takes everything");
        let mut cursor = Some(0);
        while let Some(from) = cursor {
            let page = engine.dump(kind, from, 7).expect("a page");
            for row in &page.rows {
                let row = telling(serde_json::from_str(row).expect("JSON"));
                writeln!(text, "{row}").expect("a string takes everything");
            }
            cursor = page.next;
        }
    }
    let documents = engine.documents("plan", "", None).expect("documents");
    if !documents.is_empty() {
        writeln!(text, "[document]").expect("a string takes everything");
    }
    for document in documents {
        writeln!(text, "{document:?}").expect("a string takes everything");
    }
    text
}

fn telling(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| (name, telling(value)))
                .filter(|(_, value)| !says_nothing(value))
                .collect(),
        ),
        other => other,
    }
}

fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
