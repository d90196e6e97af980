//! `jostle solvate`

use crate::arguments::SolvateOptions;
use crate::new_system::{self, NewSystem};
use crate::numbers::grouped;
use crate::output;
use jostle_core::{Dimension, Error, Result, UnitSystem, Vec3, Vector, shell_word};
use jostle_engine::Existing;
use jostle_engine::build::extraction::sections_left_out;
use jostle_engine::build::solvation::files::RunSettings;
use jostle_engine::build::solvation::{
    CounterIons, IonPairs, IonsInput, Size, Solute, Solvated, SolvationInput, solvate,
};
use jostle_io::Input;
use jostle_io::forcefield::Molecules;
use jostle_io::forcefield::solvent::Ion;
use jostle_io::input::model::{AtomsInput, MoleculesInput, Rigid};
use serde_json::json;
use std::path::Path;

/// Puts a solute into a box of water with ions, and writes its topology, its coordinates and an input.
///
/// # Errors
/// If a file cannot be read, an option makes no sense, the box is too small or too large, or a file exists. Nothing
/// is written then.
pub fn run(options: &SolvateOptions) -> Result<()> {
    let existing = if options.overwrite { Existing::Replace } else { Existing::Refuse };
    let new = NewSystem::at(&options.output, existing)?;
    let size = size(options)?;
    if let Some(given) = options.temperature.filter(|given| !(given.is_finite() && *given > 0.0)) {
        return Err(Error::input(format!("--temperature {given} is not positive")));
    }
    let vacuum = options.vacuum.as_deref().map_or(Ok(0.0), |text| length("vacuum", text))?;
    let ions = ions(options)?;
    let input = options.solute.as_deref().filter(|path| is_input(path)).map(Input::read).transpose()?;
    let of_input = input.as_ref().map(|input| molecules_of(input, options)).transpose()?;
    let named = options.solute.as_deref().filter(|_| input.is_none());
    let files = of_input.or_else(|| named.map(|topology| molecules(topology, options)));
    let temperature = options.temperature.or(input.as_ref().and_then(temperature_of)).unwrap_or(300.0);
    let rigid = options.rigid.or(files.as_ref().map(|files| files.rigid)).unwrap_or(Rigid::Hydrogens);
    let hydrogen_mass = files.as_ref().and_then(|files| files.hydrogen_mass);
    let solute = files.as_ref().map(solute).transpose()?;
    let solvated = solvate(SolvationInput {
        solute,
        shape: options.shape,
        size,
        water: options.water,
        ions,
        vacuum,
        seed: options.seed,
    })?;
    let title = title(options);
    let settings =
        RunSettings { title: &title, name: &new.name, temperature, rigid, hydrogen_mass, seed: options.seed };
    new.write(&solvated.files(settings)?)?;
    if let Some(input) = &input {
        report_left_out(input, temperature);
    }
    report(options, &solvated, &new)
}

/// A length in nm, from a number or a quantity.
fn length(option: &str, text: &str) -> Result<f64> {
    new_system::length(option, text, UnitSystem::Nano)
}

fn size(options: &SolvateOptions) -> Result<Size> {
    if let Some(padding) = &options.padding {
        return Ok(Size::Padding(length("padding", padding)?));
    }
    let text = options.size.as_deref().unwrap_or_default();
    let edges = text.split(',').map(|edge| length("box", edge)).collect::<Result<Vec<f64>>>()?;
    let edges: Vec3 = match edges[..] {
        [one] => Vector([one; 3]),
        [a, b, c] => Vector([a, b, c]),
        _ => {
            let message = format!("--box {text} is neither one length nor three");
            return Err(Error::input(message).hint("--box 6, or --box 6,7,8 --shape orthorhombic"));
        }
    };
    Ok(Size::Given(edges))
}

