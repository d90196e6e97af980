//! Elements and attributes that OpenMM's files have and Jostle reads, or that change no energy: others are refused.

use super::file::{ForceFieldFile, items};
use jostle_core::Result;
use roxmltree::Node;

/// Names of elements and of attributes.
type Contents = [&'static [&'static str]; 2];

const SYSTEM: Contents =
    [&["PeriodicBoxVectors", "Particles", "Constraints", "Forces"], &["type", "version", "openmmVersion"]];

/// Attributes that all forces have.
const OF_ALL: [&str; 4] = ["type", "name", "version", "forceGroup"];

/// Contents of a force of a known kind.
fn of_force(kind: &str) -> Option<Contents> {
    Some(match kind {
        "HarmonicBondForce" => [&["Bonds"], &["usesPeriodic"]],
        "HarmonicAngleForce" => [&["Angles"], &["usesPeriodic"]],
        "PeriodicTorsionForce" | "RBTorsionForce" => [&["Torsions"], &["usesPeriodic"]],
        "CMAPTorsionForce" => [&["Maps", "Torsions"], &["usesPeriodic"]],
        "CustomTorsionForce" => [
            &["PerTorsionParameters", "GlobalParameters", "EnergyParameterDerivatives", "Torsions"],
            &["energy", "usesPeriodic"],
        ],
        "CustomBondForce" => [
            &["PerBondParameters", "GlobalParameters", "EnergyParameterDerivatives", "Bonds"],
            &["energy", "usesPeriodic"],
        ],
        "CustomNonbondedForce" => [
            &[
                "PerParticleParameters",
                "GlobalParameters",
                "ComputedValues",
                "EnergyParameterDerivatives",
                "Particles",
                "Exclusions",
                "Functions",
                "InteractionGroups",
            ],
            &[
                "energy",
                "method",
                "cutoff",
                "useSwitchingFunction",
                "switchingDistance",
                "useLongRangeCorrection",
            ],
        ],
        "NonbondedForce" => [
            &["GlobalParameters", "ParticleOffsets", "ExceptionOffsets", "Particles", "Exceptions"],
            &[
                "method",
                "cutoff",
                "useSwitchingFunction",
                "switchingDistance",
                "dispersionCorrection",
                "rfDielectric",
                "exceptionsUsePeriodic",
                "includeDirectSpace",
                "recipForceGroup",
                "ewaldTolerance",
                "alpha",
                "nx",
                "ny",
                "nz",
                "ljAlpha",
                "ljnx",
                "ljny",
                "ljnz",
            ],
        ],
        "CMMotionRemover" => [&[], &["frequency"]],
        _ => return None,
    })
}

impl ForceFieldFile<'_, '_> {
    pub(super) fn check_system(&self, system: Node) -> Result<()> {
        self.check(system, "System", SYSTEM)
    }

    /// Refuses what a force of a known kind has besides the forces that are read.
    pub(super) fn check_force(&self, force: Node, kind: &str) -> Result<()> {
        let Some(contents) = of_force(kind) else { return Ok(()) };
        self.check(force, kind, contents)?;
        for list in ["ParticleOffsets", "ExceptionOffsets"] {
            if let Some(offset) = items(force, list).next() {
                return Err(self.error(offset, "charges that depend on a global parameter are not read"));
            }
        }
        if let Some(group) = items(force, "InteractionGroups").next() {
            let message = format!("this {kind} acts between two groups of atoms alone, which is not read");
            return Err(self.error(group, message).hint("forces between pairs are those of all atoms"));
        }
        if force.attribute("includeDirectSpace").is_some_and(|included| included == "0") {
            return Err(self
                .error(force, format!("this {kind} leaves out the sum in direct space, which is not read"))
                .hint("take a System with setIncludeDirectSpace(True)"));
        }
        Ok(())
    }

    fn check(&self, node: Node, what: &str, [elements, attributes]: Contents) -> Result<()> {
        let unknown = |found: &str, known: &[&str]| !known.contains(&found);
        let mut children = node.children().filter(Node::is_element);
        if let Some(child) = children.find(|child| unknown(child.tag_name().name(), elements)) {
            let message = format!("Jostle does not know {} of a {what}", child.tag_name().name());
            return Err(self.error(child, message));
        }
        let mut names = node.attributes().map(|attribute| attribute.name());
        match names.find(|name| unknown(name, attributes) && unknown(name, &OF_ALL)) {
            Some(name) => Err(self.error(node, format!("Jostle does not know \"{name}\" of a {what}"))),
            None => Ok(()),
        }
    }
}
