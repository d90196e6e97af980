//! A GPU as a [`jostle_core::Backend`]: what it holds, and where everything is.

mod backend;
mod room;
mod run;

use crate::all_pairs::{self, AllPairs, PairShape};
use crate::arrays::Arrays;
use crate::bath::ScalingBath;
use crate::cells::Cells;
use crate::driver::Device;
use crate::kernels::{self, Kernels, TileShape, TileSize};
use crate::leg::{KINETIC, Launches, Recorded, Sums, VIRIAL};
use crate::list::{self, List};
use crate::search::Search;
use crate::skin::Skin;
use crate::sums::Summation;
use crate::tiles::{self, Room, Tiles};
use crate::world::{Control, Frame, World};
use jostle_core::backend::Timings;
use jostle_core::{Algorithm, Energies, Error, Kinetic, Precision, Result, Settings, System, Vec3};
use jostle_potentials::{PairTerm, check};
use std::ops::Range;

/// How the work is laid out on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The tiles.
    pub shape: TileShape,
    /// Step slots between two looks at the list, to begin with.
    pub slots_per_look: u32,
}

/// Attempts at making room before something must be wrong.
const MOST_ATTEMPTS: usize = 40;

/// How pairs are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Tiles,
    List,
    Cells,
    AllPairs,
}

/// The GPU engine: the atoms in device memory, and everything that is done to them there.
pub struct Cuda {
    device: Device,
    system: System,
    terms: Vec<PairTerm>,
    precision: Precision,
    summation: Summation,
    cutoff: f64,
    skin: Skin,
    frame: Frame,
    way: Way,
    /// Whether `way` may be given up for another one that fits the box.
    free: bool,
    layout: Layout,
    room: Room,
    /// Room in the list of an atom.
    rows: usize,
    arrays: Arrays,
    kernels: Kernels,
    search: Box<dyn Search>,
    bath: Option<ScalingBath>,
    sums: Sums,
    world: World,
    recorded: Option<Recorded>,
    /// The control block as it was when the host last looked.
    control: Control,
    list_positions: Vec<Vec3>,
    energies: Energies,
    timings: Timings,
    /// Set by a verb that cannot fail, reported by the next one that can.
    fault: Option<Error>,
}

impl Cuda {
    /// Puts a system on a device.
    ///
    /// # Errors
    /// If a term and the system do not go together, the device has too little memory, or kernels
    /// cannot be compiled.
    pub fn new(device: Device, system: System, terms: Vec<PairTerm>, settings: Settings) -> Result<Self> {
        let layout = Layout::for_atoms(system.state.len(), device.multiprocessors());
        Self::with_layout(device, system, terms, settings, layout)
    }

    /// The same with a layout of one's choice.
    ///
    /// # Errors
    /// As for [`Cuda::new`].
    pub fn with_layout(
        device: Device,
        system: System,
        terms: Vec<PairTerm>,
        settings: Settings,
        mut layout: Layout,
    ) -> Result<Self> {
        let precision = settings.precision;
        let cutoff = check::terms(&system, &terms, precision)?;
        let summation = if settings.reproducible { Summation::exact(&terms) } else { Summation::Fast };
        let (mut way, free) = match settings.algorithm {
            Algorithm::Tiles | Algorithm::AllPairs if settings.reproducible => {
                let name = settings.algorithm.name();
                return Err(Error::input(format!(
                    "algorithm = \"{name}\" together with reproducible = true"
                ))
                .hint(
                    "its sums depend on the order of the atoms; leave it out, or set \"list\" or \"cells\"",
                ));
            }
            Algorithm::Auto if settings.reproducible => (Way::List, false),
            Algorithm::Auto => (Way::Tiles, true),
            Algorithm::Tiles => (Way::Tiles, false),
            Algorithm::List => (Way::List, false),
            Algorithm::Cells => (Way::Cells, false),
            Algorithm::AllPairs => (Way::AllPairs, false),
            Algorithm::Clusters | Algorithm::Reference => {
                return Err(Error::input(format!(
                    "a GPU has no algorithm \"{}\"",
                    settings.algorithm.name()
                ))
                .hint("leave it out, or set device = \"cpu\""));
            }
        };
        let n = system.state.len();
        if n > i32::MAX as usize / 4 {
            return Err(Error::device(format!("{n} atoms are more than one GPU run can have")));
        }
        let spacing = (system.simbox.volume() / n.max(1) as f64).cbrt();
        let skin = Skin::new(settings.skin, 0.35 * spacing, settings.reproducible);
        let frame = Frame::new(&system.simbox, &system.state, cutoff + skin.now());
        let (density, reach) = (density(&frame, &system, cutoff), cutoff + skin.now());
        if free && n > MANY && reaches_all(n, density, reach) {
            way = Way::AllPairs;
        }
        let room = Room::estimate(layout.shape, density, reach, n);
        layout.shape.size = tiles::size(precision, room);
        let build = kernels::build(&terms, precision, layout.shape, PairShape::for_atoms(n), summation);
        let kernels = Kernels::new(&device, &build)?;
        let arrays = Arrays::new(&device, &system, precision, &build.table)?;
        // Until everything gets its place.
        let search = Box::new(Cells::new(&kernels.module, n, summation)?);
        let sums = Sums { partial: device.alloc(1)?, total: device.alloc(1)? };
        let world = arrays.world(frame);
        let mut cuda = Cuda {
            device,
            system,
            terms,
            precision,
            summation,
            cutoff,
            skin,
            frame,
            way,
            free,
            layout,
            room,
            rows: list::estimate(density, reach, n),
            arrays,
            kernels,
            search,
            bath: None,
            sums,
            world,
            recorded: None,
            control: Control::new(),
            list_positions: Vec::new(),
            energies: Energies::default(),
            timings: Timings::default(),
            fault: None,
        };
        cuda.arrange(false)?;
        cuda.upload()?;
        Ok(cuda)
    }

