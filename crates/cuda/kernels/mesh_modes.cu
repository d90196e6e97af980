// Smooth particle-mesh Ewald, behind mesh.cu: from charges on the mesh to the potential there, by transforms along z, y
// and x, the influence function, and back.

// ---- along z: two real lines, of neighbouring y, are transformed as one of complex numbers

// Transform of two real lines, and of each its modes: from that of {first, second}.
struct PairOfModes { Complex first, second; };

// Modes k of two lines, from those k and -k of the pair.
DEVICE PairOfModes parted(Complex p, Complex opposite) {
    const Complex q = conjugate(opposite);
    const Complex sum = p + q, difference = quarter<FORWARD>(p - q);
    return {{(real)0.5 * sum.re, (real)0.5 * sum.im}, {(real)0.5 * difference.re, (real)0.5 * difference.im}};
}

// Stores modes k and -k of a pair of lines, from those k of each.
DEVICE void join(Complex* line, int k, Complex p, Complex q) {
    // Modes that are real but for rounding.
    const bool real_ones = k == 0 || k == MESH_Z / 2;
    if (real_ones) p.im = q.im = 0;
    line[k] = p + quarter<BACKWARD>(q);
    if (!real_ones) line[MESH_Z - k] = conjugate(p) + quarter<BACKWARD>(conjugate(q));
}

// Charges of so many pairs of lines, in shared memory; on the mesh they become 0.
template <int THREADS>
DEVICE void take_charges(i64* charge, real unit, Complex* to, int lines) {
    constexpr int STRIDE = line_stride<MESH_Z>();
    for (int t = threadIdx.x; t < lines * MESH_Z; t += THREADS) {
        const int line = t / MESH_Z, z = t % MESH_Z;
        const i64* at = charge + (size_t)line * 2 * MESH_Z + z;
        to[line * STRIDE + z] = {(real)at[0] * unit, (real)at[MESH_Z] * unit};
    }
    __syncthreads();
    for (int t = threadIdx.x; t < lines * 2 * MESH_Z; t += THREADS) charge[t] = 0;
}

// Stores the potential of so many pairs of lines.
template <int THREADS>
DEVICE void leave_potential(const Complex* found, real* potential, int lines) {
    constexpr int STRIDE = line_stride<MESH_Z>();
    for (int t = threadIdx.x; t < lines * MESH_Z; t += THREADS) {
        const int line = t / MESH_Z, z = t % MESH_Z;
        real* to = potential + (size_t)line * 2 * MESH_Z + z;
        const Complex value = found[line * STRIDE + z];
        to[0] = value.re;
        to[MESH_Z] = value.im;
    }
}

#if WHOLE_PLANES

// ---- along z and y: a plane at a time, where two copies of it fit shared memory

enum {
    PAIRS = MESH_Y / 2,
    PLANE_ROOM = PAIRS * line_stride<MESH_Z>() > MODES_Z * line_stride<MESH_Y>() ? PAIRS * line_stride<MESH_Z>()
                                                                                   : MODES_Z * line_stride<MESH_Y>(),
};

extern "C" __global__ void __launch_bounds__(PLANE_THREADS) mesh_forward_planes(DeviceData w, MeshArrays m, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!long_range_due(w.control, w.control->slot[slot], trigger)) return;
    const Span planes = own_planes(m);
    const int x = planes.begin + blockIdx.x;
    if (x >= planes.end) return;
    __shared__ Complex a[PLANE_ROOM], b[PLANE_ROOM];
    take_charges<PLANE_THREADS>(m.charge[mesh_rank(m)] + (size_t)x * PLANE, (real)m.unit, a, PAIRS);
    const Complex* along_z = transform<MESH_Z, FORWARD, PLANE_THREADS>(a, b, m.turns + MESH_X + MESH_Y, PAIRS);
    Complex* const columns = along_z == a ? b : a;
    for (int t = threadIdx.x; t < PAIRS * MODES_Z; t += PLANE_THREADS) {
        const int pair = t % PAIRS, k = t / PAIRS;
        const Complex* line = along_z + pair * line_stride<MESH_Z>();
        const PairOfModes of = parted(line[k], line[k == 0 ? 0 : MESH_Z - k]);
        Complex* to = columns + k * line_stride<MESH_Y>() + 2 * pair;
        to[0] = of.first;
        to[1] = of.second;
    }
    __syncthreads();
    const Complex* found = transform<MESH_Y, FORWARD, PLANE_THREADS>(columns, columns == a ? b : a, m.turns + MESH_X, MODES_Z);
    for (int column = threadIdx.x; column < COLUMNS; column += PLANE_THREADS) {
        // Columns go to the GPU that transforms them along x.
        Complex* to = m.modes[gpu_with(m, column, COLUMNS)] + (size_t)x * COLUMNS;
        to[column] = found[column / MESH_Y * line_stride<MESH_Y>() + column % MESH_Y];
    }
}

