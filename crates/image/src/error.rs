//! A system call that failed, and what it was for.

use std::fmt;

/// Why a part of the image could not be set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    what: String,
    code: i32,
}

impl Error {
    pub(crate) fn new(what: impl Into<String>, code: i32) -> Self {
        Self { what: what.into(), code }
    }

    /// The system's error number.
    pub fn code(&self) -> i32 {
        self.code
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, std::io::Error::from_raw_os_error(self.code))
    }
}

impl std::error::Error for Error {}
