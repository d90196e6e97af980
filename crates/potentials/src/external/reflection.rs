//! Walls that reflect atoms elastically.

use super::{Side, WallMotion};
use jostle_core::{Error, Real, Result, System, Vec3};
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

/// Most reflections of an atom at each wall in one drift. An atom that is not between its walls after them is so fast, or
/// they are so close to each other, that the step has no meaning.
pub const MOST_TURNS: usize = 100;

/// Walls that reflect atoms, where they are at one time: axis, place and velocity, side.
pub struct PlacedWalls(Vec<(usize, [f64; 2], f64)>);

impl PlacedWalls {
    /// The walls at a time.
    pub fn new(walls: &[ReflectingWall], time: f64) -> Self {
        PlacedWalls(walls.iter().map(|wall| (wall.axis, wall.at(time), wall.side.sign())).collect())
    }

    /// Reflects an atom that has drifted, until it is in front of all walls: its mirror image may lie behind another one.
    /// The first wall that it hits is the one behind which it is, so that its path is exact again. Returns false where
    /// [`MOST_TURNS`] did not suffice.
    pub fn reflect(&self, position: &mut Vec3, velocity: &mut Vec3) -> bool {
        for _ in 0..MOST_TURNS {
            let mut is_turned = false;
            for (axis, now, side) in &self.0 {
                let before = position[*axis];
                [position[*axis], velocity[*axis]] = reflected([before, velocity[*axis]], *now, *side);
                // A number that is not finite is no turn: it is found, and named, after the step.
                is_turned |= (position[*axis] - before).abs() > 0.0;
            }
            if !is_turned {
                return true;
            }
        }
        false
    }
}

/// Error about an atom that is not between walls after [`MOST_TURNS`].
pub fn outside_walls(walls: &[ReflectingWall], atom: &str) -> Error {
    let all: Vec<String> = facing(walls).map(|[floor, lid]| floor.and(lid)).collect();
    let message =
        format!("{atom} is not between walls after {MOST_TURNS} reflections in one step: {}", all.join("; "));
    Error::simulation(message).hint("shorten the time step; walls that move must not pass through each other")
}

/// Pairs of walls on one axis that have atoms between them, the one below first.
fn facing(walls: &[ReflectingWall]) -> impl Iterator<Item = [&ReflectingWall; 2]> {
    let of = |side| walls.iter().filter(move |wall| wall.side == side);
    of(Side::Above).flat_map(move |floor| {
        of(Side::Below).filter(move |lid| lid.axis == floor.axis).map(move |lid| [floor, lid])
    })
}

/// Most times at which the distance of two walls is looked at.
const MOST_TIMES: f64 = 1e5;

/// Refuses walls that pass through each other before an end: nothing has room between them. Walls that are together for
/// less than 1/100,000 of that time may stay unknown.
///
/// # Errors
/// If there are such; the error names them and the time.
pub fn check_meeting(walls: &[ReflectingWall], end: f64) -> Result<()> {
    for [floor, lid] in facing(walls) {
        let fastest = floor.motion.fastest() + lid.motion.fastest();
        let mut time = 0.0;
        while fastest > 0.0 && time < end {
            let apart = lid.at(time)[0] - floor.at(time)[0];
            if apart <= 0.0 {
                let message = format!("at time {time:.6} nothing has room between {}", floor.and(lid));
                return Err(Error::input(message).hint("end their motion before: motion = { ..., to = ... }"));
            }
            // Until then they cannot be at one place.
            time += (apart / fastest).max(end / MOST_TIMES);
        }
    }
    Ok(())
}

impl ReflectingWall {
    /// Names of this wall and another one on its axis.
    fn and(&self, other: &ReflectingWall) -> String {
        let axis = ["x", "y", "z"][self.axis];
        format!("the walls that began at {axis} = {} and {axis} = {}", self.begin, other.begin)
    }

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

