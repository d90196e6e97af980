//! Plausibility of an input before its first step: rules that compare lengths and times of the input with
//! those of the system. Each rule compares two numbers, and its message quotes both.

use crate::barostat::pressure_of_jumps;
use crate::report::{Warning, WarningKind};
use crate::warnings::{ExternalWork, spaced};
use jostle_core::constraints::Body;
use jostle_core::{Dimension, Molecules, RigidBody, SimBox, State, System, Topology, UnitSystem};
use jostle_io::input::model::{Action, Barostat, StageInput};
use jostle_potentials::electrostatics::Method;
use jostle_potentials::external::{FormulaField, Positions};
use jostle_potentials::{Absent, BondKind, Forces, PairKind, PairTerm, Parameter, Potential};
use std::collections::{HashMap, HashSet};
use std::f64::consts::PI;

/// Fewest time steps in a period of the fastest bond, as in GROMACS; velocity Verlet is unstable below pi.
const STEPS_PER_PERIOD: f64 = 5.0;
/// Largest rotation of a thermal atom about its constrained partner, in radians per step: rigid water at 300
/// K rotates by 0.1 at 6 fs.
const LARGEST_TURN: f64 = 0.1;
/// Largest displacement of a thermal atom in a step, over its diameter: with longer ones a Lennard-Jones
/// fluid does not conserve its energy through collisions. Liquid argon at 94 K loses 0.2% of its kinetic energy in 20,000
/// steps of this length, gains 1.4% in steps longer by a ninth, and explodes in steps longer by 40%.
const LARGEST_STRIDE: f64 = 0.014;
/// Fewest time steps in a collision of grains.
const STEPS_PER_CONTACT: f64 = 10.0;
/// Distance of neighbours, over their diameter, below which the density is implausible at any temperature.
const CROWDED: f64 = 0.5;
/// Distance of neighbours, over their diameter, above which a system is a thin gas.
const SPARSE: f64 = 5.0;
/// Most atoms whose nearest neighbour is searched for.
const MOST_SAMPLED: usize = 64;
/// Most distances that are computed in this search.
const MOST_DISTANCES: usize = 20_000_000;
/// Fewest atoms whose nearest neighbour is searched for.
const FEWEST_SAMPLED: usize = 8;
/// Pressure due to jumps at cut-offs, over that of an ideal gas, above which a warning is given.
const NOTICEABLE: f64 = 1e-3;

/// Length and time scales of a system, with which time steps and densities are compared.
#[derive(Debug, Clone)]
pub(crate) struct Scales {
    bond: Option<FastestBond>,
    held: Option<ShortestConstraint>,
    turning: Option<FastestBody>,
    flight: Option<Flight>,
    /// Time for which the lightest grains touch in a collision.
    contact: Option<f64>,
    /// Diameter by pair of species: sigma, or 0 where there is none.
    sizes: Vec<Vec<f64>>,
    /// Distance beyond which no force acts; `None` with long-range forces.
    reach: Option<f64>,
    /// Molecule of each atom, by id; empty where every atom is a molecule by itself.
    molecules: Vec<u32>,
    n_molecules: usize,
    /// True for charges with a plain cut-off, at which the energy jumps.
    charges_jump: bool,
    /// Pressure due to jumps at cut-offs, times the square of the volume; see [`pressure_of_jumps`].
    jump: f64,
    /// External work on the atoms.
    pub work: ExternalWork,
}

/// The bond of the shortest period.
#[derive(Debug, Clone)]
struct FastestBond {
    species: [String; 2],
    period: f64,
}

/// The constraint about which a thermal atom rotates fastest.
#[derive(Debug, Clone)]
struct ShortestConstraint {
    species: [String; 2],
    length: f64,
    mass: f64,
}

/// The rigid body that a thermal rotation turns fastest.
#[derive(Debug, Clone)]
struct FastestBody {
    /// Species of its first atom.
    species: String,
    /// Its moment of inertia, see [`jostle_core::constraints::Inertia::thermal_moment`].
    moment: f64,
}

/// The species of free atoms that crosses its diameter fastest.
#[derive(Debug, Clone)]
struct Flight {
    species: String,
    size: f64,
    mass: f64,
}

