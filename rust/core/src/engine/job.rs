//! Operations of the job queue. If two workers race for a job, `SQLite` gives it to one of them.

use super::{Engine, redaction};
use crate::clock::DAY_MS;
use crate::error::{Error, Result};
use crate::model::validate;
use crate::store::job::{self, Ending, Job};

/// Maximum length of a lease.
const LONGEST_LEASE_MS: i64 = DAY_MS;
const PAYLOAD_BYTES: usize = 64 * 1024;
const ERROR_CHARS: usize = 500;

impl Engine {
    /// Enqueue a job that is due after `delay_ms`; returns its number.
    pub fn enqueue(&self, kind: &str, subject: &str, payload: &str, delay_ms: i64) -> Result<i64> {
        validate::name("kind", kind)?;
        validate::optional("subject", subject)?;
        redaction::refuse("subject", subject)?;
        if payload.len() > PAYLOAD_BYTES {
            return Err(Error::over_limit(
                "payload",
                format!("has {} bytes as JSON; at most {PAYLOAD_BYTES} are kept", payload.len()),
                PAYLOAD_BYTES,
            ));
        }
        let mut payload = payload.to_owned();
        redaction::Kinds::default().clean_json("payload", &mut payload)?;
        let shared = self.enter()?;
        shared.store.write(&shared.clock, self.writer(), |write| {
            write.enqueue(kind, subject, &payload, write.now_ms.saturating_add(delay_ms.max(0)))
        })
    }

    /// Claim the next due job of these kinds, or of all kinds.
    pub fn claim_job(&self, worker: &str, kinds: &[String], lease_ms: i64) -> Result<Option<Job>> {
        let lease_ms = validate::lease(lease_ms, LONGEST_LEASE_MS)?;
        validate::name("worker", worker)?;
        let shared = self.enter()?;
        // Read first, because an idle worker that writes would keep the disk awake.
        let now_ms = shared.clock.now_ms();
        if job::next_due(&*shared.store.read()?)?.is_none_or(|due| due > now_ms) {
            return Ok(None);
        }
        shared.store.write(&shared.clock, self.writer(), |write| write.claim_job(worker, kinds, lease_ms))
    }

    /// Renew the lease of a job; false if another worker has the job by now.
    pub fn renew_job(&self, id: i64, worker: &str, lease_ms: i64) -> Result<bool> {
        let lease_ms = validate::lease(lease_ms, LONGEST_LEASE_MS)?;
        let shared = self.enter()?;
        shared.store.write(&shared.clock, self.writer(), |write| write.renew_job(id, worker, lease_ms))
    }

    /// Record the result of an attempt; false, without a change, if another worker has the job by now.
    pub fn end_job(&self, id: i64, worker: &str, ending: &Ending) -> Result<bool> {
        let ending = match ending.clone() {
            Ending::Done(next) => Ending::Done(next),
            Ending::Failed(error, after_ms) => Ending::Failed(told(error), after_ms),
            Ending::Hopeless(error) => Ending::Hopeless(told(error)),
        };
        let shared = self.enter()?;
        shared.store.write(&shared.clock, self.writer(), |write| write.end_job(id, worker, &ending))
    }

    /// Remove a job from the queue; whether it was in the queue.
    pub fn drop_job(&self, id: i64) -> Result<bool> {
        let shared = self.enter()?;
        shared.store.write(&shared.clock, self.writer(), |write| write.drop_job(id))
    }

    /// Whether a job is in the queue, in any state.
    pub fn knows_job(&self, kind: &str, subject: &str) -> Result<bool> {
        job::is_known(&*self.enter()?.store.read()?, kind, subject)
    }

    /// Revive dead jobs. If `once` is set, each is dead again after one failure.
    pub fn revive_jobs(&self, id: Option<i64>, once: bool) -> Result<usize> {
        let shared = self.enter()?;
        shared.store.write(&shared.clock, self.writer(), |write| write.revive_jobs(id, once))
    }

    /// Jobs, dead jobs first, then in the order in which they are due.
    pub fn jobs(&self, limit: usize) -> Result<Vec<Job>> {
        job::list(&*self.enter()?.store.read()?, limit)
    }

    /// Numbers and subjects of all jobs of a kind, in any state, sorted by subject.
    pub fn job_subjects(&self, kind: &str) -> Result<Vec<(i64, String)>> {
        job::subjects(&*self.enter()?.store.read()?, kind)
    }

    /// Numbers of waiting, running and dead jobs of each kind.
    pub fn job_counts(&self) -> Result<Vec<(String, usize, usize, usize)>> {
        let shared = self.enter()?;
        job::counts(&*shared.store.read()?, shared.clock.now_ms())
    }

    /// The time at which the next job is due; `None` if no job waits.
    pub fn next_job_at(&self) -> Result<Option<i64>> {
        job::next_due(&*self.enter()?.store.read()?)
    }
}

/// Redact and truncate an error message before it is stored.
fn told(mut error: String) -> String {
    redaction::Kinds::default().clean(&mut error);
    error.chars().take(ERROR_CHARS).collect()
}
