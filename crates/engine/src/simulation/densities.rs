//! Densities of embedded atoms beyond the end of their table, where F(rho) goes on as a straight line.

use super::Simulation;
use crate::progress::Progress;
use crate::report::{Warning, WarningKind};
use jostle_analysis::cells::Cells;
use jostle_core::{AtomStorage, Result, SimBox, State};
use jostle_io::input::model::StageInput;
use jostle_potentials::Embedded;
use rayon::prelude::*;

/// Most atoms whose density is computed: about a second on one core.
const MOST_ATOMS: usize = 200_000;

/// Atoms at densities beyond the end of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Beyond {
    /// Number of these atoms, and of those that were looked at.
    atoms: [usize; 2],
    /// Density furthest beyond, and where the table of its atom ends.
    density: f64,
    end: f64,
}

impl Beyond {
    const NONE: Self = Beyond { atoms: [0; 2], density: 0.0, end: 0.0 };

    /// Atoms of a configuration; `None` where all are within the table.
    fn of(metal: &Embedded, simbox: &SimBox, state: &State) -> Result<Option<Self>> {
        let cells = Cells::new(simbox, &state.position, metal.cutoff())?;
        let stride = state.len().div_ceil(MOST_ATOMS).max(1);
        let atoms = (0..state.len()).into_par_iter().step_by(stride);
        let found = atoms.map(|atom| Self::at(metal, state, &cells, atom)).reduce(|| Self::NONE, Self::and);
        Ok((found.atoms[0] > 0).then_some(found))
    }

    fn at(metal: &Embedded, state: &State, cells: &Cells, atom: usize) -> Self {
        let kind = |atom: usize| usize::from(state.species[atom]);
        let mut density = 0.0;
        cells.around(state.position[atom], |other, d2| {
            if other as usize != atom {
                density += metal.density(kind(atom), kind(other as usize), d2.sqrt()).0;
            }
        });
        let end = metal.embedding_function(kind(atom)).end();
        match density > end {
            true => Beyond { atoms: [1, 1], density, end },
            false => Beyond { atoms: [0, 1], ..Self::NONE },
        }
    }

    /// Atoms of two parts of a configuration.
    fn and(self, other: Self) -> Self {
        let further = if other.density - other.end > self.density - self.end { other } else { self };
        Beyond { atoms: [0, 1].map(|k| self.atoms[k] + other.atoms[k]), ..further }
    }

    fn message(&self) -> String {
        let Beyond { atoms: [count, of], density, end } = self;
        format!(
            "the density at {count} of {of} atoms is beyond the end of the table of F(rho), {end:.6}: the highest is \
             {density:.6}, where F goes on as a straight line; atoms are too near each other, or the table is too short"
        )
    }
}

impl Simulation {
    /// Warning about densities beyond the table of a metal, as atoms are now; one in a run.
    ///
    /// # Errors
    /// If the device failed.
    pub(super) fn densities_beyond_table(&mut self, stage: &StageInput) -> Result<Option<Warning>> {
        let is_known = |warning: &Warning| warning.kind == WarningKind::Density;
        let earlier = self.reports.iter().flat_map(|report| &report.warnings);
        let early = self.early_warnings.iter().map(|(_, warning)| warning);
        let Some(metal) = self.facts.metal.as_ref().filter(|_| !earlier.chain(early).any(is_known)) else {
            return Ok(None);
        };
        let simbox = *self.backend.simbox();
        let beyond = Beyond::of(metal, &simbox, self.backend.state()?)?;
        Ok(beyond.map(|beyond| Warning::new(WarningKind::Density, &stage.name, beyond.message())))
    }

    /// Warns about densities beyond the table of a metal when the first stage begins: stages that have ended have been
    /// looked at.
    ///
    /// # Errors
    /// If there is a warning under `strict`, or the device failed.
    pub(super) fn check_densities(&mut self, stage: &StageInput, progress: &mut dyn Progress) -> Result<()> {
        if !self.reports.is_empty() {
            return Ok(());
        }
        let Some(warning) = self.densities_beyond_table(stage)? else { return Ok(()) };
        self.output.warn(progress, &warning)?;
        self.early_warnings.push((self.clock.stage, warning.clone()));
        self.refuse_if_strict(&[warning])
    }
}
