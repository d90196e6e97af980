//! Motion between two evaluations of forces, as source of kernels: one text for all thermostats, made from their
//! lists of sub-steps ([`SubStep`]), so that no time step is written a second time.
//!
//! The lists are merged into one in which each is contained, and what not all of them have is done where a bit of
//! `DeviceData::step_kind` says so. Advantage: kernels serve every thermostat. Price: a test of a bit, the same for all
//! threads, at each such sub-step.
//!
//! A kernel makes the sub-steps of its atoms up to where lists of neighbours are needed. What is done there by kernels
//! of their own is not in the text: noise of pairs and friction of contacts (`mid_step.cuh`), and the sum of kinetic
//! energies. Velocities are scaled by what follows from that sum when forces are known, before the second half of the
//! kick; at the ends of steps by `thermostat_scale`.

use crate::codegen::SourceText;
use jostle_core::thermostat::{
    SubStep, ThermostatKind, VELOCITY_VERLET, around_forces, with_contact_friction,
};

/// Sub-steps of one kind of time step.
#[derive(Debug, Clone, PartialEq)]
struct StepParts {
    /// Drifts from an evaluation of forces to where lists of neighbours are needed.
    drifts: Vec<DriftPart>,
    /// Sub-steps from the next evaluation of forces to the end of the step.
    to_end: Vec<SubStep>,
}

/// A drift. Reflections and constraints follow each: where there are no walls that reflect, or a thermostat keeps no
/// constraints, there are none.
#[derive(Debug, Clone, PartialEq)]
struct DriftPart {
    /// Sub-steps before it.
    before: Vec<SubStep>,
    /// Length of it, in parts of a step.
    length: f64,
}

impl StepParts {
    fn of(step: &[SubStep]) -> Self {
        let (to_forces, after) = around_forces(step);
        let mut drifts = Vec::new();
        let mut before = Vec::new();
        for part in to_forces.iter().take_while(|part| **part != SubStep::UpdateNeighbors) {
            match part {
                SubStep::Drift(length) => {
                    drifts.push(DriftPart { before: std::mem::take(&mut before), length: *length });
                }
                SubStep::ScaleByKinetic | SubStep::Reflect(_) | SubStep::ConstrainPositions => {}
                _ => before.push(*part),
            }
        }
        let scaled = to_forces.iter().filter(|part| **part == SubStep::ScaleByKinetic);
        let at_once = after.iter().filter(|part| **part != SubStep::ScaleByKinetic);
        StepParts { drifts, to_end: scaled.chain(at_once).copied().collect() }
    }

    /// All kinds, one bit of `DeviceData::step_kind` each.
    fn all() -> Vec<Self> {
        let steps = ThermostatKind::ALL.iter().map(|kind| kind.step()).chain([VELOCITY_VERLET]);
        let mut all = Vec::new();
        for step in steps.flat_map(|step| [step.to_vec(), with_contact_friction(step)]) {
            let parts = Self::of(&step);
            if !all.contains(&parts) {
                all.push(parts);
            }
        }
        all
    }
}

/// The bit of `DeviceData::step_kind` for a time step; `None` for one that no thermostat makes.
pub fn kind_of(step: &[SubStep]) -> Option<u64> {
    let parts = StepParts::of(step);
    StepParts::all().iter().position(|other| *other == parts).map(|index| 1 << index)
}

/// A sub-step of the merged list, and the bits of the kinds of steps that have it.
#[derive(Debug, Clone)]
struct Merged {
    sub_step: SubStep,
    kinds: u64,
}

/// One list in which those of all kinds are contained. Long ones come first, so that the others find in it what they
/// have.
fn merge(lists: &[&[SubStep]]) -> Vec<Merged> {
    let mut order: Vec<usize> = (0..lists.len()).collect();
    order.sort_by_key(|kind| std::cmp::Reverse(lists[*kind].len()));
    let mut merged: Vec<Merged> = Vec::new();
    for kind in order {
        let mut next = 0;
        for sub_step in lists[kind] {
            match merged[next..].iter().position(|other| other.sub_step == *sub_step) {
                Some(further) => next += further,
                None => merged.insert(next, Merged { sub_step: *sub_step, kinds: 0 }),
            }
            merged[next].kinds |= 1 << kind;
            next += 1;
        }
    }
    merged
}