extern "C" __global__ void __launch_bounds__(PLANE_THREADS) mesh_backward_planes(DeviceData w, MeshArrays m, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!long_range_due(w.control, w.control->slot[slot], trigger)) return;
    const Span planes = own_planes(m);
    const int x = planes.begin + blockIdx.x;
    if (x >= planes.end) return;
    __shared__ Complex a[PLANE_ROOM], b[PLANE_ROOM];
    const Complex* from = own_modes(m) + (size_t)x * COLUMNS;
    for (int column = threadIdx.x; column < COLUMNS; column += PLANE_THREADS) {
        a[column / MESH_Y * line_stride<MESH_Y>() + column % MESH_Y] = from[column];
    }
    __syncthreads();
    const Complex* along_y = transform<MESH_Y, BACKWARD, PLANE_THREADS>(a, b, m.turns + MESH_X, MODES_Z);
    Complex* const lines = along_y == a ? b : a;
    for (int t = threadIdx.x; t < PAIRS * MODES_Z; t += PLANE_THREADS) {
        const int pair = t % PAIRS, k = t / PAIRS;
        const Complex* of = along_y + k * line_stride<MESH_Y>() + 2 * pair;
        join(lines + pair * line_stride<MESH_Z>(), k, of[0], of[1]);
    }
    __syncthreads();
    const Complex* found = transform<MESH_Z, BACKWARD, PLANE_THREADS>(lines, lines == a ? b : a, m.turns + MESH_X + MESH_Y, PAIRS);
    leave_potential<PLANE_THREADS>(found, m.potential[mesh_rank(m)] + (size_t)x * PLANE, PAIRS);
}

#else

// Pairs of lines of this GPU.
DEVICE Span own_pairs(const MeshArrays& m) {
    const Span planes = own_planes(m);
    return {planes.begin * (MESH_Y / 2), planes.end * (MESH_Y / 2)};
}

extern "C" __global__ void __launch_bounds__(MESH_THREADS) mesh_forward_z(DeviceData w, MeshArrays m, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!long_range_due(w.control, w.control->slot[slot], trigger)) return;
    constexpr int STRIDE = line_stride<MESH_Z>();
    __shared__ Complex a[LINES_Z * STRIDE], b[LINES_Z * STRIDE];
    const Span pairs = own_pairs(m);
    const int first = pairs.begin + blockIdx.x * LINES_Z, lines = min(LINES_Z, pairs.end - first);
    if (lines <= 0) return;
    take_charges<MESH_THREADS>(m.charge[mesh_rank(m)] + (size_t)first * 2 * MESH_Z, (real)m.unit, a, lines);
    const Complex* found = transform<MESH_Z, FORWARD, MESH_THREADS>(a, b, m.turns + MESH_X + MESH_Y, lines);
    for (int t = threadIdx.x; t < LINES_Z * MODES_Z; t += MESH_THREADS) {
        const int line = t % LINES_Z, k = t / LINES_Z;
        if (line >= lines) continue;
        const PairOfModes of = parted(found[line * STRIDE + k], found[line * STRIDE + (k == 0 ? 0 : MESH_Z - k)]);
        const int x = (first + line) / (MESH_Y / 2), y = (first + line) % (MESH_Y / 2) * 2;
        Complex* to = own_modes(m) + ((size_t)x * MODES_Z + k) * MESH_Y + y;
        to[0] = of.first;
        to[1] = of.second;
    }
}

extern "C" __global__ void __launch_bounds__(MESH_THREADS) mesh_backward_z(DeviceData w, MeshArrays m, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!long_range_due(w.control, w.control->slot[slot], trigger)) return;
    constexpr int STRIDE = line_stride<MESH_Z>();
    __shared__ Complex a[LINES_Z * STRIDE], b[LINES_Z * STRIDE];
    const Span pairs = own_pairs(m);
    const int first = pairs.begin + blockIdx.x * LINES_Z, lines = min(LINES_Z, pairs.end - first);
    if (lines <= 0) return;
    for (int t = threadIdx.x; t < LINES_Z * MODES_Z; t += MESH_THREADS) {
        const int line = t % LINES_Z, k = t / LINES_Z;
        if (line >= lines) continue;
        const int x = (first + line) / (MESH_Y / 2), y = (first + line) % (MESH_Y / 2) * 2;
        const Complex* from = own_modes(m) + ((size_t)x * MODES_Z + k) * MESH_Y + y;
        join(a + line * STRIDE, k, from[0], from[1]);
    }
    __syncthreads();
    const Complex* found = transform<MESH_Z, BACKWARD, MESH_THREADS>(a, b, m.turns + MESH_X + MESH_Y, lines);
    leave_potential<MESH_THREADS>(found, m.potential[mesh_rank(m)] + (size_t)first * 2 * MESH_Z, lines);
}

