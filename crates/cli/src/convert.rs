//! `jostle convert`

use crate::arguments::ConvertOptions;
use crate::numbers::grouped;
use crate::reading::FrameSelection;
use jostle_core::{Error, Result, Vec3, Vector};
use jostle_io::input::model::TrajectoryFormat;
use jostle_io::{Frame, Snapshot, TrajectoryHeader, TrajectoryReader, TrajectoryWriter};
use std::path::Path;

/// Writes a trajectory in another format.
///
/// # Errors
/// If a file cannot be read or written, or the new format is not known.
pub fn convert(options: &ConvertOptions) -> Result<()> {
    let format = options.format.map_or_else(|| by_name(&options.to), Ok)?;
    if options.to.exists() && !options.overwrite {
        return Err(Error::file(&options.to, "this file exists").hint("replace it with --overwrite"));
    }
    if is_same_file(&options.from, &options.to) {
        return Err(Error::input("a trajectory cannot be converted into itself"));
    }
    let mut frames = FrameSelection::open(&options.from, &options.reading, &mut |note| say!("{note}"))?;
    let Some(first) = frames.next_frame()? else {
        return Err(Error::file(&options.from, "there is no frame to convert").hint("see --first and --last"));
    };
    let second = frames.next_frame()?;
    let header = frames.reader().header(&first, second.as_ref());
    say_what_is_left_out(options, format, frames.reader(), &first, &header);
    let header = TrajectoryHeader { images: first.images.is_some() && format.has_images(), ..header };
    let mut writer = TrajectoryWriter::create(&options.to, format, header)?;
    let mut write = |mut snapshot: Snapshot| {
        if format.has_images() {
            snapshot.wrap_counted().map_err(|e| e.in_file(&options.from))?;
        }
        let written = writer.write(&Frame {
            step: snapshot.step,
            time: snapshot.time,
            simbox: &snapshot.simbox,
            positions: &snapshot.positions,
            velocities: snapshot.velocities.as_deref(),
            images: snapshot.images.as_deref().filter(|_| format.has_images()),
        });
        written.inspect_err(|_| remove_part(&options.to))?;
        writer.take_note().into_iter().for_each(|note| say!("{note}"));
        Ok(())
    };
    write(first)?;
    if let Some(second) = second {
        write(second)?;
    }
    while let Some(snapshot) = frames.next_frame()? {
        write(snapshot)?;
    }
    writer.sync()?;
    frames.end();
    say!("{}: {} frames", options.to.display(), grouped(writer.written_so_far().frames));
    Ok(())
}

/// Tells what the new format does not hold of frames like the first one, and what the old one does not tell.
fn say_what_is_left_out(
    options: &ConvertOptions,
    format: TrajectoryFormat,
    reader: &TrajectoryReader,
    first: &Snapshot,
    header: &TrajectoryHeader,
) {
    if first.time.is_none() && format.needs_times() {
        say!("{} has no times: steps stand in their place (--timestep gives them)", options.from.display());
    } else if first.time.is_none() {
        say!("{} has no times (--timestep gives them)", options.from.display());
    }
    if first.simbox.origin() != Vec3::ZERO && !format.has_corner() {
        let Vector([x, y, z]) = first.simbox.origin();
        say!(
            "the corner of the box, at [{x}, {y}, {z}], is left out, which readers of {} take to be at 0 or the centre to be \
             there; {} hold it",
            format.title(),
            TrajectoryFormat::titles("and", TrajectoryFormat::has_corner)
        );
    }
    if first.time.is_some() && !format.has_times() {
        say!(
            "times are left out: {} count steps (--timestep gives the time of one where they are read); {} have times",
            format.title(),
            TrajectoryFormat::titles("and", TrajectoryFormat::has_times)
        );
    }
    if !reader.knows_units() {
        say!(
            "{} does not tell its units: numbers are taken as they are (--units gives them)",
            options.from.display()
        );
    }
    if first.simbox.periodic() != [true; 3] && !format.has_boundaries() {
        say!("{} files do not tell that axes of the box are open", format.name());
    }
    if first.velocities.is_some() && !format.has_velocities() {
        say!("velocities are left out: {} files have none", format.name());
    }
    if !format.has_names() && reader.names().iter().any(|name| name != "X") {
        say!("names of atoms are left out: {} files have none", format.name());
    }
    if !format.has_residues() && !header.atoms.residues.is_empty() {
        say!(
            "residues are left out: {} files have none; {} have",
            format.name(),
            TrajectoryFormat::titles("and", TrajectoryFormat::has_residues)
        );
    }
    if first.images.is_some() && !format.has_images() {
        say!(
            "how many times atoms have crossed the box is left out: {} files have no place for it; {} have",
            format.name(),
            TrajectoryFormat::titles("and", TrajectoryFormat::has_images)
        );
    }
}

/// Removes a file that lacks the frames which its format cannot hold; a device stays.
fn remove_part(path: &Path) {
    if path.symlink_metadata().is_ok_and(|found| found.is_file()) {
        // Best effort: the first error is the one worth reporting.
        let _ = std::fs::remove_file(path);
    }
}

/// Returns true where both paths lead to one file, also by symbolic or hard links.
fn is_same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let inode = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
        inode(a).is_some() && inode(a) == inode(b)
    }
    #[cfg(not(unix))]
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

fn by_name(path: &Path) -> Result<TrajectoryFormat> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_lowercase();
    let known = |format: &&TrajectoryFormat| format.extension() == extension;
    TrajectoryFormat::ALL.iter().find(known).copied().ok_or_else(|| {
        let all: Vec<_> = TrajectoryFormat::ALL.iter().map(|f| f.extension()).collect();
        Error::input(format!("\"{}\" does not say which format to write", path.display()))
            .hint(format!("let its name end in .{}, or give --format", all.join(", .")))
    })
}
