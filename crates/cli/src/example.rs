//! The example inputs, built into the program: templates for `jostle new`, systems for `jostle bench`.

use jostle_core::Result;
use jostle_io::Input;
use std::path::Path;

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
        $(#[doc = concat!("`examples/", $name, ".toml`")]
        pub const $constant: Example = Example {
            name: $name,
            text: include_str!(concat!("../../../examples/", $name, ".toml")),
        };)*

        /// All examples, the simplest first.
        pub const ALL: &[Example] = &[$($constant,)*];
    };
}

examples! {
    ARGON = "argon";
    HEAT = "heat";
    LENNARD_JONES_RAPAPORT = "lennard-jones-rapaport";
    SOFT_SPHERES = "soft-spheres";
    MELT = "melt";
    KOB_ANDERSEN = "kob-andersen";
    YUKAWA = "yukawa";
    CARBON_OXYGEN = "carbon-oxygen";
    OXYGEN_NEON_CARBON = "oxygen-neon-carbon";
    CRUST = "crust";
    PASTA = "pasta";
    COPPER = "copper";
    SILICON = "silicon";
    LIQUID_IRON = "liquid-iron";
    KREMER_GREST = "kremer-grest";
    DPD = "dpd";
    FORMULA = "formula";
    MOLTEN_SALT = "molten-salt";
    WATER = "water";
    TIP4P_2005 = "tip4p-2005";
    EQUILIBRATION = "equilibration";
    NANOPARTICLE = "nanoparticle";
    PULLING = "pulling";
    CHEMICAL_POTENTIAL = "chemical-potential";
    SEDIMENT = "sediment";
    GRAINS = "grains";
}

impl Example {
    /// Its title, as it stands in the text.
    pub fn title(&self) -> &'static str {
        let line = self.text.lines().find_map(|line| line.strip_prefix("title = "));
        line.unwrap_or_default().trim_matches('"')
    }

    /// The example, parsed.
    ///
    /// # Errors
    /// None, as long as the tests pass: every example is checked by them.
    pub fn input(&self) -> Result<Input> {
        Input::parse(Path::new(&format!("{}.toml", self.name)), self.text)
    }
}