    /// The same with lists that have far too little room at first: what grows by itself must give
    /// the same answer.
    ///
    /// # Errors
    /// As for [`Cuda::new`].
    pub fn with_little_room(
        device: Device,
        system: System,
        terms: Vec<PairTerm>,
        settings: Settings,
    ) -> Result<Self> {
        let mut cuda = Self::new(device, system, terms, settings)?;
        cuda.room = Room { tile: 64, class_rows: 2 };
        cuda.rows = 1;
        cuda.arrange(false)?;
        Ok(cuda)
    }

    /// Gives everything its place in memory: after a start, after room was made, or when the box
    /// that positions are fractions of has changed.
    fn arrange(&mut self, recompile: bool) -> Result<()> {
        self.recorded = None;
        let n = self.system.state.len();
        if self.way == Way::Tiles {
            match tiles::check(&self.device, self.precision, self.layout.shape, self.room) {
                Err(_) if self.free => self.way = self.without_tiles(),
                checked => checked?,
            }
        }
        let (size, pairs) = (tiles::size(self.precision, self.room), PairShape::for_atoms(n));
        if recompile || size != self.layout.shape.size {
            self.layout.shape.size = size;
            let build = kernels::build(&self.terms, self.precision, self.layout.shape, pairs, self.summation);
            self.kernels = Kernels::new(&self.device, &build)?;
        }
        let density = density(&self.frame, &self.system, self.cutoff);
        let atoms = match self.way {
            Way::Tiles => self.layout.shape.atoms,
            // Columns half as wide as the reach leave little to be looked at in vain.
            Way::List | Way::Cells => (density * (0.5 * self.cutoff).powi(3)).clamp(2.0, 1e6) as u32,
            Way::AllPairs => all_pairs::GROUP as u32,
        };
        tiles::divide(&mut self.frame, atoms, density);
        let bins = [self.frame.columns[0], self.frame.columns[1], self.frame.bins];
        self.arrays.resize_bins(&self.device, bins.map(|b| b as usize).iter().product())?;
        let (device, module, precision) = (&self.device, &self.kernels.module, self.precision);
        self.search = match self.way {
            Way::Tiles => Box::new(Tiles::new(device, module, precision, self.layout.shape, self.room, n)?),
            Way::List => Box::new(List::new(device, module, n, self.rows, self.summation)?),
            Way::Cells => Box::new(Cells::new(module, n, self.summation)?),
            Way::AllPairs => Box::new(AllPairs::new(device, module, precision, pairs, n)?),
        };
        let row = self.terms.len() + VIRIAL + KINETIC;
        let blocks = self.search.energy_blocks().max(self.launches().atom_shares());
        self.sums.partial = self.device.alloc(blocks as usize * row)?;
        if self.sums.total.len() < row {
            self.sums.total = self.device.alloc(row)?;
        }
        self.attach();
        Ok(())
    }

    /// What takes the place of tiles that do not fit.
    fn without_tiles(&self) -> Way {
        let density = density(&self.frame, &self.system, self.cutoff);
        let reach = self.cutoff + self.skin.now();
        if reaches_all(self.system.state.len(), density, reach) { Way::AllPairs } else { Way::List }
    }

    fn attach(&mut self) {
        self.world = self.arrays.world(self.frame);
        self.search.attach(&mut self.world);
        if let Some(bath) = &self.bath {
            bath.attach(&mut self.world);
        }
        self.world.partial = self.sums.partial.address();
        self.world.total = self.sums.total.address();
    }

    /// Copies the host's atoms to the device; the list is stale then.
    fn upload(&mut self) -> Result<()> {
        let builds = self.control.builds;
        self.control = Control { builds, ..Control::new() };
        self.set_skin();
        self.write_control()?;
        self.arrays.upload(&self.system.state)?;
        self.place(true)
    }

