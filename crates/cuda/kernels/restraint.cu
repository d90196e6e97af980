// Restraints of atoms to points (anchors), and of centres of groups to a distance. Springs are generated code:
//     void spring(const double* in, double* out)   from {r^2, from, to, stiffness} to {energy, force / r}
//     void anchor_virial(const double* in, double* out)   from {force, vector from the centre} to the virial

enum { RESTRAINT_THREADS = 256, DISTANCE_FORCE = 10, ENERGY_AND_VIRIAL = 7 };

// Indices of all atoms after a sort, while lists are built.
extern "C" __global__ void restraint_places(DeviceData w, RestraintData t, int slot) {
    wait_for_previous_kernel();
    if (!build_due(w.control, w.control->slot[slot])) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < w.n) t.place_of[w.atoms.id[w.control->sorted ^ 1][i]] = i;
}

// Forces of restraints to a distance, a block for each.
extern "C" __global__ void __launch_bounds__(RESTRAINT_THREADS) restraint_distances(DeviceData w, RestraintData t, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!due(w.control, w.control->slot[slot], trigger)) return;
    const int set = w.control->sorted;
    const double *edge = w.geometry.edge, *tilt = w.geometry.tilt;
    // Vector from the first centre to the second.
    double part[3] = {};
    for (int side = 0; side < 2; side++) {
        const double sign = side ? 1.0 : -1.0;
        const u32* span = t.members + 2 * blockIdx.x + side;
        for (u32 k = span[0] + threadIdx.x; k < span[1]; k += RESTRAINT_THREADS) {
            const u32 i = t.place_of[t.member[k]];
            const Double3 x = load(w.atoms.x[set], i);
            const int* image = w.atoms.image[set] + 3 * (size_t)i;
            const double a = image[0] + t.member_image[3 * k];
            const double b = image[1] + t.member_image[3 * k + 1];
            const double c = image[2] + t.member_image[3 * k + 2];
            const double share = sign * t.member_share[k];
            part[0] += share * (x.x + edge[0] * a + tilt[0] * b + tilt[1] * c);
            part[1] += share * (x.y + edge[1] * b + tilt[2] * c);
            part[2] += share * (x.z + edge[2] * c);
        }
    }
    __shared__ double d[3];
    block_sums<RESTRAINT_THREADS>(part, d);
    __syncthreads();
    if (threadIdx.x > 0) return;
    double x = d[0], y = d[1], z = d[2];
    shortest_image(w.geometry, x, y, z);
    const double* range = t.range + 2 * blockIdx.x;
    const double stiffness = t.springs[t.spring[t.n_anchors + blockIdx.x]].stiffness;
    const double in[4] = {x * x + y * y + z * z, range[0], range[1], stiffness};
    double out[2];
    spring(in, out);
    const double f = out[1], distance_force[DISTANCE_FORCE] = {f * x,     f * y,     f * z,     out[0],    f * x * x,
                                           f * y * y, f * z * z, f * x * y, f * x * z, f * y * z};
    for (int k = 0; k < DISTANCE_FORCE; k++) t.distance_force[DISTANCE_FORCE * blockIdx.x + k] = distance_force[k];
}

// Adds the forces on an atom and, with SUMS, energy and virial of its anchors to `sums`.
template <bool SUMS>
DEVICE void restrain(const DeviceData& w, const RestraintData& t, int i, double* sums) {
    const int set = w.control->sorted;
    const u32 id = w.atoms.id[set][i];
    const u32 end = t.first[id + 1];
    u32 k = t.first[id];
    if (k == end) return;
    const Double3 r = load(w.atoms.x[set], i);
    double x = 0.0, y = 0.0, z = 0.0;
    for (; k < end; k++) {
        const i64 number = t.number[k];
        if (number < t.n_anchors) {
            const double* place = t.anchor + 3 * number;
            const SpringData& own = t.springs[t.spring[number]];
            double dx = r.x - own.center[0] - place[0];
            double dy = r.y - own.center[1] - place[1];
            double dz = r.z - own.center[2] - place[2];
            shortest_image(w.geometry, dx, dy, dz);
            const double in[4] = {dx * dx + dy * dy + dz * dz, 0.0, 0.0, own.stiffness};
            double out[2];
            spring(in, out);
            const double force[3] = {out[1] * dx, out[1] * dy, out[1] * dz};
            x += force[0];
            y += force[1];
            z += force[2];
            if (SUMS) {
                const double arm[6] = {force[0],      force[1],      force[2],
                                       dx + place[0], dy + place[1], dz + place[2]};
                double virial[6];
                anchor_virial(arm, virial);
                sums[0] += out[0];
                for (int c = 0; c < 6; c++) sums[1 + c] += own.follows * virial[c];
            }
        } else {
            const double* distance_force = t.distance_force + DISTANCE_FORCE * (number - t.n_anchors);
            x += t.share[k] * distance_force[0];
            y += t.share[k] * distance_force[1];
            z += t.share[k] * distance_force[2];
        }
    }
    const real3 f = load_force(w, i);
    store_force(w, i, {f.x + (real)x, f.y + (real)y, f.z + (real)z});
}

extern "C" __global__ void __launch_bounds__(RESTRAINT_THREADS) restraint_forces(DeviceData w, RestraintData t, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!due(w.control, w.control->slot[slot], trigger)) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < w.n) restrain<false>(w, t, i, nullptr);
}

extern "C" __global__ void __launch_bounds__(RESTRAINT_THREADS)
restraint_forces_energies(DeviceData w, RestraintData t, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!due(w.control, w.control->slot[slot], trigger)) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double sums[ENERGY_AND_VIRIAL] = {};
    if (i < w.n) restrain<true>(w, t, i, sums);
    block_partial<RESTRAINT_THREADS, ENERGY_AND_VIRIAL>(w, sums);
}

// Sums of the shares: the energy into a column of a row of w.reduction.total, the virial onto that of pairs.
extern "C" __global__ void __launch_bounds__(RESTRAINT_THREADS)
restraint_sums(DeviceData w, RestraintData t, int blocks, int row_length, int n_pairs, int column, int trigger) {
    wait_for_previous_kernel();
    if (!due(w.control, w.control->slot[0], trigger) && trigger != TRIGGER_IMMEDIATE) return;
    double* row = w.reduction.total + (trigger == TRIGGER_SEGMENT_END ? (size_t)(w.control->part / 2) * row_length : 0);
    for (int k = 0; k < ENERGY_AND_VIRIAL; k++) {
        double sum = sum_of_shares<RESTRAINT_THREADS>(w, blocks, ENERGY_AND_VIRIAL, k);
        if (threadIdx.x > 0) continue;
        for (i64 d = 0; d < t.n_distances; d++) sum += t.distance_force[DISTANCE_FORCE * d + 3 + k];
        if (k == 0) {
            row[column] = sum;
        } else {
            row[n_pairs + k - 1] += sum;
        }
    }
}
