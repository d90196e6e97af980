//! Work of GROMACS' preprocessor: files included, macros, parts under conditions, comments after
//! semicolons, lines that go on after a backslash.

use crate::{memory, text};
use jostle_core::{Error, Result};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Files include each other no deeper than this.
const DEEPEST: usize = 32;

/// No more files are included, each as often as it is: those of force fields include some twenty.
const MOST_FILES: usize = 10_000;

/// A line that is left, in words, and where it stands.
#[derive(Debug, Clone)]
pub(super) struct SourceLine {
    pub words: Vec<String>,
    pub file: Rc<PathBuf>,
    pub number: usize,
}

impl SourceLine {
    /// An error at this line.
    pub fn error(&self, message: impl Into<String>) -> Error {
        Error::file_line(&self.file, self.number, message)
    }

    /// An error of elsewhere at this line.
    pub fn at(&self, error: Error) -> Error {
        error.at_line(&self.file, self.number)
    }
}

/// Returns true for a line whose letters of another encoding are those of a comment.
pub(super) fn is_comment(line: &[u8]) -> bool {
    text::is_behind(b';', line)
}

/// All lines of a topology.
///
/// # Errors
/// If a file is missing, or a condition has no end.
pub(super) fn lines(
    path: &Path,
    text: &str,
    define: &[String],
    include: &[PathBuf],
) -> Result<Vec<SourceLine>> {
    let mut macros = HashMap::new();
    for name in define {
        let (name, value) = name.split_once('=').unwrap_or((name, ""));
        let words = value.split_whitespace().map(str::to_string).collect();
        if macros.insert(name.to_string(), words).is_some() {
            return Err(Error::given_twice(&format!("the macro {name}")));
        }
    }
    let mut preprocessor = Preprocessor {
        macros,
        include,
        found: Vec::new(),
        files: 0,
        text: PreprocessedText { bytes: 0, looked_at: 1 << 26 },
    };
    preprocessor.file(path, text, 0)?;
    Ok(preprocessor.found)
}

struct Preprocessor<'a> {
    /// Words of each macro; one without words is there for conditions alone, and words of its name stay.
    macros: HashMap<String, Vec<String>>,
    include: &'a [PathBuf],
    found: Vec<SourceLine>,
    /// Number of files that have been included.
    files: usize,
    text: PreprocessedText,
}

/// Bytes of all lines that are left, with macros replaced.
struct PreprocessedText {
    bytes: usize,
    /// The number of bytes at which memory is looked at next.
    looked_at: usize,
}

impl PreprocessedText {
    fn add(&mut self, line: &SourceLine) -> Result<()> {
        self.bytes += line.words.iter().map(|word| size_of::<String>() + word.len()).sum::<usize>();
        if self.bytes >= self.looked_at {
            self.looked_at = 2 * self.bytes;
            memory::room_for("the text with all that it includes", self.bytes as u64)
                .map_err(|e| line.at(e))?;
        }
        Ok(())
    }
}