/// True where fields can do work without end: an atom that crosses the box gains energy.
fn works_from_outside(forces: &Forces) -> bool {
    let unwrapped = |field: &FormulaField| field.positions == Positions::Unwrapped;
    !forces.fields.is_empty() || forces.formula_fields.iter().any(unwrapped)
}

impl Scales {
    /// Returns true where energies jump at a cut-off: they are not conserved, however short steps are.
    pub fn energies_jump(&self) -> bool {
        self.charges_jump || self.jump != 0.0
    }

    /// Returns true where there are contacts of grains.
    pub fn has_contacts(&self) -> bool {
        self.contact.is_some()
    }

    /// The scales of a system under forces.
    pub fn new(system: &System, forces: &Forces) -> Self {
        let sizes = sizes(forces, system.species.len());
        let index_by_id = system.state.index_by_id();
        let species = |id: u32| usize::from(system.state.species[index_by_id.of(id)]);
        let name = |id: u32| system.species[species(id)].name.clone();
        let mass = |id: u32| match system.driven(index_by_id.of(id)) {
            Some(_) => f64::INFINITY,
            None => system.mass(index_by_id.of(id)),
        };
        let topology = &system.topology;
        let sorted = |[a, b]: [u32; 2]| [a.min(b), a.max(b)];
        let rigid: HashSet<[u32; 2]> = topology.constraints.iter().map(|c| sorted(c.atoms)).collect();
        let body_of = bodies_by_atom(topology);
        let in_body = |[a, b]: [u32; 2]| body_of.get(&a).is_some_and(|body| body_of.get(&b) == Some(body));

        let mut bound = vec![false; system.state.len()];
        let mut bond: Option<FastestBond> = None;
        for b in topology.bonds.iter().filter(|b| !rigid.contains(&sorted(b.atoms)) && !in_body(b.atoms)) {
            let stiffness = |term: &jostle_potentials::BondTerm| match term.kind {
                BondKind::HarmonicBond => term.parameters(b.kind as usize).map(|p| p[0]),
                _ => None,
            };
            let Some(stiffness) = forces.bonds.iter().find_map(stiffness) else { continue };
            b.atoms.iter().for_each(|id| bound[*id as usize] = true);
            let [inverse_a, inverse_b] = b.atoms.map(|id| 1.0 / mass(id));
            let period = 2.0 * PI / (stiffness * (inverse_a + inverse_b)).sqrt();
            // Bonds of virtual sites, without mass, have no period.
            if period > 0.0 && bond.as_ref().is_none_or(|fastest| period < fastest.period) {
                bond = Some(FastestBond { species: b.atoms.map(name), period });
            }
        }
        topology.constraints.iter().flat_map(|c| c.atoms).for_each(|id| bound[id as usize] = true);
        let held = shortest_constraint(topology, &mass, &name);
        body_of.keys().for_each(|id| bound[*id as usize] = true);
        let turning = fastest_body(system, &mass, &name);
        let sites = topology.virtual_sites.iter();
        sites.for_each(|v| v.atoms.iter().chain([&v.site]).for_each(|id| bound[*id as usize] = true));
        let mut flight: Option<Flight> = None;
        for id in (0..system.state.len() as u32).filter(|id| !bound[*id as usize]) {
            let (size, mass) = (sizes[species(id)][species(id)], mass(id));
            let worse = |worst: &Flight| size * size * mass < worst.size * worst.size * worst.mass;
            if size > 0.0 && mass > 0.0 && flight.as_ref().is_none_or(worse) {
                flight = Some(Flight { species: name(id), size, mass });
            }
        }

        let always = forces.has_reciprocal_sum() || forces.vacuum.is_some() || forces.grains.is_some();
        let reach = forces.largest_cutoff();
        let alone = topology.bonds.is_empty() && !topology.has_groups();
        let (molecules, n_molecules) = match alone {
            true => (Vec::new(), system.state.len()),
            false => {
                let molecules = Molecules::new(topology, &system.species, &system.state);
                (molecules.of_atoms().to_vec(), molecules.count())
            }
        };
        let driven = (0..system.state.len()).any(|k| system.driven(k).is_some_and(|v| v != [0.0; 3]));
        Scales {
            bond,
            held,
            turning,
            flight,
            contact: forces.grains.as_ref().map(|grains| grains.shortest_contact(system)),
            sizes,
            reach: (!always && reach > 0.0).then_some(reach),
            molecules,
            n_molecules,
            charges_jump: forces.electrostatics.is_some_and(|e| e.method == Method::Cutoff),
            jump: pressure_of_jumps(forces, &system.counts()),
            work: match () {
                () if driven => ExternalWork::Driven,
                () if forces.depend_on_time() => ExternalWork::InTime,
                () if works_from_outside(forces) => ExternalWork::Done,
                () => ExternalWork::Nothing,
            },
        }
    }

