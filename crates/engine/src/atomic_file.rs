//! Files that are whole at all times.

use crate::run_files::CHECKPOINT;
use jostle_core::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// A file that grows by whole lines.
pub(crate) struct AppendFile {
    path: PathBuf,
    file: File,
    pub(crate) length: u64,
}

/// Refuses a file that would be cut within a line: it is that of another run than the checkpoint.
fn refuse_within_line(path: &Path, length: u64) -> Result<()> {
    let failed = |e| Error::io("read", path, &e);
    let Some(last) = length.checked_sub(1) else { return Ok(()) };
    let (mut file, mut byte) = (File::open(path).map_err(failed)?, [0]);
    file.seek(SeekFrom::Start(last)).and_then(|_| file.read_exact(&mut byte)).map_err(failed)?;
    match byte {
        [b'\n'] => Ok(()),
        _ => Err(Error::file(path, format!("no line ends after {length} bytes, where the checkpoint was written"))
            .hint("file and checkpoint are of different runs, or the file was changed; put back what belongs together")),
    }
}

impl AppendFile {
    pub(crate) fn create(path: PathBuf, header: &str) -> Result<Self> {
        let emptied = File::create(&path).map_err(|e| Error::io("create", &path, &e));
        drop(emptied?);
        let file = to_append(&path)?;
        let mut table = AppendFile { path, file, length: 0 };
        table.append(header)?;
        Ok(table)
    }

    /// Opens a file of a run and drops what was written after its checkpoint.
    pub(crate) fn cut_back(path: PathBuf, length: u64) -> Result<Self> {
        let failed = |e| Error::io("open", &path, &e);
        let file = to_append(&path)?;
        let now = file.metadata().map_err(failed)?.len();
        if now < length {
            return Err(Error::file(
                &path,
                format!("the file has {now} bytes, but had {length} at the checkpoint"),
            )
            .hint("it was changed since; put it back, or start the run anew"));
        }
        refuse_within_line(&path, length)?;
        file.set_len(length).map_err(failed)?;
        Ok(AppendFile { path, file, length })
    }

    /// Appends all of a text or, if the disk is full, nothing.
    pub(crate) fn append(&mut self, text: &str) -> Result<()> {
        match self.file.write_all(text.as_bytes()) {
            Ok(()) => {
                self.length += text.len() as u64;
                Ok(())
            }
            Err(e) => {
                // The first error is the one to report.
                let _ = self.file.set_len(self.length);
                Err(Error::io("write", &self.path, &e))
            }
        }
    }

    pub(crate) fn sync(&mut self) -> Result<()> {
        self.file.sync_data().map_err(|e| Error::io("write", &self.path, &e))?;
        refuse_lost(&self.path, self.length)
    }
}

/// Opens a file to which all is appended, so that there are no gaps where another program has shortened it.
fn to_append(path: &Path) -> Result<File> {
    OpenOptions::new().append(true).open(path).map_err(|e| Error::io("open", path, &e))
}

/// Refuses a file that another program has removed or shortened while a run wrote so many bytes to it.
///
/// # Errors
/// If the file is not there, or is shorter.
pub(crate) fn refuse_lost(path: &Path, length: u64) -> Result<()> {
    let what = match std::fs::metadata(path) {
        Ok(now) if now.len() >= length => return Ok(()),
        Ok(now) => format!("the file has {} bytes of the {length} that were written", now.len()),
        Err(e) if e.kind() == ErrorKind::NotFound => "the file was removed while the run wrote to it".into(),
        Err(e) => return Err(Error::io("read", path, &e)),
    };
    let hint = match (path.with_file_name(CHECKPOINT).is_file(), folder_of(path).is_dir()) {
        (true, _) => {
            "another program has changed it; the atoms are in the last checkpoint, from which a new run can begin"
        }
        (false, true) => {
            "another program has changed it, and there is no checkpoint to go on from: begin the run anew"
        }
        (false, false) => {
            "its folder was removed or renamed: the last checkpoint is where the folder is now, if the run had written one"
        }
    };
    Err(Error::file(path, what).hint(hint))
}

/// Replaces a file by new content: whatever happens, it is the old one or the new one.
///
/// # Errors
/// If the folder or the disk cannot take it; the old file is then as it was.
pub fn replace_file(path: &Path, bytes: &[u8]) -> Result<()> {
    put_in_place(write_temporary(path, bytes)?, path)
}

/// Replaces several files by new content: all are on the disk before the first takes its place.
///
/// # Errors
/// If a folder or the disk cannot take them; the old files are then as they were.
pub fn replace_files(files: &[(&Path, &[u8])]) -> Result<()> {
    let written = files.iter().map(|(path, bytes)| Ok((write_temporary(path, bytes)?, *path)));
    written.collect::<Result<Vec<_>>>()?.into_iter().try_for_each(|(file, path)| put_in_place(file, path))
}

/// Writes a temporary file beside `path` and syncs it to the disk. The name of the file cannot be predicted,
/// so that no link can be planted there; the file is removed when the value is dropped.
pub(crate) fn write_temporary(path: &Path, bytes: &[u8]) -> Result<TempPath> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let write = || {
        let mut named = tempfile::Builder::new();
        let prefix = temporary_prefix(&name);
        named.prefix(&prefix).suffix(TEMPORARY).rand_bytes(LETTERS);
        // Permissions follow the user's mask, as for any file that is created.
        #[cfg(unix)]
        named.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = named.tempfile_in(folder_of(path))?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        Ok(file.into_temp_path())
    };
    write().map_err(|e| Error::io("write", path, &e))
}

