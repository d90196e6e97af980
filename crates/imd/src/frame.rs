//! Frames of a run for its clients: an observer.

use crate::hub::Hub;
use crate::page_table::LiveFrame;
use crate::protocol::{FrameData, FrameEnergies, Version};
use crate::scale::Scale;
use jostle_core::{AtomVector, Evaluate, Molecules, Result, SimBox, UnitSystem, Vec3};
use jostle_engine::model::Action;
use jostle_engine::{Context, Observer, Quantity, Simulation, Thermo};
use std::sync::Arc;

/// Observer that sends frames. Without clients it observes nothing, so that a run is as fast as any other.
pub(crate) struct FrameSender {
    hub: Arc<Hub>,
    tables: Arc<FrameTables>,
    /// Name and time step of each stage.
    timesteps: Vec<(String, f64)>,
}

/// All that a frame needs besides atoms and energies.
struct FrameTables {
    units: UnitSystem,
    /// Place of each quantity of `thermo.csv` among the energies of a frame.
    places: Vec<Place>,
    /// Molecules, which version 2 shows whole: VMD draws a bond across the box where they are not.
    molecules: Molecules,
}

/// Place of a quantity among the energies of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    None,
    Pairs,
    Charges,
    Bonds,
    Angles,
    Dihedrals,
    Impropers,
}

impl FrameSender {
    /// An observer of a simulation.
    ///
    /// # Errors
    /// If the device failed.
    pub fn new(hub: Arc<Hub>, simulation: &mut Simulation) -> Result<Self> {
        let (topology, species) = (simulation.topology().clone(), simulation.species().to_vec());
        let molecules = Molecules::new(&topology, &species, simulation.backend().state()?);
        let timestep = |stage: &jostle_engine::model::StageInput| match stage.action {
            Action::Dynamics { timestep, .. } => timestep,
            Action::Minimize { .. } => 0.0,
        };
        let (units, places) = (simulation.units(), places(simulation.quantities()));
        Ok(FrameSender {
            hub,
            tables: Arc::new(FrameTables { units, places, molecules }),
            timesteps: simulation.stages().iter().map(|s| (s.name.clone(), timestep(s))).collect(),
        })
    }
}

/// Places of quantities: energies of forces lie between the momentum and the end of the energies.
fn places(quantities: &[Quantity]) -> Vec<Place> {
    let first = quantities.iter().position(|q| q.name == "momentum_z").map_or(quantities.len(), |k| k + 1);
    let energy = quantities.iter().find(|q| q.name == "potential").map_or("", |q| q.unit.as_str());
    let mut places = vec![Place::None; first];
    let terms = quantities[first..]
        .iter()
        .take_while(|q| q.unit == energy && q.name != "rotational" && !q.name.starts_with("temperature_"));
    places.extend(terms.map(|q| place(&q.name)));
    places
}

/// Place of the energy of a force.
fn place(name: &str) -> Place {
    let is = |words: &[&str]| words.iter().any(|word| name.contains(word));
    match () {
        () if is(&["improper"]) => Place::Impropers,
        () if is(&["dihedral", "torsion", "ryckaert", "cmap"]) => Place::Dihedrals,
        () if is(&["angle", "urey"]) => Place::Angles,
        () if is(&["bond", "fene"]) => Place::Bonds,
        () if is(&["coulomb", "ewald", "pme", "electrostatics", "reaction_field"]) => Place::Charges,
        () => Place::Pairs,
    }
}

impl Observer for FrameSender {
    fn every(&self) -> u64 {
        self.hub.interval()
    }

    fn observe(&mut self, context: &mut Context) -> Result<()> {
        if self.hub.pages.take_due(context.step()) {
            self.show_pages(context)?;
        }
        // A client that has come since the step began gets the next frame.
        let Some(thermo) = context.thermo().cloned() else { return Ok(()) };
        let due = self.hub.take_due(thermo.step);
        if due.is_empty() {
            return Ok(());
        }
        let simbox = *context.simbox();
        let timestep = self.timesteps.iter().find(|(name, _)| name == context.stage());
        let timestep = timestep.map_or(0.0, |(_, timestep)| *timestep);
        let vectors: &[_] = match due.has(Version::Three) {
            true => &[AtomVector::Position, AtomVector::Velocity, AtomVector::Force],
            false => &[AtomVector::Position],
        };
        let snapshot = context.snapshot(vectors)?;
        let (hub, tables) = (self.hub.clone(), self.tables.clone());
        self.hub.encoder.queue(snapshot, move |mut rows| {
            let [positions, velocities, forces] =
                [AtomVector::Position, AtomVector::Velocity, AtomVector::Force]
                    .map(|vector| rows.take(vector));
            let atoms = Atoms { simbox, positions, velocities, forces };
            hub.publish(&due, |version| tables.frame(version, &thermo, timestep, &atoms));
        });
        Ok(())
    }

