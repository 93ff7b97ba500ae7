//! Named places at which a test lets the process die, as `kill -9` would. Without the feature `crash-points` they are
//! nothing.

/// Die here if this point is armed.
#[cfg(not(feature = "crash-points"))]
#[inline]
pub fn point(_name: &str) {}

#[cfg(feature = "crash-points")]
pub use armed::{arm, point};

#[cfg(feature = "crash-points")]
mod armed {
    use parking_lot::Mutex;

    static ARMED: Mutex<Option<(String, u32)>> = Mutex::new(None);

    /// Die when `name` is reached for the `nth` time, counted from 1.
    pub fn arm(name: &str, nth: u32) {
        *ARMED.lock() = Some((name.to_owned(), nth));
    }

    /// Die here if this point is armed.
    pub fn point(name: &str) {
        let mut armed = ARMED.lock();
        if let Some((wanted, left)) = armed.as_mut()
            && wanted == name
        {
            *left -= 1;
            if *left == 0 {
                // SAFETY: ends this process at once, as a kill does; nothing runs after it.
                unsafe {
                    libc::kill(libc::getpid(), libc::SIGKILL);
                    libc::pause();
                }
            }
        }
    }
}
