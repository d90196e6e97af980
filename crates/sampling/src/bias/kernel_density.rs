//! Formulas of a density that is estimated by kernels (Invernizzi and Parrinello, J. Phys. Chem. Lett. 11, 2731 (2020)),
//! and of the bias that follows from it. Places have two components; of one variable the other distance is 0.

use jostle_core::Real;

/// Square of a distance in widths.
pub fn square_in_widths<R: Real>(off: [R; 2], widths: [R; 2]) -> R {
    let [x, y] = [0, 1].map(|k| off[k] / widths[k]);
    x * x + y * y
}

/// Value of a kernel at a distance within its cutoff, and its derivatives with that distance; `least` is the value of a
/// kernel of height 1 at the cutoff.
pub fn density_kernel<R: Real>(height: R, off: [R; 2], widths: [R; 2], least: R) -> [R; 3] {
    let gauss = (R::lit(-0.5) * square_in_widths(off, widths)).exp();
    let slope = |k: usize| -(height * gauss * off[k] / (widths[k] * widths[k]));
    [height * (gauss - least), slope(0), slope(1)]
}

/// Energy where kernels add up to `sum`, and its derivative with that sum. `norm` is the mean of the sum where the
/// system has been, and the energy is `scale` times the logarithm of their ratio, which `least` is added to.
pub fn opes_energy<R: Real>(sum: R, norm: R, least: R, scale: R) -> [R; 2] {
    let inner = sum / norm + least;
    [scale * inner.ln(), scale / (norm * inner)]
}

/// Weight of a sample where the bias has some energy.
pub fn sample_weight<R: Real>(energy: R, thermal_energy: R) -> R {
    (energy / thermal_energy).exp()
}

/// Factor of the widths of a new kernel, by Silverman's rule for the number of samples that sums of weights and of their
/// squares stand for, and height of this kernel.
pub fn new_kernel<R: Real>(weight: R, weights: [R; 2], dimensions: R) -> [R; 2] {
    let [one, more] = [R::lit(1.0), dimensions + R::lit(4.0)];
    let all = one + weights[0];
    let samples = all * all / (one + weights[1]);
    let wider = (samples * ((dimensions + R::lit(2.0)) / R::lit(4.0))).ln() / more;
    [(-wider).exp(), weight * (dimensions * wider).exp()]
}

/// Shift of the centre of a kernel that is merged with another one at some distance, and its width then: height, mean and
/// variance are those of both.
pub fn merged_kernel<R: Real>(heights: [R; 2], off: R, widths: [R; 2]) -> [R; 2] {
    let height = heights[0] + heights[1];
    let [of_a, of_b] = heights.map(|own| own / height);
    let square = of_a * (widths[0] * widths[0]) + of_b * (widths[1] * widths[1]) + of_a * of_b * (off * off);
    [of_b * off, square.sqrt()]
}
