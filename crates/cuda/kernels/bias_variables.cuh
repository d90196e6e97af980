// Variables: centres of groups, and functions of them. See bias.cu.

// BIAS_THREADS is the number of threads of the block that evaluates everything, an option of the compiler.
enum { CHUNK_THREADS = 256, WARPS = BIAS_THREADS / 32 };

// Functions of variables and biases that there is code for.
#define VARIABLE_IN_USE(function) ((VARIABLES_IN_USE >> (function) & 1u) != 0)
#define STRUCTURES_IN_USE (VARIABLES_IN_USE >> BIAS_GYRATION != 0)
#define BIAS_IN_USE(function) ((BIASES_IN_USE >> (function) & 1u) != 0)

DEVICE bool is(const BiasVariable& variable, int function) { return VARIABLE_IN_USE(function) && variable.function == function; }
DEVICE bool is(const BiasTerm& term, int function) { return BIAS_IN_USE(function) && term.function == function; }

enum BiasAction { BIAS_EVALUATE = 1, BIAS_END_STEP = 2 };

DEVICE bool is_finite(double x) { return x - x == 0.0; }

// Difference of two values of a variable, the shortest way round.
DEVICE double shortest_difference(const BiasVariable& variable, double a, double b) {
    const double d = a - b;
    return variable.period > 0.0 ? d - variable.period * round(d / variable.period) : d;
}

// Indices of the atoms: while lists are built after a sort, or now where `slot` is negative.
extern "C" __global__ void bias_places(DeviceData w, BiasData b, int slot) {
    wait_for_previous_kernel();
    if (slot >= 0 && !build_due(w.control, w.control->slot[slot])) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.n) return;
    const int set = slot >= 0 ? w.control->sorted ^ 1 : w.control->sorted;
    const int place = b.place_by_id[w.atoms.id[set][i]];
    b.place_of_atom[i] = place;
    if (place >= 0) b.index[place] = i;
}

// Position of a member, in the image that makes its group whole.
DEVICE Double3 position_of(const DeviceData& w, const BiasData& b, const BiasMember& member) {
    const int set = w.control->sorted;
    const u32 i = b.index[member.place];
    const Double3 x = load(w.atoms.x[set], i);
    const int* image = w.atoms.image[set] + 3 * (size_t)i;
    const double *edge = w.geometry.edge, *tilt = w.geometry.tilt;
    const double m = image[0] + member.image[0], n = image[1] + member.image[1], o = image[2] + member.image[2];
    return {x.x + edge[0] * m + tilt[0] * n + tilt[1] * o, x.y + edge[1] * n + tilt[2] * o, x.z + edge[2] * o};
}

// Adds the part of a member in the centre of its group.
DEVICE void add_member(const DeviceData& w, const BiasData& b, u32 k, double* part) {
    const BiasMember& member = b.members[k];
    const Double3 x = position_of(w, b, member);
    part[0] += member.share * x.x;
    part[1] += member.share * x.y;
    part[2] += member.share * x.z;
}

// Parts of the centres of large groups: a block for each chunk of members.
extern "C" __global__ void __launch_bounds__(CHUNK_THREADS) bias_centers(DeviceData w, BiasData b, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!due(w.control, w.control->slot[slot], trigger)) return;
    double part[3] = {};
    const u32* chunk = b.chunks + 2 * blockIdx.x;
    for (u32 k = chunk[0] + threadIdx.x; k < chunk[1]; k += CHUNK_THREADS) add_member(w, b, k, part);
    block_sums<CHUNK_THREADS>(part, b.chunk_sums + 3 * blockIdx.x);
}

