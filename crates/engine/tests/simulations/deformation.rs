//! Boxes that change their shape.

use crate::fixtures::{Rows, argon};
use jostle_core::{Settings, SimBox, System, UnitSystem};
use jostle_engine::model::{Axis, Deformation, Plane, StageInput, Strain};
use jostle_engine::{Overrides, Simulation, Thermo, WarningKind};
use jostle_io::Input;
use jostle_potentials::{PairKind, PairTerm, Truncation};
use std::path::Path;

/// A cold crystal of argon.
fn crystal() -> System {
    argon(500, 1.0, 0.05, 2)
}

/// All rows of a deformation of the crystal, and its box at the end.
fn deform(mode: Strain, every: u64) -> (Vec<Thermo>, SimBox) {
    let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::ForceShifted, &[1.0, 1.0], 2.2);
    let deformation = Deformation { mode, rate: 0.02, every };
    let settings = Settings { threads: Some(1), ..Settings::default() };
    let mut simulation = Simulation::builder(UnitSystem::Lj, crystal())
        .force(lj)
        .settings(settings)
        .stage(StageInput::dynamics("deform", 400, 0.004).deform(deformation).thermo(2))
        .build()
        .unwrap();
    let mut rows = Rows::default();
    simulation.run_with(&mut rows, &|| false).unwrap();
    // The work on the box is no drift of the integration.
    assert!(rows.0.iter().all(|row| row.conserved.is_none()));
    assert!(simulation.reports()[0].warnings.iter().all(|warning| warning.kind != WarningKind::Drift));
    (rows.0, *simulation.simbox())
}

/// The work of the strain against the stress is the gain of energy of the crystal: dE = V stress d(strain),
/// and for tension, where the strain is relative to the initial length, dE = V stress d(strain) / (1 +
/// strain).
#[test]
fn the_work_of_the_stress_becomes_energy() {
    for (mode, every) in
        [(Strain::Shear(Plane::Xy), 2), (Strain::Shear(Plane::Yz), 10), (Strain::Tension(Axis::X), 2)]
    {
        let (rows, simbox) = deform(mode, every);
        let mut work = 0.0;
        for pair in rows.windows(2) {
            let [a, b] = [&pair[0], &pair[1]].map(|t| (t.strain.unwrap(), t.stress.unwrap()));
            let length = match mode {
                Strain::Tension(_) => 1.0 + 0.5 * (a.0 + b.0),
                Strain::Shear(_) => 1.0,
            };
            work += 0.5 * (a.1 + b.1) * (b.0 - a.0) * simbox.volume() / length;
        }
        let (first, last) = (&rows[0], rows.last().unwrap());
        assert!((last.strain.unwrap() - 0.02 * 400.0 * 0.004).abs() < 1e-12);
        let gained = last.total - first.total;
        assert!(gained > 2.0, "{mode:?}: hardly any energy, {gained}");
        assert!((gained / work - 1.0).abs() < 0.02, "{mode:?}: {gained} is not {work}");
    }
}

