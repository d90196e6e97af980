//! The rotation that brings one structure nearest to another.

use jostle_core::{Real, Vec3, Vector};

/// The rotation, by rows, that turns `from` nearest to `to`, both about their centres, by weighted squares:
/// the eigenvector of the largest eigenvalue of a 4 x 4 matrix is its quaternion (Horn 1987; Coutsias, Seok and
/// Dill 2004).
pub fn best_rotation(from: &[Vec3], to: &[Vec3], weights: &[f64]) -> [Vec3; 3] {
    let mut s = [[0.0; 3]; 3];
    for ((y, x), w) in from.iter().zip(to).zip(weights) {
        for a in 0..3 {
            for b in 0..3 {
                s[a][b] += w * y[a] * x[b];
            }
        }
    }
    let turn = turn_of(largest_eigenvector(quaternion_matrix(s)));
    std::array::from_fn(|a| Vector::from_fn(|b| turn[3 * a + b]))
}

/// Matrix whose eigenvector of the largest eigenvalue is the quaternion of the best rotation, from the sums of
/// products of coordinates of the two structures.
pub fn quaternion_matrix<R: Real>(s: [[R; 3]; 3]) -> [[R; 4]; 4] {
    let zero = R::lit(0.0);
    let n = [
        [s[0][0] + s[1][1] + s[2][2], s[1][2] - s[2][1], s[2][0] - s[0][2], s[0][1] - s[1][0]],
        [zero, s[0][0] - s[1][1] - s[2][2], s[0][1] + s[1][0], s[2][0] + s[0][2]],
        [zero, zero, s[1][1] - s[0][0] - s[2][2], s[1][2] + s[2][1]],
        [zero, zero, zero, s[2][2] - s[0][0] - s[1][1]],
    ];
    std::array::from_fn(|a| std::array::from_fn(|b| n[a.min(b)][a.max(b)]))
}

/// Rotation of a unit quaternion, row by row.
pub fn turn_of<R: Real>([q0, q1, q2, q3]: [R; 4]) -> [R; 9] {
    let two = R::lit(2.0);
    [
        q0 * q0 + q1 * q1 - q2 * q2 - q3 * q3,
        two * (q1 * q2 - q0 * q3),
        two * (q1 * q3 + q0 * q2),
        two * (q1 * q2 + q0 * q3),
        q0 * q0 - q1 * q1 + q2 * q2 - q3 * q3,
        two * (q2 * q3 - q0 * q1),
        two * (q1 * q3 - q0 * q2),
        two * (q2 * q3 + q0 * q1),
        q0 * q0 - q1 * q1 - q2 * q2 + q3 * q3,
    ]
}

/// Cosine and sine of the rotation that makes an element off the diagonal vanish, which is not zero, from the elements
/// pp, qq and pq.
pub fn jacobi_rotation<R: Real>([pp, qq, pq]: [R; 3]) -> [R; 2] {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let theta = (qq - pp) / (R::lit(2.0) * pq);
    let negative = theta.lt(zero);
    let size = R::select(negative, -theta, theta);
    let t = one / (size + (theta * theta + one).sqrt());
    let t = R::select(negative, -t, t);
    let c = one / (t * t + one).sqrt();
    [c, t * c]
}

/// Sweeps of Jacobi's method, which converges in four or five.
const MOST_SWEEPS: usize = 50;

/// Elements off the diagonal in the order of a sweep: two by two have nothing in common, so that a GPU finds their
/// rotations at once.
const ROTATIONS: [[usize; 2]; 6] = [[0, 1], [2, 3], [0, 2], [1, 3], [0, 3], [1, 2]];

/// Unit eigenvector of the largest eigenvalue of a symmetric matrix.
fn largest_eigenvector(m: [[f64; 4]; 4]) -> [f64; 4] {
    let (m, vectors, _) = diagonal(m);
    let mut largest = 0;
    (1..4).for_each(|a| largest = if m[a][a] > m[largest][largest] { a } else { largest });
    std::array::from_fn(|a| vectors[a][largest])
}

/// Diagonal matrix, eigenvectors in columns, and the number of sweeps that Jacobi's method took.
fn diagonal(mut m: [[f64; 4]; 4]) -> ([[f64; 4]; 4], [[f64; 4]; 4], usize) {
    let mut vectors: [[f64; 4]; 4] = std::array::from_fn(|a| std::array::from_fn(|b| f64::from(a == b)));
    for sweep in 0..MOST_SWEEPS {
        let scale: f64 = (0..4).map(|a| m[a][a].abs()).sum::<f64>();
        let off: f64 = (0..4).flat_map(|a| (0..a).map(move |b| (a, b))).map(|(a, b)| m[a][b].abs()).sum();
        if off <= 1e-17 * scale {
            return (m, vectors, sweep);
        }
        for [p, q] in ROTATIONS {
            rotate(&mut m, &mut vectors, p, q);
        }
    }
    (m, vectors, MOST_SWEEPS)
}

/// One rotation that makes an element off the diagonal vanish. Rounding would leave something of it, and sweeps would go on
/// to take it off.
fn rotate(m: &mut [[f64; 4]; 4], vectors: &mut [[f64; 4]; 4], p: usize, q: usize) {
    if m[p][q] == 0.0 {
        return;
    }
    let [c, s] = jacobi_rotation([m[p][p], m[q][q], m[p][q]]);
    for k in 0..4 {
        let (a, b) = (m[k][p], m[k][q]);
        (m[k][p], m[k][q]) = (c * a - s * b, s * a + c * b);
    }
    for k in 0..4 {
        let (a, b) = (m[p][k], m[q][k]);
        (m[p][k], m[q][k]) = (c * a - s * b, s * a + c * b);
    }
    (m[p][q], m[q][p]) = (0.0, 0.0);
    for row in vectors.iter_mut() {
        let (a, b) = (row[p], row[q]);
        (row[p], row[q]) = (c * a - s * b, s * a + c * b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sweeps end when all is known to the last bit, not after as many as there may be.
    #[test]
    fn few_sweeps_make_a_matrix_diagonal() {
        for seed in 0..50 {
            let number = |k: usize| (0.618_034 * (seed * 16 + k + 1) as f64).fract() - 0.5;
            let m: [[f64; 4]; 4] =
                std::array::from_fn(|a| std::array::from_fn(|b| number(4 * a.min(b) + a.max(b))));
            let (found, vectors, sweeps) = diagonal(m);
            assert!(sweeps < 8, "{sweeps} sweeps");
            for a in 0..4 {
                for k in 0..4 {
                    let product: f64 = (0..4).map(|b| m[k][b] * vectors[b][a]).sum();
                    assert!((product - found[a][a] * vectors[k][a]).abs() < 1e-14);
                }
            }
        }
    }
}
