// Spatial sort: atoms near in space become neighbours in memory.
//
// The box is divided into columns along z, each as wide as a tile of atoms is long, and columns
// into thin bins. Columns are numbered in serpentine order and every other one downwards, so that
// atoms that follow each other in memory are near in space everywhere. Counting, scanning and
// filling give each atom its bin; inside a bin atoms are ordered by height and id. The sort uses
// predicted positions (`predicted`), so that the order follows from positions, velocities and
// forces, whatever it was before.

// Loop over all atoms. Kernels have no more blocks than the device runs at a time, so that they cost little where
// there is nothing to do.
#define EACH_ATOM(i) \
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < w.n; i += gridDim.x * blockDim.x)

// Sizes of the scan: a block scans the counts of SCAN_BLOCK bins.
enum { SCAN_THREADS = 256, SCAN_BINS = 4, SCAN_BLOCK = SCAN_THREADS * SCAN_BINS };

// Wraps a position into the box and counts the images crossed.
DEVICE void wrap(const BoxGeometry& geometry, Double3& x, int image[3]) {
    double c = (x.z - geometry.origin[2]) * geometry.inverse[2];
    double b = (x.y - geometry.origin[1] - geometry.tilt[2] * c) * geometry.inverse[1];
    double a = (x.x - geometry.origin[0] - geometry.tilt[0] * b - geometry.tilt[1] * c) * geometry.inverse[0];
    double n[3] = {geometry.periodic[0] ? floor(a) : 0.0, geometry.periodic[1] ? floor(b) : 0.0,
                   geometry.periodic[2] ? floor(c) : 0.0};
    if (n[0] == 0.0 && n[1] == 0.0 && n[2] == 0.0) return;
    x.x -= geometry.edge[0] * n[0] + geometry.tilt[0] * n[1] + geometry.tilt[1] * n[2];
    x.y -= geometry.edge[1] * n[1] + geometry.tilt[2] * n[2];
    x.z -= geometry.edge[2] * n[2];
    for (int k = 0; k < 3; k++) image[k] += (int)n[k];
}

extern "C" __global__ void sort_speeds(DeviceData w, int slot) {
    wait_for_previous_kernel();
    Control* control = w.control;
    if (!build_due(control, control->slot[slot]) || control->prediction_distance == 0) return;
    u32 fastest2 = 0;
    EACH_ATOM(i) {
        const Double3 v = load(w.atoms.v[control->sorted], i);
        const float x = (float)v.x, y = (float)v.y, z = (float)v.z;
        // Floats that are not negative have the order of their bits.
        fastest2 = max(fastest2, (u32)__float_as_int(x * x + y * y + z * z));
    }
    fastest2 = __reduce_max_sync(ALL_LANES, fastest2);
    if (threadIdx.x % 32 == 0 && fastest2 > control->fastest2) atomicMax(&control->fastest2, fastest2);
}

// Predicted position of an atom at the time when the fastest of all has moved by a part of the skin, from its
// velocity and, if it was kept, its force. Lists are built around these positions: an atom in flight approaches its
// own from behind and leaves it on the other side, and can move twice as far as from its present position until the
// list is stale. Predicted displacements stay below the displacement limit. See jostle_core::prediction.
DEVICE Position predicted(const DeviceData& w, int i, Position p, const Slot& now) {
    const Control* control = w.control;
    const float fastest2 = __int_as_float((int)control->fastest2);
    if (!(fastest2 > 0.0f)) return p;
    const double most = 0.45 * control->skin * displacement_limit(w, (int)p.species);
    const double time = control->prediction_distance * control->skin / sqrt((double)fastest2);
    Double3 d = load(w.atoms.v[control->sorted], i);
    // Forces are kept by steps on the device only: reproducible runs must not depend on that.
    if (now.kept && !REPRODUCIBLE) {
        // The parabola's factor is 0.5; less is better, because forces that turn an atom round do not last.
        kick(d, 0.4 * time * w.atoms.inverse_mass[mass_index(w, i, (int)p.species)], load_force(w, i));
    }
    const double length2 = time * time * (d.x * d.x + d.y * d.y + d.z * d.z);
    const double scale = length2 <= most * most ? time : time * most / sqrt(length2);
    if (!(scale > 0.0)) return p;
    const BoxGeometry& geometry = w.geometry;
#if DOUBLE
    int image[3];
    Double3 x = {fma(scale, d.x, p.x), fma(scale, d.y, p.y), fma(scale, d.z, p.z)};
    wrap(geometry, x, image);
    p.x = x.x;
    p.y = x.y;
    p.z = x.z;
#else
    const double *l = geometry.inverse, *t = geometry.tilt, unit = scale * 4294967296.0;
    const double c = d.z * l[2], b = (d.y - t[2] * c) * l[1], a = (d.x - t[0] * b - t[1] * c) * l[0];
    p.x += (u32)__double2ll_rn(unit * a);
    p.y += (u32)__double2ll_rn(unit * b);
    p.z += (u32)__double2ll_rn(unit * c);
#endif
    return p;
}