/// The box has the shape of the strain, and each row has the strain.
#[test]
fn the_box_follows_the_strain() {
    let (start, edge) = (crystal().simbox, crystal().simbox.lengths()[0]);
    let (rows, sheared) = deform(Strain::Shear(Plane::Xz), 10);
    assert!((sheared.tilts()[1] - 0.032 * edge).abs() < 1e-12 && sheared.lengths() == start.lengths());
    // The strain of an interval is the strain at its end.
    let strains: Vec<f64> = rows[..7].iter().map(|t| t.strain.unwrap() / (0.02 * 0.004)).collect();
    let expected = [0.0, 10.0, 10.0, 10.0, 10.0, 10.0, 20.0];
    assert!(strains.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{strains:?}");
    // The last interval, of one step, ends with the stage.
    let (rows, sheared) = deform(Strain::Shear(Plane::Xz), 7);
    assert!((sheared.tilts()[1] - 0.032 * edge).abs() < 1e-12);
    assert!((rows.last().unwrap().strain.unwrap() - 0.032).abs() < 1e-12);
    let (_, long) = deform(Strain::Tension(Axis::Y), 10);
    assert!((long.volume() / start.volume() - 1.0).abs() < 1e-12);
    assert!((long.lengths()[1] / edge - 1.032).abs() < 1e-12);
}

#[test]
fn what_cannot_be_deformed_is_refused() {
    let refuse = |system: System, cutoff: f64, rate: f64| {
        let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::ForceShifted, &[1.0, 1.0], cutoff);
        let deformation = Deformation { mode: Strain::Tension(Axis::X), rate, every: 10 };
        let simulation = Simulation::builder(UnitSystem::Lj, system)
            .force(lj)
            .stage(StageInput::dynamics("deform", 100, 0.004).deform(deformation))
            .build();
        simulation.and_then(|mut s| s.run()).map(|_| ()).unwrap_err()
    };
    let mut open = crystal();
    let simbox = open.simbox;
    open.simbox = SimBox::new(simbox.origin(), simbox.lengths(), [0.0; 3], [true, true, false]).unwrap();
    assert!(refuse(open, 2.2, 0.1).message().contains("open along an axis"));
    assert!(refuse(crystal(), 2.2, f64::NAN).message().contains("finite rate"));
    // The box becomes thinner than two cut-offs.
    let error = refuse(crystal(), 0.499 * simbox.lengths()[0], 0.1);
    assert!(error.message().contains("more than half the smallest width"), "{error}");
}

/// Numbers of a formula do not follow a box that changes: a field whose energy would jump at its faces is refused before a
/// step, also where a later stage changes the box.
#[test]
fn formulas_that_a_change_of_the_box_tears_are_refused() {
    let start = |field: &str, stage: &str| {
        let text = format!(
            "units = \"lj\"\n[system]\nlattice = \"sc\"\natoms = 512\ndensity = 1\ntemperature = 1\n[species.A]\nmass = 1\n\
             [[field]]\n{field}\n[[stage]]\nname = \"hold\"\nsteps = 4\ntimestep = 0.002\n[[stage]]\nname = \"change\"\n\
             steps = 4\ntimestep = 0.002\n{stage}\n[run]\nthreads = 1\ndevice = \"cpu\"\n"
        );
        let input = Input::parse(Path::new("torn.toml"), &text).unwrap();
        Simulation::from_input(&input, &Overrides::default())
    };
    let wave = "energy = \"cos(2 pi x / l)\"\nparameters = { l = 8 }";
    let deform = |kind: &str| format!("deform = {{ {kind}, rate = 0.1 }}");
    let (tension, shear) = ("kind = \"tension\", axis = \"z\"", "kind = \"shear\", plane = \"xy\"");
    let barostat = "thermostat = { kind = \"bussi\", temperature = 1 }\n\
                    barostat = { kind = \"monte-carlo\", pressure = 1 }";
    for stage in [&deform(tension), &deform(shear), barostat] {
        let error = start(wave, stage).err().unwrap_or_else(|| panic!("{stage} is accepted"));
        let message = "in a box that stage 'change' changes: the energy jumps where an atom crosses the face";
        assert!(error.message().starts_with(message), "{error}");
        assert_eq!(error.place().and_then(|place| place.line), Some(10), "{error}");
    }
    // A wave across the shear, a field far from the faces, one along unbroken paths, and a box that stays.
    for (field, stage) in [
        (wave.replace('x', "z").as_str(), deform(shear).as_str()),
        ("energy = \"if((x - 4)^2 < 4, 4 - (x - 4)^2, 0)\"", &deform(tension)),
        (&format!("{wave}\npositions = \"unwrapped\""), &deform(tension)),
        (wave, ""),
    ] {
        start(field, stage).unwrap();
    }
}
