//! Choices by name, as an input file spells them.

use super::model::{
    Axis, BodyDivision, CopyMass, Coupling, DeviceInput, Distribution, FieldWork, GpuSet, Gpus, Lattice,
    Minimizer, Placement, Plane, Rigid, Scaling, SoftCoreKind, TrajectoryFormat, WallSide, WeightsInput,
};
use jostle_core::{Algorithm, Error, Exclude, Precision, Result, UnitSystem};
use jostle_potentials::alchemy::OwnEnergy;
use jostle_potentials::electrostatics::NetCharge;
use jostle_potentials::external::{Positions, Side};
use jostle_potentials::{AngleKind, BondKind, BondedKind, DihedralKind, Mixing, PairKind, Truncation};
use std::str::FromStr;

/// A choice that an input file names by a word.
pub trait NamedChoice: Copy + 'static {
    /// All choices, in the order of the documentation.
    const ALL: &'static [Self];

    /// The word.
    fn name(self) -> &'static str;

    /// Explanation in one line.
    fn about(self) -> &'static str;

    /// The choice with this name.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|w| w.name() == name)
    }
}

/// Names of all choices with a line about each.
pub(super) fn choices<W: NamedChoice>() -> Vec<(&'static str, &'static str)> {
    W::ALL.iter().map(|w| (w.name(), w.about())).collect()
}

macro_rules! choices {
    ($($type:ident { $($variant:ident $({ $field:ident: $value:literal })? = $name:literal: $about:literal,)* })*) => {
        $(impl NamedChoice for $type {
            const ALL: &'static [Self] = &[$($type::$variant $({ $field: $value })?),*];

            fn name(self) -> &'static str {
                match self { $($type::$variant { .. } => $name,)* }
            }

            fn about(self) -> &'static str {
                match self { $($type::$variant { .. } => $about,)* }
            }
        })*
    };
}

