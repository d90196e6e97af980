//! Chemical elements: by their masses, for files that give no names; which names are symbols.

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

/// All symbols.
const SYMBOLS: &str = "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As \
    Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm \
    Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db \
    Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og";

/// The symbol of the element with this number of protons; `X`, as ASE has it, for none.
pub(crate) fn symbol(number: u64) -> Option<&'static str> {
    match number.checked_sub(1) {
        None => Some("X"),
        Some(before) => SYMBOLS.split_ascii_whitespace().nth(usize::try_from(before).ok()?),
    }
}

/// The number of protons of the element with this symbol.
pub(super) fn number(symbol: &str) -> Option<usize> {
    SYMBOLS.split_ascii_whitespace().position(|known| known == symbol).map(|before| before + 1)
}

/// Returns true for the symbol of an element.
pub(crate) fn is_symbol(name: &str) -> bool {
    SYMBOLS.split(' ').any(|symbol| symbol == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_those_of_118_elements() {
        assert_eq!(SYMBOLS.split(' ').collect::<std::collections::HashSet<_>>().len(), 118);
        assert!(ELEMENTS.iter().all(|(symbol, _)| is_symbol(symbol)));
        let numbered = [0, 1, 18, 36, 118, 119].map(symbol);
        assert_eq!(numbered, [Some("X"), Some("H"), Some("Ar"), Some("Kr"), Some("Og"), None]);
        assert_eq!(["H", "Og", "X"].map(number), [Some(1), Some(118), None]);
        assert!(is_symbol("Kr") && !is_symbol("A") && !is_symbol("kr") && !is_symbol(""));
    }
}