// Centres of all groups, a warp for each.
DEVICE void find_centers(const DeviceData& w, const BiasData& b) {
    const u32 lane = threadIdx.x % 32;
    for (i64 g = threadIdx.x / 32; g < b.n_groups; g += WARPS) {
        const BiasGroup group = b.groups[g];
        double part[3] = {};
        if (group.chunks > 0) {
            for (u32 k = lane; k < group.chunks; k += 32) {
                for (int c = 0; c < 3; c++) part[c] += b.chunk_sums[3 * (group.first_chunk + k) + c];
            }
        } else {
            for (u32 k = group.first + lane; k < group.end; k += 32) add_member(w, b, k, part);
        }
        for (int c = 0; c < 3; c++) {
            for (int m = 16; m > 0; m /= 2) part[c] += __shfl_xor_sync(ALL_LANES, part[c], m);
            if (lane == 0) b.centers[3 * g + c] = part[c];
        }
    }
}

// Notes that a variable or, counted after all variables, a bias is not defined: the first one counts.
DEVICE void note_undefined(const BiasData& b, i64 index) { atomicMin((u64*)&b.state->undefined, (u64)index); }

// Value of a variable and its derivative with the vectors between centres, unless it is a formula.
DEVICE void evaluate_variable(const DeviceData& w, const BiasData& b, i64 k) {
    const BiasVariable variable = b.variables[k];
    const double* edge = w.geometry.edge;
    switch (variable.function) {
        case BIAS_POSITION: b.values[k] = b.centers[3 * variable.from[0] + variable.axis]; return;
        case BIAS_EDGE: b.values[k] = edge[variable.axis]; return;
        case BIAS_VOLUME: b.values[k] = edge[0] * edge[1] * edge[2]; return;
        case BIAS_FORMULA_OF_VARIABLES:
        case BIAS_GYRATION:
        case BIAS_DEVIATION:
        case BIAS_DIPOLE:
        case BIAS_PAIRS: return;
    }
    double in[9] = {}, out[11];
    for (int v = 0; v < variable.vectors; v++) {
        const double *from = b.centers + 3 * variable.from[v], *to = b.centers + 3 * variable.to[v];
        double x = to[0] - from[0], y = to[1] - from[1], z = to[2] - from[2];
        shortest_image(w.geometry, x, y, z);
        in[3 * v] = x;
        in[3 * v + 1] = y;
        in[3 * v + 2] = z;
    }
    if (is(variable, BIAS_TILT)) in[3 + variable.axis] = 1.0;
    if (is(variable, BIAS_DISTANCE)) part_whole(in, out);
    if (is(variable, BIAS_ALONG_X)) part_along_x(in, out);
    if (is(variable, BIAS_ALONG_Y)) part_along_y(in, out);
    if (is(variable, BIAS_ALONG_Z)) part_along_z(in, out);
    if (is(variable, BIAS_IN_PLANE_XY)) part_in_plane_xy(in, out);
    if (is(variable, BIAS_IN_PLANE_XZ)) part_in_plane_xz(in, out);
    if (is(variable, BIAS_IN_PLANE_YZ)) part_in_plane_yz(in, out);
    if (is(variable, BIAS_TILT) || is(variable, BIAS_ANGLE)) between_vectors(in, out);
    if (is(variable, BIAS_DIHEDRAL)) turn(in, out);
    const bool defined = is_finite(out[0]) && out[1] > 0.0;
    if (!defined) note_undefined(b, k);
    b.values[k] = out[0];
    for (int c = 0; c < 3 * variable.vectors; c++) {
        b.vectors[9 * k + c] = in[c];
        b.gradients[9 * k + c] = defined ? out[2 + c] : 0.0;
    }
}

// Values and slopes of formulas of variables, one after the other.
DEVICE void evaluate_formulas(const BiasData& b) {
    for (i64 k = 0; k < b.n_variables; k++) {
        const BiasVariable& variable = b.variables[k];
        if (!is(variable, BIAS_FORMULA_OF_VARIABLES)) continue;
        double in[BIAS_FORMULA_INPUTS], out[BIAS_FORMULA_INPUTS + 1];
        for (int c = 0; c < variable.count; c++) in[c] = b.values[b.entries[variable.first + c]];
        bias_formula(variable.formula, in, out);
        bool defined = true;
        for (int c = 0; c <= variable.count; c++) defined = defined && is_finite(out[c]);
        if (!defined) note_undefined(b, k);
        b.values[k] = out[0];
        for (int c = 0; c < variable.count; c++) b.slopes[variable.first + c] = defined ? out[1 + c] : 0.0;
    }
}