    /// Positions for the forces from those of the atoms.
    fn place(&mut self, fresh: bool) -> Result<()> {
        let launches = self.launches();
        let launch = launches.atoms(&self.kernels.place_atoms).with_value(i32::from(fresh));
        self.device.run(&launch)
    }

    fn launches(&self) -> Launches<'_> {
        Launches {
            kernels: &self.kernels,
            search: &*self.search,
            bath: self.bath.as_ref(),
            world: self.world,
            n_terms: self.terms.len(),
            sums: self.summation,
            resident_blocks: 6 * self.device.multiprocessors(),
        }
    }

    fn run_all(&self, launches: Vec<crate::driver::Launch>) -> Result<()> {
        launches.iter().try_for_each(|launch| self.device.run(launch))
    }

    fn set_skin(&mut self) {
        let skin = self.skin.now();
        self.control.skin = skin;
        self.control.reach = self.cutoff + skin;
        // Rounding must not make the list a little too short.
        self.control.limit2 = (0.5 * skin * (1.0 - 1e-5)).powi(2);
        self.control.slot[0].stale = 1;
    }

    fn write_control(&mut self) -> Result<()> {
        self.arrays.control.write(0, &[self.control])
    }

    fn read_control(&mut self) -> Result<()> {
        let mut control = [self.control];
        self.arrays.control.read(0, &mut control)?;
        self.control = control[0];
        self.control.trouble |= std::mem::take(&mut self.control.reported);
        Ok(())
    }

    fn download(&mut self) -> Result<()> {
        self.arrays.download(&self.control, &mut self.system.state)
    }

    /// Runs a launch of a verb that cannot fail.
    fn attempt(&mut self, result: Result<()>) {
        if let Err(error) = result {
            self.fault.get_or_insert(error);
        }
    }

    fn take_fault(&mut self) -> Result<()> {
        self.fault.take().map_or(Ok(()), Err)
    }

    /// Energies from a row of sums, long-range corrections included.
    fn energies_from(&self, row: &[f64]) -> Energies {
        let (volume, counts) = (self.system.simbox.volume(), self.system.counts());
        let (sums, virial) = row.split_at(self.terms.len());
        let mut energies = Energies::default();
        energies.virial.copy_from_slice(&virial[..VIRIAL]);
        for (term, sum) in self.terms.iter().zip(sums) {
            let [tail_energy, tail_virial] = term.tail_times_volume(&counts);
            energies.terms.push(sum + tail_energy / volume);
            for k in 0..3 {
                energies.virial[k] += tail_virial / volume;
            }
        }
        energies
    }

    /// Sums of the first row.
    fn totals(&mut self, count: usize) -> Result<Vec<f64>> {
        self.rows(0..1, count)
    }

    /// Sums of some rows.
    fn rows(&mut self, rows: Range<usize>, length: usize) -> Result<Vec<f64>> {
        let mut values = vec![0.0; rows.len() * length];
        self.sums.total.read(rows.start * length, &mut values)?;
        Ok(values)
    }
}

/// Whether each of `n` atoms has so many others within reach that all pairs may as well be looked
/// at: that costs an eighth of what a pair in a list does.
fn reaches_all(n: usize, density: f64, reach: f64) -> bool {
    (n as f64) < 8.0 * density * 4.0 / 3.0 * std::f64::consts::PI * reach.powi(3)
}

/// Atoms that fill a GPU with pairs.
const MANY: usize = 4096;

/// Atoms per volume, in what they occupy.
fn density(frame: &Frame, system: &System, cutoff: f64) -> f64 {
    let mut volume = 1.0;
    for k in 0..3 {
        volume *= if frame.periodic[k] == 1 {
            frame.edge[k]
        } else {
            (0.25 * frame.edge[k] - 2.0 * cutoff).max(cutoff)
        };
    }
    system.state.len().max(1) as f64 / volume
}

impl Layout {
    /// What suits so many atoms: large tiles where there are enough to fill the device, and several
    /// threads an atom where there are not.
    fn for_atoms(n: usize, multiprocessors: u32) -> Self {
        let per_multiprocessor = n / multiprocessors.max(1) as usize;
        let (atoms, team) = match per_multiprocessor {
            0..48 => (32, 8),
            48..128 => (64, 4),
            128..512 => (128, 2),
            _ => (128, 1),
        };
        Layout { shape: TileShape { atoms, team, size: TileSize::Small }, slots_per_look: 8 }
    }
}

fn kinetic_from(row: &[f64]) -> Kinetic {
    let mut kinetic = Kinetic::default();
    kinetic.tensor.copy_from_slice(&row[..6]);
    kinetic.momentum.copy_from_slice(&row[6..9]);
    kinetic
}