    /// Drifts over many heights between two walls: atoms that these turn again and again are where a triangle wave has
    /// them, or a path from collision to collision where a wall moves.
    #[test]
    fn long_drifts_end_between_walls() {
        let mut random = Stream::new(6, Purpose::Placement, 0, 0);
        let wall = |begin, side, velocity| ReflectingWall {
            axis: 2,
            begin,
            motion: WallMotion { velocity, ..WallMotion::REST },
            side,
        };
        for lid in [0.0, 0.25, -0.25] {
            let walls = [wall(0.0, Side::Above, 0.0), wall(1.0, Side::Below, lid)];
            let placed = PlacedWalls::new(&walls, 1.0);
            for _ in 0..1000 {
                let (begin, speed) = (random.uniform(), 40.0 * (random.uniform() - 0.5));
                let (mut position, mut velocity) = (Vec3::ZERO, Vec3::ZERO);
                [position[2], velocity[2]] = [begin + speed, speed];
                assert!(placed.reflect(&mut position, &mut velocity));
                let (mut x, mut v, mut time) = (begin, speed, 0.0);
                loop {
                    let to_floor = if v < 0.0 { -x / v } else { f64::MAX };
                    let to_lid = if v > lid { (1.0 + lid * time - x) / (v - lid) } else { f64::MAX };
                    let next = to_floor.min(to_lid).min(1.0 - time);
                    (x, time) = (x + v * next, time + next);
                    match () {
                        () if next < to_floor.min(to_lid) => break,
                        () if to_floor < to_lid => v = -v,
                        () => v = 2.0 * lid - v,
                    }
                }
                assert!((position[2] - x).abs() < 1e-11, "{position:?} {x}");
                assert!((velocity[2] - v).abs() < 1e-11, "{velocity:?} {v}");
            }
        }
        let walls = PlacedWalls::new(&[wall(0.0, Side::Above, 0.0), wall(1.0, Side::Below, 0.0)], 0.0);
        assert!(walls.reflect(&mut Vec3::from([f64::NAN; 3]), &mut Vec3::from([0.0; 3])));
        // A mirror image in front of the walls does not exist where they have passed each other, and hardly where an
        // atom passes them a hundred times in a step.
        for (places, start) in [([1.0, 0.0], 0.5), ([0.0, 1.0], 1000.3)] {
            let walls = [wall(places[0], Side::Above, 0.0), wall(places[1], Side::Below, 0.0)];
            let (mut position, mut velocity) = (Vec3::from([0.0, 0.0, start]), Vec3::ZERO);
            assert!(!PlacedWalls::new(&walls, 0.0).reflect(&mut position, &mut velocity));
            let said = outside_walls(&walls, "A 7");
            assert!(said.message().contains("A 7") && said.message().contains("z = 1"), "{said}");
        }
    }

    /// Walls that pass through each other are known before.
    #[test]
    fn meetings_of_walls_are_foreseen() {
        let wall = |axis, begin, side, motion| ReflectingWall { axis, begin, motion, side };
        let sinking = WallMotion { velocity: -0.5, ..WallMotion::REST };
        let held = WallMotion { to: 3.9, ..sinking };
        let shaking = WallMotion { amplitude: 1.2, period: 0.01, ..WallMotion::REST };
        let floor = wall(2, 0.0, Side::Above, WallMotion::REST);
        for (other, end, met) in [
            (wall(2, 2.0, Side::Below, sinking), 10.0, true),
            (wall(2, 2.0, Side::Below, sinking), 3.9, false),
            (wall(2, 2.0, Side::Below, held), 1e9, false),
            (wall(1, 2.0, Side::Below, sinking), 10.0, false),
            (wall(2, 2.0, Side::Above, sinking), 10.0, false),
            (wall(2, 1.1, Side::Below, shaking), 1.0, true),
            (wall(2, 1.3, Side::Below, shaking), 1e6, false),
        ] {
            assert_eq!(check_meeting(&[floor, other], end).is_err(), met, "{other:?} {end}");
        }
        let error = check_meeting(&[floor, wall(2, 2.0, Side::Below, sinking)], 10.0).unwrap_err();
        assert!(error.message().contains("at time 4.0000") && error.help().is_some(), "{error}");
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
