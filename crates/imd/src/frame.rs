//! Frames of a run for its clients: an observer.

use crate::hub::Hub;
use crate::page_table::LiveFrame;
use crate::protocol::{FrameData, FrameEnergies, Version};
use crate::scale::Scale;
use jostle_core::{Evaluate, IdIndex, Molecules, Result, SimBox, State, UnitSystem, Vec3};
use jostle_engine::model::Action;
use jostle_engine::{Context, Observer, Quantity, Simulation, Thermo};
use std::sync::Arc;

/// Observer that sends frames. Without clients it observes nothing, so that a run is as fast as any other.
pub(crate) struct FrameSender {
    hub: Arc<Hub>,
    units: UnitSystem,
    /// Place of each quantity of `thermo.csv` among the energies of a frame.
    places: Vec<Place>,
    /// Name and time step of each stage.
    timesteps: Vec<(String, f64)>,
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
        Ok(FrameSender {
            hub,
            units: simulation.units(),
            places: places(simulation.quantities()),
            timesteps: simulation.stages().iter().map(|s| (s.name.clone(), timestep(s))).collect(),
            molecules,
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
        if self.hub.pages.is_due(context.step()) {
            self.hub.pages.publish(live_frame(context)?, self.hub.facts.period);
        }
        // A client that has come since the step began gets the next frame.
        let Some(thermo) = context.thermo().cloned() else { return Ok(()) };
        let simbox = *context.simbox();
        let stage = context.stage().to_string();
        let timestep = self.timesteps.iter().find(|(name, _)| *name == stage).map_or(0.0, |(_, dt)| *dt);
        let state = context.state()?;
        let index_by_id = state.index_by_id();
        let frame = |version| {
            let scale = Scale::new(self.units, version);
            let energies = energies(&thermo, &self.places, &scale);
            let data = FrameData {
                step: thermo.step,
                timestep: timestep * scale.time,
                time: thermo.time * scale.time,
                energies,
                ..FrameData::default()
            };
            let frame = atoms(data, version, &scale, &simbox, state, &index_by_id);
            match version {
                Version::Two => whole(frame, &self.molecules, &scale, &simbox, state, &index_by_id),
                Version::Three => frame,
            }
        };
        self.hub.publish(thermo.step, frame);
        Ok(())
    }

    fn requested(&self) -> Evaluate {
        match self.hub.client_interval() {
            0 => Evaluate::Forces,
            _ => Evaluate::ForcesAndEnergies,
        }
    }
}

/// Frame for pages.
fn live_frame(context: &mut Context) -> Result<LiveFrame> {
    let (step, time, simbox) = (context.step(), context.time(), *context.simbox());
    let state = context.state()?;
    let (positions, velocities) =
        state.index_by_id().iter().map(|index| (state.position[index], state.velocity[index])).unzip();
    Ok(LiveFrame { step, time, simbox, positions, velocities })
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

/// Adds box and atoms to a frame.
fn atoms(
    data: FrameData,
    version: Version,
    scale: &Scale,
    simbox: &SimBox,
    state: &State,
    index_by_id: &IdIndex,
) -> FrameData {
    let scaled = |vector: Vec3, factor: f64| vector.map(|x| (factor * x) as f32);
    let position = |index: usize| {
        let (mut position, mut image) = (state.position[index], state.image[index]);
        simbox.wrap(&mut position, &mut image);
        scaled(position, scale.length)
    };
    let mut frame = FrameData { positions: index_by_id.iter().map(position).collect(), ..data };
    if version == Version::Three {
        let (speed, force) = (scale.length / scale.time, scale.force());
        frame.edges = simbox.edges().map(|edge| scaled(edge, scale.length));
        frame.velocities = index_by_id.iter().map(|index| scaled(state.velocity[index], speed)).collect();
        frame.forces = index_by_id.iter().map(|index| scaled(state.force[index], force)).collect();
    }
    frame
}

/// Moves the atoms of each molecule next to its first one, which is in the box.
fn whole(
    mut frame: FrameData,
    molecules: &Molecules,
    scale: &Scale,
    simbox: &SimBox,
    state: &State,
    index_by_id: &IdIndex,
) -> FrameData {
    if molecules.count() == index_by_id.len() {
        return frame;
    }
    let paths = molecules.paths(simbox, state, index_by_id);
    // Molecules are counted by their first atoms.
    let mut firsts: Vec<[f32; 3]> = Vec::with_capacity(molecules.count());
    for ((molecule, path), position) in molecules.of_atoms().iter().zip(paths).zip(&mut frame.positions) {
        match firsts.get(*molecule as usize) {
            Some(first) => *position = std::array::from_fn(|k| first[k] + (scale.length * path[k]) as f32),
            None => firsts.push(*position),
        }
    }
    frame
}
