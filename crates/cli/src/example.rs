//! The example inputs, built into the program: templates for `jostle new`, systems for `jostle bench`.

/// An input file of the folder `examples/`.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// Its name, without `.toml`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! examples {
    ($($constant:ident = $name:literal;)*) => {
        $(#[allow(missing_docs)] pub const $constant: Example = Example {
            name: $name,
            text: include_str!(concat!("../../../examples/", $name, ".toml")),
        };)*

        /// All of them, the simplest first.
        pub const ALL: &[Example] = &[$($constant,)*];
    };
}

examples! {
    ARGON = "argon";
    LENNARD_JONES_RAPAPORT = "lennard-jones-rapaport";
    SOFT_SPHERES = "soft-spheres";
    MELT = "melt";
    KOB_ANDERSEN = "kob-andersen";
    YUKAWA = "yukawa";
}
