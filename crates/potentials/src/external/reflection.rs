//! Walls that reflect atoms elastically.

use super::{Side, WallMotion};
use jostle_core::{Error, Real, Result, System};
use serde::{Deserialize, Serialize};

/// A plane that reflects atoms elastically. It has neither a force nor an energy; one that moves does work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReflectingWall {
    /// The axis it is perpendicular to.
    pub axis: usize,
    /// Coordinate on this axis before it moves.
    pub begin: f64,
    /// Its motion.
    pub motion: WallMotion,
    /// Side of the atoms.
    pub side: Side,
}

/// Position and velocity along the axis of a wall, of an atom that has drifted, after its reflection. An atom behind the
/// wall, which has this place and velocity now, goes to its mirror image in front of it. If it moves towards the wall, its
/// velocity v becomes 2 V - v for a wall with velocity V. That is the exact path of free atoms that hit a wall at constant
/// velocity.
pub fn reflected<R: Real>([position, velocity]: [R; 2], [place, of_wall]: [R; 2], side: R) -> [R; 2] {
    let zero = R::lit(0.0);
    let is_behind = (side * (position - place)).lt(zero);
    let turned =
        R::select((side * (velocity - of_wall)).lt(zero), R::lit(2.0) * of_wall - velocity, velocity);
    [R::select(is_behind, R::lit(2.0) * place - position, position), R::select(is_behind, turned, velocity)]
}

impl ReflectingWall {
    /// Place and velocity along its axis at a time.
    pub fn at(&self, time: f64) -> [f64; 2] {
        let [displacement, velocity] = self.motion.at(time);
        [self.begin + displacement, velocity]
    }

    /// Refuses systems in which the wall has no place, or in which atoms do not move by themselves.
    ///
    /// # Errors
    /// If its axis is periodic, or there are constraints, rigid bodies or virtual sites.
    pub fn check(&self, system: &System) -> Result<()> {
        if system.simbox.periodic()[self.axis] {
            return Err(super::across_periodic(self.axis));
        }
        let topology = &system.topology;
        let held = [
            (topology.is_constrained(), "distances that constraints or rigid bodies keep"),
            (!topology.virtual_sites.is_empty(), "points that follow atoms"),
        ];
        match held.into_iter().find(|(are_there, _)| *are_there) {
            Some((_, what)) => {
                Err(Error::input(format!("a wall that reflects single atoms, but there are {what}"))
                    .hint("give the wall a force instead"))
            }
            None => Ok(()),
        }
    }

    /// Refuses atoms that begin behind the wall, but for those that are frozen or driven, which it does not reflect.
    ///
    /// # Errors
    /// If there is one; the error names it.
    pub fn check_beginning(&self, system: &System) -> Result<()> {
        let state = &system.state;
        let height = |index: usize| self.side.sign() * (state.position[index][self.axis] - self.begin);
        let is_behind = |index: &usize| height(*index) < 0.0 && system.driven(*index).is_none();
        let Some(index) = (0..state.len()).find(is_behind) else { return Ok(()) };
        let (axis, at, there) = (["x", "y", "z"][self.axis], self.begin, state.position[index][self.axis]);
        let name = system.names.describe(state.id[index]);
        let message = format!("{name} is behind the wall at {axis} = {at}: it is at {axis} = {there}");
        Err(Error::input(message).hint("atoms must begin on the wall's side: move the wall, or the atoms"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::random::{Purpose, Stream};

    /// A free atom that hits a wall at constant velocity: the path before the collision, and after it, from the moment at
    /// which both are at the same place.
    #[test]
    fn a_collision_is_exact() {
        let mut random = Stream::new(5, Purpose::Placement, 0, 0);
        let mut collisions = 0;
        for side in Side::ALL {
            for _ in 0..1000 {
                let [x, v, wall, speed] = std::array::from_fn(|_| 2.0 * random.uniform() - 1.0);
                let height = side.sign() * (x - wall);
                let approach = side.sign() * (v - speed);
                // Time of the collision, within a drift that is 1 long.
                let time = -height / approach;
                if height < 0.0 || !(0.0..1.0).contains(&time) {
                    continue;
                }
                collisions += 1;
                let after = 2.0 * speed - v;
                let exact = [x + v * time + after * (1.0 - time), after];
                let found = reflected([x + v, v], [wall + speed, speed], side.sign());
                assert!((0..2).all(|k| (found[k] - exact[k]).abs() < 1e-13), "{found:?} {exact:?}");
                assert!(side.sign() * (found[0] - wall - speed) >= 0.0, "{found:?}");
            }
        }
        assert!(collisions > 100, "{collisions}");
    }

    /// Atoms in front of a wall are left alone, and those behind it that move away from it keep their velocity.
    #[test]
    fn nothing_else_is_changed() {
        assert_eq!(reflected([3.0, -7.0], [2.5, 0.0], 1.0), [3.0, -7.0]);
        assert_eq!(reflected([2.0, 7.0], [2.5, 0.0], -1.0), [2.0, 7.0]);
        assert_eq!(reflected([2.0, 0.5], [2.5, 0.25], 1.0), [3.0, 0.5]);
        assert_eq!(reflected([2.0, 0.0], [2.5, 0.25], 1.0), [3.0, 0.5]);
        assert_eq!(reflected([2.0, -0.5], [2.5, 0.25], 1.0), [3.0, 1.0]);
        assert_eq!(reflected([3.0, 0.5], [2.5, -0.25], -1.0), [2.0, -1.0]);
    }
}
