//! Virtual sites of OpenMM's files.

use super::OpenmmReader;
use jostle_core::{Arms, LocalFrame, Result, SiteRule};
use roxmltree::Node;

impl OpenmmReader<'_, '_> {
    pub(super) fn virtual_site(&mut self, site: u32, node: Node) -> Result<()> {
        let file = self.file;
        let (atoms, rule) = match node.tag_name().name() {
            "TwoParticleAverageSite" => {
                let [a, b] = file.atoms(node, ["p1", "p2"])?;
                let weights = [file.number(node, "w1")?, file.number(node, "w2")?, 0.0];
                ([a, b, b], SiteRule::Average(weights))
            }
            "ThreeParticleAverageSite" => {
                let weights = [file.number(node, "w1")?, file.number(node, "w2")?, file.number(node, "w3")?];
                (file.atoms(node, ["p1", "p2", "p3"])?, SiteRule::Average(weights))
            }
            "OutOfPlaneSite" => {
                let weights =
                    [file.number(node, "w12")?, file.number(node, "w13")?, file.number(node, "wc")?];
                (file.atoms(node, ["p1", "p2", "p3"])?, SiteRule::OutOfPlane(weights))
            }
            "LocalCoordinatesSite" => self.local_frame(node)?,
            other => return Err(file.error(node, format!("a particle has an unknown virtual site, {other}"))),
        };
        self.assembly.virtual_site(site, atoms, rule).map_err(|e| self.at(node, e))
    }

    /// The atoms and the axes of a site in local coordinates.
    fn local_frame(&self, node: Node) -> Result<([u32; 3], SiteRule)> {
        let file = self.file;
        let atoms = match (node.attribute("p3"), node.attribute("p4")) {
            (None, _) => file.atoms(node, ["p1", "p2"]).map(|[a, b]| [a, b, b])?,
            (Some(_), None) => file.atoms(node, ["p1", "p2", "p3"])?,
            (Some(_), Some(_)) => {
                let message = "a virtual site in local coordinates of more than three atoms";
                return Err(file.error(node, message).hint("two and three are read"));
            }
        };
        // Arms from the first atom to the others, as far as the weights, one for each atom, leave them.
        let three = node.has_attribute("p3");
        let weights = |name: &str, wanted: f64| {
            let of = |k: usize| file.number(node, &format!("{name}{k}"));
            let [a, b, c] = [of(1)?, of(2)?, if three { of(3)? } else { 0.0 }];
            let sum = a + b + c;
            if (sum - wanted).abs() <= 1e-6 {
                return Ok([b, c]);
            }
            Err(file.error(
                node,
                format!("the weights {name} of a virtual site add up to {sum}, not to {wanted}"),
            ))
        };
        let (origin, x, y) = (weights("wo", 1.0)?, weights("wx", 0.0)?, weights("wy", 0.0)?);
        let place = [file.number(node, "pos1")?, file.number(node, "pos2")?, file.number(node, "pos3")?];
        Ok((atoms, SiteRule::Frame(LocalFrame { arms: Arms::AsLong, origin, x, y, place })))
    }
}