choices! {
    UnitSystem {
        Lj = "lj": "reduced: length, energy and mass are 1 by definition, k_B = 1",
        Real = "real": "angstrom, fs, kcal/mol, g/mol, K",
        Metal = "metal": "angstrom, ps, eV, g/mol, K",
        Nano = "nano": "nm, ps, kJ/mol, g/mol, K",
        Nuclear = "nuclear": "fm, fm/c, MeV, MeV/c^2, temperature in MeV",
        Plasma = "plasma": "reduced: ion-sphere radius, 1/omega_p, q^2/a; temperature is 1/Gamma",
    }
    Lattice {
        Sc = "sc": "simple cubic, 1 atom a cell",
        Bcc = "bcc": "body-centred cubic, 2 atoms a cell",
        Fcc = "fcc": "face-centred cubic, 4 atoms a cell",
        Diamond = "diamond": "diamond cubic, 8 atoms a cell",
    }
    Placement {
        Random = "random": "random positions that do not overlap (Hoang 2011)",
        Chains = "chains": "bead-spring chains that do not overlap: random walks, pushed apart",
        Water = "water": "rigid water on a grid, turned at random; the first species is oxygen, the second hydrogen",
        Molecules = "molecules": "copies of the molecules of [[molecule]], turned at random and pushed apart",
    }
    Rigid {
        None = "none": "what the files say, and no more",
        Water = "water": "water: bonds and angle",
        Hydrogens = "hydrogens": "water, and all bonds of hydrogen",
    }
    CopyMass {
        Kept = "kept": "those of the atoms: copies move as freely as one of them at so many times the temperature",
        Divided = "divided": "the atom's, divided by the number of copies: they vibrate as quickly as it does",
    }
    BodyDivision {
        Molecule = "molecule": "those of each molecule: atoms that bonds join",
        Residue = "residue": "those of each residue of the structure file",
        All = "all": "all of them together",
    }
    Scaling {
        None = "none": "they stay where they are: neither a barostat nor a deformation can act then, and they have no part in the virial",
        Center = "center": "their centre of mass keeps its place relative to the edges, and they theirs around it (GROMACS: refcoord_scaling = com)",
    }
    WeightsInput {
        Mass = "mass": "by their masses",
        Equal = "equal": "alike",
    }
    SoftCoreKind {
        Beutler = "beutler": "r^6 grows by alpha (1 - lambda)^power sigma^6 (Beutler 1994)",
        Gapsys = "gapsys": "a straight line of the force below alpha (26/7 sigma^6 (1 - lambda))^(1/6) (Gapsys 2012)",
    }
    OwnEnergy {
        Kept = "kept": "they act in every window, as in vacuum: the molecule is decoupled",
        Scaled = "scaled": "they are scaled like those on all others, and 1-4 pairs in proportion, without a soft core: the molecule is annihilated",
    }
    FieldWork {
        Ignored = "ignored": "the conserved quantity changes by it",
        Recorded = "recorded": "a column of thermo.csv, taken off the conserved quantity; the host finds it after each step, which a GPU has to wait for",
    }
    WallSide {
        Upper = "upper": "beyond larger values",
        Lower = "lower": "beyond smaller values",
    }
    Minimizer {
        Fire = "fire": "atoms with inertia slide downhill (Bitzek 2006); keeps constraints",
        Lbfgs = "lbfgs": "quasi-Newton steps from ten remembered lines (Liu and Nocedal 1989)",
        ConjugateGradient = "conjugate-gradient": "line after line, without memory (Dai and Yuan 1999)",
    }
    Distribution {
        Maxwell = "maxwell": "Maxwell-Boltzmann, scaled to the exact temperature",
        Constant = "constant": "the same speed for all atoms of a mass, random directions (Rapaport)",
    }
    Truncation {
        Plain = "plain": "the energy jumps to zero",
        Shifted = "shifted": "shifted so that the energy is continuous",
        ForceShifted = "force-shifted": "shifted so that energy and force are continuous",
        Switched { from: 0.9 } = "switched": "switched off smoothly between switch_from and the cut-off",
        CharmmSwitched { from: 0.9 } = "charmm-switched": "likewise, by the function of CHARMM, NAMD and LAMMPS' lj/charmm",
    }
    Coupling {
        Isotropic = "isotropic": "all: the box keeps its shape",
        SemiIsotropic = "semi-isotropic": "the first two, and the third by itself",
        Anisotropic = "anisotropic": "each by itself",
    }
    Axis {
        X = "x": "the first axis",
        Y = "y": "the second axis",
        Z = "z": "the third axis",
    }
    Plane {
        Xy = "xy": "along x, by y",
        Xz = "xz": "along x, by z",
        Yz = "yz": "along y, by z",
    }
    Precision {
        Mixed = "mixed": "forces in f32, those of fields and bonds, too; positions, velocities and sums in f64",
        Double = "double": "everything in f64",
    }
}

impl NamedChoice for Algorithm {
    const ALL: &'static [Self] = &Algorithm::ALL;

    fn name(self) -> &'static str {
        Algorithm::name(self)
    }

    fn about(self) -> &'static str {
        Algorithm::about(self)
    }
}

/// Kind of a `[[force]]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForceKind {
    /// A potential of the registry.
    BuiltIn(PairKind),
    /// `energy = "..."`
    Formula,
    /// `pairs."A-B" = { file = "..." }`
    Table,
}

impl NamedChoice for ForceKind {
    const ALL: &'static [Self] = &{
        let mut all = [ForceKind::Formula; PairKind::ALL.len() + 2];
        all[PairKind::ALL.len() + 1] = ForceKind::Table;
        let mut k = 0;
        while k < PairKind::ALL.len() {
            all[k] = ForceKind::BuiltIn(PairKind::ALL[k]);
            k += 1;
        }
        all
    };

    fn name(self) -> &'static str {
        match self {
            ForceKind::BuiltIn(kind) => kind.name(),
            ForceKind::Formula => "formula",
            ForceKind::Table => "table",
        }
    }

    fn about(self) -> &'static str {
        match self {
            ForceKind::BuiltIn(kind) => kind.about(),
            ForceKind::Formula => "any energy u(r) that is written down: energy = \"a exp(-r) / r\"",
            ForceKind::Table => {
                "energies and forces from files: LAMMPS' pair tables, or columns r, u, -du/dr"
            }
        }
    }
}

impl NamedChoice for PairKind {
    const ALL: &'static [Self] = PairKind::ALL;

