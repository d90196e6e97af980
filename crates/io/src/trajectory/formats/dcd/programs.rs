//! Programs that write DCD files, by the titles that they give them, and the meaning of the time step in the header.
//!
//! CHARMM counts it in AKMA units, and so do NAMD, OpenMM, MDAnalysis, Jostle and those that are not named here. LAMMPS
//! writes the number of its input. Others write a number that means nothing: the DCD plugin of VMD, which catdcd and
//! MDTraj use, 1 for one step per frame from 0, cpptraj 0.001.

use crate::trajectory::source::FileUnits;

/// Units of a DCD file, with the meaning of its time step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepUnit {
    /// AKMA units.
    Akma,
    /// Units of the run, which is one of LAMMPS.
    Run,
    /// None: the number was not made from a time step, or its unit is not certain.
    None,
}

impl StepUnit {
    /// Unit of the time step in a file with this first title, whose header has these steps and this time step.
    pub fn of(title: &str, first_step: i32, every: i32, timestep: f32) -> StepUnit {
        let is_by = |name: &str| title.contains(name);
        match () {
            () if is_by("Written by LAMMPS") => StepUnit::Run,
            () if is_by("Created by DCD plugin") && (first_step, every, timestep) == (0, 1, 1.0) => {
                StepUnit::None
            }
            () if is_by("Cpptraj generated") || is_by("DCD file created by CP2K") => StepUnit::None,
            () => StepUnit::Akma,
        }
    }

    /// Note for the user about this number as the time step, where it has no unit.
    pub fn note(self, timestep: f32) -> Option<String> {
        (self == StepUnit::None).then(|| {
            format!(
                "times are not known: the program that wrote it puts {timestep} into the header, which is no time step in \
                 the units of DCD (--timestep gives the time of a step)"
            )
        })
    }

    /// Units of the numbers in the file.
    pub fn file_units(self) -> FileUnits {
        match self {
            StepUnit::Run => FileUnits::FixedLength("A"),
            StepUnit::Akma | StepUnit::None => FileUnits::Fixed("A"),
        }
    }
}