/// Call by which kernels make a sub-step; `None` for those that need lists of neighbours, which have kernels of their
/// own.
fn call(sub_step: SubStep) -> Option<&'static str> {
    match sub_step {
        SubStep::Kick => Some("atom.kick();"),
        SubStep::Noise => Some("atom.add_noise();"),
        SubStep::ScaleByState => Some("atom.scale_before_drift();"),
        SubStep::ScaleByKinetic => Some("atom.scale_after_drift();"),
        SubStep::ConstrainVelocities => Some("group.constrain_velocities();"),
        SubStep::Drift(_)
        | SubStep::Reflect(_)
        | SubStep::ConstrainPositions
        | SubStep::PairNoise
        | SubStep::ContactFriction
        | SubStep::UpdateNeighbors
        | SubStep::EvaluateForces => None,
    }
}

/// Text of functions that make sub-steps.
struct SubStepText {
    text: SourceText,
    kinds: Vec<StepParts>,
}

impl SubStepText {
    fn new() -> Self {
        SubStepText { text: SourceText::default(), kinds: StepParts::all() }
    }

    /// Condition under which some of the kinds of steps do something, if not all of them do.
    fn condition(&self, kinds: u64) -> String {
        let all = (1 << self.kinds.len()) - 1;
        if kinds == all { String::new() } else { format!("if (kind & {kinds:#x}) ") }
    }

    /// Bits of the kinds of steps for which something holds.
    fn kinds(&self, has: impl Fn(&StepParts) -> bool) -> u64 {
        self.kinds.iter().enumerate().filter(|(_, parts)| has(parts)).map(|(kind, _)| 1 << kind).sum()
    }

    /// A number that differs from kind to kind, of those that have it.
    fn choice(&self, of: impl Fn(&StepParts) -> Option<f64>) -> String {
        let mut numbers: Vec<f64> = self.kinds.iter().filter_map(&of).collect();
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        let last = numbers.pop().unwrap_or(0.0);
        numbers.iter().fold(format!("{last:?}"), |rest, number| {
            format!("kind & {:#x} ? {number:?} : {rest}", self.kinds(|parts| of(parts) == Some(*number)))
        })
    }

    /// A number of the drifts up to the one with number k, which differs from kind to kind; there are at most so many.
    fn choice_of_drifts(&self, most: usize, number: fn(&[DriftPart]) -> Option<f64>) -> String {
        let choice = |k: usize| self.choice(|parts| number(parts.drifts.get(..=k)?));
        let last = most.saturating_sub(1);
        (0..last).rev().fold(choice(last), |rest, k| format!("k == {k} ? ({}) : ({rest})", choice(k)))
    }

    /// Sub-steps in a row, each by the atoms or by the group.
    fn sub_steps(&mut self, depth: usize, merged: &[Merged]) {
        for Merged { sub_step, kinds } in merged {
            let Some(call) = call(*sub_step) else { continue };
            let condition = self.condition(*kinds);
            if call.starts_with("group") {
                self.text.line(depth, format!("{condition}{call}"));
            } else {
                let each = "group.each([&](typename Group::Atom& atom)";
                self.text.line(depth, format!("{condition}{each} {{ {call} }});"));
            }
        }
    }

    /// Sub-steps before a drift.
    fn before_drift(&mut self, depth: usize, k: usize) {
        let kinds = self.kinds.clone();
        let before = kinds.iter().map(|parts| parts.drifts.get(k).map_or(&[][..], |drift| &drift.before));
        self.sub_steps(depth, &merge(&before.collect::<Vec<_>>()));
    }

    /// From one evaluation of forces to the positions of the next. Drift and constraints, which are long, are written
    /// once, in a loop that a group unrolls where they are short for it.
    fn write_positions_part(&mut self) {
        let most = self.kinds.iter().map(|parts| parts.drifts.len()).max().unwrap_or(0);
        self.text.line(
            0,
            "template <class Group>\nDEVICE void make_sub_steps_to_positions(Group& group, u64 kind) {",
        );
        self.before_drift(1, 0);
        self.text.line(0, "#pragma unroll Group::DRIFTS_AT_ONCE");
        self.text.line(1, format!("for (int k = 0; k < {most}; k++) {{"));
        let later = (1..most)
            .map(|k| format!(" || (k == {k} && kind & {:#x})", self.kinds(|parts| parts.drifts.len() > k)));
        let made: String = later.collect();
        self.text.line(2, format!("if (k == 0{made}) {{"));
        for k in 1..most {
            self.text.line(3, format!("if (k == {k}) {{"));
            self.before_drift(4, k);
            self.text.line(3, "}");
        }
        let part = self.choice_of_drifts(most, |drifts| drifts.last().map(|drift| drift.length));
        let end = self.choice_of_drifts(most, |drifts| Some(drifts.iter().map(|drift| drift.length).sum()));
        self.text.line(3, format!("const double part = {part};"));
        self.text.line(3, "group.each([&](typename Group::Atom& atom) { atom.drift(part); });");
        self.text.line(3, format!("group.reflect({end});"));
        self.text.line(3, "group.constrain_positions(part);");
        self.text.line(2, "}");
        self.text.line(1, "}");
        self.text.line(0, "}\n");
    }

