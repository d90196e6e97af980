//! Files that are whole at all times.

use jostle_core::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file that grows by whole lines.
pub(crate) struct Table {
    path: PathBuf,
    file: File,
    pub(crate) length: u64,
}

impl Table {
    pub(crate) fn create(path: PathBuf, header: &str) -> Result<Self> {
        let file = File::create(&path).map_err(|e| Error::io("create", &path, &e))?;
        let mut table = Table { path, file, length: 0 };
        table.append(header)?;
        Ok(table)
    }

    /// Opens a file of a run and drops what was written after its checkpoint.
    pub(crate) fn cut_back(path: PathBuf, length: u64) -> Result<Self> {
        let failed = |e| Error::io("open", &path, &e);
        let mut file = OpenOptions::new().write(true).open(&path).map_err(failed)?;
        let now = file.metadata().map_err(failed)?.len();
        if now < length {
            return Err(Error::file(
                &path,
                format!("the file has {now} bytes, but had {length} at the checkpoint"),
            )
            .hint("it was changed since; put it back, or start the run anew"));
        }
        file.set_len(length).and_then(|()| file.seek(SeekFrom::End(0))).map_err(failed)?;
        Ok(Table { path, file, length })
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
        self.file.sync_data().map_err(|e| Error::io("write", &self.path, &e))
    }
}

/// Replaces a file by new content: whatever happens, it is the old one or the new one.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> Result<()> {
    put_in_place(&write_beside(path, bytes)?, path)
}

/// Writes to a temporary file beside `path`, down to the disk.
pub(crate) fn write_beside(path: &Path, bytes: &[u8]) -> Result<PathBuf> {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    let beside = PathBuf::from(name);
    let write = || {
        let mut file = File::create(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|e| {
        // The first error is the one to report.
        let _ = std::fs::remove_file(&beside);
        Error::io("write", path, &e)
    })?;
    Ok(beside)
}

/// Renames a finished temporary file, and makes the renaming safe, too.
pub(crate) fn put_in_place(beside: &Path, path: &Path) -> Result<()> {
    std::fs::rename(beside, path).map_err(|e| Error::io("rename", beside, &e))?;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Not every file system can sync a folder; the file itself is safe by now.
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::ErrorKind;

    /// The device that is always full.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_said() {
        let error = Table::create("/dev/full".into(), "a,b\n").map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::File);
        assert!(error.help().unwrap_or_default().contains("disk is full"), "{error}");
    }

    #[test]
    fn a_table_is_cut_back_and_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        let mut table = Table::create(path.clone(), "a\n").unwrap();
        table.append("1\n").unwrap();
        let length = table.length;
        table.append("2\n3\n").unwrap();
        drop(table);
        let mut table = Table::cut_back(path.clone(), length).unwrap();
        table.append("4\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a\n1\n4\n");
        assert!(Table::cut_back(path, 1000).is_err());
    }

    #[test]
    fn a_replacement_that_fails_leaves_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary.json");
        replace_file(&path, b"old").unwrap();
        replace_file(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        // Nothing can be written where a folder is.
        std::fs::create_dir(folder.path().join("summary.json.tmp")).unwrap();
        assert!(replace_file(&path, b"newer").is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
    }
}
