//! `jostle solvate`

use crate::arguments::SolvateOptions;
use crate::new_system::{self, NewSystem};
use crate::numbers::grouped;
use crate::output;
use jostle_core::{Error, Result, UnitSystem, Vec3, Vector, shell_word};
use jostle_engine::Existing;
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
    if !(options.temperature.is_finite() && options.temperature > 0.0) {
        return Err(Error::input(format!("--temperature {} is not positive", options.temperature)));
    }
    let vacuum = options.vacuum.as_deref().map_or(Ok(0.0), |text| length("vacuum", text))?;
    let ions = ions(options)?;
    let files = options.solute.as_deref().map(|path| molecules(path, options)).transpose()?;
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
    let settings = RunSettings {
        title: &title,
        name: &new.name,
        temperature: options.temperature,
        rigid,
        hydrogen_mass,
        seed: options.seed,
    };
    new.write(&solvated.files(settings)?)?;
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

/// Files of the solute: those of an input, or those that options name.
fn molecules(path: &Path, options: &SolvateOptions) -> Result<MoleculesInput> {
    let SolvateOptions { coordinates, parameters, define, include, .. } = options;
    if path.extension().is_some_and(|extension| extension == "toml") {
        if coordinates.is_some() || !(parameters.is_empty() && define.is_empty() && include.is_empty()) {
            return Err(Error::file(path, "an input names the files of its molecules itself")
                .hint("leave out --coordinates, --parameters, --define and --include"));
        }
        let input = Input::read(path)?;
        return match input.system.atoms.value {
            AtomsInput::Molecules(files) => Ok(files),
            _ => Err(Error::file(path, "this input has no molecules with a force field")
                .hint("an input with topology = \"...\" in [system] is wanted")
                .of_input()),
        };
    }
    Ok(MoleculesInput {
        topology: path.to_path_buf(),
        parameters: parameters.clone(),
        define: define.clone(),
        include: include.clone(),
        coordinates: coordinates.clone().unwrap_or_else(|| path.to_path_buf()),
        rigid: Rigid::Hydrogens,
        hydrogen_mass: None,
    })
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
