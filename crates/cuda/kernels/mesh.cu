// Smooth particle-mesh Ewald: charges are spread on a mesh by B-splines, waves are found by Fourier
// transforms, and forces are the exact derivatives of the energy that comes out.
//
// In front of this stands the generated source (codegen.rs, `mesh_source`), the transforms
// (fourier.cuh), and from the command line the points along the edges, MESH_X, MESH_Y and MESH_Z, and
// how many lines along each of them a block transforms at a time.
//
// Charges are spread in whole numbers: their sum is the same in whatever order atoms come. The unit is
// so small a part of all charges together that nothing can overflow. Amplitudes of waves are stored by
// x, wave number along z, and y or its wave number; of each wave and its opposite only one.

enum {
    MESH_THREADS = 128,
    MESH_ATOMS = MESH_THREADS / 32,  // a warp each
    WAVES_Z = MESH_Z / 2 + 1,
    COLUMNS = WAVES_Z * MESH_Y,
    POINTS = MESH_ORDER * MESH_ORDER * MESH_ORDER,
};

struct Mesh {
    double volume;
    double reciprocal[6];   // gradients of the fractional coordinates: xx, xy, xz, yy, yz, zz
    double unit;            // of the charges on the mesh: a power of two
    i64* charge;            // by x, y, z; always 0 before charges are spread
    real* potential;        // by x, y, z
    Complex* waves;
    const real* moduli;     // of splines: along x, then y, then z
    const Complex* turns;   // along x, then y, then z
};

// ---- between atoms and mesh

// Where an atom is along an edge: the point below, and how far beyond it.
struct Along { int point; real beyond; };

#if DOUBLE
DEVICE Along along_edge(const Frame& frame, Position p, int axis, int n) {
    const Fractions s = fractions(frame, p.x, p.y, p.z);
    const double at = axis == 0 ? s.x : axis == 1 ? s.y : s.z, u = (at - floor(at)) * n;
    // What is not a number must not lead out of the mesh.
    const int point = max(0, min((int)u, n - 1));
    return {point, u - point};
}
#else
DEVICE Along along_edge(const Frame&, Position p, int axis, int n) {
    const u32 at = axis == 0 ? p.x : axis == 1 ? p.y : p.z;
    return {(int)__umulhi(at, (u32)n), (real)(at * (u32)n) * (real)(1.0 / 4294967296.0)};
}
#endif

// The splines of a warp's atom.
struct Splines {
    int point[3];
    real weight[3][2 * MESH_ORDER];  // and slopes

    DEVICE_MEMBER void find(const Frame& frame, Position p) {
        const int axis = threadIdx.x % 32;
        if (axis < 3) {
            const Along along = along_edge(frame, p, axis, axis == 0 ? MESH_X : axis == 1 ? MESH_Y : MESH_Z);
            const real in[1] = {along.beyond};
            point[axis] = along.point;
            spline(in, weight[axis]);
        }
        __syncwarp();
    }
};

// One of the points that an atom is spread on.
struct Point {
    int x, y, z;  // of the splines
    size_t at;
};

DEVICE int round_edge(int k, int n) { return k < n ? k : k - n; }

DEVICE Point point_of(const Splines& s, int k) {
    Point p = {k / (MESH_ORDER * MESH_ORDER), k / MESH_ORDER % MESH_ORDER, k % MESH_ORDER};
    p.at = ((size_t)round_edge(s.point[0] + p.x, MESH_X) * MESH_Y + round_edge(s.point[1] + p.y, MESH_Y)) * MESH_Z +
           round_edge(s.point[2] + p.z, MESH_Z);
    return p;
}

#if DOUBLE
DEVICE i64 whole(double x) { return __double2ll_rn(x); }
#else
DEVICE i64 whole(float x) { return __float2ll_rn(x); }
#endif

