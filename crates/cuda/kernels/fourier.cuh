// Fourier transforms of lines in shared memory, by a block of threads: Stockham's algorithm, which
// goes back and forth between two arrays and leaves wave numbers in order. Lengths are products of 2,
// 3, 5 and 7, and compile-time constants.

struct alignas(2 * sizeof(real)) Complex { real re, im; };

DEVICE Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
DEVICE Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
DEVICE Complex operator*(Complex a, Complex b) {
    return {multiply_add(a.re, b.re, -(a.im * b.im)), multiply_add(a.re, b.im, a.im * b.re)};
}
DEVICE Complex conjugate(Complex a) { return {a.re, -a.im}; }

// Sign of the exponent.
enum { FORWARD = -1, BACKWARD = 1 };

// Rotation by SIGN times a quarter of a turn.
template <int SIGN>
DEVICE Complex quarter(Complex a) {
    return SIGN > 0 ? Complex{-a.im, a.re} : Complex{a.im, -a.re};
}

// Rotation by SIGN times so many eighths of a turn, 0 to 3.
template <int SIGN>
DEVICE Complex eighths(Complex a, int count) {
    const real root = (real)0.70710678118654752440;
    switch (count) {
        case 0: return a;
        case 1: {
            const Complex b = quarter<SIGN>(a);
            return {root * (a.re + b.re), root * (a.im + b.im)};
        }
        case 2: return quarter<SIGN>(a);
        default: {
            const Complex b = quarter<SIGN>(a);
            return {root * (b.re - a.re), root * (b.im - a.im)};
        }
    }
}

// Cosines and sines of k / N turns.
template <int N> struct Circle;
template <> struct Circle<3> {
    static DEVICE_MEMBER real cosine(int k) {
        const real c[3] = {1, (real)-0.5, (real)-0.5};
        return c[k];
    }
    static DEVICE_MEMBER real sine(int k) {
        const real s[3] = {0, (real)0.86602540378443864676, (real)-0.86602540378443864676};
        return s[k];
    }
};
template <> struct Circle<5> {
    static DEVICE_MEMBER real cosine(int k) {
        const real c[5] = {1, (real)0.30901699437494742410, (real)-0.80901699437494742410,
                           (real)-0.80901699437494742410, (real)0.30901699437494742410};
        return c[k];
    }
    static DEVICE_MEMBER real sine(int k) {
        const real s[5] = {0, (real)0.95105651629515357212, (real)0.58778525229247312917,
                           (real)-0.58778525229247312917, (real)-0.95105651629515357212};
        return s[k];
    }
};
template <> struct Circle<7> {
    static DEVICE_MEMBER real cosine(int k) {
        const real c[7] = {1, (real)0.62348980185873353053, (real)-0.22252093395631440429,
                           (real)-0.90096886790241912624, (real)-0.90096886790241912624,
                           (real)-0.22252093395631440429, (real)0.62348980185873353053};
        return c[k];
    }
    static DEVICE_MEMBER real sine(int k) {
        const real s[7] = {0, (real)0.78183148246802980871, (real)0.97492791218182360702,
                           (real)0.43388373911755812048, (real)-0.43388373911755812048,
                           (real)-0.97492791218182360702, (real)-0.78183148246802980871};
        return s[k];
    }
};

// Transform of N numbers in registers.
template <int N, int SIGN>
DEVICE void small_transform(Complex (&v)[N]) {
    if constexpr (N == 2) {
        const Complex a = v[0], b = v[1];
        v[0] = a + b;
        v[1] = a - b;
    } else if constexpr (N == 4 || N == 8) {
        Complex even[N / 2], odd[N / 2];
#pragma unroll
        for (int k = 0; k < N / 2; k++) {
            even[k] = v[2 * k];
            odd[k] = v[2 * k + 1];
        }
        small_transform<N / 2, SIGN>(even);
        small_transform<N / 2, SIGN>(odd);
#pragma unroll
        for (int k = 0; k < N / 2; k++) {
            const Complex turned = eighths<SIGN>(odd[k], k * 8 / N);
            v[k] = even[k] + turned;
            v[k + N / 2] = even[k] - turned;
        }
    } else {
        // Sums and differences of opposite numbers.
        Complex sum[N / 2], difference[N / 2];
        Complex all = v[0];
#pragma unroll
        for (int m = 1; m <= N / 2; m++) {
            sum[m - 1] = v[m] + v[N - m];
            difference[m - 1] = quarter<SIGN>(v[m] - v[N - m]);
            all = all + sum[m - 1];
        }
        const Complex first = v[0];
#pragma unroll
        for (int k = 1; k <= N / 2; k++) {
            Complex along = first, across = {0, 0};
#pragma unroll
            for (int m = 1; m <= N / 2; m++) {
                const real c = Circle<N>::cosine(m * k % N), s = Circle<N>::sine(m * k % N);
                along = {multiply_add(c, sum[m - 1].re, along.re), multiply_add(c, sum[m - 1].im, along.im)};
                across = {multiply_add(s, difference[m - 1].re, across.re),
                          multiply_add(s, difference[m - 1].im, across.im)};
            }
            v[k] = along + across;
            v[N - k] = along - across;
        }
        v[0] = all;
    }
}

// Next factor of a length of which `left` remains.
__device__ constexpr int next_factor(int left) {
    return left % 8 == 0 && left != 16 ? 8 : left % 4 == 0 ? 4 : left % 2 == 0 ? 2 : left % 3 == 0 ? 3 : left % 5 == 0 ? 5 : 7;
}

// Stride of lines in shared memory, by which they begin in different banks.
template <int N>
__device__ constexpr int line_stride() { return N + 1; }

// Transform of lines of N numbers in `from`, with `to` as the second array; returns the one of the two with the
// result. `turns` are exp(-2 pi i k / N). BEFORE is the product of the factors that are done.
template <int N, int SIGN, int THREADS, int BEFORE = 1>
DEVICE Complex* transform(Complex* from, Complex* to, const Complex* turns, int lines) {
    if constexpr (BEFORE == N) {
        return from;
    } else {
        constexpr int FACTOR = next_factor(N / BEFORE), COUNT = N / FACTOR, STEP = N / (BEFORE * FACTOR);
        for (int t = threadIdx.x; t < lines * COUNT; t += THREADS) {
            const int line = t / COUNT, j = t % COUNT, k = j % BEFORE;
            Complex v[FACTOR];
#pragma unroll
            for (int r = 0; r < FACTOR; r++) v[r] = from[line * line_stride<N>() + j + r * COUNT];
            if constexpr (BEFORE > 1) {
#pragma unroll
                for (int r = 1; r < FACTOR; r++) {
                    const Complex turn = turns[r * k * STEP];
                    v[r] = v[r] * (SIGN > 0 ? conjugate(turn) : turn);
                }
            }
            small_transform<FACTOR, SIGN>(v);
            Complex* out = to + line * line_stride<N>() + (j - k) * FACTOR + k;
#pragma unroll
            for (int r = 0; r < FACTOR; r++) out[r * BEFORE] = v[r];
        }
        __syncthreads();
        return transform<N, SIGN, THREADS, BEFORE * FACTOR>(to, from, turns, lines);
    }
}
