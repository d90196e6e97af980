//! Checks of a system and its forces before anything is computed.

use crate::bonded::{BondedKind, BondedTerm};
use crate::external::across_periodic;
use crate::{Embedded, Forces, PairTerm, Potential, ThreeBody, Vacuum};
use jostle_core::{Error, Exclude, Precision, Result, System};

/// Checks every term against the system and returns the longest cut-off.
///
/// # Errors
/// If a term has other species than the system, a cut-off exceeds half the box, a tail is to be corrected in
/// a box without a volume, a number is outside the range of the precision, a type of bonds, angles or
/// dihedrals has no force, atoms with many-body forces are to be excluded, atoms without mass follow no others, or atoms
/// cannot be grains.
pub fn forces(system: &System, forces: &Forces, precision: Precision) -> Result<f64> {
    for term in &forces.pairs {
        pair(system, term, precision).map_err(|e| e.context(format!("force {}", term.potential.name())))?;
    }
    if let Some(term) = &forces.embedded {
        embedded(system, term, precision).map_err(|e| e.context(format!("force {}", term.kind.name())))?;
    }
    if let Some(term) = &forces.three_body {
        three_body(system, term, precision).map_err(|e| e.context(format!("force {}", term.kind.name())))?;
    }
    if forces.three_body.is_some() && forces.exclude != Exclude::None {
        return Err(Error::input("three-body forces leave out no bound atoms").hint("leave out exclude"));
    }
    if forces.embedded.is_some() && forces.exclude != Exclude::None {
        return Err(Error::input("the atoms of a metal cannot be excluded").hint("leave out exclude"));
    }
    if let Some(term) = &forces.dispersion {
        term.check(system).map_err(|e| e.context("dispersion"))?;
    }
    if let Some(term) = &forces.electrostatics {
        term.check(system, precision).map_err(|e| e.context("electrostatics"))?;
    }
    if let Some(grains) = &forces.grains {
        grains.check(system).map_err(|e| e.context("grains"))?;
        if !system.topology.virtual_sites.is_empty() {
            return Err(Error::input("grains, but there are points that follow atoms"));
        }
    }
    if let Some(term) = &forces.vacuum {
        vacuum(system, term)?;
    }
    for wall in &forces.walls {
        if system.simbox.periodic()[wall.axis] {
            return Err(across_periodic(wall.axis));
        }
    }
    forces.reflecting_walls.iter().try_for_each(|wall| wall.check(system))?;
    let (topology, n) = (&system.topology, system.state.len());
    if !system.charges.is_empty() && system.charges.len() != n {
        return Err(Error::input(format!("there are {n} atoms and {} charges", system.charges.len())));
    }
    if topology.excluded.as_flattened().iter().any(|a| *a as usize >= n) {
        return Err(Error::input("an excluded pair is one of unknown atoms"));
    }
    sites(system)?;
    let bonds = topology.bonds.iter().map(|b| (b.kind, &b.atoms[..]));
    bound(system, &topology.bond_types, bonds, &forces.bonds)?;
    let angles = topology.angles.iter().map(|a| (a.kind, &a.atoms[..]));
    bound(system, &topology.angle_types, angles, &forces.angles)?;
    let dihedrals = topology.dihedrals.iter().map(|d| (d.kind, &d.atoms[..]));
    bound(system, &topology.dihedral_types, dihedrals, &forces.dihedrals)?;
    let wrong = |atoms: &[u32; 5]| atoms.iter().any(|a| *a as usize >= n);
    if topology.cross_terms.iter().any(|c| c.kind as usize >= forces.cmaps.len() || wrong(&c.atoms)) {
        return Err(Error::input("a pair of dihedrals is of no known map or atoms"));
    }
    Ok(forces.largest_cutoff())
}

/// Checks bonds, angles or dihedrals and their forces.
fn bound<'a, K: BondedKind>(
    system: &System,
    names: &[String],
    members: impl Iterator<Item = (u32, &'a [u32])>,
    terms: &[BondedTerm<K>],
) -> Result<()> {
    let what = K::WHAT;
    if let Some(term) = terms.iter().find(|term| term.n_types() != names.len()) {
        let (known, there) = (term.n_types(), names.len());
        let message = format!("{what} {} has {known} types, the system has {there}", term.kind.name());
        return Err(Error::input(message));
    }
    let n = system.state.len();
    for (kind, atoms) in members {
        let kind = kind as usize;
        if kind >= names.len() || atoms.iter().any(|a| *a as usize >= n) {
            return Err(Error::input(format!("the {what} of atoms {atoms:?} is of no known type or atoms")));
        }
        if !terms.iter().any(|term| term.parameters(kind).is_some()) {
            let name = &names[kind];
            return Err(Error::input(format!("nothing is said about {what}s of type \"{name}\""))
                .hint(format!("add a section [[{what}]] with types.{name} = {{ ... }}")));
        }
    }
    Ok(())
}