// Numbers of a variable of all members of a group. Its slope with an arm x of a member, that of its position from the
// centre, is share (arms x + turned reference) + charge along.
struct Structure {
    double arms, turned[9], along[3], strain[6];
    // Sums of share x x (xx, yy, zz, xy, xz, yz), of share reference x, and of charge x; of squares of deviations.
    double squares[6], products[9], moment[3], deviation;
};
static_assert(sizeof(Structure) == STRUCTURE_NUMBERS * sizeof(double), "layout of a structure");

// Position of a member from the centre of its group.
DEVICE Double3 arm_of(const DeviceData& w, const BiasData& b, const BiasMember& member, i64 group) {
    const double* center = b.centers + 3 * group;
    const Double3 x = position_of(w, b, member);
    return {x.x - center[0], x.y - center[1], x.z - center[2]};
}

// The turned reference of a member.
DEVICE Double3 turned_by(const double* turn, const double* y) {
    return {turn[0] * y[0] + turn[1] * y[1] + turn[2] * y[2], turn[3] * y[0] + turn[4] * y[1] + turn[5] * y[2],
            turn[6] * y[0] + turn[7] * y[1] + turn[8] * y[2]};
}

// One of Jacobi's rotations of columns p and q, then of rows.
DEVICE void rotate_by(const double* cs, int p, int q, double* m, double* vectors) {
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const double a = m[4 * k + p], b = m[4 * k + q], u = vectors[4 * k + p], v = vectors[4 * k + q];
        m[4 * k + p] = cs[0] * a - cs[1] * b;
        m[4 * k + q] = cs[1] * a + cs[0] * b;
        vectors[4 * k + p] = cs[0] * u - cs[1] * v;
        vectors[4 * k + q] = cs[1] * u + cs[0] * v;
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const double a = m[4 * p + k], b = m[4 * q + k];
        m[4 * p + k] = cs[0] * a - cs[1] * b;
        m[4 * q + k] = cs[1] * a + cs[0] * b;
    }
    m[4 * p + q] = m[4 * q + p] = 0.0;
}

