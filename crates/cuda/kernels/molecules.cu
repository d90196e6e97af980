// Molecular virial, and changes of the box that move molecules without deforming them. A warp has a molecule at a
// time, whose atoms its lanes share.

enum { MOLECULE_THREADS = 256, MOLECULAR_SUMS = 2 };

extern "C" __global__ void molecule_indices(DeviceData w, MoleculeData m) {
    wait_for_previous_kernel();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < w.n) m.index_by_id[w.atoms.id[w.control->sorted][i]] = i;
}

DEVICE double lane_sum(double x) {
    for (int k = 16; k > 0; k /= 2) x += __shfl_xor_sync(ALL_LANES, x, k);
    return x;
}

DEVICE Double3 lane_sum(Double3 a) { return {lane_sum(a.x), lane_sum(a.y), lane_sum(a.z)}; }

// Image of an atom in its molecule made whole.
DEVICE void image_of(const DeviceData& w, const MoleculeData& m, u32 entry, u32 i, int set, int* image) {
    for (int k = 0; k < 3; k++) {
        image[k] = w.atoms.image[set][3 * (size_t)i + k] + m.shift[k * (size_t)w.n + entry];
    }
}

// Vector to an atom from the first atom of its molecule, which is at `origin` in the image `base`.
DEVICE Double3 from_first_atom(const DeviceData& w, const MoleculeData& m, u32 entry, u32 i, int set, Double3 origin,
                          const int* base) {
    int image[3];
    image_of(w, m, entry, i, set, image);
    const double a = image[0] - base[0], b = image[1] - base[1], c = image[2] - base[2];
    const double* edge = w.geometry.edge;
    const double* tilt = w.geometry.tilt;
    const Double3 x = load(w.atoms.x[set], i);
    return {x.x - origin.x + (a * edge[0] + b * tilt[0] + c * tilt[1]),
            x.y - origin.y + (b * edge[1] + c * tilt[2]), x.z - origin.z + c * edge[2]};
}

// Centre of mass of a molecule, relative to its first atom, and the centre's velocity.
struct MoleculeCenter {
    Double3 origin, r, v;
    int base[3];
};

DEVICE MoleculeCenter center_of(const DeviceData& w, const MoleculeData& m, u32 begin, u32 end, int set) {
    MoleculeCenter center = {};
    const u32 first = m.index_by_id[m.atom[begin]];
    center.origin = load(w.atoms.x[set], first);
    image_of(w, m, begin, first, set, center.base);
    for (u32 entry = begin + threadIdx.x % 32; entry < end; entry += 32) {
        const u32 i = m.index_by_id[m.atom[entry]];
        drift(center.r, m.share[entry], from_first_atom(w, m, entry, i, set, center.origin, center.base));
        drift(center.v, m.share[entry], load(w.atoms.v[set], i));
    }
    center.r = lane_sum(center.r);
    center.v = lane_sum(center.v);
    return center;
}

// Twice the kinetic energy of centres, and the sum of f . d over atoms at d from the centre of their
// molecule. Blocks store their shares.
extern "C" __global__ void __launch_bounds__(MOLECULE_THREADS) molecular_virial(DeviceData w, MoleculeData m) {
    wait_for_previous_kernel();
    const int set = w.control->sorted;
    const u32 lane = threadIdx.x % 32, warps = gridDim.x * (MOLECULE_THREADS / 32);
    double sums[MOLECULAR_SUMS] = {};
    for (u32 k = (blockIdx.x * MOLECULE_THREADS + threadIdx.x) / 32; k < m.n; k += warps) {
        const u32 begin = m.first[k], end = m.first[k + 1];
        const MoleculeCenter center = center_of(w, m, begin, end, set);
        double within = 0;
        for (u32 entry = begin + lane; entry < end; entry += 32) {
            const u32 i = m.index_by_id[m.atom[entry]];
            const Double3 r = from_first_atom(w, m, entry, i, set, center.origin, center.base);
            const real3 f = load_force(w, i);
            within += f.x * (r.x - center.r.x) + f.y * (r.y - center.r.y) + f.z * (r.z - center.r.z);
        }
        const Double3 v = center.v;
        const double own[MOLECULAR_SUMS] = {m.mass[k] * (v.x * v.x + v.y * v.y + v.z * v.z), lane_sum(within)};
#if REPRODUCIBLE
        // The share of a molecule is that of its first atom.
        const double nothing[MOLECULAR_SUMS] = {};
        for (u32 entry = begin + lane; entry < end; entry += 32) {
            store_share(w, entry == begin ? own : nothing, m.atom[entry]);
        }
#else
        for (int j = 0; j < MOLECULAR_SUMS; j++) sums[j] += lane == 0 ? own[j] : 0.0;
#endif
    }
#if !REPRODUCIBLE
    block_partial<MOLECULE_THREADS, MOLECULAR_SUMS>(w, sums);
#endif
}

// Saves positions, velocities and images, and moves the centres of molecules with the edges of another box; their
// velocities are multiplied by 1 + `faster`.
extern "C" __global__ void __launch_bounds__(MOLECULE_THREADS)
scale_molecules(DeviceData w, MoleculeData m, BoxGeometry after, double faster) {
    wait_for_previous_kernel();
    const int set = w.control->sorted;
    const u32 lane = threadIdx.x % 32, warps = gridDim.x * (MOLECULE_THREADS / 32);
    for (u32 k = (blockIdx.x * MOLECULE_THREADS + threadIdx.x) / 32; k < m.n; k += warps) {
        const u32 begin = m.first[k], end = m.first[k + 1];
        const MoleculeCenter center = center_of(w, m, begin, end, set);
        for (u32 entry = begin + lane; entry < end; entry += 32) {
            const u32 id = m.atom[entry], i = m.index_by_id[id];
            const Double3 x = load(w.atoms.x[set], i), v = load(w.atoms.v[set], i);
            const Double3 r = from_first_atom(w, m, entry, i, set, center.origin, center.base);
            store(m.x, id, x);
            store(m.v, id, v);
            for (int j = 0; j < 3; j++) m.image[3 * (size_t)id + j] = w.atoms.image[set][3 * (size_t)i + j];
            const Double3 arm = {r.x - center.r.x, r.y - center.r.y, r.z - center.r.z};
            const Fractions s = fractions(w.geometry, x.x - arm.x, x.y - arm.y, x.z - arm.z);
            const double* edge = after.edge;
            const double* tilt = after.tilt;
            store(w.atoms.x[set], i,
                  {after.origin[0] + s.x * edge[0] + s.y * tilt[0] + s.z * tilt[1] + arm.x,
                   after.origin[1] + s.y * edge[1] + s.z * tilt[2] + arm.y, after.origin[2] + s.z * edge[2] + arm.z});
            store(w.atoms.v[set], i,
                  {v.x + faster * center.v.x, v.y + faster * center.v.y, v.z + faster * center.v.z});
        }
    }
}

// Restores the saved positions, velocities and images.
extern "C" __global__ void undo_scale(DeviceData w, MoleculeData m) {
    wait_for_previous_kernel();
    const int i = blockIdx.x * blockDim.x + threadIdx.x, set = w.control->sorted;
    if (i >= w.n) return;
    const u32 id = w.atoms.id[set][i];
    store(w.atoms.x[set], i, load(m.x, id));
    store(w.atoms.v[set], i, load(m.v, id));
    for (int j = 0; j < 3; j++) w.atoms.image[set][3 * (size_t)i + j] = m.image[3 * (size_t)id + j];
}