extern "C" __global__ void sort_count(DeviceData w, int slot) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!build_due(w.control, now)) return;
    EACH_ATOM(i) {
        const Fixed s = to_fixed(w.geometry, predicted(w, i, w.atoms.position[now.parity][i], now));
        const u32 bin = bin_of(w.geometry, s);
        w.sort.bin[i] = bin;
        w.sort.rank[i] = atomicAdd(&w.sort.count[bin], 1u);
        // Height of the atom in its column, in the direction of the column.
        w.sort.height[i] = bin / w.geometry.bins & 1 ? ~s.z : s.z;
    }
}

// Sum of one value per thread of a block, for all of its threads.
DEVICE u32 block_sum(u32 value, u32* warps) {
    for (int m = 16; m > 0; m /= 2) value += __shfl_xor_sync(0xffffffffu, value, m);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    u32 sum = 0;
    for (u32 k = 0; k < blockDim.x / 32; k++) sum += warps[k];
    __syncthreads();
    return sum;
}

// Numbers of atoms in the bins of each block.
extern "C" __global__ void __launch_bounds__(SCAN_THREADS) sort_sums(DeviceData w, int slot) {
    wait_for_previous_kernel();
    if (!build_due(w.control, w.control->slot[slot])) return;
    __shared__ u32 warps[SCAN_THREADS / 32];
    u32 all = n_bins(w.geometry), first = blockIdx.x * SCAN_BLOCK, sum = 0;
    for (u32 k = threadIdx.x; k < SCAN_BLOCK; k += SCAN_THREADS) sum += first + k < all ? w.sort.count[first + k] : 0;
    sum = block_sum(sum, warps);
    if (threadIdx.x == 0) w.sort.sums[blockIdx.x] = sum;
}

// First atoms of bins; sets the counts to zero for the next sort.
extern "C" __global__ void __launch_bounds__(SCAN_THREADS) sort_scan(DeviceData w, int slot) {
    wait_for_previous_kernel();
    if (!build_due(w.control, w.control->slot[slot])) return;
    __shared__ u32 warps[SCAN_THREADS / 32];
    __shared__ u32 counts[SCAN_BLOCK + SCAN_BLOCK / SCAN_BINS];
    u32 all = n_bins(w.geometry), first = blockIdx.x * SCAN_BLOCK, before = 0;
    for (u32 k = threadIdx.x; k < blockIdx.x; k += SCAN_THREADS) before += w.sort.sums[k];
    before = block_sum(before, warps);
    // Loads are coalesced; then a thread has SCAN_BINS consecutive counts, and a gap for each avoids bank conflicts.
    for (u32 k = threadIdx.x; k < SCAN_BLOCK; k += SCAN_THREADS) {
        bool real_bin = first + k < all;
        counts[k + k / SCAN_BINS] = real_bin ? w.sort.count[first + k] : 0;
        if (real_bin) w.sort.count[first + k] = 0;
    }
    __syncthreads();
    u32* mine = counts + threadIdx.x * (SCAN_BINS + 1);
    u32 sum = 0;
    for (int k = 0; k < SCAN_BINS; k++) sum += mine[k];
    const u32 inclusive = sum_up_to_lane(sum);
    if (threadIdx.x % 32 == 31) warps[threadIdx.x / 32] = inclusive;
    __syncthreads();
    u32 start = before + inclusive - sum;
    for (u32 k = 0; k < threadIdx.x / 32; k++) start += warps[k];
    for (int k = 0; k < SCAN_BINS; k++) {
        u32 count = mine[k];
        mine[k] = start;
        start += count;
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k < SCAN_BLOCK; k += SCAN_THREADS) {
        if (first + k < all) w.sort.start[first + k] = counts[k + k / SCAN_BINS];
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) w.sort.start[all] = w.n;
}

// Atoms by bins, with their heights beside, in any order inside a bin.
extern "C" __global__ void sort_fill(DeviceData w, int slot) {
    wait_for_previous_kernel();
    if (!build_due(w.control, w.control->slot[slot])) return;
    EACH_ATOM(i) w.sort.order[w.sort.start[w.sort.bin[i]] + w.sort.rank[i]] = (u64)w.sort.height[i] << 32 | i;
}

