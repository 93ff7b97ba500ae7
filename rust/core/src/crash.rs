//! Crash points: named places at which a test can kill the process, as `kill -9` does. Without the feature
//! `crash-points`, they compile to no code.

/// Kill the process if this point is armed.
#[cfg(not(feature = "crash-points"))]
#[inline]
pub fn point(_name: &str) {}

#[cfg(feature = "crash-points")]
pub use armed::{arm, point};

#[cfg(feature = "crash-points")]
mod armed {
    use parking_lot::Mutex;

    static ARMED: Mutex<Option<(String, u32)>> = Mutex::new(None);

    /// Arm a point: kill the process when `name` is reached for the `nth` time, counted from 1.
    pub fn arm(name: &str, nth: u32) {
        *ARMED.lock() = Some((name.to_owned(), nth));
    }

    /// Kill the process if this point is armed.
    pub fn point(name: &str) {
        let mut armed = ARMED.lock();
        if let Some((wanted, left)) = armed.as_mut()
            && wanted == name
        {
            *left -= 1;
            if *left == 0 {
                // SAFETY: the signal ends this process at once, so no code runs after the call.
                #[cfg(unix)]
                unsafe {
                    libc::kill(libc::getpid(), libc::SIGKILL);
                    libc::pause();
                }
                #[cfg(windows)]
                std::process::abort();
            }
        }
    }
}