// ---- along y

template <int SIGN>
DEVICE void transform_y(const MeshArrays& m) {
    constexpr int STRIDE = line_stride<MESH_Y>();
    __shared__ Complex a[LINES_Y * STRIDE], b[LINES_Y * STRIDE];
    const Span planes = own_planes(m);
    const int first = planes.begin * MODES_Z + blockIdx.x * LINES_Y, lines = min(LINES_Y, planes.end * MODES_Z - first);
    if (lines <= 0) return;
    const size_t begin = (size_t)first * MESH_Y;
    const Complex* from = own_modes(m) + begin;
    for (int t = threadIdx.x; t < lines * MESH_Y; t += MESH_THREADS) a[t / MESH_Y * STRIDE + t % MESH_Y] = from[t];
    __syncthreads();
    const Complex* found = transform<MESH_Y, SIGN, MESH_THREADS>(a, b, m.turns + MESH_X, lines);
    for (int t = threadIdx.x; t < lines * MESH_Y; t += MESH_THREADS) {
        // Columns go to the GPU that transforms them along x.
        const int column = (first + t / MESH_Y) % MODES_Z * MESH_Y + t % MESH_Y;
        Complex* to = SIGN == FORWARD ? m.modes[gpu_with(m, column, COLUMNS)] : own_modes(m);
        to[begin + t] = found[t / MESH_Y * STRIDE + t % MESH_Y];
    }
}

extern "C" __global__ void __launch_bounds__(MESH_THREADS) mesh_forward_y(DeviceData w, MeshArrays m, int slot, int trigger) {
    wait_for_previous_kernel();
    if (long_range_due(w.control, w.control->slot[slot], trigger)) transform_y<FORWARD>(m);
}

extern "C" __global__ void __launch_bounds__(MESH_THREADS) mesh_backward_y(DeviceData w, MeshArrays m, int slot, int trigger) {
    wait_for_previous_kernel();
    if (long_range_due(w.control, w.control->slot[slot], trigger)) transform_y<BACKWARD>(m);
}

#endif

// ---- along x: forward, the influence function, and backward

// Wave number with its sign.
DEVICE real signed_number(int k, int n) { return (real)(2 * k > n ? k - n : k); }

// Factor of an amplitude; with ENERGY adds energy and virial.
template <bool ENERGY>
DEVICE real influence(const MeshArrays& m, int x, int y, int z, Complex amplitude, double* sums) {
    if (x == 0 && y == 0 && z == 0) return 0;
    const double* r = m.reciprocal;
    const real in[10] = {signed_number(x, MESH_X), signed_number(y, MESH_Y), (real)z,
                         (real)m.volume, (real)r[0], (real)r[1], (real)r[2], (real)r[3], (real)r[4], (real)r[5]};
    real out[5];
    wave(in, out);
    const real weight = out[0] * m.moduli[x] * m.moduli[MESH_X + y] * m.moduli[MESH_X + MESH_Y + z];
    if (ENERGY) {
        // Other modes count for their opposites, too.
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
DEVICE void convolve(const MeshArrays& m, double* sums) {
    constexpr int STRIDE = line_stride<MESH_X>();
    __shared__ Complex a[LINES_X * STRIDE], b[LINES_X * STRIDE];
    const Span columns = own_columns(m);
    const int first = columns.begin + blockIdx.x * LINES_X, lines = min(LINES_X, columns.end - first);
    if (lines <= 0) return;
    const Complex* from = own_modes(m);
    for (int t = threadIdx.x; t < LINES_X * MESH_X; t += MESH_THREADS) {
        const int line = t % LINES_X, x = t / LINES_X;
        if (line < lines) a[line * STRIDE + x] = from[(size_t)x * COLUMNS + first + line];
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
        Complex* to = m.modes[gpu_with(m, x, MESH_X)];
        if (line < lines) to[(size_t)x * COLUMNS + first + line] = found[line * STRIDE + x];
    }
}

extern "C" __global__ void __launch_bounds__(MESH_THREADS) mesh_convolve(DeviceData w, MeshArrays m, int slot, int trigger) {
    wait_for_previous_kernel();
    if (long_range_due(w.control, w.control->slot[slot], trigger)) convolve<false>(m, nullptr);
}

// Convolution, and shares of blocks in energy and virial.
extern "C" __global__ void __launch_bounds__(MESH_THREADS)
mesh_convolve_energies(DeviceData w, MeshArrays m, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!long_range_due(w.control, w.control->slot[slot], trigger)) return;
    double sums[7] = {};
    convolve<true>(m, sums);
    block_sums<MESH_THREADS>(sums, w.reduction.partial + (size_t)blockIdx.x * 7);
}