    fn name(self) -> &'static str {
        PairKind::name(self)
    }

    fn about(self) -> &'static str {
        PairKind::about(self)
    }
}

impl NamedChoice for TrajectoryFormat {
    const ALL: &'static [Self] = TrajectoryFormat::ALL;

    fn name(self) -> &'static str {
        TrajectoryFormat::name(self)
    }

    fn about(self) -> &'static str {
        TrajectoryFormat::about(self)
    }
}

impl NamedChoice for NetCharge {
    const ALL: &'static [Self] = &NetCharge::ALL;

    fn name(self) -> &'static str {
        NetCharge::name(self)
    }

    fn about(self) -> &'static str {
        NetCharge::about(self)
    }
}

impl NamedChoice for Exclude {
    const ALL: &'static [Self] = &Exclude::ALL;

    fn name(self) -> &'static str {
        Exclude::name(self)
    }

    fn about(self) -> &'static str {
        Exclude::about(self)
    }
}

impl NamedChoice for Positions {
    const ALL: &'static [Self] = &Positions::ALL;

    fn name(self) -> &'static str {
        Positions::name(self)
    }

    fn about(self) -> &'static str {
        Positions::about(self)
    }
}

impl NamedChoice for Side {
    const ALL: &'static [Self] = &Side::ALL;

    fn name(self) -> &'static str {
        Side::name(self)
    }

    fn about(self) -> &'static str {
        Side::about(self)
    }
}

impl NamedChoice for BondKind {
    const ALL: &'static [Self] = <BondKind as BondedKind>::ALL;

    fn name(self) -> &'static str {
        BondedKind::name(self)
    }

    fn about(self) -> &'static str {
        BondedKind::about(self)
    }
}

impl NamedChoice for AngleKind {
    const ALL: &'static [Self] = <AngleKind as BondedKind>::ALL;

    fn name(self) -> &'static str {
        BondedKind::name(self)
    }

    fn about(self) -> &'static str {
        BondedKind::about(self)
    }
}

impl NamedChoice for DihedralKind {
    const ALL: &'static [Self] = <DihedralKind as BondedKind>::ALL;

    fn name(self) -> &'static str {
        BondedKind::name(self)
    }

    fn about(self) -> &'static str {
        BondedKind::about(self)
    }
}

impl NamedChoice for Mixing {
    const ALL: &'static [Self] = &Mixing::ALL;

    fn name(self) -> &'static str {
        Mixing::name(self)
    }

    fn about(self) -> &'static str {
        Mixing::about(self)
    }
}

impl NamedChoice for DeviceInput {
    const ALL: &'static [Self] = &[
        DeviceInput::Auto,
        DeviceInput::Cpu,
        DeviceInput::Cuda(Gpus::Chosen(GpuSet::FIRST)),
        DeviceInput::Cuda(Gpus::All),
    ];

    fn name(self) -> &'static str {
        match self {
            DeviceInput::Auto => "auto",
            DeviceInput::Cpu => "cpu",
            DeviceInput::Cuda(Gpus::Chosen(_)) => "cuda",
            DeviceInput::Cuda(Gpus::All) => "cuda:all",
        }
    }

    fn about(self) -> &'static str {
        match self {
            DeviceInput::Auto => {
                "a GPU, or several, where there are and the system is large enough, else the CPU"
            }
            DeviceInput::Cpu => "the CPU",
            DeviceInput::Cuda(Gpus::Chosen(_)) => {
                "an NVIDIA GPU, the first; \"cuda:1\" is the second, \"cuda:0,1\" are both"
            }
            DeviceInput::Cuda(Gpus::All) => "as many NVIDIA GPUs of this machine as make the run faster",
        }
    }
}

/// Device by its name in an input file; `"cuda:1"` is the second GPU, `"cuda:0,1"` are the first two.
impl FromStr for DeviceInput {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let numbered = || {
            let gpus = name.strip_prefix("cuda:")?.parse().ok()?;
            Some(DeviceInput::Cuda(Gpus::Chosen(gpus)))
        };
        Self::from_name(name).or_else(numbered).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|device| device.name()).collect();
            Error::input(format!("there is no device \"{name}\""))
                .hint(format!("it may be {} or cuda:1, cuda:0,1, ...", names.join(", ")))
        })
    }
}