/// Checks that the atoms without mass are those that follow others.
fn sites(system: &System) -> Result<()> {
    if !system.topology.fits(system.state.len()) {
        return Err(Error::input("something binds atoms that are not there"));
    }
    let mut follows = vec![false; system.state.len()];
    for site in &system.topology.virtual_sites {
        if site.atoms.contains(&site.site) || std::mem::replace(&mut follows[site.site as usize], true) {
            let name = system.names.describe(site.site);
            return Err(Error::input(format!("{name} follows atoms twice, or itself")));
        }
    }
    let sites = &system.topology.virtual_sites;
    if let Some(site) = sites.iter().find(|v| v.atoms.iter().any(|atom| follows[*atom as usize])) {
        let name = system.names.describe(site.site);
        return Err(Error::input(format!("{name} follows a point that follows others itself"))
            .hint("let it follow these"));
    }
    for (index, id) in system.state.id.iter().enumerate() {
        let name = || system.names.describe(*id);
        match (follows[*id as usize], system.mass(index) == 0.0) {
            (true, false) => {
                let name = name();
                return Err(Error::input(format!("{name} follows other atoms and has a mass"))
                    .hint("a virtual site has none: give its mass to the atoms it follows"));
            }
            (false, true) => {
                let name = name();
                return Err(Error::input(format!("{name} has no mass and follows no other atoms"))
                    .hint("give it a mass, or make it a virtual site"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks forces without a cut-off.
fn vacuum(system: &System, term: &Vacuum) -> Result<()> {
    if system.simbox.periodic() != [false; 3] {
        return Err(Error::input("forces without a cut-off, but the box is periodic")
            .hint("set periodic = false in [system]"));
    }
    reach(system, term.lennard_jones.n_species(), 0.0)
}

/// Checks the number of species and the cut-off.
fn reach(system: &System, known: usize, cutoff: f64) -> Result<()> {
    if known != system.species.len() {
        let there = system.species.len();
        return Err(Error::input(format!("it has {known} species, the system has {there}")));
    }
    system.simbox.check_cutoff(cutoff)
}

/// Returns true where single precision can hold a coefficient.
fn in_range(precision: Precision, c: f64) -> bool {
    match precision {
        Precision::Mixed => (f64::from(c as f32) - c).abs() <= 1e-7 * c.abs(),
        Precision::Double => true,
    }
}

fn embedded(system: &System, term: &Embedded, precision: Precision) -> Result<()> {
    reach(system, term.n_species(), term.cutoff())?;
    let table = term.table();
    let finite = |x: &f64| (*x as f32).is_finite() || precision == Precision::Double;
    // Indices into the table are found by arithmetic on numbers of the precision.
    if table.len() > 1 << 24 || !table.iter().all(finite) {
        return Err(Error::input("its tables are beyond single precision")
            .hint("use tables with fewer knots, or set precision = \"double\""));
    }
    Ok(())
}

fn three_body(system: &System, term: &ThreeBody, precision: Precision) -> Result<()> {
    reach(system, term.n_species(), term.cutoff())?;
    // Indices into the table are found by arithmetic on numbers of the precision.
    let all = || term.pairs().iter().chain(term.triplets());
    if precision == Precision::Mixed && (all().count() > 1 << 24 || !all().all(|x| (*x as f32).is_finite())) {
        return Err(Error::input("its coefficients are beyond single precision")
            .hint("choose units in which sizes are nearer to 1, or set precision = \"double\""));
    }
    Ok(())
}

fn pair(system: &System, term: &PairTerm, precision: Precision) -> Result<()> {
    let (known, species) = (term.n_species(), &system.species);
    reach(system, known, term.largest_cutoff())?;
    if term.tail_correction() && system.simbox.periodic() != [true; 3] {
        return Err(Error::input("tail_correction = true, but the box is open along an axis")
            .hint("the tail of a fluid without end is meant; leave out tail_correction"));
    }
    if let Potential::Table(tables) = &term.potential
        && precision == Precision::Mixed
    {
        // The first row has no numbers. Indices are found by arithmetic on numbers of the precision.
        let mut numbers = tables.rows().flatten().filter(|x| !x.is_nan());
        if tables.rows().count() > 1 << 22 || numbers.any(|x| !(*x as f32).is_finite()) {
            return Err(Error::input("its numbers are beyond single precision")
                .hint("begin the table at a larger distance, or set precision = \"double\""));
        }
    }
    for a in 0..known {
        for b in a..known {
            let coefficients = term.coefficients(a, b).into_iter().flatten();
            if let Some(c) = coefficients.into_iter().find(|c| !in_range(precision, *c)) {
                return Err(Error::input(format!(
                    "pair {}-{}: a coefficient of {c:e} is outside the range of single precision",
                    species[a].name, species[b].name
                ))
                .hint("set precision = \"double\", or choose units in which sizes are nearer to 1"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PairKind, Truncation};
    use jostle_core::{SimBox, Species};

    fn system(periodic: bool) -> System {
        let simbox = SimBox::new([0.0; 3], [1e5; 3], [0.0; 3], [true, true, periodic]).unwrap();
        System::new(simbox, vec![Species { name: "A".into(), mass: 1.0, charge: 0.0 }])
    }

    fn lj(sigma: f64) -> PairTerm {
        PairTerm::uniform(PairKind::LennardJones, Truncation::Plain, &[1.0, sigma], 2.5 * sigma)
    }

    #[test]
    fn numbers_that_single_precision_cannot_hold_are_refused() {
        for sigma in [4e-4, 1e4] {
            let error = forces(&system(true), &lj(sigma).into(), Precision::Mixed).unwrap_err();
            assert!(error.message().contains("lennard-jones: pair A-A"), "{error}");
            assert!(error.help().unwrap().contains("double"), "{error}");
            assert_eq!(forces(&system(true), &lj(sigma).into(), Precision::Double).unwrap(), 2.5 * sigma);
        }
        for sigma in [2e-3, 1.0, 1e3] {
            forces(&system(true), &vec![lj(1.0), lj(sigma)].into(), Precision::Mixed).unwrap();
        }
    }

    #[test]
    fn tails_need_a_periodic_box() {
        let term = lj(1.0).with_tail_correction().unwrap();
        let term = Forces::from(term);
        forces(&system(true), &term, Precision::Mixed).unwrap();
        let error = forces(&system(false), &term, Precision::Mixed).unwrap_err();
        assert!(error.message().contains("open along an axis"), "{error}");
    }
}
