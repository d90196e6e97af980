//! A run under way as pages show it while it goes on: its latest positions, and springs by which pages pull its atoms.

use crate::scene::{Scene, ScenePositions, order};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Molecules, Result, System, UnitSystem, Vec3};
use jostle_engine::Simulation;
use jostle_imd::{ForceLimit, Hold, LiveFrame, PageId, Pages, Permission, PullReport, SpringReport};
use jostle_io::Selection;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Time for which a page's request waits for a frame.
const PATIENCE: Duration = Duration::from_millis(250);

/// A run under way, with its pages.
pub struct LiveRun {
    pages: Pages,
    /// The atoms in the order of their ids, with the positions of the last selection.
    system: Mutex<System>,
    /// Molecule of each atom, by id.
    molecules: Vec<u32>,
}

/// Request of a page that pulls.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum PullRequest {
    /// Takes hold of an atom, alone or with others.
    Grab { page: PageId, atom: u32, of: Scope, stiffness: f64, end: Vec3 },
    /// Moves the end of the spring.
    Drag { page: PageId, stiffness: f64, end: Vec3 },
    /// Lets go.
    Release { page: PageId },
    /// Takes note of the end of the page.
    Leave { page: PageId },
}

/// Atoms that are pulled with the one that is grabbed.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Scope {
    Atom,
    Molecule,
    Selection(String),
}

impl LiveRun {
    /// A run that is about to begin.
    ///
    /// # Errors
    /// If the device failed.
    pub fn new(simulation: &mut Simulation, pages: Pages) -> Result<Self> {
        let system = simulation.system()?;
        let molecules = Molecules::new(&system.topology, &system.species, &system.state).of_atoms().to_vec();
        Ok(LiveRun { pages, system: Mutex::new(system), molecules })
    }

    pub(crate) fn scene(&self) -> Scene {
        Scene::of_system(&self.system.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn units(&self) -> UnitSystem {
        self.pages.units()
    }

    /// Facts for the page: units, and the stiffness with which it begins.
    pub(crate) fn facts(&self) -> Json {
        let unit = |dimension| unit_name(self.units(), dimension);
        let [stiffness, most] = self.pages.stiffness().unwrap_or_default();
        json!({
            "pulls": self.pages.permission() == Permission::Full && stiffness > 0.0,
            "stiffness": stiffness,
            "most": most,
            "units": {
                "stiffness": unit(Dimension::STIFFNESS),
                "force": unit(Dimension::FORCE),
                "energy": unit(Dimension::ENERGY),
                "length": unit(Dimension::LENGTH),
            },
        })
    }

    /// The latest frame as a page reads it, see [`ScenePositions::bytes`], followed by the order of the surroundings of
    /// each atom where `colour=order` asks for it, and by its springs as JSON; `None` where there is none yet but the one
    /// that the page has. The query names the page and the step that it shows.
    ///
    /// # Errors
    /// If there are too many pages, the query names none, or order is not defined in so small a box.
    pub(crate) fn frame(&self, query: &str) -> Result<Option<Vec<u8>>> {
        let value = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        let page = value("page").and_then(|page| page.parse().ok());
        let page = page.ok_or_else(|| Error::input("the request names no page"))?;
        let after = value("after").and_then(|step| step.parse().ok());
        let found = self.pages.frame(page, after, PATIENCE)?;
        let Some((frame, report)) = found else { return Ok(None) };
        let mut bytes = positions(&frame).bytes();
        if value("colour") == Some("order") {
            bytes.extend(order(&bytes)?);
        }
        bytes.extend(springs(&report).to_string().into_bytes());
        Ok(Some(bytes))
    }

    /// Carries out a request of a page.
    ///
    /// # Errors
    /// If it is none, or makes no sense in this run.
    pub(crate) fn pull(&self, words: &[u8]) -> Result<()> {
        let request: PullRequest =
            serde_json::from_slice(words).map_err(|e| Error::input(format!("this is no pull: {e}")))?;
        match request {
            PullRequest::Grab { page, atom, of, stiffness, end } => {
                let atoms = self.atoms(page, atom, of)?;
                self.pages.grip(page, atom, &atoms, Hold { stiffness, end })
            }
            PullRequest::Drag { page, stiffness, end } => self.pages.drag(page, Hold { stiffness, end }),
            PullRequest::Release { page } => {
                self.pages.release(page);
                Ok(())
            }
            PullRequest::Leave { page } => {
                self.pages.leave(page);
                Ok(())
            }
        }
    }

    /// Ids of the atoms that are pulled with one.
    fn atoms(&self, page: PageId, atom: u32, of: Scope) -> Result<Vec<u32>> {
        match of {
            Scope::Atom => Ok(vec![atom]),
            Scope::Molecule => {
                let all = || (0..).zip(&self.molecules);
                let molecule = all().find_map(|(id, molecule)| (id == atom).then_some(molecule));
                Ok(all().filter(|(_, other)| Some(*other) == molecule).map(|(id, _)| id).collect())
            }
            Scope::Selection(text) => {
                let selection = Selection::parse(&text).map_err(|fault| fault.alone(&text))?;
                let mut system = self.system.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some((frame, _)) = self.pages.frame(page, None, Duration::ZERO)? {
                    system.simbox = frame.simbox;
                    system.state.position.clone_from(&frame.positions);
                }
                selection.some_ids(&system, self.units()).map_err(|fault| fault.alone(&text))
            }
        }
    }
}

fn positions(frame: &LiveFrame) -> ScenePositions<'_> {
    ScenePositions {
        step: frame.step,
        time: frame.time,
        simbox: &frame.simbox,
        positions: &frame.positions,
        velocities: Some(&frame.velocities),
    }
}

fn springs(report: &PullReport) -> Json {
    let spring = |spring: &SpringReport| {
        json!({
            "page": spring.page,
            "atom": spring.atom,
            "atoms": spring.n_atoms,
            "end": spring.end,
            "force": spring.force,
            "work": spring.work,
            "limited": spring.limit == ForceLimit::Reached,
        })
    };
    json!({ "work": report.work, "springs": report.springs.iter().map(spring).collect::<Vec<_>>() })
}
