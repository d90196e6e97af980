//! Pages of a browser, for the server that shows a run to them.

use crate::hub::Hub;
use crate::page_table::{LiveFrame, PullReport};
use crate::permission::Permission;
use crate::spring::{Hold, PageId};
use jostle_core::{Error, Result, UnitSystem};
use std::sync::Arc;
use std::time::Duration;

/// Steps in which the spring of [`Pages::stiffness`] makes one swing.
const SWING: f64 = 500.0;

/// Pages of a run; clones are of the same run.
#[derive(Clone)]
pub struct Pages {
    hub: Arc<Hub>,
}

impl Pages {
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        Pages { hub }
    }

    /// Units of the run.
    pub fn units(&self) -> UnitSystem {
        self.hub.facts.units
    }

    /// Rights of pages.
    pub fn permission(&self) -> Permission {
        self.hub.facts.permission
    }

    /// A moderate stiffness of a spring for an atom of mean mass, and the greatest that is accepted for it, in units of
    /// the run; `None` in a run that makes no time steps.
    pub fn stiffness(&self) -> Option<[f64; 2]> {
        let facts = &self.hub.facts;
        let mass = facts.masses.iter().sum::<f64>() / facts.masses.len().max(1) as f64;
        let rate = std::f64::consts::TAU / (SWING * facts.timestep);
        (facts.timestep > 0.0).then(|| [mass * rate * rate, facts.greatest_stiffness(mass)])
    }

    /// The latest frame, with the springs; `None` where there is none but that of step `after` within `patience`.
    ///
    /// # Errors
    /// If there are too many pages.
    pub fn frame(
        &self,
        page: PageId,
        after: Option<u64>,
        patience: Duration,
    ) -> Result<Option<(Arc<LiveFrame>, PullReport)>> {
        self.hub.pages.frame(page, after, patience, self.hub.facts.period)
    }

    /// Takes hold of atoms: a spring that begins at one of them pulls all, shared by their masses, in place of an
    /// earlier spring of the page.
    ///
    /// # Errors
    /// If pages may not pull, an atom cannot be pulled, or numbers make no sense; the earlier spring stays.
    pub fn grip(&self, page: PageId, atom: u32, atoms: &[u32], to: Hold) -> Result<()> {
        if self.permission() == Permission::Watch {
            return Err(Error::input("pages may only watch this run")
                .hint("start it without --imd-watch to pull its atoms"));
        }
        let shares = self.hub.facts.shares(atom, atoms)?;
        self.hub.pages.grip(page, atom, shares, to, &self.hub.facts)
    }

    /// Moves the end of a page's spring, or changes its stiffness.
    ///
    /// # Errors
    /// If the page has no spring, or numbers make no sense; the spring stays as it was.
    pub fn drag(&self, page: PageId, to: Hold) -> Result<()> {
        self.hub.pages.drag(page, to, &self.hub.facts)
    }

    /// Lets go of the atoms of a page.
    pub fn release(&self, page: PageId) {
        self.hub.pages.release(page);
    }

    /// Removes a page, with its spring.
    pub fn leave(&self, page: PageId) {
        self.hub.pages.leave(page);
    }
}