extern "C" __global__ void __launch_bounds__(MESH_THREADS) mesh_spread(World w, Mesh m, int slot, int when) {
    const Slot now = w.control->slot[slot];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, i = blockIdx.x * MESH_ATOMS + warp;
    if (!due(w.control, now, when) || i >= w.n) return;
    const real charge = w.charge[i];
    if (charge == 0) return;
    __shared__ Splines splines[MESH_ATOMS];
    Splines& s = splines[warp];
    s.find(w.frame, w.position[now.parity][i]);
    const real units = charge * (real)(1.0 / m.unit);
    for (int k = lane; k < POINTS; k += 32) {
        const Point p = point_of(s, k);
        const real share = units * s.weight[0][p.x] * s.weight[1][p.y] * s.weight[2][p.z];
        atomicAdd((u64*)&m.charge[p.at], (u64)whole(share));
    }
}

// Adds the forces of all waves.
extern "C" __global__ void __launch_bounds__(MESH_THREADS) mesh_gather(World w, Mesh m, int slot, int when) {
    const Slot now = w.control->slot[slot];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, i = blockIdx.x * MESH_ATOMS + warp;
    if (!due(w.control, now, when) || i >= w.n) return;
    const real charge = w.charge[i];
    if (charge == 0) return;
    __shared__ Splines splines[MESH_ATOMS];
    Splines& s = splines[warp];
    s.find(w.frame, w.position[now.parity][i]);
    real slope[3] = {};
    for (int k = lane; k < POINTS; k += 32) {
        const Point p = point_of(s, k);
        const real potential = m.potential[p.at];
        const real x = s.weight[0][p.x], y = s.weight[1][p.y], z = s.weight[2][p.z];
        slope[0] = multiply_add(s.weight[0][MESH_ORDER + p.x] * y * z, potential, slope[0]);
        slope[1] = multiply_add(x * s.weight[1][MESH_ORDER + p.y] * z, potential, slope[1]);
        slope[2] = multiply_add(x * y * s.weight[2][MESH_ORDER + p.z], potential, slope[2]);
    }
#pragma unroll
    for (int k = 0; k < 3; k++) {
        for (int step = 16; step > 0; step /= 2) slope[k] += __shfl_xor_sync(ALL_LANES, slope[k], step);
    }
    if (lane != 0) return;
    const real a = -charge * MESH_X * slope[0], b = -charge * MESH_Y * slope[1], c = -charge * MESH_Z * slope[2];
    const double* r = m.reciprocal;
    const real3 f = {a * (real)r[0], multiply_add(a, (real)r[1], b * (real)r[3]),
                     multiply_add(a, (real)r[2], multiply_add(b, (real)r[4], c * (real)r[5]))};
    const real3 before = load_force(w, i);
    store_force(w, i, {before.x + f.x, before.y + f.y, before.z + f.z});
}

// ---- along z: two real lines, of neighbouring y, are transformed as one of complex numbers

enum { PAIRS = MESH_X * MESH_Y / 2 };

extern "C" __global__ void __launch_bounds__(MESH_THREADS) mesh_forward_z(World w, Mesh m, int slot, int when) {
    if (!due(w.control, w.control->slot[slot], when)) return;
    constexpr int STRIDE = line_stride<MESH_Z>();
    __shared__ Complex a[LINES_Z * STRIDE], b[LINES_Z * STRIDE];
    const int first = blockIdx.x * LINES_Z, lines = min(LINES_Z, PAIRS - first);
    const real unit = (real)m.unit;
    for (int t = threadIdx.x; t < lines * MESH_Z; t += MESH_THREADS) {
        const int line = t / MESH_Z, z = t % MESH_Z;
        i64* at = m.charge + (size_t)(first + line) * 2 * MESH_Z + z;
        a[line * STRIDE + z] = {(real)at[0] * unit, (real)at[MESH_Z] * unit};
        at[0] = at[MESH_Z] = 0;
    }
    __syncthreads();
    const Complex* found = transform<MESH_Z, FORWARD, MESH_THREADS>(a, b, m.turns + MESH_X + MESH_Y, lines);
    for (int t = threadIdx.x; t < LINES_Z * WAVES_Z; t += MESH_THREADS) {
        const int line = t % LINES_Z, k = t / LINES_Z;
        if (line >= lines) continue;
        const Complex p = found[line * STRIDE + k];
        const Complex q = conjugate(found[line * STRIDE + (k == 0 ? 0 : MESH_Z - k)]);
        const Complex sum = p + q, difference = quarter<FORWARD>(p - q);
        const int x = (first + line) / (MESH_Y / 2), y = (first + line) % (MESH_Y / 2) * 2;
        Complex* to = m.waves + ((size_t)x * WAVES_Z + k) * MESH_Y + y;
        to[0] = {(real)0.5 * sum.re, (real)0.5 * sum.im};
        to[1] = {(real)0.5 * difference.re, (real)0.5 * difference.im};
    }
}