/// Renames a finished temporary file, and makes the renaming safe, too.
pub(crate) fn put_in_place(temporary: TempPath, path: &Path) -> Result<()> {
    temporary.persist(path).map_err(|e| Error::io("write", path, &e.error))?;
    // Not every file system can sync a folder; the file itself is safe by now.
    if let Ok(folder) = File::open(folder_of(path)) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// Removes temporary files that programs which were killed have left, of whatever file: its first version may not
/// have been finished.
pub(crate) fn remove_leftovers(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if is_temporary(&entry.file_name().to_string_lossy()) {
            // A leftover that cannot be removed costs disk space and nothing else.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The ending of temporary files.
const TEMPORARY: &str = ".tmp";

/// Returns true for the name of a temporary file: that of a file with an ending, and random letters.
fn is_temporary(name: &str) -> bool {
    let inner = name.strip_prefix('.').and_then(|name| name.strip_suffix(TEMPORARY));
    inner.and_then(|inner| inner.rsplit_once('.')).is_some_and(|(file, letters)| {
        let random = letters.len() == LETTERS && letters.chars().all(|c| c.is_ascii_alphanumeric());
        random && file.contains('.')
    })
}

/// Number of random letters in the names of temporary files.
const LETTERS: usize = 6;

/// The beginning of the names of temporary files beside a file.
fn temporary_prefix(name: &str) -> String {
    format!(".{name}.")
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Reads a short file that others may have written: at most `most` bytes of a plain file, and not
/// through a link.
///
/// # Errors
/// If it is not there, cannot be read, is longer, a link, or no plain file.
pub(crate) fn read_short(path: &Path, most: u64) -> std::io::Result<String> {
    let mut options = OpenOptions::new();
    options.read(true);
    // Opening a pipe would block until another process writes to it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > most {
        return Err(std::io::Error::other(format!("it is no plain file of at most {most} bytes")));
    }
    let mut text = String::new();
    file.take(most).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::ErrorKind;

    /// Advice for lost files, by the rest of the folder.
    #[test]
    fn lost_files_are_told_with_what_is_left() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("run");
        std::fs::create_dir(&folder).unwrap();
        let hint = || refuse_lost(&folder.join("thermo.csv"), 7).unwrap_err().help().unwrap().to_string();
        assert!(hint().contains("no checkpoint"), "{}", hint());
        std::fs::write(folder.join(CHECKPOINT), "").unwrap();
        assert!(hint().contains("are in the last checkpoint"), "{}", hint());
        std::fs::rename(&folder, home.path().join("elsewhere")).unwrap();
        assert!(hint().contains("removed or renamed"), "{}", hint());
    }

    /// `/dev/full` is a device that is always full.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_reported() {
        let error = AppendFile::create("/dev/full".into(), "a,b\n").map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::File);
        assert!(error.help().unwrap_or_default().contains("disk is full"), "{error}");
    }

    #[test]
    fn a_table_is_cut_back_and_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        let mut table = AppendFile::create(path.clone(), "a\n").unwrap();
        table.append("1\n").unwrap();
        let length = table.length;
        table.append("2\n3\n").unwrap();
        drop(table);
        let mut table = AppendFile::cut_back(path.clone(), length).unwrap();
        table.append("4\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a\n1\n4\n");
        assert!(AppendFile::cut_back(path.clone(), 1000).is_err());
        // Within a line: the file is that of another run, and stays.
        std::fs::write(&path, "a\n1234\n").unwrap();
        let error = AppendFile::cut_back(path.clone(), 4).map(|_| ()).unwrap_err();
        assert!(error.message().contains("no line ends after 4 bytes"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"a\n1234\n");
    }

    #[test]
    fn a_replacement_that_fails_leaves_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary.json");
        replace_file(&path, b"old").unwrap();
        replace_file(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        // A folder cannot be replaced by a file.
        let taken = folder.path().join("taken");
        std::fs::create_dir_all(taken.join("inside")).unwrap();
        let refused = replace_file(&taken, b"new").unwrap_err();
        assert!(refused.to_string().contains("taken"), "{refused}");
        let left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "nothing temporary is left: {left:?}");
    }

    #[test]
    fn temporary_files_of_killed_programs_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary.json");
        let kept = write_temporary(&path, b"half").unwrap().keep().unwrap();
        let others = [".notes.tmp", ".notes.abcdef.tmp", "a.csv.abcdef.tmp", ".a.csv.abcde.tmp"];
        let others = others.map(|name| folder.path().join(name));
        others.iter().for_each(|other| std::fs::write(other, "of somebody else").unwrap());
        remove_leftovers(folder.path());
        assert!(!kept.exists() && others.iter().all(|other| other.exists()));
    }

    /// Links in a folder that other users can write to must not lead to files of its owner being overwritten.
    #[test]
    #[cfg(unix)]
    fn links_are_neither_written_through_nor_read() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (target, path) = (folder.path().join("target"), folder.path().join("answer.json"));
        std::fs::write(&target, "precious").unwrap();
        symlink(&target, &path).unwrap();
        symlink(&target, folder.path().join("answer.json.tmp")).unwrap();
        assert!(read_short(&path, 100).is_err());
        replace_file(&path, b"new").unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious");
        assert_eq!(read_short(&path, 3).unwrap(), "new");
        assert!(read_short(&path, 2).is_err());
        assert!(read_short(folder.path(), 100).is_err());
        // Permissions are those of a file that was created directly.
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), mode(&target));
    }
}
