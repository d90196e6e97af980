//! The course of stages in words: which restraints act in each, and what changes linearly in it.

use super::model::{Input, StageInput};
use super::schema::STIFFNESS;
use jostle_core::Dimension;
use jostle_core::quantity::unit_name;

impl Input {
    /// Temperatures of each stage where they change, and restraints that act in it: empty without restraints
    /// and where nothing changes.
    pub fn courses(&self) -> Vec<(&str, String)> {
        let describe = |stage: &StageInput| -> String {
            let temperatures = stage.temperatures().filter(|[first, last]| first != last);
            let temperature = temperatures.map(|ends| self.ramp("temperature", ends, Dimension::TEMPERATURE));
            let restraints = (!self.restraints.is_empty()).then(|| self.acting(stage));
            temperature.into_iter().chain(restraints).collect::<Vec<_>>().join("; ")
        };
        let courses = self.stages.iter().map(|stage| (stage.value.name.as_str(), describe(&stage.value)));
        courses.filter(|(_, course)| !course.is_empty()).collect()
    }

    fn acting(&self, stage: &StageInput) -> String {
        let one = |(number, restraint): (usize, &super::model::RestraintInput)| {
            let stiffness = stage.restraints.as_ref().and_then(|s| s.get(number).copied());
            let ends = stiffness.unwrap_or([restraint.stiffness; 2]);
            let name = restraint.name.clone().unwrap_or_else(|| format!("number {}", number + 1));
            (ends != [0.0; 2]).then(|| self.ramp(&name, ends, STIFFNESS[0]))
        };
        let restraints = self.restraints.iter().map(|restraint| &restraint.value).enumerate();
        let acting: Vec<String> = restraints.filter_map(one).collect();
        if acting.is_empty() { "no restraints".into() } else { format!("restraints {}", acting.join(", ")) }
    }

    /// `name 10 to 300 K`
    fn ramp(&self, name: &str, [first, last]: [f64; 2], dimension: Dimension) -> String {
        let number = |x: f64| {
            // Enough digits to recognise it.
            let rounded = format!("{:.7e}", x / self.units.bare(dimension)).parse().unwrap_or(x);
            format!("{rounded}")
        };
        let to = if first == last { String::new() } else { format!(" to {}", number(last)) };
        format!("{name} {}{to} {}", number(first), unit_name(self.units, dimension)).trim_end().into()
    }
}