// Copies of all atoms at their new indices in the other set of arrays.
extern "C" __global__ void sort_move(DeviceData w, int slot) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!build_due(w.control, now)) return;
    const int from = w.control->sorted, to = from ^ 1, n = w.n;
    const Position* position = w.atoms.position[now.parity];
    EACH_ATOM(p) {
        const u64 entry = w.sort.order[p];
        const u32 i = (u32)entry, high = (u32)(entry >> 32), bin = w.sort.bin[i], id = w.atoms.id[from][i];
        const u32 first = w.sort.start[bin], end = w.sort.start[bin + 1];
        Position here = position[i];
        const Position built = predicted(w, i, here, now);
        Double3 x = load(w.atoms.x[from], i), v = load(w.atoms.v[from], i);
        const int* was = w.atoms.image[from] + 3 * (size_t)i;
        int image[3] = {was[0], was[1], was[2]};
        u32 index = first;
        for (u32 q = first; q < end; q++) {
            const u64 other = w.sort.order[q];
            if ((u32)(other >> 32) < high) index++;
            if ((u32)(other >> 32) == high && w.atoms.id[from][(u32)other] < id) index++;
        }
        wrap(w.geometry, x, image);
        store(w.atoms.x[to], index, x);
        store(w.atoms.v[to], index, v);
        w.atoms.id[to][index] = id;
        if (w.atoms.charge) w.atoms.charge[index] = w.atoms.charge_by_id[id];
        for (int k = 0; k < 3; k++) w.atoms.image[to][3 * (size_t)index + k] = image[k];
#if DOUBLE
        here = to_position(w.geometry, x.x, x.y, x.z, (int)here.species);
#endif
        w.atoms.position[now.parity ^ 1][index] = here;
        w.atoms.built[index] = built;
    }
}

// Indices of all atoms after a sort, while lists are built.
extern "C" __global__ void exclusion_places(DeviceData w, int slot) {
    wait_for_previous_kernel();
    if (!build_due(w.control, w.control->slot[slot])) return;
    EACH_ATOM(i) w.exclusions.index_by_id[w.atoms.id[w.control->sorted ^ 1][i]] = i;
}

extern "C" __global__ void exclusion_partners(DeviceData w, int slot) {
    wait_for_previous_kernel();
    if (!build_due(w.control, w.control->slot[slot])) return;
    EACH_ATOM(i) {
        const u32 id = w.atoms.id[w.control->sorted ^ 1][i];
        uint2 range = {NO_ATOM, 0};
        auto index_of = [&](u32 other) {
            const u32 index = other == NO_ATOM ? NO_ATOM : w.exclusions.index_by_id[other];
            if (index != NO_ATOM) range = {min(range.x, index), max(range.y, index)};
            return index;
        };
        uint4 four = {};
        for (int k = 0; k < w.exclusions.fours; k++) {
            // NO_ATOM stands behind the last one: most atoms have few.
            if (four.w != NO_ATOM) four = w.exclusions.ids[(size_t)k * w.n + id];
            else four = {NO_ATOM, NO_ATOM, NO_ATOM, NO_ATOM};
            w.exclusions.partner[(size_t)k * w.n + i] = {index_of(four.x), index_of(four.y), index_of(four.z), index_of(four.w)};
        }
        w.exclusions.partner_range[i] = range;
    }
}

// Makes the state after slot `from` that of the first slot, and publishes faults. `after_build` is true where the
// kernels that build lists have been launched before.
extern "C" __global__ void __launch_bounds__(64) settle(DeviceData w, int from, int after_build) {
    wait_for_previous_kernel();
    Control* control = w.control;
    __shared__ Slot now;
    if (threadIdx.x == 0) {
        now = control->slot[from];
        const bool built = after_build && build_due(control, now);
        control->faults |= control->reported;
        control->reported = 0;
        control->fastest2 = 0;
        if (after_build && (now.done > control->slot[0].done || (built && !control->faults))) control->replays++;
        if (built && control->faults) {
            // Parts of a list that did not fit are in place of the one before, which may not have been stale.
            now.stale = 1;
        } else if (built) {
            now.stale = now.soon = now.kept = 0;
            now.parity ^= 1;
            control->sorted ^= 1;
            control->builds++;
        }
    }
    __syncthreads();
    if (threadIdx.x < SLOTS + 1) control->slot[threadIdx.x].stale = control->slot[threadIdx.x].soon = 0;
    __syncthreads();
    if (threadIdx.x == 0) control->slot[0] = now;
}

// Advance of the batch to its next part, if the one before is done.
extern "C" __global__ void next_part(DeviceData w, int begun) {
    wait_for_previous_kernel();
    Control* control = w.control;
    if (begun ? segment_start_due(control) : segment_end_due(control, control->slot[0])) {
        if (begun) control->target = (control->part / 2 + 1) * control->segment;
        control->part++;
    }
}
