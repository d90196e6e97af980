//! Errors as people see them: the sentence, the line at fault, what would mend it.

use crate::excerpt::{Excerpt, legible};
use jostle_core::{Error, ErrorKind};
use miette::{Diagnostic, LabeledSpan, MietteHandlerOpts, SourceCode};
use std::fmt;

/// Exit code of a command that has done its work.
pub const SUCCESS: u8 = 0;

/// Exit code of a command that has failed.
pub const FAILURE: u8 = 1;

/// An error dressed for the terminal.
struct ErrorReport {
    error: Error,
    excerpt: Option<Excerpt>,
}

impl ErrorReport {
    fn new(error: &Error) -> Self {
        ErrorReport { error: error.clone(), excerpt: error.place().and_then(Excerpt::of) }
    }
}

impl fmt::Display for ErrorReport {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        // The frame around a shown line names the file.
        if let (None, Some(place)) = (&self.excerpt, self.error.place()) {
            let file = place.file.display().to_string();
            match place.line {
                Some(line) => write!(f, "{file}:{line}: ")?,
                None if !self.error.message().contains(&file) => write!(f, "{file}: ")?,
                None => {}
            }
        }
        f.write_str(&legible(self.error.message()))
    }
}

impl fmt::Debug for ErrorReport {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::Debug::fmt(&self.error, f)
    }
}

impl std::error::Error for ErrorReport {}

impl Diagnostic for ErrorReport {
    fn help(&self) -> Option<Box<dyn fmt::Display + '_>> {
        self.error.help().map(|help| Box::new(legible(help)) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.excerpt.as_ref().map(|excerpt| excerpt as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let labels = self.excerpt.as_ref()?.labels();
        Some(Box::new(labels))
    }
}

/// Prints an error to stderr: with colour and the source line on a terminal, plainly elsewhere.
pub fn print(error: &Error) {
    let handler = MietteHandlerOpts::new().context_lines(1).build();
    let complaint = ErrorReport::new(error);
    let shown = fmt::from_fn(|f| miette::ReportHandler::debug(&handler, &complaint, f));
    say!("{}", shown.to_string().trim_end());
}

/// 2 where the input is to blame, 1 for everything else.
pub fn exit_code(error: &Error) -> u8 {
    match error.kind() {
        ErrorKind::Input => 2,
        ErrorKind::File | ErrorKind::Simulation | ErrorKind::Device => FAILURE,
    }
}

/// Replaces Rust's words for a panic: whatever happened, it is our fault and not the user's.
pub fn install_panic_hook() {
    std::panic::set_hook(Box::new(|panic| {
        say!("\nThis is a bug in Jostle, not in your input: {panic}");
        say!("Please report it with the lines above, the input file and the output of `jostle doctor`.");
    }));
}