    /// Warnings about a stage before it begins, for atoms of this temperature.
    pub fn of_stage(
        &self,
        stage: &StageInput,
        temperature: f64,
        volume: f64,
        units: UnitSystem,
    ) -> Vec<Warning> {
        let Action::Dynamics { timestep, thermostat, .. } = &stage.action else { return Vec::new() };
        let mut found = self.timestep(&stage.name, *timestep, temperature, units);
        found.extend(self.barostat(stage, temperature, volume, units));
        let caution = thermostat.and_then(|thermostat| thermostat.kind.caution());
        found.extend(caution.map(|message| Warning::new(WarningKind::Ensemble, &stage.name, message)));
        found
    }

    /// Warnings about a time step too long for the fastest bond, for rigid molecules or for collisions.
    fn timestep(&self, stage: &str, timestep: f64, temperature: f64, units: UnitSystem) -> Vec<Warning> {
        let [time, degree] = [Dimension::TIME, Dimension::TEMPERATURE].map(|d| spaced(units, d));
        let thermal = units.boltzmann() * temperature;
        let mut found = Vec::new();
        let mut add = |message| found.push(Warning::new(WarningKind::Timestep, stage, message));
        if let Some(FastestBond { species: [a, b], period }) = &self.bond
            && *period < STEPS_PER_PERIOD * timestep
        {
            let most = period / STEPS_PER_PERIOD;
            add(format!(
                "the bond {a}-{b} vibrates once in {period:.3}{time}, which are {:.1} time steps of {timestep}{time}: \
                 choose {most:.2}{time} or less, or make it rigid",
                period / timestep
            ));
        }
        if let Some(held) = &self.held
            && held.turn(thermal) * timestep > LARGEST_TURN
        {
            let (turn, [a, b]) = (held.turn(thermal), &held.species);
            add(format!(
                "at {temperature:.4}{degree} {a} and {b}, which are held {:.4} apart, turn by {:.2} radians in a \
                 time step of {timestep}{time}: choose {:.3}{time} or less",
                held.length,
                turn * timestep,
                LARGEST_TURN / turn
            ));
        }
        if let Some(FastestBody { species, moment }) = &self.turning {
            let turn = (thermal / moment).sqrt();
            if turn * timestep > LARGEST_TURN {
                add(format!(
                    "at {temperature:.4}{degree} the rigid body of an atom of {species} turns by {:.2} radians in a \
                     time step of {timestep}{time}: choose {:.3}{time} or less",
                    turn * timestep,
                    LARGEST_TURN / turn
                ));
            }
        }
        if let Some(Flight { species, size, mass }) = &self.flight {
            let speed = (thermal / mass).sqrt();
            if speed * timestep > LARGEST_STRIDE * size {
                add(format!(
                    "at {temperature:.4}{degree} an atom of {species} flies {:.3} of its diameter (sigma {size:.4}) \
                     in a time step of {timestep}{time}, too far for a collision: choose {:.3}{time} or less",
                    speed * timestep / size,
                    LARGEST_STRIDE * size / speed
                ));
            }
        }
        if let Some(contact) = self.contact
            && contact < STEPS_PER_CONTACT * timestep
        {
            add(format!(
                "grains touch each other for {contact:.3e}{time} in a collision, which are {:.1} time steps of \
                 {timestep}{time}: choose {:.1e}{time} or less, better a fifth of that",
                contact / timestep,
                contact / STEPS_PER_CONTACT
            ));
        }
        found
    }