impl Preprocessor<'_> {
    fn file(&mut self, path: &Path, text: &str, depth: usize) -> Result<()> {
        let file = Rc::new(path.to_path_buf());
        // Conditions around the line, from outside: the truth of each, and the line at which it began.
        let mut conditions: Vec<(bool, usize)> = Vec::new();
        let mut lines = (1..).zip(text.lines());
        while let Some((number, first)) = lines.next() {
            let whole = match first.trim_start().starts_with('#') {
                true => first.to_string(),
                false if !conditions.iter().all(|(holds, _)| *holds) => continue,
                false => joined(first, &mut lines, &file)?,
            };
            let whole = bare(&whole);
            let words: Vec<String> = whole.split_whitespace().map(str::to_string).collect();
            let at = |words| SourceLine { words, file: file.clone(), number };
            let Some(directive) = whole.trim_start().strip_prefix('#') else {
                if !words.is_empty() {
                    self.add(at(words))?;
                }
                continue;
            };
            let mut rest = directive.split_whitespace();
            let (name, argument) = (rest.next().unwrap_or(""), rest.next());
            let needed = || argument.ok_or_else(|| at(Vec::new()).error(format!("#{name} of what?")));
            let holds = conditions.iter().all(|(holds, _)| *holds);
            match name {
                "ifdef" | "ifndef" => {
                    let asked = needed()?;
                    if holds && !first.replacen('#', "", 1).split_whitespace().eq([name, asked]) {
                        let error = at(Vec::new()).error(format!("there is more than a name behind #{name}"));
                        return Err(error.hint(
                            "GROMACS takes all of it, comments too, for a name that is never defined",
                        ));
                    }
                    conditions.push((self.macros.contains_key(asked) == (name == "ifdef"), number));
                }
                "else" => match conditions.last_mut() {
                    Some((holds, _)) => *holds = !*holds,
                    None => return Err(at(Vec::new()).error("#else without a condition before it")),
                },
                "endif" => {
                    if conditions.pop().is_none() {
                        return Err(at(Vec::new()).error("#endif without a condition before it"));
                    }
                }
                _ if !holds => {}
                "define" => {
                    self.macros.insert(needed()?.to_string(), rest.map(str::to_string).collect());
                }
                "undef" => {
                    self.macros.remove(needed()?);
                }
                "include" => {
                    let name = needed()?.trim_matches(['"', '<', '>']);
                    let line = at(Vec::new());
                    if depth == DEEPEST {
                        return Err(line.error("files include each other without end"));
                    }
                    self.files += 1;
                    if self.files > MOST_FILES {
                        let error = line.error(format!("more than {MOST_FILES} files are included"));
                        return Err(error.hint("do files include each other?"));
                    }
                    let found = self.find(path, name).ok_or_else(|| {
                        let error = line.error(format!("there is no file {name} to include"));
                        error.hint("say where GROMACS' force fields are: include = [\"/usr/share/gromacs/top\"] in [system]")
                    })?;
                    self.file(&found, &text::read(&found, is_comment)?, depth + 1)?;
                }
                _ => return Err(at(Vec::new()).error(format!("there is no directive #{name}"))),
            }
        }
        match conditions.last() {
            Some((_, number)) => Err(Error::file_line(path, *number, "this condition has no #endif")),
            None => Ok(()),
        }
    }

    /// Adds a line, with the words of macros in place of their names.
    fn add(&mut self, line: SourceLine) -> Result<()> {
        let words = line.words.into_iter().flat_map(|word| match self.macros.get(&word) {
            Some(value) if !value.is_empty() => value.clone(),
            _ => vec![word],
        });
        let line = SourceLine { words: words.collect(), ..line };
        self.text.add(&line)?;
        self.found.push(line);
        Ok(())
    }

    /// A file beside the one that includes it, or in one of the folders.
    fn find(&self, from: &Path, name: &str) -> Option<PathBuf> {
        let beside = from.parent().unwrap_or(Path::new("."));
        let folders = std::iter::once(beside).chain(self.include.iter().map(PathBuf::as_path));
        folders.map(|folder| folder.join(name)).find(|file| file.is_file())
    }
}

/// A line with those behind it while it ends in a backslash, in a comment, too: GROMACS joins lines before it strips
/// comments.
///
/// # Errors
/// If the line behind is a directive, which GROMACS obeys within the line.
fn joined<'a>(
    first: &str,
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
    file: &Path,
) -> Result<String> {
    let mut whole = first.trim_end().to_string();
    while whole.ends_with('\\') {
        whole.pop();
        whole.push(' ');
        let Some((number, line)) = lines.next() else { break };
        if line.trim_start().starts_with('#') {
            return Err(Error::file_line(file, number, "the line before this directive ends in a backslash")
                .hint("take the backslash away: it makes one line of both, in a comment, too"));
        }
        whole += line.trim_end();
    }
    Ok(whole)
}

/// A line without its comment; an asterisk makes one of the whole line.
fn bare(line: &str) -> &str {
    let text = line.split(';').next().unwrap_or("").trim_end();
    if text.starts_with('*') { "" } else { text }
}
