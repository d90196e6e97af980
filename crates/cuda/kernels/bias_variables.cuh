// Variables: centres of groups, and functions of them. See bias.cu.

enum { BIAS_THREADS = 256, WARPS = BIAS_THREADS / 32 };

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
    if (place >= 0) b.index[place] = i;
}

// Adds the part of a member in the centre of its group.
DEVICE void add_member(const DeviceData& w, const BiasData& b, u32 k, double* part) {
    const int set = w.control->sorted;
    const BiasMember member = b.members[k];
    const u32 i = b.index[member.place];
    const Double3 x = load(w.atoms.x[set], i);
    const int* image = w.atoms.image[set] + 3 * (size_t)i;
    const double *edge = w.geometry.edge, *tilt = w.geometry.tilt;
    const double m = image[0] + member.image[0], n = image[1] + member.image[1], o = image[2] + member.image[2];
    part[0] += member.share * (x.x + edge[0] * m + tilt[0] * n + tilt[1] * o);
    part[1] += member.share * (x.y + edge[1] * n + tilt[2] * o);
    part[2] += member.share * (x.z + edge[2] * o);
}

// Parts of the centres of large groups: a block for each chunk of members.
extern "C" __global__ void __launch_bounds__(BIAS_THREADS) bias_centers(DeviceData w, BiasData b, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!due(w.control, w.control->slot[slot], trigger)) return;
    double part[3] = {};
    const u32* chunk = b.chunks + 2 * blockIdx.x;
    for (u32 k = chunk[0] + threadIdx.x; k < chunk[1]; k += BIAS_THREADS) add_member(w, b, k, part);
    block_sums<BIAS_THREADS>(part, b.chunk_sums + 3 * blockIdx.x);
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
    const BiasVariable& variable = b.variables[k];
    const double* edge = w.geometry.edge;
    switch (variable.function) {
        case BIAS_POSITION: b.values[k] = b.centers[3 * variable.from[0] + variable.axis]; return;
        case BIAS_EDGE: b.values[k] = edge[variable.axis]; return;
        case BIAS_VOLUME: b.values[k] = edge[0] * edge[1] * edge[2]; return;
        case BIAS_FORMULA_OF_VARIABLES: return;
    }
    double in[9] = {}, out[11];
    for (int v = 0; v < variable.vectors; v++) {
        const double *from = b.centers + 3 * variable.from[v], *to = b.centers + 3 * variable.to[v];
        double x = to[0] - from[0], y = to[1] - from[1], z = to[2] - from[2];
        nearest_image(w.geometry, x, y, z);
        in[3 * v] = x;
        in[3 * v + 1] = y;
        in[3 * v + 2] = z;
    }
    if (variable.function == BIAS_TILT) in[3 + variable.axis] = 1.0;
    switch (variable.function) {
        case BIAS_DISTANCE: part_whole(in, out); break;
        case BIAS_ALONG_X: part_along_x(in, out); break;
        case BIAS_ALONG_Y: part_along_y(in, out); break;
        case BIAS_ALONG_Z: part_along_z(in, out); break;
        case BIAS_IN_PLANE_XY: part_in_plane_xy(in, out); break;
        case BIAS_IN_PLANE_XZ: part_in_plane_xz(in, out); break;
        case BIAS_IN_PLANE_YZ: part_in_plane_yz(in, out); break;
        case BIAS_TILT:
        case BIAS_ANGLE: between_vectors(in, out); break;
        default: turn(in, out);
    }
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
        if (variable.function != BIAS_FORMULA_OF_VARIABLES) continue;
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
