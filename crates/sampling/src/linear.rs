//! Small dense matrices: solutions, roots, inverses.

/// A square matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    size: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// A matrix of zeros.
    pub fn zero(size: usize) -> Self {
        Matrix { size, values: vec![0.0; size * size] }
    }

    /// The identity.
    pub fn identity(size: usize) -> Self {
        let mut identity = Matrix::zero(size);
        (0..size).for_each(|k| identity.set(k, k, 1.0));
        identity
    }

    /// An element.
    pub fn get(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.size + column]
    }

    /// Sets an element.
    pub fn set(&mut self, row: usize, column: usize, value: f64) {
        self.values[row * self.size + column] = value;
    }

    /// Product with another matrix.
    pub fn times(&self, other: &Matrix) -> Matrix {
        let mut product = Matrix::zero(self.size);
        for a in 0..self.size {
            for b in 0..self.size {
                let sum = (0..self.size).map(|c| self.get(a, c) * other.get(c, b)).sum();
                product.set(a, b, sum);
            }
        }
        product
    }

    /// Eigenvalues and eigenvectors, by columns, of a symmetric matrix, by Jacobi's rotations.
    fn eigen(&self) -> (Vec<f64>, Matrix) {
        let (n, mut m, mut vectors) = (self.size, self.clone(), Matrix::identity(self.size));
        for _ in 0..100 {
            let off: f64 =
                (0..n).flat_map(|a| (0..a).map(move |b| (a, b))).map(|(a, b)| m.get(a, b).abs()).sum();
            let scale: f64 = (0..n).map(|a| m.get(a, a).abs()).sum();
            if off <= 1e-17 * scale {
                break;
            }
            for p in 0..n {
                for q in p + 1..n {
                    m.rotate(&mut vectors, p, q);
                }
            }
        }
        ((0..n).map(|k| m.get(k, k)).collect(), vectors)
    }

    fn rotate(&mut self, vectors: &mut Matrix, p: usize, q: usize) {
        let off = self.get(p, q);
        if off == 0.0 {
            return;
        }
        let theta = (self.get(q, q) - self.get(p, p)) / (2.0 * off);
        let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
        let c = 1.0 / (t * t + 1.0).sqrt();
        let s = t * c;
        for k in 0..self.size {
            let (a, b) = (self.get(k, p), self.get(k, q));
            self.set(k, p, c * a - s * b);
            self.set(k, q, s * a + c * b);
            let (a, b) = (vectors.get(k, p), vectors.get(k, q));
            vectors.set(k, p, c * a - s * b);
            vectors.set(k, q, s * a + c * b);
        }
        for k in 0..self.size {
            let (a, b) = (self.get(p, k), self.get(q, k));
            self.set(p, k, c * a - s * b);
            self.set(q, k, s * a + c * b);
        }
    }

    /// A function of a symmetric matrix by its eigenvalues.
    fn by_eigenvalues(&self, function: impl Fn(f64) -> f64) -> Matrix {
        let (values, vectors) = self.eigen();
        let mapped: Vec<f64> = values.iter().map(|x| function(*x)).collect();
        let mut made = Matrix::zero(self.size);
        for a in 0..self.size {
            for b in 0..self.size {
                let sum = (0..self.size).map(|k| vectors.get(a, k) * mapped[k] * vectors.get(b, k)).sum();
                made.set(a, b, sum);
            }
        }
        made
    }

    /// Root of a symmetric matrix without negative eigenvalues.
    pub fn root(&self) -> Matrix {
        self.by_eigenvalues(|x| x.max(0.0).sqrt())
    }
}

/// Eigenvalues that are rounding of zero.
const SMALLEST_EIGENVALUE: f64 = 1e-10;

/// Inverse of a symmetric matrix on the space in which it has one.
pub fn pseudo_inverse(matrix: Matrix) -> Matrix {
    matrix.by_eigenvalues(|x| if x.abs() < SMALLEST_EIGENVALUE { 0.0 } else { 1.0 / x })
}

/// Solution of linear equations by elimination with pivots; `None` where there is none.
pub fn solve(mut matrix: Matrix, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let n = right.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|a, b| matrix.get(*a, k).abs().total_cmp(&matrix.get(*b, k).abs()))?;
        if matrix.get(pivot, k) == 0.0 || !matrix.get(pivot, k).is_finite() {
            return None;
        }
        for column in 0..n {
            let (a, b) = (matrix.get(k, column), matrix.get(pivot, column));
            matrix.set(k, column, b);
            matrix.set(pivot, column, a);
        }
        right.swap(k, pivot);
        for row in k + 1..n {
            let factor = matrix.get(row, k) / matrix.get(k, k);
            for column in k..n {
                matrix.set(row, column, matrix.get(row, column) - factor * matrix.get(k, column));
            }
            right[row] -= factor * right[k];
        }
    }
    for k in (0..n).rev() {
        let sum: f64 = (k + 1..n).map(|column| matrix.get(k, column) * right[column]).sum();
        right[k] = (right[k] - sum) / matrix.get(k, k);
    }
    Some(right)
}
