//! Operations on sessions and claims. If two sessions race for a claim, `SQLite` gives it to one of them.

use super::{Engine, redaction};
use crate::clock::DAY_MS;
use crate::error::{Error, Result};
use crate::model::validate;
use crate::store::session::{self, Session};
use crate::store::{WriteTx, project};

/// Maximum length of a lease.
const LONGEST_LEASE_MS: i64 = 7 * DAY_MS;

/// The result of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// Whether the session has the item now.
    pub granted: bool,
    /// The claimed item, in its first spelling.
    pub item: String,
    /// The session that has the item now.
    pub owner: Session,
    /// The time of its claim.
    pub since: i64,
    /// The previous owner, if its lease had ended.
    pub taken_over_from: Option<Session>,
}

impl Engine {
    /// Start a session or renew its lease; its claims stay.
    pub fn session_start(
        &self,
        project: Option<&str>,
        name: &str,
        working_on: Option<&str>,
        lease_ms: i64,
    ) -> Result<Session> {
        check("session_id", name)?;
        let mut working_on = working_on.map(str::to_owned);
        if let Some(text) = &mut working_on {
            validate::topic(text)?;
            redaction::Kinds::default().clean(text);
        }
        self.write_sessions(project, |write, project| {
            write.begin_session(project, name, working_on.as_deref(), lease_until(write, lease_ms)?)?;
            existing(write, project, name)
        })
    }

    /// Renew the lease of a session. A session that was never started, or has ended, must be started first.
    pub fn session_heartbeat(&self, project: Option<&str>, name: &str, lease_ms: i64) -> Result<Session> {
        check("session_id", name)?;
        self.write_sessions(project, |write, project| {
            running(write, project, name)?;
            write.begin_session(project, name, None, lease_until(write, lease_ms)?)?;
            existing(write, project, name)
        })
    }

    /// End a session; returns it with the claims that it released.
    pub fn session_end(&self, project: Option<&str>, name: &str) -> Result<Session> {
        check("session_id", name)?;
        self.write_sessions(project, |write, project| {
            let session = existing(write, project, name)?;
            write.end_session(project, name)?;
            let ended_at = Some(session.ended_at.unwrap_or(write.now_ms));
            Ok(Session { ended_at, ..session })
        })
    }

    /// Live sessions of a project, most recently seen first.
    pub fn sessions(&self, project: Option<&str>) -> Result<Vec<Session>> {
        let shared = self.enter()?;
        let at = shared.store.read()?;
        let Some(id) = project::id_of(&at, project)? else { return Ok(Vec::new()) };
        let now_ms = shared.clock.now_ms();
        if shared.store.is_writable() && session::has_future_lease(&at, id, now_ms)? {
            return self.write_sessions(project, |write, id| session::live(write, id, write.now_ms));
        }
        session::live(&at, id, now_ms)
    }

    /// Claim an item for a session, which is started if needed. A live session keeps its item; the item of a session
    /// whose lease has ended is taken over.
    pub fn claim(&self, project: Option<&str>, name: &str, item: &str, lease_ms: i64) -> Result<Claimed> {
        check("session_id", name)?;
        check("item_ref", item)?;
        self.write_sessions(project, |write, project| {
            let holder = match session::claim_of(write, project, item)? {
                Some(claim) if claim.session != name => {
                    session::get(write, project, &claim.session)?.map(|session| (claim, session))
                }
                _ => None,
            };
            if let Some((claim, owner)) = &holder
                && owner.is_alive(write.now_ms)
            {
                return Ok(Claimed {
                    granted: false,
                    item: claim.item.clone(),
                    owner: owner.clone(),
                    since: claim.claimed_at,
                    taken_over_from: None,
                });
            }
            write.begin_session(project, name, None, lease_until(write, lease_ms)?)?;
            let (item, since) = match session::claim_of(write, project, item)? {
                Some(mine) if mine.session == name => (mine.item, mine.claimed_at),
                former => {
                    write.give_claim(project, item, name)?;
                    (former.map_or_else(|| item.to_owned(), |former| former.item), write.now_ms)
                }
            };
            Ok(Claimed {
                granted: true,
                item,
                owner: existing(write, project, name)?,
                since,
                taken_over_from: holder.map(|(_, session)| session),
            })
        })
    }

    /// Release a claim; whether the session had it. A claim of another session stays.
    pub fn release(&self, project: Option<&str>, name: &str, item: &str) -> Result<bool> {
        check("session_id", name)?;
        check("item_ref", item)?;
        self.write_sessions(project, |write, project| match session::claim_of(write, project, item)? {
            Some(claim) if claim.session == name => write.drop_claim(project, item).map(|()| true),
            Some(claim) => Err(Error::Conflict(format!(
                "{item:?} is claimed by session {:?}, not by {name:?}; only its owner releases it",
                claim.session
            ))),
            None => Ok(false),
        })
    }

    fn write_sessions<T>(&self, project: Option<&str>, change: impl Fn(&WriteTx<'_>, i64) -> Result<T>) -> Result<T> {
        project.map_or(Ok(()), validate::project_name)?;
        project.map_or(Ok(()), |name| redaction::refuse("project", name))?;
        let shared = self.enter()?;
        shared.store.write(&shared.clock, self.writer(), |write| {
            let project = write.project_named(project)?;
            write.correct_leases(project)?;
            change(write, project)
        })
    }
}

fn check(field: &'static str, name: &str) -> Result<()> {
    validate::name(field, name)?;
    if name.chars().any(char::is_control) {
        return Err(Error::invalid(field, "has control characters"));
    }
    redaction::refuse(field, name)
}

fn lease_until(write: &WriteTx<'_>, lease_ms: i64) -> Result<i64> {
    Ok(write.now_ms.saturating_add(validate::lease(lease_ms, LONGEST_LEASE_MS)?))
}

fn existing(write: &WriteTx<'_>, project: i64, name: &str) -> Result<Session> {
    session::get(write, project, name)?.ok_or_else(|| Error::NotFound {
        what: "session",
        id: name.to_owned(),
        hint: "; start it with session_start".to_owned(),
    })
}

fn running(write: &WriteTx<'_>, project: i64, name: &str) -> Result<()> {
    match existing(write, project, name)?.ended_at {
        None => Ok(()),
        Some(_) => Err(Error::Conflict(format!("session {name:?} has ended; start it again with session_start"))),
    }
}
