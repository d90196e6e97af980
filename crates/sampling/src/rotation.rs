//! The rotation that brings one structure nearest to another.

use jostle_core::Vec3;

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
    let n = [
        [s[0][0] + s[1][1] + s[2][2], s[1][2] - s[2][1], s[2][0] - s[0][2], s[0][1] - s[1][0]],
        [0.0, s[0][0] - s[1][1] - s[2][2], s[0][1] + s[1][0], s[2][0] + s[0][2]],
        [0.0, 0.0, s[1][1] - s[0][0] - s[2][2], s[1][2] + s[2][1]],
        [0.0, 0.0, 0.0, s[2][2] - s[0][0] - s[1][1]],
    ];
    let symmetric = std::array::from_fn(|a| std::array::from_fn(|b| n[a.min(b)][a.max(b)]));
    let [q0, q1, q2, q3] = largest_eigenvector(symmetric);
    [
        [q0 * q0 + q1 * q1 - q2 * q2 - q3 * q3, 2.0 * (q1 * q2 - q0 * q3), 2.0 * (q1 * q3 + q0 * q2)],
        [2.0 * (q1 * q2 + q0 * q3), q0 * q0 - q1 * q1 + q2 * q2 - q3 * q3, 2.0 * (q2 * q3 - q0 * q1)],
        [2.0 * (q1 * q3 - q0 * q2), 2.0 * (q2 * q3 + q0 * q1), q0 * q0 - q1 * q1 - q2 * q2 + q3 * q3],
    ]
}

/// Sweeps of Jacobi's method, which converges in far fewer.
const MOST_SWEEPS: usize = 50;

/// Unit eigenvector of the largest eigenvalue of a symmetric matrix, by Jacobi's rotations.
fn largest_eigenvector(mut m: [[f64; 4]; 4]) -> [f64; 4] {
    let mut vectors: [[f64; 4]; 4] = std::array::from_fn(|a| std::array::from_fn(|b| f64::from(a == b)));
    for _ in 0..MOST_SWEEPS {
        let scale: f64 = (0..4).map(|a| m[a][a].abs()).sum::<f64>();
        let off: f64 = (0..4).flat_map(|a| (0..a).map(move |b| (a, b))).map(|(a, b)| m[a][b].abs()).sum();
        if off <= 1e-17 * scale {
            break;
        }
        for p in 0..3 {
            for q in p + 1..4 {
                rotate(&mut m, &mut vectors, p, q);
            }
        }
    }
    let mut largest = 0;
    (1..4).for_each(|a| largest = if m[a][a] > m[largest][largest] { a } else { largest });
    std::array::from_fn(|a| vectors[a][largest])
}

/// One rotation that makes an element off the diagonal vanish.
fn rotate(m: &mut [[f64; 4]; 4], vectors: &mut [[f64; 4]; 4], p: usize, q: usize) {
    if m[p][q] == 0.0 {
        return;
    }
    let theta = (m[q][q] - m[p][p]) / (2.0 * m[p][q]);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    for k in 0..4 {
        let (a, b) = (m[k][p], m[k][q]);
        (m[k][p], m[k][q]) = (c * a - s * b, s * a + c * b);
    }
    for k in 0..4 {
        let (a, b) = (m[p][k], m[q][k]);
        (m[p][k], m[q][k]) = (c * a - s * b, s * a + c * b);
    }
    for row in vectors.iter_mut() {
        let (a, b) = (row[p], row[q]);
        (row[p], row[q]) = (c * a - s * b, s * a + c * b);
    }
}
