//! Operations of the key-value store: JSON values in a namespace per project.

use super::{Engine, redaction};
use crate::error::{Error, Result};
use crate::model::validate;
use crate::store::kv::{self, Value};
use crate::store::project;

impl Engine {
    /// Set a value for `ttl_ms` milliseconds, or forever; returns the kinds of secrets that were redacted in it.
    pub fn kv_set(
        &self,
        project: Option<&str>,
        key: &str,
        json: &str,
        ttl_ms: Option<i64>,
    ) -> Result<Vec<&'static str>> {
        check_key("key", key)?;
        project.map_or(Ok(()), validate::project_name)?;
        redaction::refuse("key", key)?;
        project.map_or(Ok(()), |name| redaction::refuse("project", name))?;
        validate::json_value("value", json)?;
        if ttl_ms.is_some_and(|ttl| ttl <= 0) {
            return Err(Error::over_limit(
                "ttl_seconds",
                "must be more than 0; leave it out for a value that does not expire",
                0,
            ));
        }
        let mut json = json.to_owned();
        let mut kinds = redaction::Kinds::default();
        kinds.clean_json("value", &mut json)?;
        let shared = self.enter()?;
        shared.store.write(&shared.clock, self.writer(), |write| {
            let expires_at = ttl_ms.map(|ttl| write.now_ms.saturating_add(ttl));
            validate::time("ttl_seconds", expires_at)?;
            let project = write.project_named(project)?;
            write.kv_set(project, key, &json, expires_at)
        })?;
        Ok(kinds.into_vec())
    }

    /// A live value.
    pub fn kv_get(&self, project: Option<&str>, key: &str) -> Result<Option<Value>> {
        check_key("key", key)?;
        let shared = self.enter()?;
        let at = shared.store.read()?;
        match project::id_of(&at, project)? {
            Some(id) => kv::get(&at, id, key, shared.clock.now_ms()),
            None => Ok(None),
        }
    }

    /// Live values whose key starts with `prefix`, ordered by key.
    pub fn kv_list(&self, project: Option<&str>, prefix: &str) -> Result<Vec<Value>> {
        if !prefix.is_empty() {
            check_key("prefix", prefix)?;
        }
        let shared = self.enter()?;
        let at = shared.store.read()?;
        match project::id_of(&at, project)? {
            Some(id) => kv::list(&at, id, prefix, shared.clock.now_ms()),
            None => Ok(Vec::new()),
        }
    }

    /// Delete a value; whether it existed.
    pub fn kv_delete(&self, project: Option<&str>, key: &str) -> Result<bool> {
        check_key("key", key)?;
        let shared = self.enter()?;
        shared.store.write(&shared.clock, self.writer(), |write| match project::id_of(write, project)? {
            Some(id) => write.kv_delete(id, key),
            None => Ok(false),
        })
    }
}

/// Validate a key.
pub(super) fn check_key(field: &'static str, key: &str) -> Result<()> {
    validate::name(field, key)?;
    if key.chars().any(char::is_control) {
        return Err(Error::invalid(field, "has control characters"));
    }
    Ok(())
}