/// The ions that are wanted, if any are.
fn ions(options: &SolvateOptions) -> Result<Option<IonsInput>> {
    let SolvateOptions { ions, neutralise, concentration, water, .. } = options;
    if !(concentration.is_finite() && *concentration >= 0.0) {
        let error = Error::input(format!("--concentration {concentration} is not a concentration in mol/l"));
        return Err(error.hint("0.15 is that of blood"));
    }
    if !neutralise && *concentration == 0.0 {
        return Ok(None);
    }
    let wrong = |what: &str| {
        Error::input(format!("--ions {ions} {what}")).hint("a cation and an anion are wanted: --ions Na+,Cl-")
    };
    let [first, second] = ions.split(',').collect::<Vec<_>>()[..] else {
        return Err(wrong("are not two ions"));
    };
    let pair: [&'static Ion; 2] = [water.ion(first.trim())?, water.ion(second.trim())?];
    if pair[0].charge <= 0 || pair[1].charge >= 0 {
        return Err(wrong("are not a cation and an anion"));
    }
    let counter_ions = if *neutralise { CounterIons::Added } else { CounterIons::LeftOut };
    Ok(Some(IonsInput { pair, counter_ions, concentration: *concentration }))
}

fn is_input(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml")
}

/// Files of the solute that an input names.
fn molecules_of(input: &Input, options: &SolvateOptions) -> Result<MoleculesInput> {
    let SolvateOptions { coordinates, parameters, define, include, .. } = options;
    let path = &input.source.path;
    if coordinates.is_some() || !(parameters.is_empty() && define.is_empty() && include.is_empty()) {
        return Err(Error::file(path, "an input names the files of its molecules itself")
            .hint("leave out --coordinates, --parameters, --define and --include"));
    }
    match &input.system.atoms.value {
        AtomsInput::Molecules(files) => Ok(files.clone()),
        _ => Err(Error::file(path, "this input has no molecules with a force field")
            .hint("an input with topology = \"...\" in [system] is wanted")
            .of_input()),
    }
}

/// Files of the solute that options name.
fn molecules(topology: &Path, options: &SolvateOptions) -> MoleculesInput {
    let SolvateOptions { coordinates, parameters, define, include, .. } = options;
    MoleculesInput {
        topology: topology.to_path_buf(),
        parameters: parameters.clone(),
        define: define.clone(),
        include: include.clone(),
        coordinates: coordinates.clone().unwrap_or_else(|| topology.to_path_buf()),
        rigid: Rigid::Hydrogens,
        hydrogen_mass: None,
    }
}

/// Temperature of an input in kelvin: that of its last thermostat at the end of a stage, else that of its velocities, which
/// may be those of a start that is heated.
fn temperature_of(input: &Input) -> Option<f64> {
    let of_stages = input.stages.iter().rev().find_map(|stage| stage.value.temperatures());
    let given = of_stages.map(|[_, last]| last).or(input.system.velocities.map(|drawn| drawn.temperature))?;
    let kelvin = given / input.units.from_si(Dimension::TEMPERATURE)?;
    (kelvin > 0.0).then_some(kelvin)
}

/// Says what the input that is written does not have of the one that names the solute.
fn report_left_out(input: &Input, temperature: f64) {
    let copies = [
        ("[[enhanced]]", !input.enhanced.is_empty()),
        ("replicate", input.system.replicate.value != [1; 3]),
        ("pairs of [[force]]", input.forces.iter().any(|force| !force.value.pairs.is_empty())),
    ];
    let copies = copies.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name);
    let left_out: Vec<&str> = sections_left_out(input).into_iter().chain(copies).collect();
    let path = input.source.path.display();
    if !left_out.is_empty() {
        say!("the new input has none of {} of {path}", left_out.join(", "));
    }
    say!("its forces and stages are those of the water, at {temperature} K");
}

/// Molecules in the units of GROMACS, with water that is rigid.
fn solute(files: &MoleculesInput) -> Result<Solute> {
    let mut molecules = Molecules::read(files, UnitSystem::Nano)?;
    molecules.make_rigid(Rigid::Water)?;
    let coordinates = molecules.take_coordinates(files).map_err(|e| match e.place() {
        Some(_) => e,
        None => Error::file(&files.topology, e.message()).hint(
            "give the positions of its atoms: --coordinates FILE (PDB, mmCIF, inpcrd or rst7, gro, extended XYZ)",
        ),
    })?;
    Solute::new(molecules, coordinates).map_err(|e| e.in_file(&files.coordinates))
}

fn title(options: &SolvateOptions) -> String {
    let water = options.water.about.split(',').next().unwrap_or(options.water.name);
    match options.solute.as_deref().and_then(Path::file_stem) {
        Some(solute) => format!("{} in {water} water", solute.to_string_lossy()),
        None => format!("{water} water"),
    }
}

fn report(options: &SolvateOptions, solvated: &Solvated, new: &NewSystem) -> Result<()> {
    let Solvated { solute, solute_charge, waters, ions, simbox, .. } = solvated;
    let names: Vec<&str> = options.ions.split(',').map(str::trim).collect();
    let charge = rounded(solvated.charge());
    if !solute.is_empty() {
        say!("solute: {} atoms, charge {}", grouped(solute.len() as u64), rounded(*solute_charge));
    }
    if let Some(fraction) = solvated.fraction() {
        say!(
            "its charge is no whole number: {} are left whatever the ions; are all residues complete?",
            rounded(fraction)
        );
    }
    say!("box: {}, {:.3} nm^3", options.shape.name, simbox.volume());
    say!("water: {} molecules, {}", grouped(*waters as u64), options.water.about);
    if ions.iter().sum::<usize>() > 0 {
        say!("ions: {} {}, {} {}", ions[0], names[0], ions[1], names[1]);
    }
    let own_pairs: Vec<String> = match &solvated.ion_pairs {
        IonPairs::ByRule => Vec::new(),
        IonPairs::Own(pairs) => pairs.iter().map(|pair| pair.join(" with ")).collect(),
        IonPairs::TypesUnknown => {
            say!(
                "the topology has no names of atom types: exceptions of CHARMM (NBFIX) between ions and solute are left out; \
                 a PSF, or a topology of GROMACS, has them"
            );
            Vec::new()
        }
    };
    if !own_pairs.is_empty() {
        say!("pairs with parameters of their own (NBFIX): {}", own_pairs.join(", "));
    }
    say!("charge of everything: {charge}");
    if solvated.needs_background() {
        say!("a uniform background neutralises it in the input; --neutralise adds ions instead");
    }
    let [topology, coordinates, input] = new.names();
    say!("wrote {topology}, {coordinates}, {input}; next: jostle run {}", shell_word(&input));
    if options.format.json {
        let [a, b] = [0, 1].map(|k| json!({ "name": names.get(k), "count": ions[k] }));
        output::print_json(&json!({
            "atoms": solvated.positions.len(),
            "solute_atoms": solute.len(),
            "solute_charge": rounded(*solute_charge),
            "waters": waters,
            "ions": [a, b],
            "ion_pairs": own_pairs,
            "charge": charge,
            "volume_nm3": simbox.volume(),
            "files": new.names(),
        }))?;
    }
    Ok(())
}

/// A charge without the rounding of files.
fn rounded(charge: f64) -> f64 {
    // Adding zero makes a negative zero a positive one.
    (1e5 * charge).round() / 1e5 + 0.0
}
