// Molecular virial, and changes of the box that move molecules without deforming them. The threads of a team share the
// atoms of a molecule: a block those of a long one, a few lanes those of any other.

enum { MOLECULE_THREADS = 256, MOLECULAR_SUMS = 2, LANES = 4 };

extern "C" __global__ void molecule_indices(DeviceData w, MoleculeData m) {
    wait_for_previous_kernel();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < w.n) m.index_by_id[w.atoms.id[w.control->sorted][i]] = i;
}

// Team of so many threads, and a molecule for it.
template <int THREADS>
struct Team {
    u32 molecule, begin, end;  // entries from `begin` to `end`; none where no molecule is left for the team
    int rank;

    DEVICE_MEMBER Team(const MoleculeData& m, i64 k) {
        molecule = (u32)k, rank = threadIdx.x % THREADS;
        begin = k < m.n ? m.first[k] : 0, end = k < m.n ? m.first[k + 1] : 0;
    }

    // Sum over the team, for all its threads; all threads of a warp or block call it.
    DEVICE_MEMBER double sum(double x) const {
        for (int k = (THREADS < 32 ? THREADS : 32) / 2; k > 0; k /= 2) x += __shfl_xor_sync(ALL_LANES, x, k);
        if (THREADS > 32) {
            __shared__ double warps[MOLECULE_THREADS / 32];
            __syncthreads();  // the sum before this one has been read
            if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
            __syncthreads();
            x = 0;
            for (int warp = 0; warp < THREADS / 32; warp++) x += warps[warp];
        }
        return x;
    }

    DEVICE_MEMBER Double3 sum(Double3 a) const { return {sum(a.x), sum(a.y), sum(a.z)}; }
};

// Calls `f` with each team of this block and its molecule. All threads of a block make the same calls.
template <typename F>
DEVICE void each_molecule(const MoleculeData& m, const F& f) {
    for (i64 k = blockIdx.x; k < m.n_long; k += gridDim.x) f(Team<MOLECULE_THREADS>(m, k));
    const i64 teams = gridDim.x * (MOLECULE_THREADS / LANES);
    const i64 own = (blockIdx.x * MOLECULE_THREADS + threadIdx.x) / LANES;
    for (i64 first = m.n_long; first < m.n; first += teams) f(Team<LANES>(m, first + own));
}

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

template <int THREADS>
DEVICE MoleculeCenter center_of(const DeviceData& w, const MoleculeData& m, const Team<THREADS>& team, int set) {
    MoleculeCenter center = {};
    const u32 first = m.index_by_id[m.atom[team.begin]];
    center.origin = load(w.atoms.x[set], first);
    image_of(w, m, team.begin, first, set, center.base);
    for (u32 entry = team.begin + team.rank; entry < team.end; entry += THREADS) {
        const u32 i = m.index_by_id[m.atom[entry]];
        drift(center.r, m.share[entry], from_first_atom(w, m, entry, i, set, center.origin, center.base));
        drift(center.v, m.share[entry], load(w.atoms.v[set], i));
    }
    center.r = team.sum(center.r);
    center.v = team.sum(center.v);
    return center;
}

// Twice the kinetic energy of centres, and the sum of f . d over atoms at d from the centre of their molecule.
struct VirialOfMolecule {
    const DeviceData& w;
    const MoleculeData& m;
    double* sums;

    template <int THREADS>
    DEVICE_MEMBER void operator()(const Team<THREADS>& team) const {
        const int set = w.control->sorted;
        const MoleculeCenter center = center_of(w, m, team, set);
        double within = 0;
        for (u32 entry = team.begin + team.rank; entry < team.end; entry += THREADS) {
            const u32 i = m.index_by_id[m.atom[entry]];
            const Double3 r = from_first_atom(w, m, entry, i, set, center.origin, center.base);
            const real3 f = load_force(w, i);
            within += f.x * (r.x - center.r.x) + f.y * (r.y - center.r.y) + f.z * (r.z - center.r.z);
        }
        within = team.sum(within);
        if (team.begin == team.end) return;
        const Double3 v = center.v;
        const double own[MOLECULAR_SUMS] = {m.mass[team.molecule] * (v.x * v.x + v.y * v.y + v.z * v.z), within};
#if REPRODUCIBLE
        // The share of a molecule is that of its first atom.
        const double nothing[MOLECULAR_SUMS] = {};
        for (u32 entry = team.begin + team.rank; entry < team.end; entry += THREADS) {
            store_share(w, entry == team.begin ? own : nothing, m.atom[entry]);
        }
#else
        for (int j = 0; j < MOLECULAR_SUMS; j++) sums[j] += team.rank == 0 ? own[j] : 0.0;
#endif
    }
};

// Blocks store their shares.
extern "C" __global__ void __launch_bounds__(MOLECULE_THREADS) molecular_virial(DeviceData w, MoleculeData m) {
    wait_for_previous_kernel();
    double sums[MOLECULAR_SUMS] = {};
    each_molecule(m, VirialOfMolecule{w, m, sums});
#if !REPRODUCIBLE
    block_partial<MOLECULE_THREADS, MOLECULAR_SUMS>(w, sums);
#endif
}

// Saves positions, velocities and images of a molecule, and moves its centre, of whose velocity it makes 1 + `faster` times
// as much, with the edges of another box.
struct MoveMolecule {
    const DeviceData& w;
    const MoleculeData& m;
    const BoxGeometry& after;
    double faster;

    template <int THREADS>
    DEVICE_MEMBER void operator()(const Team<THREADS>& team) const {
        const int set = w.control->sorted;
        const MoleculeCenter center = center_of(w, m, team, set);
        for (u32 entry = team.begin + team.rank; entry < team.end; entry += THREADS) {
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
};

extern "C" __global__ void __launch_bounds__(MOLECULE_THREADS)
scale_molecules(DeviceData w, MoleculeData m, BoxGeometry after, double faster) {
    wait_for_previous_kernel();
    each_molecule(m, MoveMolecule{w, m, after, faster});
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