// The rotation that turns the reference nearest to the members, from the sums of products, by a warp: Jacobi's method, see
// jostle_sampling::rotation. Even and odd lanes find two rotations at a time, which change nothing of each other. Loops are
// written out by the compiler, so that matrices stay in registers.
APART void best_rotation(const double* products, double* turn) {
    const bool odd = threadIdx.x % 2 == 1;
    double m[16], vectors[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    quaternion_matrix(products, m);
#pragma unroll 1
    for (int sweep = 0; sweep < 50; sweep++) {
        const double scale = fabs(m[0]) + fabs(m[5]) + fabs(m[10]) + fabs(m[15]);
        const double off = fabs(m[4]) + fabs(m[8]) + fabs(m[9]) + fabs(m[12]) + fabs(m[13]) + fabs(m[14]);
        if (off <= 1e-17 * scale) break;
#pragma unroll
        for (int q = 1; q < 4; q++) {
            const int r = q == 1 ? 2 : 1, s = q == 3 ? 2 : 3;
            const double in[3] = {odd ? m[5 * r] : m[0], odd ? m[5 * s] : m[5 * q], odd ? m[4 * r + s] : m[q]};
            double cs[2] = {1.0, 0.0};
            if (in[2] != 0.0) jacobi_rotation(in, cs);
            double first[2], second[2];
            for (int k = 0; k < 2; k++) {
                first[k] = __shfl_sync(ALL_LANES, cs[k], 0);
                second[k] = __shfl_sync(ALL_LANES, cs[k], 1);
            }
            rotate_by(first, 0, q, m, vectors);
            rotate_by(second, r, s, m, vectors);
        }
    }
    double largest = m[0], quaternion[4] = {vectors[0], vectors[4], vectors[8], vectors[12]};
#pragma unroll
    for (int a = 1; a < 4; a++) {
        if (!(m[5 * a] > largest)) continue;
        largest = m[5 * a];
        for (int k = 0; k < 4; k++) quaternion[k] = vectors[4 * k + a];
    }
    if (threadIdx.x == 0) turn_of(quaternion, turn);
}

// Slopes, strain and value of a variable of all members of a group, from its sums.
DEVICE void finish_structure(const BiasData& b, i64 v, Structure& structure) {
    const BiasVariable variable = b.variables[v];
    Structure s = structure;
    double value = 0.0;
    bool defined = true;
    for (int c = 0; c < 3; c++) s.along[c] = 0.0;
    s.arms = 0.0;
    if (is(variable, BIAS_DIPOLE)) {
        const double* d = s.moment;
        value = variable.axis >= 0 ? d[variable.axis] : sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        defined = variable.axis >= 0 || value > 0.0;
        for (int c = 0; c < 3; c++) s.along[c] = variable.axis >= 0 ? (c == variable.axis ? 1.0 : 0.0) : d[c] / value;
    } else if (is(variable, BIAS_GYRATION)) {
        value = sqrt(s.squares[0] + s.squares[1] + s.squares[2]);
        defined = value > 0.0;
        s.arms = 1.0 / value;
    } else {
        value = sqrt(s.deviation);
        // At the reference itself there is no derivative, and none is added; what is rounding has no direction.
        const double rounding = 1e-11 * sqrt(s.squares[0] + s.squares[1] + s.squares[2]);
        s.arms = value > rounding ? 1.0 / value : 0.0;
    }
    for (int c = 0; c < 9; c++) s.turned[c] *= is(variable, BIAS_DEVIATION) ? -s.arms : 0.0;
    for (int k = 0; k < 6; k++) {
        const int a = k < 3 ? k : (k == 5 ? 1 : 0), c = k < 3 ? k : (k == 3 ? 1 : 2);
        s.strain[k] = s.arms * s.squares[k] + 0.5 * (s.moment[a] * s.along[c] + s.moment[c] * s.along[a]);
        for (int j = 0; j < 3; j++)
            s.strain[k] += 0.5 * (s.turned[3 * c + j] * s.products[3 * j + a] + s.turned[3 * a + j] * s.products[3 * j + c]);
    }
    if (!defined || !is_finite(value)) note_undefined(b, v);
    b.values[v] = value;
    structure = s;
}

// Number of pairs of members of two groups, its strain, and its slope with the position of each member: a warp for each
// member, whose partners its lanes share. Counts and strain are taken from members of the first group.
DEVICE void evaluate_pairs(const DeviceData& w, const BiasData& b, i64 v, Structure& s) {
    const BiasVariable& variable = b.variables[v];
    const u32 lane = threadIdx.x % 32;
    double sums[7] = {};
    for (int side = 0; side < 2; side++) {
        const BiasGroup group = b.groups[side == 0 ? variable.from[0] : variable.to[0]];
        for (u32 k = group.first + threadIdx.x / 32; k < group.end; k += WARPS) {
            const Double3 own = position_of(w, b, b.members[k]);
            double slope[3] = {};
            for (u32 p = b.first_partner[k] + lane; p < b.first_partner[k + 1]; p += 32) {
                const BiasPartner& partner = b.partners[p];
                const Double3 other = position_of(w, b, b.members[partner.member]);
                double d[3] = {other.x - own.x, other.y - own.y, other.z - own.z};
                shortest_image(w.geometry, d[0], d[1], d[2]);
                const double in[2] = {d[0] * d[0] + d[1] * d[1] + d[2] * d[2], partner.end};
                double out[2];
                bias_pair(variable.formula, in, out);
                for (int c = 0; c < 3; c++) slope[c] -= out[1] * d[c];
                if (side == 1) continue;
                for (int c = 0; c < 6; c++)
                    sums[c] += out[1] * d[c < 3 ? c : (c == 5 ? 1 : 0)] * d[c < 3 ? c : (c == 3 ? 1 : 2)];
                sums[6] += out[0];
            }
            for (int c = 0; c < 3; c++) {
                for (int m = 16; m > 0; m /= 2) slope[c] += __shfl_xor_sync(ALL_LANES, slope[c], m);
                if (lane == 0) b.member_slopes[3 * (size_t)k + c] = slope[c];
            }
        }
    }
    block_sums<BIAS_THREADS>(sums, s.squares);
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int c = 0; c < 6; c++) s.strain[c] = s.squares[c];
        b.values[v] = s.products[0];
        if (!is_finite(s.products[0])) note_undefined(b, v);
    }
    __syncthreads();
}

