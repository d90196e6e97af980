//! Chemical elements by their masses, for files that give no names.

/// Symbols and masses in g/mol: those of the standard atomic weights (IUPAC 2021), abridged.
const ELEMENTS: [(&str, f64); 37] = [
    ("H", 1.008),
    ("He", 4.0026),
    ("Li", 6.94),
    ("B", 10.81),
    ("C", 12.011),
    ("N", 14.007),
    ("O", 15.999),
    ("F", 18.998),
    ("Ne", 20.180),
    ("Na", 22.990),
    ("Mg", 24.305),
    ("Al", 26.982),
    ("Si", 28.085),
    ("P", 30.974),
    ("S", 32.06),
    ("Cl", 35.45),
    ("Ar", 39.95),
    ("K", 39.098),
    ("Ca", 40.078),
    ("Ti", 47.867),
    ("Mn", 54.938),
    ("Fe", 55.845),
    ("Co", 58.933),
    ("Ni", 58.693),
    ("Cu", 63.546),
    ("Zn", 65.38),
    ("Se", 78.971),
    ("Br", 79.904),
    ("Rb", 85.468),
    ("Sr", 87.62),
    ("Ag", 107.87),
    ("Cd", 112.41),
    ("I", 126.90),
    ("Cs", 132.91),
    ("Ba", 137.33),
    ("Pt", 195.08),
    ("Hg", 200.59),
];

/// The element with about this mass; `None` where none is within 0.1 g/mol, as with hydrogens that
/// were made heavier.
pub(super) fn by_mass(mass: f64) -> Option<&'static str> {
    let nearest = ELEMENTS.iter().min_by(|a, b| (a.1 - mass).abs().total_cmp(&(b.1 - mass).abs()))?;
    ((nearest.1 - mass).abs() < 0.1).then_some(nearest.0)
}
