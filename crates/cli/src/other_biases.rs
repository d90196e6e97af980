//! Biases that act beside the one that a profile is made with, whose energies stay in the profile.

use jostle_analysis::{ResultWarning, Verdict};
use jostle_engine::INPUT;
use jostle_io::Input;
use jostle_io::input::model::{BiasAction, BiasInput, StageInput};
use jostle_show::{RunFiles, StageRows, ThermoTable};
use std::path::Path;

/// Name of the column with the energy of a bias.
pub fn energy_column(bias: &BiasInput) -> String {
    format!("bias_{}", bias.name)
}

/// Run that has written a file of a bias: NAME.hills, NAME.kernels or NAME.grad.
pub struct Author {
    pub input: Input,
    /// Its rows; none where there are no such.
    pub thermo: ThermoTable,
    /// Name of the bias.
    pub name: String,
}

impl Author {
    /// The run in whose folder a file is; `None` where it has no input with such a bias.
    pub fn of(path: &Path) -> Option<Self> {
        let (folder, name) = (path.parent()?, path.file_stem()?.to_str()?.to_string());
        let input = Input::read(&folder.join(INPUT)).ok()?;
        let thermo = RunFiles::read(folder).ok()?.thermo.unwrap_or_default();
        let author = Author { input, thermo, name };
        author.bias().is_some().then_some(author)
    }

    fn bias(&self) -> Option<&BiasInput> {
        self.input.biases.iter().map(|bias| &bias.value).find(|bias| bias.name == self.name)
    }

    /// Names of the variables that the bias acts on.
    pub fn variables(&self) -> Vec<&str> {
        let name = |number: &usize| self.input.variables[*number].value.name.value.as_str();
        self.bias().map_or(Vec::new(), |bias| bias.variables.iter().map(name).collect())
    }

    /// Stages in which the bias acts.
    pub fn stages(&self) -> Vec<&StageInput> {
        let (bias, stages) = (self.bias(), self.input.stages.iter().map(|stage| &stage.value));
        stages.filter(|stage| bias.is_some_and(|bias| bias.acts_in(stage))).collect()
    }

    /// Warning about hills that are those of one walker among others.
    pub fn warning_of_walkers(&self) -> Option<ResultWarning> {
        matches!(self.bias()?.action, BiasAction::Metadynamics(_, Some(_))).then(|| ResultWarning {
            verdict: Verdict::Doubtful,
            about: "free energy".into(),
            reason: "its hills are those of one walker, and the bias has those of all".into(),
            remedy: "give the folder that the walkers share".into(),
        })
    }

    /// Warning about biases that act beside it and stay in its profile, of those that `wanted` accepts.
    pub fn warning(&self, wanted: impl Fn(&BiasInput) -> bool) -> Option<ResultWarning> {
        let inside = beside((&self.input, &self.thermo), &self.stages(), &self.name, wanted);
        warning(&inside.iter().map(|bias| bias.name.as_str()).collect::<Vec<_>>())
    }
}

/// Biases that act in stages beside one of a name, of those that `wanted` accepts, whose energy is not zero in all rows:
/// a wall that nothing has reached is none of them.
pub fn beside<'a>(
    (input, thermo): (&'a Input, &ThermoTable),
    stages: &[&StageInput],
    name: &str,
    wanted: impl Fn(&BiasInput) -> bool,
) -> Vec<&'a BiasInput> {
    let is_zero = |bias: &BiasInput, rows: &StageRows| {
        let energies = thermo.quantity(&energy_column(bias)).map(|quantity| &rows.values[quantity]);
        energies.is_some_and(|energies| energies.iter().all(|energy| *energy == 0.0))
    };
    let is_wanted = |rows: &&StageRows| stages.iter().any(|stage| stage.name == rows.name);
    // Without rows an energy is not known to be zero.
    let without_rows = !thermo.stages.iter().any(|rows| is_wanted(&rows));
    let acts = |bias: &BiasInput| {
        stages.iter().any(|stage| bias.acts_in(stage))
            && (without_rows || thermo.stages.iter().filter(is_wanted).any(|rows| !is_zero(bias, rows)))
    };
    let others = input.biases.iter().map(|bias| &bias.value);
    others.filter(|bias| bias.name != name && wanted(bias) && acts(bias)).collect()
}

/// Warning that a profile is that of the system with biases; `None` without any.
pub fn warning(biases: &[&str]) -> Option<ResultWarning> {
    let names = biases.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    let (what, them) = match biases.len() {
        0 => return None,
        1 => ("bias", "it"),
        _ => ("biases", "them"),
    };
    Some(ResultWarning {
        verdict: Verdict::Doubtful,
        about: "free energy".into(),
        reason: format!("it is that of the system with {what} {names}"),
        remedy: format!(
            "run without {them}, or with umbrella windows or opes, whose profile is without {them}"
        ),
    })
}
