//! Source of the kernels for biases: formulas of `jostle_sampling`, recorded.

use super::data::{
    self, BiasData, BiasGroup, BiasMember, BiasPartner, BiasSpan, BiasState, BiasTerm, BiasVariable,
    Functions, formulas, pair_counts,
};
use crate::codegen::{Recorder, scalar_function};
use crate::kernels::{self, Build};
use crate::shared::SharedStructure;
use crate::sums::Summation;
use jostle_core::backend::{CenterBiases, CenterFunction};
use jostle_core::{Precision, Real, Result};
use jostle_sampling::bias::{
    advance_particle, between, density_kernel, hill_along, hill_energy, linear, merged_kernel, new_kernel,
    opes_energy, reflected, sample_weight, slopes_in_cell, spring, square_in_widths, switching_work,
    taken_off, tempering, thermal_velocity, wall,
};
use jostle_sampling::grid::interpolate;
use jostle_sampling::rotation::{jacobi_rotation, quaternion_matrix, turn_of};
use jostle_sampling::variable::{count_of_pair, of_vectors};
use jostle_sampling::with_slopes;

/// Skeletons of the kernels.
const KERNELS: &str = concat!(
    include_str!("../../kernels/bias_variables.cuh"),
    include_str!("../../kernels/bias_terms.cuh"),
    include_str!("../../kernels/bias_densities.cuh"),
    include_str!("../../kernels/bias_particles.cuh"),
    include_str!("../../kernels/bias.cu")
);

/// Angle of a point in the plane, which generated functions call.
const ANGLE: &str = "DEVICE double angle_of(double x, double y) { return atan2(y, x); }\n";

/// Source and options for the variables and biases of a run.
///
/// # Errors
/// If a formula cannot be read.
pub fn build(
    biases: &CenterBiases,
    functions: Functions,
    precision: Precision,
    sums: Summation,
) -> Result<Build> {
    let structures = [
        data::constants(biases, functions),
        BiasMember::source(),
        BiasPartner::source(),
        BiasGroup::source(),
        BiasVariable::source(),
        BiasTerm::source(),
        BiasSpan::source(),
        BiasState::source(),
        BiasData::source(),
    ];
    let physics = [
        &structures.join("\n"),
        ANGLE,
        &of_variables(),
        &of_biases(),
        &of_pairs(biases),
        &of_formulas(biases)?,
    ]
    .concat();
    let mut build = kernels::module_source(&physics, KERNELS, precision, sums);
    build.options.push(format!("-DBIAS_THREADS={}", threads(biases, functions)));
    Ok(build)
}

/// Threads of the block that evaluates everything: few find room sooner beside pair forces, where none are needed to
/// share the members of a group or the kernels of a density.
pub fn threads(biases: &CenterBiases, functions: Functions) -> u32 {
    if functions.are_shared(biases) { 256 } else { 64 }
}

/// Functions of vectors between centres.
fn of_variables() -> String {
    let one = |name: &str, vectors: usize, function: CenterFunction| {
        scalar_function(name, 3 * vectors, |x| of_vectors(&function, x).unwrap_or_default())
    };
    [
        one("part_whole", 1, CenterFunction::Distance),
        one("part_along_x", 1, CenterFunction::DistanceAlong(0)),
        one("part_along_y", 1, CenterFunction::DistanceAlong(1)),
        one("part_along_z", 1, CenterFunction::DistanceAlong(2)),
        one("part_in_plane_xy", 1, CenterFunction::DistanceInPlane([0, 1])),
        one("part_in_plane_xz", 1, CenterFunction::DistanceInPlane([0, 2])),
        one("part_in_plane_yz", 1, CenterFunction::DistanceInPlane([1, 2])),
        one("between_vectors", 2, CenterFunction::Angle),
        one("turn", 3, CenterFunction::Dihedral),
        scalar_function("quaternion_matrix", 9, |x| {
            let sums = [0, 1, 2].map(|a| [0, 1, 2].map(|b| x[3 * a + b]));
            quaternion_matrix(sums).concat()
        }),
        scalar_function("jacobi_rotation", 3, |x| jacobi_rotation([x[0], x[1], x[2]]).to_vec()),
        scalar_function("turn_of", 4, |x| turn_of([x[0], x[1], x[2], x[3]]).to_vec()),
    ]
    .concat()
}

