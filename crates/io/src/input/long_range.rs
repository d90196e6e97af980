//! `long_range_every = 2` of a stage: long-range forces that act at some steps only.

use super::fields::{Fields, entry_span};
use super::model::{Action, Source, StageInput};
use jostle_core::{Error, Result};

/// Why the long-range forces of a stage cannot act as it says.
struct Misfit {
    /// The key at fault.
    key: &'static str,
    message: String,
    hint: String,
}

impl StageInput {
    /// Refuses long-range forces that act at some steps only where there are none, or where a stage
    /// samples other steps: velocities there are not those of the forces at that time.
    ///
    /// # Errors
    /// Names the keys that do not go together.
    pub fn check_long_range(&self, has_reciprocal_sum: bool) -> Result<()> {
        self.misfit(has_reciprocal_sum)
            .map_or(Ok(()), |Misfit { message, hint, .. }| Err(Error::input(message).hint(hint)))
    }

    fn misfit(&self, has_reciprocal_sum: bool) -> Option<Misfit> {
        const KEY: &str = "long_range_every";
        let every = self.long_range_every;
        if every == 1 {
            return None;
        }
        let misfit = |key, message: String, hint: String| Some(Misfit { key, message, hint });
        let Action::Dynamics { steps, .. } = self.action else {
            return misfit(
                KEY,
                format!("{KEY} = {every}, but a minimisation makes no time steps"),
                "leave it out".into(),
            );
        };
        if every == 0 {
            return misfit(
                KEY,
                format!("{KEY} = 0, but long-range forces must act at some steps"),
                "1: at all of them".into(),
            );
        }
        if !has_reciprocal_sum {
            let message = format!("{KEY} = {every}, but there is no reciprocal-space sum of charges");
            return misfit(KEY, message, "leave it out, or choose kind = \"pme\" in [electrostatics]".into());
        }
        let trajectory = self.trajectory.map_or(0, |t| t.every);
        let barostat = self.barostat.map_or(0, |b| b.every());
        let looks = [
            ("steps", "steps", steps),
            ("thermo", "thermo: every", self.thermo_every),
            ("thermo", "thermo: sample_every", self.samples_every()),
            ("trajectory", "trajectory: every", trajectory),
            ("barostat", "barostat: every", barostat),
        ];
        let measures = self.measures.iter().map(|m| ("measure", "measure: every", m.value.every));
        let (key, name, value) =
            looks.into_iter().chain(measures).find(|(.., n)| !n.is_multiple_of(every))?;
        let message = format!("{name} = {value} is no multiple of {KEY} = {every}");
        let near = (value / every).max(1) * every;
        misfit(
            key,
            message,
            format!("for example {near}: whoever looks, looks at steps at which long-range forces act"),
        )
    }
}

/// Checks the interval of long-range forces of a stage in an input.
pub(super) fn check_long_range(
    source: &Source,
    fields: &Fields,
    stage: &StageInput,
    has_reciprocal_sum: bool,
) -> Result<()> {
    match stage.misfit(has_reciprocal_sum) {
        None => Ok(()),
        Some(Misfit { key, message, hint }) => {
            Err(source.error(&entry_span(fields, key), message).hint(hint))
        }
    }
}