extern "C" __global__ void __launch_bounds__(MESH_THREADS) mesh_backward_z(World w, Mesh m, int slot, int when) {
    if (!due(w.control, w.control->slot[slot], when)) return;
    constexpr int STRIDE = line_stride<MESH_Z>();
    __shared__ Complex a[LINES_Z * STRIDE], b[LINES_Z * STRIDE];
    const int first = blockIdx.x * LINES_Z, lines = min(LINES_Z, PAIRS - first);
    for (int t = threadIdx.x; t < LINES_Z * WAVES_Z; t += MESH_THREADS) {
        const int line = t % LINES_Z, k = t / LINES_Z;
        if (line >= lines) continue;
        const int x = (first + line) / (MESH_Y / 2), y = (first + line) % (MESH_Y / 2) * 2;
        const Complex* from = m.waves + ((size_t)x * WAVES_Z + k) * MESH_Y + y;
        Complex p = from[0], q = from[1];
        // These are real, but for rounding.
        const bool real_ones = k == 0 || k == MESH_Z / 2;
        if (real_ones) p.im = q.im = 0;
        a[line * STRIDE + k] = p + quarter<BACKWARD>(q);
        if (!real_ones) a[line * STRIDE + MESH_Z - k] = conjugate(p) + quarter<BACKWARD>(conjugate(q));
    }
    __syncthreads();
    const Complex* found = transform<MESH_Z, BACKWARD, MESH_THREADS>(a, b, m.turns + MESH_X + MESH_Y, lines);
    for (int t = threadIdx.x; t < lines * MESH_Z; t += MESH_THREADS) {
        const int line = t / MESH_Z, z = t % MESH_Z;
        real* to = m.potential + (size_t)(first + line) * 2 * MESH_Z + z;
        const Complex value = found[line * STRIDE + z];
        to[0] = value.re;
        to[MESH_Z] = value.im;
    }
}

// ---- along y

template <int SIGN>
DEVICE void transform_y(const Mesh& m) {
    constexpr int STRIDE = line_stride<MESH_Y>();
    __shared__ Complex a[LINES_Y * STRIDE], b[LINES_Y * STRIDE];
    const int first = blockIdx.x * LINES_Y, lines = min(LINES_Y, MESH_X * WAVES_Z - first);
    Complex* waves = m.waves + (size_t)first * MESH_Y;
    for (int t = threadIdx.x; t < lines * MESH_Y; t += MESH_THREADS) a[t / MESH_Y * STRIDE + t % MESH_Y] = waves[t];
    __syncthreads();
    const Complex* found = transform<MESH_Y, SIGN, MESH_THREADS>(a, b, m.turns + MESH_X, lines);
    for (int t = threadIdx.x; t < lines * MESH_Y; t += MESH_THREADS) waves[t] = found[t / MESH_Y * STRIDE + t % MESH_Y];
}

extern "C" __global__ void __launch_bounds__(MESH_THREADS) mesh_forward_y(World w, Mesh m, int slot, int when) {
    if (due(w.control, w.control->slot[slot], when)) transform_y<FORWARD>(m);
}