    /// Warning about a barostat that goes by energies, where these jump at the cut-off while forces and the
    /// printed pressure do not contain the jump.
    fn barostat(
        &self,
        stage: &StageInput,
        temperature: f64,
        volume: f64,
        units: UnitSystem,
    ) -> Option<Warning> {
        let Some(Barostat::MonteCarlo { pressure, .. }) = stage.barostat else { return None };
        let jump = self.jump / (volume * volume);
        let ideal = self.n_molecules as f64 * units.boltzmann() * temperature / volume;
        let unit = spaced(units, Dimension::PRESSURE);
        let what = match (jump.abs() > NOTICEABLE * ideal, self.charges_jump) {
            (false, false) => return None,
            (_, true) => {
                format!("another one than the {:.4}{unit} asked for", units.pressure_to_user(pressure))
            }
            (true, false) => format!(
                "about {:.4}{unit} instead of the {:.4}{unit} asked for",
                units.pressure_to_user(pressure - jump),
                units.pressure_to_user(pressure)
            ),
        };
        let message = format!(
            "pairs lose their energy at a plain cut-off, which a Monte Carlo barostat goes by, but neither forces \
             nor the printed pressure: this will be {what}. Choose truncation = \"shifted\", \"force-shifted\" or \
             \"switched\", tail_correction = true, or another barostat"
        );
        Some(Warning::new(WarningKind::Barostat, &stage.name, message))
    }

    /// Warning about atoms whose distances are much smaller or larger than their diameters.
    pub fn spacing(&self, stage: &str, simbox: &SimBox, state: &State) -> Option<Warning> {
        let warning = |message: String| Some(Warning::new(WarningKind::Spacing, stage, message));
        let own = |index: &usize| {
            self.sizes[usize::from(state.species[*index])][usize::from(state.species[*index])]
        };
        let sized: Vec<usize> = (0..state.len()).filter(|index| own(index) > 0.0).collect();
        if !sized.is_empty() {
            let size = |a: u16, b: u16| self.sizes[usize::from(a)][usize::from(b)];
            let nearest =
                self.nearest(simbox, state, &sized, |a, b| (size(a, b) > 0.0).then(|| size(a, b)))?;
            return match nearest {
                near if near < CROWDED => warning(format!(
                    "half of the atoms have another nearer than {near:.3} of its diameter (sigma): is the density, \
                     or the box, in another unit than meant? If not, minimise first"
                )),
                far if far > SPARSE => warning(format!(
                    "for half of the atoms the next one is more than {far:.1} diameters (sigma) away, as in a \
                     thin gas: for a liquid or a solid look at the unit of the density, or of the box"
                )),
                _ => None,
            };
        }
        let all: Vec<usize> = (0..state.len()).collect();
        let reach = self.reach?;
        match self.nearest(simbox, state, &all, |_, _| Some(reach))? {
            far if far > 1.0 => warning(format!(
                "half of the atoms have no other within the cut-off of {reach:.4}: look at the unit of the \
                 density, or of the box"
            )),
            _ => None,
        }
    }

    /// Median, over some of the atoms, of the distance to the nearest atom of another molecule over the
    /// length of the pair; `None` if half of them have no such neighbour.
    fn nearest(
        &self,
        simbox: &SimBox,
        state: &State,
        atoms: &[usize],
        length: impl Fn(u16, u16) -> Option<f64>,
    ) -> Option<f64> {
        let sampled =
            (MOST_DISTANCES / atoms.len().max(1)).clamp(FEWEST_SAMPLED, MOST_SAMPLED).min(atoms.len());
        let of = |index: usize| {
            let id = state.id[index];
            self.molecules.get(id as usize).copied().unwrap_or(id)
        };
        let one = |k: usize| {
            let here = atoms[k * atoms.len() / sampled];
            let mut nearest = f64::INFINITY;
            for &there in atoms.iter().filter(|there| of(**there) != of(here)) {
                let Some(length) = length(state.species[here], state.species[there]) else { continue };
                let (a, b) = (state.position[here], state.position[there]);
                let d = simbox.nearest_image(b - a);
                nearest = nearest.min(d.iter().map(|x| x * x).sum::<f64>() / (length * length));
            }
            nearest.sqrt()
        };
        let mut distances: Vec<f64> = (0..sampled).map(one).collect();
        distances.sort_by(f64::total_cmp);
        distances.get(sampled / 2).copied().filter(|d| d.is_finite())
    }
}

