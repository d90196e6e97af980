//! The error type of the whole program: cause, place and remedy.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Result of anything that a user, a file or a device can make fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Origin of an error, which decides the exit code of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The input file, an option or an argument asks for something impossible.
    Input,
    /// A file cannot be read or written, or is damaged.
    File,
    /// The simulation itself failed: a non-finite force, an atom lost.
    Simulation,
    /// A device, its driver or a library it needs is missing or failed.
    Device,
}

/// A place in a text file.
#[derive(Debug, Clone)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// Line, counted from 1, if the error belongs to one.
    pub line: Option<usize>,
    /// Byte range inside `text` that is at fault.
    pub span: Option<Range<usize>>,
    /// The whole text of the file, so that the line can be shown.
    pub text: Option<Arc<str>>,
}

/// An error with its cause, its place and a remedy.
#[derive(Debug, Clone)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    place: Option<Place>,
    /// True where the place is a file that the message names, too, as it could not be opened: the line of an input that
    /// asks for it says more.
    unopened: bool,
    hint: Option<String>,
}

impl Error {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Error(Box::new(Inner { kind, message, place: None, unopened: false, hint: None }))
    }

    /// An error in the user's request.
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, message)
    }

    /// A name with several values in a request that takes one.
    pub fn given_twice(name: &str) -> Self {
        Self::input(format!("{name} is given twice")).hint("give it one value")
    }

    /// An error of a file: missing, unreadable, damaged, not writable.
    pub fn file(path: &Path, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::File, message).in_file(path)
    }

    /// An error at a line (counted from 1) of a data file.
    pub fn file_line(path: &Path, line: usize, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::File, message).at_line(path, line)
    }

    /// A failed operating-system call on a file, e.g. `Error::io("write", path, &e)`.
    pub fn io(action: &str, path: &Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind::*;
        let mut made = Self::file(path, format!("cannot {action} {}: {error}", path.display()));
        made.0.unopened = matches!(error.kind(), NotFound | PermissionDenied | IsADirectory);
        match error.kind() {
            NotFound => made.hint("check the path; relative paths start at the input file's folder"),
            PermissionDenied => made.hint("check who owns the file or folder and its permissions"),
            FileTooLarge => {
                made.hint("files may not be that large here: see ulimit -f, and what the file system allows")
            }
            StorageFull => made.hint("the disk is full: free some space, or choose another --output"),
            _ => made,
        }
    }

    /// A simulation that cannot go on.
    pub fn simulation(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Simulation, message)
    }

    /// A device that is missing or failed.
    pub fn device(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Device, message)
    }

    /// Adds a remedy. The first hint given is kept.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// Changes the remedy, where there is one.
    pub fn map_hint(mut self, changed: impl FnOnce(String) -> String) -> Self {
        self.0.hint = self.0.hint.map(changed);
        self
    }

    /// Adds the file. A place that is already there is kept.
    pub fn in_file(mut self, file: &Path) -> Self {
        self.0.place.get_or_insert_with(|| Place {
            file: file.to_path_buf(),
            line: None,
            span: None,
            text: None,
        });
        self
    }

    /// Makes it an error of a file, for contents that are found wrong where the path is not at hand. A place
    /// that is already there is kept.
    pub fn blame_file(mut self, file: &Path) -> Self {
        self.0.kind = ErrorKind::File;
        self.in_file(file)
    }

    /// Makes it an error of the user's request, such as an input file that does not exist.
    pub fn of_input(mut self) -> Self {
        self.0.kind = ErrorKind::Input;
        self
    }

    /// Adds the file and the line (counted from 1). A place that is already there is kept.
    pub fn at_line(mut self, file: &Path, line: usize) -> Self {
        self.0.place.get_or_insert_with(|| Place {
            file: file.to_path_buf(),
            line: Some(line),
            span: None,
            text: None,
        });
        self
    }

    /// Adds the byte range of `text`, the contents of `file`, that is at fault. A place that is already there
    /// is kept, unless it is a file that could not be opened.
    pub fn at_span(mut self, file: &Path, text: &Arc<str>, span: Range<usize>) -> Self {
        if std::mem::take(&mut self.0.unopened) {
            self.0.place = None;
        }
        let start = span.start.min(text.len());
        let line = text.as_bytes()[..start].iter().filter(|&&b| b == b'\n').count() + 1;
        self.0.place.get_or_insert_with(|| Place {
            file: file.to_path_buf(),
            line: Some(line),
            span: Some(span),
            text: Some(text.clone()),
        });
        self
    }

    /// Puts a context in front of the message: `"stage 'melt': the time step is 0"`.
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        self.0.message = format!("{context}: {}", self.0.message);
        self
    }

    /// Origin of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Cause, in one sentence.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Place of the error.
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// Remedy.
    pub fn help(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let Some(place) = &self.0.place {
            write!(f, "{}", place.file.display())?;
            if let Some(line) = place.line {
                write!(f, ":{line}")?;
            }
            write!(f, ": ")?;
        }
        write!(f, "{}", self.0.message)?;
        if let Some(hint) = &self.0.hint {
            write!(f, " ({hint})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