    fn requested(&self) -> Evaluate {
        match self.hub.client_interval() {
            0 => Evaluate::Forces,
            _ => Evaluate::ForcesAndEnergies,
        }
    }
}

impl FrameSender {
    /// Begins a frame for pages.
    fn show_pages(&self, context: &mut Context) -> Result<()> {
        let (step, time, simbox) = (context.step(), context.time(), *context.simbox());
        let snapshot = context.snapshot(&[AtomVector::Position, AtomVector::Velocity])?;
        let hub = self.hub.clone();
        self.hub.encoder.queue(snapshot, move |mut rows| {
            let (positions, velocities) = (rows.take(AtomVector::Position), rows.take(AtomVector::Velocity));
            hub.pages.publish(LiveFrame { step, time, simbox, positions, velocities }, hub.facts.period);
        });
        Ok(())
    }
}

/// Atoms of a frame, by id; what its versions of the protocol do without is missing.
struct Atoms {
    simbox: SimBox,
    positions: Vec<Vec3>,
    velocities: Vec<Vec3>,
    forces: Vec<Vec3>,
}

impl FrameTables {
    /// Frame in a version of the protocol.
    fn frame(&self, version: Version, thermo: &Thermo, timestep: f64, atoms: &Atoms) -> FrameData {
        let scale = Scale::new(self.units, version);
        let scaled = |vectors: &[Vec3], factor: f64| -> Vec<[f32; 3]> {
            vectors.iter().map(|vector| vector.map(|x| (factor * x) as f32).0).collect()
        };
        let frame = FrameData {
            step: thermo.step,
            timestep: timestep * scale.time,
            time: thermo.time * scale.time,
            energies: energies(thermo, &self.places, &scale),
            positions: scaled(&atoms.positions, scale.length),
            ..FrameData::default()
        };
        match version {
            Version::Two => FrameData { positions: self.whole(frame.positions, &scale, atoms), ..frame },
            Version::Three => FrameData {
                edges: atoms.simbox.edges().map(|edge| edge.map(|x| (scale.length * x) as f32).0),
                velocities: scaled(&atoms.velocities, scale.length / scale.time),
                forces: scaled(&atoms.forces, scale.force()),
                ..frame
            },
        }
    }

    /// Moves the atoms of each molecule next to its first one, which is in the box.
    fn whole(&self, mut positions: Vec<[f32; 3]>, scale: &Scale, atoms: &Atoms) -> Vec<[f32; 3]> {
        if self.molecules.count() == positions.len() {
            return positions;
        }
        let paths = self.molecules.paths(&atoms.simbox, |id| atoms.positions[id as usize]);
        // Molecules are counted by their first atoms.
        let mut firsts: Vec<[f32; 3]> = Vec::with_capacity(self.molecules.count());
        for ((molecule, path), position) in self.molecules.of_atoms().iter().zip(paths).zip(&mut positions) {
            match firsts.get(*molecule as usize) {
                Some(first) => {
                    *position = std::array::from_fn(|k| first[k] + (scale.length * path[k]) as f32)
                }
                None => firsts.push(*position),
            }
        }
        positions
    }
}

/// Energies of a frame.
fn energies(thermo: &Thermo, places: &[Place], scale: &Scale) -> FrameEnergies {
    let sum = |place: Place| {
        let values = thermo.values().zip(places).filter(|(_, there)| **there == place);
        (scale.energy * values.filter_map(|(value, _)| value).sum::<f64>()) as f32
    };
    FrameEnergies {
        temperature: (scale.temperature * thermo.temperature) as f32,
        total: (scale.energy * thermo.total) as f32,
        potential: (scale.energy * thermo.potential) as f32,
        pairs: sum(Place::Pairs),
        charges: sum(Place::Charges),
        bonds: sum(Place::Bonds),
        angles: sum(Place::Angles),
        dihedrals: sum(Place::Dihedrals),
        impropers: sum(Place::Impropers),
    }
}