/// The constraint about which a thermal atom rotates fastest; `None` without constraints.
fn shortest_constraint(
    topology: &Topology,
    mass: &impl Fn(u32) -> f64,
    name: &impl Fn(u32) -> String,
) -> Option<ShortestConstraint> {
    let mut held: Option<ShortestConstraint> = None;
    for c in &topology.constraints {
        let mass = c.atoms.map(mass).into_iter().fold(f64::INFINITY, f64::min);
        let this = ShortestConstraint { species: c.atoms.map(name), length: c.length, mass };
        if mass > 0.0 && held.as_ref().is_none_or(|worst| this.turn(1.0) > worst.turn(1.0)) {
            held = Some(this);
        }
    }
    held
}

/// Number of the rigid body of each atom in one, by id.
fn bodies_by_atom(topology: &Topology) -> HashMap<u32, usize> {
    let bodies = topology.rigid_bodies.iter().enumerate();
    bodies.flat_map(|(number, body)| body.atoms.iter().map(move |id| (*id, number))).collect()
}

/// The rigid body that turns fastest; `None` without bodies.
fn fastest_body(
    system: &System,
    mass: &impl Fn(u32) -> f64,
    name: &impl Fn(u32) -> String,
) -> Option<FastestBody> {
    let of_body = |body: &RigidBody| {
        let masses: Vec<f64> = body.atoms.iter().map(|id| mass(*id)).collect();
        let constants = Body::new(body, &masses);
        FastestBody { species: name(body.atoms[0]), moment: constants.inertia.thermal_moment() }
    };
    system.topology.rigid_bodies.iter().map(of_body).min_by(|a, b| a.moment.total_cmp(&b.moment))
}

/// Warning about charges on which no force acts: [electrostatics] was forgotten, it seems. Formulas, tables, fields and
/// walls may know of charges.
pub(crate) fn idle_charges(system: &System, forces: &Forces) -> Option<Warning> {
    let of_charges = |p: &Parameter| matches!(p.absent, Absent::FromCharges | Absent::FromIsospin);
    let may_act = |term: &PairTerm| match &term.potential {
        Potential::BuiltIn(kind) => kind.parameters().iter().any(of_charges),
        Potential::Formula(_) | Potential::Table(_) => true,
    };
    let acted_on = forces.electrostatics.is_some()
        || forces.vacuum.is_some()
        || forces.have_fields_or_walls()
        || forces.pairs.iter().any(may_act);
    let charged = (0..system.state.len()).find(|index| system.charge(*index) != 0.0)?;
    (!acted_on).then(|| {
        let species = &system.species[usize::from(system.state.species[charged])].name;
        let message = format!(
            "atoms have charges (those of {species}, for one), and no force acts on them: \
             add [electrostatics] with kind = \"pme\", or leave the charges out"
        );
        Warning { kind: WarningKind::IdleCharges, message }
    })
}

impl ShortestConstraint {
    /// Angular velocity of a thermal atom about its constrained partner.
    fn turn(&self, thermal_energy: f64) -> f64 {
        (thermal_energy / self.mass).sqrt() / self.length
    }
}

/// Energy below which a well counts as absent, in any unit system: files that give C6 = 0 have a well of
/// 1e-50.
const LEAST_ENERGY: f64 = 1e-30;

/// Diameters by pair of species: the sigma of forces with a repulsive core.
fn sizes(forces: &Forces, species: usize) -> Vec<Vec<f64>> {
    let mut sizes = vec![vec![0.0; species]; species];
    let hard = |term: &&PairTerm| {
        matches!(term.potential, Potential::BuiltIn(PairKind::LennardJones | PairKind::SoftSphere))
    };
    for term in forces.pairs.iter().filter(hard) {
        // The device refuses terms for another number of species.
        let known = term.n_species();
        for (a, row) in sizes.iter_mut().enumerate().take(known) {
            for (b, size) in row.iter_mut().enumerate().take(known) {
                let Some(entry) = term.get(a, b) else { continue };
                // Without a well there is no core; for weak repulsion alone sigma is no diameter.
                if let [epsilon, sigma] = entry.parameters[..]
                    && epsilon > LEAST_ENERGY
                {
                    *size = sigma.max(*size);
                }
            }
        }
    }
    sizes
}