    /// From an evaluation of forces to the end of the step.
    fn write_end_part(&mut self) {
        let kinds = self.kinds.clone();
        let merged = merge(&kinds.iter().map(|parts| &parts.to_end[..]).collect::<Vec<_>>());
        let kick = merged.iter().position(|merged| merged.sub_step == SubStep::Kick).unwrap_or(0);
        let last_drift = self.choice(|parts| parts.drifts.last().map(|drift| drift.length));
        self.text
            .line(0, "template <class Group>\nDEVICE void make_sub_steps_to_end(Group& group, u64 kind) {");
        self.sub_steps(1, &merged[..kick]);
        self.text.line(1, format!("group.begin_closing_kick({last_drift});"));
        self.sub_steps(1, &merged[kick..]);
        self.text.line(0, "}\n");
    }
}

/// Source of the functions by which kernels make sub-steps: see `motion.cuh`.
pub fn source() -> String {
    let mut text = SubStepText::new();
    let noisy = text.kinds(|parts| parts.drifts.iter().any(|drift| drift.before.contains(&SubStep::Noise)));
    text.text.line(0, format!("DEVICE bool has_noise(u64 kind) {{ return kind & {noisy:#x}; }}\n"));
    text.write_positions_part();
    text.write_end_part();
    text.text.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::thermostat::with_reflection;

    /// The merged list without what others have is the own list of a kind of step.
    #[test]
    fn every_list_is_contained_in_the_merged_one() {
        let kinds = StepParts::all();
        let mut parts: Vec<fn(&StepParts) -> &[SubStep]> = vec![|kind| &kind.to_end];
        parts.push(|kind| kind.drifts.first().map_or(&[], |drift| &drift.before));
        parts.push(|kind| kind.drifts.get(1).map_or(&[], |drift| &drift.before));
        assert!(kinds.iter().all(|kind| kind.drifts.len() <= 2), "a third drift is to be tested, too");
        for part in parts {
            let lists: Vec<&[SubStep]> = kinds.iter().map(part).collect();
            let merged = merge(&lists);
            for (kind, list) in lists.iter().enumerate() {
                let own = merged.iter().filter(|merged| merged.kinds >> kind & 1 == 1);
                assert_eq!(own.map(|merged| merged.sub_step).collect::<Vec<_>>(), *list);
            }
        }
    }

    /// Nothing is left out in silence, and every thermostat has a bit of its step.
    #[test]
    fn every_sub_step_has_a_call() {
        let kinds = StepParts::all();
        for kind in &kinds {
            let before = kind.drifts.iter().flat_map(|drift| &drift.before);
            assert!(before.chain(&kind.to_end).all(|sub_step| call(*sub_step).is_some()), "{kind:?}");
        }
        for kind in ThermostatKind::ALL {
            let bit = kind_of(kind.step()).unwrap();
            assert_eq!(kinds[bit.trailing_zeros() as usize], StepParts::of(kind.step()), "{kind:?}");
            assert_eq!(kind_of(&with_reflection(kind.step())), Some(bit), "{kind:?}");
        }
        assert_eq!(kind_of(VELOCITY_VERLET).map(u64::count_ones), Some(1));
        assert_eq!(kind_of(&[SubStep::Drift(1.0)]), None);
    }

    /// The text has the noise between two drifts of half the step, and scales where a thermostat does.
    #[test]
    fn conditions_are_those_of_the_thermostats() {
        let text = source();
        let noisy = kind_of(ThermostatKind::Langevin.step()).unwrap();
        let noise = format!(
            "if (kind & {noisy:#x}) group.each([&](typename Group::Atom& atom) {{ atom.add_noise(); }});"
        );
        assert!(text.contains(&noise), "{text}");
        assert!(text.contains(&format!("(k == 1 && kind & {noisy:#x})")), "{text}");
        assert!(text.contains(&format!("has_noise(u64 kind) {{ return kind & {noisy:#x}; }}")), "{text}");
    }
}
