//! Positions of atoms in the box and along their unwrapped trajectories.

use jostle_core::{SimBox, State, Vec3};

/// The position of an atom in the box.
pub(crate) fn wrapped_position(simbox: &SimBox, state: &State, index: usize) -> Vec3 {
    let position = state.position[index];
    // Most atoms are inside; rounding down is a call of a function on old processors.
    let inside = simbox.to_fractional(position).iter().all(|s| (0.0..1.0).contains(s));
    if inside { position } else { wrapped_with_image(simbox, state, index).0 }
}

/// The position of an atom in the box, and the number of boxes it has crossed along each axis.
pub(crate) fn wrapped_with_image(simbox: &SimBox, state: &State, index: usize) -> (Vec3, [i32; 3]) {
    let (mut position, mut image) = (state.position[index], state.image[index]);
    simbox.wrap(&mut position, &mut image);
    (position, image)
}

/// The position of an atom that has never been wrapped into the box.
pub(crate) fn unwrapped_position(simbox: &SimBox, state: &State, index: usize) -> Vec3 {
    let (position, shift) = (state.position[index], simbox.shift(state.image[index]));
    [0, 1, 2].map(|k| position[k] + shift[k])
}
