//! The list of trajectory formats: one line each.

use super::format::{Access, Content, FormatDefinition, FormatWriter, Precision};
use super::units::length_factor;
use jostle_core::UnitSystem;

pub(crate) use cif::first_of_mmcif;
pub(crate) use xyz::write_xyz_frame;

macro_rules! registry {
    ($($name:ident: $module:ident,)*) => {
        $(mod $module;)*

        /// The trajectory formats.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum TrajectoryFormat {
            $(#[doc = concat!("Files with the ending of `", stringify!($module), "`.")] $name,)*
        }

        impl TrajectoryFormat {
            /// All formats, in the order of the documentation.
            pub const ALL: &'static [TrajectoryFormat] = &[$(TrajectoryFormat::$name,)*];

            pub(super) fn definition(self) -> &'static FormatDefinition {
                match self { $(TrajectoryFormat::$name => &$module::FORMAT,)* }
            }
        }
    };
}

registry! {
    Xtc: xtc,
    Dcd: dcd,
    Trr: trr,
    Xyz: xyz,
    Dump: dump,
    Gsd: gsd,
    H5md: h5md,
    Pdb: pdb,
    Cif: cif,
    Gro: gro,
}

impl TrajectoryFormat {
    /// Word in the input file.
    pub fn name(self) -> &'static str {
        self.definition().name
    }

    /// Explanation in one line.
    pub fn about(self) -> &'static str {
        self.definition().about
    }

    /// Name in sentences.
    pub fn title(self) -> &'static str {
        self.definition().title
    }

    /// The usual ending of file names, without a dot.
    pub fn extension(self) -> &'static str {
        self.definition().name
    }

    /// Titles of the formats that `chosen` returns true for, as a list of a sentence: "XTC, DCD and TRR" where
    /// `last` is "and", "XTC, DCD, TRR" where it is empty.
    pub fn titles(last: &str, chosen: impl Fn(TrajectoryFormat) -> bool) -> String {
        let titles: Vec<_> =
            TrajectoryFormat::ALL.iter().filter(|format| chosen(**format)).map(|f| f.title()).collect();
        match titles.split_last() {
            Some((end, rest)) if !last.is_empty() && !rest.is_empty() => {
                format!("{} {last} {end}", rest.join(", "))
            }
            _ => titles.join(", "),
        }
    }

    /// Returns true where files of the format hold velocities.
    pub fn has_velocities(self) -> bool {
        self.definition().has(Content::Velocities)
    }

    /// Returns true where files of the format hold numbers of crossings of the box.
    pub fn has_images(self) -> bool {
        self.definition().has(Content::Images)
    }

    /// Returns true where files of the format hold names of atoms or species.
    pub fn has_names(self) -> bool {
        self.definition().has(Content::Names)
    }

    /// Returns true where files of the format hold names and numbers of residues.
    pub fn has_residues(self) -> bool {
        self.definition().has(Content::Residues)
    }

    /// Returns true where files of the format tell along which axes the box is open.
    pub fn has_boundaries(self) -> bool {
        self.definition().has(Content::Boundaries)
    }

    /// Returns true where a file alone tells all about the atoms of a run: names, units, open axes and the corner of the box.
    /// `start.xyz` stands beside others.
    pub fn describes_atoms(self) -> bool {
        let all = [Content::Names, Content::Boundaries, Content::Corner, Content::Units];
        all.iter().all(|what| self.definition().has(*what))
    }

    /// Returns true where files of the format hold the corner of the box.
    pub fn has_corner(self) -> bool {
        self.definition().has(Content::Corner)
    }

    /// Returns true where files of the format hold times.
    pub fn has_times(self) -> bool {
        self.definition().has(Content::Times)
    }

    /// Returns true where all frames must have a time.
    pub fn needs_times(self) -> bool {
        self.definition().has(Content::RequiredTimes)
    }

    /// Returns true where files are read from beginning to end, and so may be packed.
    pub fn reads_packed(self) -> bool {
        self.definition().access == Access::Stream
    }

    /// Rounding of the numbers in files of the format, in the units of a run.
    pub fn precision(self, units: UnitSystem) -> Precision {
        let precision = self.definition().precision;
        let Some(unit) = precision.unit else { return precision };
        let (length, time) = (1.0 / length_factor(units, unit), 1.0 / super::units::picoseconds(units));
        let (position, velocity) = (precision.position * length, precision.velocity * length / time);
        Precision { position, velocity, ..precision }
    }

    pub(super) fn writer(self) -> Box<dyn FormatWriter> {
        (self.definition().writer)()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_make_a_list() {
        let few = |format: TrajectoryFormat| matches!(format, TrajectoryFormat::Xtc | TrajectoryFormat::Pdb);
        assert_eq!(TrajectoryFormat::titles("and", few), "XTC and PDB");
        assert_eq!(TrajectoryFormat::titles("", few), "XTC, PDB");
        assert_eq!(TrajectoryFormat::titles("and", |format| format == TrajectoryFormat::Pdb), "PDB");
    }
}