extern "C" __global__ void __launch_bounds__(MESH_THREADS) mesh_backward_y(World w, Mesh m, int slot, int when) {
    if (due(w.control, w.control->slot[slot], when)) transform_y<BACKWARD>(m);
}

// ---- along x: there, what the waves weigh, and back

// A wave number of either sign.
DEVICE real signed_number(int k, int n) { return (real)(2 * k > n ? k - n : k); }

// What an amplitude is multiplied by; with ENERGY adds energy and virial.
template <bool ENERGY>
DEVICE real influence(const Mesh& m, int x, int y, int z, Complex amplitude, double* sums) {
    if (x == 0 && y == 0 && z == 0) return 0;
    const double* r = m.reciprocal;
    const real in[10] = {signed_number(x, MESH_X), signed_number(y, MESH_Y), (real)z,
                         (real)m.volume, (real)r[0], (real)r[1], (real)r[2], (real)r[3], (real)r[4], (real)r[5]};
    real out[5];
    wave(in, out);
    const real weight = out[0] * m.moduli[x] * m.moduli[MESH_X + y] * m.moduli[MESH_X + MESH_Y + z];
    if (ENERGY) {
        // All but these stand for their opposites, too.
        const real share = z == 0 || 2 * z == MESH_Z ? (real)0.5 : (real)1;
        const real square = multiply_add(amplitude.re, amplitude.re, amplitude.im * amplitude.im);
        out[0] = share * weight * square;
        real virial[6];
        wave_virial(out, virial);
        sums[0] += out[0];
        for (int k = 0; k < 6; k++) sums[1 + k] += virial[k];
    }
    return weight;
}

template <bool ENERGY>
DEVICE void convolve(const Mesh& m, double* sums) {
    constexpr int STRIDE = line_stride<MESH_X>();
    __shared__ Complex a[LINES_X * STRIDE], b[LINES_X * STRIDE];
    const int first = blockIdx.x * LINES_X, lines = min(LINES_X, COLUMNS - first);
    for (int t = threadIdx.x; t < LINES_X * MESH_X; t += MESH_THREADS) {
        const int line = t % LINES_X, x = t / LINES_X;
        if (line < lines) a[line * STRIDE + x] = m.waves[(size_t)x * COLUMNS + first + line];
    }
    __syncthreads();
    Complex* found = transform<MESH_X, FORWARD, MESH_THREADS>(a, b, m.turns, lines);
    for (int t = threadIdx.x; t < lines * MESH_X; t += MESH_THREADS) {
        const int line = t / MESH_X, x = t % MESH_X, column = first + line;
        Complex& wave = found[line * STRIDE + x];
        const real factor = influence<ENERGY>(m, x, column % MESH_Y, column / MESH_Y, wave, sums);
        wave = {factor * wave.re, factor * wave.im};
    }
    __syncthreads();
    found = transform<MESH_X, BACKWARD, MESH_THREADS>(found, found == a ? b : a, m.turns, lines);
    for (int t = threadIdx.x; t < LINES_X * MESH_X; t += MESH_THREADS) {
        const int line = t % LINES_X, x = t / LINES_X;
        if (line < lines) m.waves[(size_t)x * COLUMNS + first + line] = found[line * STRIDE + x];
    }
}

extern "C" __global__ void __launch_bounds__(MESH_THREADS) mesh_convolve(World w, Mesh m, int slot, int when) {
    if (due(w.control, w.control->slot[slot], when)) convolve<false>(m, nullptr);
}

// The same; leaves each block's share of energy and virial.
extern "C" __global__ void __launch_bounds__(MESH_THREADS)
mesh_convolve_energies(World w, Mesh m, int slot, int when) {
    if (!due(w.control, w.control->slot[slot], when)) return;
    double sums[7] = {};
    convolve<true>(m, sums);
    block_sums<MESH_THREADS>(sums, w.partial + (size_t)blockIdx.x * 7);
}
