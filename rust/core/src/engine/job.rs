//! The queue, as workers see it. Two that race for a job meet in `SQLite`: one gets it.

use super::{Engine, redaction};
use crate::clock::DAY_MS;
use crate::error::{Error, Result};
use crate::model::validate;
use crate::store::job::{self, Ending, Job};

/// The longest lease, and the furthest that a job may be put off.
const LONGEST_LEASE_MS: i64 = DAY_MS;
const PAYLOAD_BYTES: usize = 64 * 1024;
const ERROR_CHARS: usize = 500;

impl Engine {
    /// Ask for work; `delay_ms` puts it off. Returns the job's number.
    pub fn enqueue(&self, kind: &str, subject: &str, payload: &str, delay_ms: i64) -> Result<i64> {
        validate::name("kind", kind)?;
        validate::optional("subject", subject)?;
        redaction::refuse("subject", subject)?;
        if payload.len() > PAYLOAD_BYTES {
            return Err(Error::over_limit("payload", format!("{} bytes", payload.len()), PAYLOAD_BYTES));
        }
        let shared = self.enter()?;
        shared.store.write(&shared.clock, shared.options.actor, |write| {
            write.enqueue(kind, subject, payload, write.now_ms.saturating_add(delay_ms.max(0)))
        })
    }

    /// Take the job whose turn it is, of these kinds, or of any.
    pub fn claim_job(&self, worker: &str, kinds: &[String], lease_ms: i64) -> Result<Option<Job>> {
        let lease_ms = checked_lease(lease_ms)?;
        validate::name("worker", worker)?;
        let shared = self.enter()?;
        // Looking is no write: a worker that has nothing to do must not wake the disk.
        let now_ms = shared.clock.now_ms();
        if job::next_due(&*shared.store.read()?)?.is_none_or(|due| due > now_ms) {
            return Ok(None);
        }
        shared.store.write(&shared.clock, shared.options.actor, |write| write.claim_job(worker, kinds, lease_ms))
    }

    /// Keep a job for longer; false when it was lost.
    pub fn renew_job(&self, id: i64, worker: &str, lease_ms: i64) -> Result<bool> {
        let lease_ms = checked_lease(lease_ms)?;
        let shared = self.enter()?;
        shared.store.write(&shared.clock, shared.options.actor, |write| write.renew_job(id, worker, lease_ms))
    }

    /// Say how an attempt ended; false when the job was lost, and then nothing changes.
    pub fn end_job(&self, id: i64, worker: &str, ending: &Ending) -> Result<bool> {
        let ending = match ending.clone() {
            Ending::Done(next) => Ending::Done(next),
            Ending::Failed(error, after_ms) => Ending::Failed(told(error), after_ms),
            Ending::Hopeless(error) => Ending::Hopeless(told(error)),
        };
        let shared = self.enter()?;
        shared.store.write(&shared.clock, shared.options.actor, |write| write.end_job(id, worker, &ending))
    }

    /// Take a job out of the queue; whether it was there.
    pub fn drop_job(&self, id: i64) -> Result<bool> {
        let shared = self.enter()?;
        shared.store.write(&shared.clock, shared.options.actor, |write| write.drop_job(id))
    }

    /// Whether a job is in the queue, in whatever state.
    pub fn knows_job(&self, kind: &str, subject: &str) -> Result<bool> {
        job::is_known(&*self.enter()?.store.read()?, kind, subject)
    }

    /// Let dead jobs be tried again.
    pub fn revive_jobs(&self, id: Option<i64>) -> Result<usize> {
        let shared = self.enter()?;
        shared.store.write(&shared.clock, shared.options.actor, |write| write.revive_jobs(id))
    }

    /// Jobs, dead ones first, then as they are due.
    pub fn jobs(&self, limit: usize) -> Result<Vec<Job>> {
        job::list(&*self.enter()?.store.read()?, limit)
    }

    /// How many jobs of each kind wait, are being done, and are dead.
    pub fn job_counts(&self) -> Result<Vec<(String, usize, usize, usize)>> {
        let shared = self.enter()?;
        job::counts(&*shared.store.read()?, shared.clock.now_ms())
    }

    /// When the next job is due; nothing when none waits.
    pub fn next_job_at(&self) -> Result<Option<i64>> {
        job::next_due(&*self.enter()?.store.read()?)
    }
}

fn checked_lease(lease_ms: i64) -> Result<i64> {
    if (1..=LONGEST_LEASE_MS).contains(&lease_ms) {
        return Ok(lease_ms);
    }
    let limit = LONGEST_LEASE_MS / 1000;
    Err(Error::over_limit("lease_seconds", format!("must lie between 0 and {limit}"), limit))
}

/// An error as it is kept: what is secret or long in it is not.
fn told(mut error: String) -> String {
    redaction::Kinds::default().clean(&mut error);
    error.chars().take(ERROR_CHARS).collect()
}