// Variables of all members of a group, one after the other, by the whole block.
DEVICE void evaluate_structures(const DeviceData& w, const BiasData& b) {
    if (!STRUCTURES_IN_USE) return;
    for (i64 v = 0; v < b.n_variables; v++) {
        const BiasVariable& variable = b.variables[v];
        if (variable.function < BIAS_GYRATION) continue;
        const i64 g = variable.from[0];
        const BiasGroup group = b.groups[g];
        Structure& s = ((Structure*)b.structures)[v];
        if (is(variable, BIAS_PAIRS)) {
            evaluate_pairs(w, b, v, s);
            continue;
        }
        double part[18] = {};
        for (u32 k = group.first + threadIdx.x; k < group.end; k += BIAS_THREADS) {
            const BiasMember& member = b.members[k];
            const Double3 x = arm_of(w, b, member, g);
            const double arm[3] = {x.x, x.y, x.z};
            for (int c = 0; c < 6; c++)
                part[c] += member.share * arm[c < 3 ? c : (c == 5 ? 1 : 0)] * arm[c < 3 ? c : (c == 3 ? 1 : 2)];
            for (int c = 0; c < 9; c++) part[6 + c] += member.share * member.reference[c / 3] * arm[c % 3];
            for (int c = 0; c < 3; c++) part[15 + c] += member.charge * arm[c];
        }
        block_sums<BIAS_THREADS>(part, s.squares);
        __syncthreads();
        if (is(variable, BIAS_DEVIATION)) {
            if (threadIdx.x < 32) best_rotation(s.products, s.turned);
            __syncthreads();
            double square[1] = {};
            for (u32 k = group.first + threadIdx.x; k < group.end; k += BIAS_THREADS) {
                const BiasMember& member = b.members[k];
                const Double3 x = arm_of(w, b, member, g), y = turned_by(s.turned, member.reference);
                const double d[3] = {x.x - y.x, x.y - y.y, x.z - y.z};
                square[0] += member.share * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
            }
            block_sums<BIAS_THREADS>(square, &s.deviation);
            __syncthreads();
        }
        if (threadIdx.x == 0) finish_structure(b, v, s);
        __syncthreads();
    }
}

// Derivative of the energy with the position of a member, by the variable of all members of its group.
DEVICE Double3 structure_slope(const DeviceData& w, const BiasData& b, i64 v, u32 k) {
    if (is(b.variables[v], BIAS_PAIRS)) {
        const double *slope = b.member_slopes + 3 * (size_t)k, weight = b.weights[v];
        return {weight * slope[0], weight * slope[1], weight * slope[2]};
    }
    const Structure& s = ((const Structure*)b.structures)[v];
    const BiasMember& member = b.members[k];
    const Double3 x = arm_of(w, b, member, b.variables[v].from[0]), y = turned_by(s.turned, member.reference);
    const double weight = b.weights[v], share = weight * member.share, charge = weight * member.charge;
    return {share * (s.arms * x.x + y.x) + charge * s.along[0], share * (s.arms * x.y + y.y) + charge * s.along[1],
            share * (s.arms * x.z + y.z) + charge * s.along[2]};
}