/// Functions of biases.
fn of_biases() -> String {
    let pair = |(energy, slope): (Recorder, Recorder)| vec![energy, slope];
    [
        scalar_function("between", 3, |x| vec![between([x[0], x[1]], x[2])]),
        scalar_function("spring", 2, |x| pair(spring(x[0], x[1]))),
        scalar_function("linear", 2, |x| pair(linear(x[0], x[1]))),
        scalar_function("wall", 3, |x| pair(wall(x[0], x[1], x[2]))),
        scalar_function("hill_energy", 5, |x| vec![hill_energy(x[0], &x[1..3], &x[3..5])]),
        scalar_function("hill_along", 2, |x| hill_along(x[0], x[1]).to_vec()),
        scalar_function("tempering", 3, |x| vec![tempering(x[0], x[1], x[2])]),
        scalar_function("switching_work", 4, |x| vec![switching_work([x[0], x[1]], [x[2], x[3]])]),
        scalar_function("taken_off", 3, |x| vec![taken_off(x[0], x[1], x[2])]),
        scalar_function("slopes_in_cell", 8, |x| {
            slopes_in_cell([x[0], x[1], x[2], x[3]], [x[4], x[5]], [x[6], x[7]]).to_vec()
        }),
        scalar_function("thermal_velocity", 3, |x| vec![thermal_velocity(x[0], x[1], x[2])]),
        scalar_function("advance_particle", 8, |x| {
            advance_particle([x[0], x[1]], x[2], [x[3], x[4], x[5], x[6]], x[7]).to_vec()
        }),
        scalar_function("reflected", 4, |x| reflected([x[0], x[1]], [x[2], x[3]]).to_vec()),
        scalar_function("square_in_widths", 4, |x| vec![square_in_widths([x[0], x[1]], [x[2], x[3]])]),
        scalar_function("density_kernel", 6, |x| {
            density_kernel(x[0], [x[1], x[2]], [x[3], x[4]], x[5]).to_vec()
        }),
        scalar_function("opes_energy", 4, |x| opes_energy(x[0], x[1], x[2], x[3]).to_vec()),
        scalar_function("sample_weight", 2, |x| vec![sample_weight(x[0], x[1])]),
        scalar_function("new_kernel", 4, |x| new_kernel(x[0], [x[1], x[2]], x[3]).to_vec()),
        scalar_function("merged_kernel", 5, |x| merged_kernel([x[0], x[1]], x[2], [x[3], x[4]]).to_vec()),
        scalar_function("grid_line", 6, |x| interpolate(&x[..1], &x[1..5], &x[5..])),
        scalar_function("grid_plane", 20, |x| interpolate(&x[..2], &x[2..18], &x[18..])),
    ]
    .concat()
}

/// Functions by which pairs are counted, and one that calls them by number.
fn of_pairs(biases: &CenterBiases) -> String {
    let (mut text, mut cases) = (String::new(), String::new());
    for (k, count) in pair_counts(biases).enumerate() {
        text +=
            &scalar_function(&format!("pair_count_{k}"), 2, |x| count_of_pair(count, x[0], x[1]).to_vec());
        cases += &format!("        case {k}: pair_count_{k}(in, out); break;\n");
    }
    let signature = "DEVICE void bias_pair(int number, const double* in, double* out)";
    format!(
        "{text}{signature} {{\n    switch (number) {{\n{cases}        default: out[0] = out[1] = infinity();\n    }}\n}}\n"
    )
}

/// Functions of all formulas, and one that calls them by number.
fn of_formulas(biases: &CenterBiases) -> Result<String> {
    let (mut text, mut cases, mut most) = (String::new(), String::new(), 1);
    for (k, expression) in formulas(biases).into_iter().enumerate() {
        let (name, inputs) = (format!("formula_{k}"), expression.variables.len());
        let mut mistake = Ok(());
        text += &scalar_function(&name, inputs, |x| match with_slopes(expression, x) {
            Ok(numbers) => numbers,
            Err(error) => {
                mistake = Err(error);
                vec![Recorder::lit(f64::NAN)]
            }
        });
        mistake?;
        cases += &format!("        case {k}: {name}(in, out); break;\n");
        most = most.max(inputs);
    }
    let signature = "DEVICE void bias_formula(int formula, const double* in, double* out)";
    let body = format!(
        "{signature} {{\n    switch (formula) {{\n{cases}        default: out[0] = infinity();\n    }}\n}}\n"
    );
    Ok(format!("enum {{ BIAS_FORMULA_INPUTS = {most} }};\n{text}{body}"))
}
