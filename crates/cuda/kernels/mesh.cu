// Smooth particle-mesh Ewald: charges are spread on a mesh by B-splines, amplitudes of modes follow by Fourier
// transforms, and forces are the exact derivatives of the resulting energy.
//
// Source in front of this file: generated formulas (codegen.rs, `mesh_source`), excluded.cuh, the transforms
// (fourier.cuh), and from the command line the points along the edges, MESH_X, MESH_Y and MESH_Z, and the numbers
// of lines along each of them that a block transforms at a time.
//
// Charges are spread as integers: their sum does not depend on the order of atoms. Amplitudes of modes are stored
// by x, wave number along z, and y or its wave number; of each mode and its opposite only one.
//
// Several GPUs (SEVERAL) divide the mesh: each has planes of points with adjacent x, and columns of modes. Every GPU
// has room for the whole mesh, and stores what another one goes on with where that has it: charges that its atoms spread
// on the other's planes, amplitudes of the other's columns before the transforms along x, and of its planes after them.
// Potentials are read where they are. Between these parts all wait for each other (`exchange_mesh`).
// Advantage: nothing is packed, copied or unpacked, and the sums are those of one GPU. Disadvantage: four waits a mesh.

enum {
    MESH_THREADS = 128,
    SPREAD_THREADS = 256,
    SPREAD_ATOMS = 64,     // of a block: they follow each other in the sorted order and are thus near in space
    SPREAD_BLOCKS = DOUBLE ? 2 : 6,  // resident on a multiprocessor
    SPREAD_WARPS = SPREAD_THREADS / 32,
    AROUND = DOUBLE ? 2048 : 4096,  // mesh points around the atoms of a block that fit shared memory
    TEAM = SPREAD_THREADS / SPREAD_ATOMS,
    FARTHEST = 1 << 30,    // beyond all points
    MODES_Z = MESH_Z / 2 + 1,
    COLUMNS = MODES_Z * MESH_Y,
    PLANE = MESH_Y * MESH_Z,
    SLICED = 32 / MESH_ORDER,  // atoms of a warp at a time, if a lane has an atom's points with one y
    COLUMN_TEAM = 16,      // threads that share a column of points
};

// ---- division among GPUs

// Range of numbers.
struct Span { int begin, end; };

// Planes or columns of this GPU, of `n`.
DEVICE Span part(const MeshArrays& m, int n) {
#if SEVERAL
    return {(int)((i64)n * m.rank / m.gpus), (int)((i64)n * (m.rank + 1) / m.gpus)};
#else
    return {0, n};
#endif
}

// GPU with a plane or column of `n`.
DEVICE int gpu_with(const MeshArrays& m, int k, int n) {
    return SEVERAL ? (int)((u32)((k + 1) * m.gpus - 1) / (u32)n) : 0;
}

// Number of this GPU among those that divide the mesh.
DEVICE int mesh_rank(const MeshArrays& m) { return SEVERAL ? m.rank : 0; }
DEVICE Span own_planes(const MeshArrays& m) { return part(m, MESH_X); }
DEVICE Span own_columns(const MeshArrays& m) { return part(m, COLUMNS); }
DEVICE Complex* own_modes(const MeshArrays& m) { return m.modes[mesh_rank(m)]; }

// Point of the mesh where its GPU has it.
DEVICE i64* charge_at(const MeshArrays& m, u32 point) { return m.charge[gpu_with(m, (int)(point / PLANE), MESH_X)] + point; }
DEVICE const real* potential_at(const MeshArrays& m, u32 point) {
    return m.potential[gpu_with(m, (int)(point / PLANE), MESH_X)] + point;
}

// Atoms whose charges this GPU spreads, and on which it gathers forces.
DEVICE Span own_atoms(const DeviceData& w) { return SEVERAL ? Span{w.owned.first, w.owned.end} : Span{0, w.n}; }

// ---- between atoms and mesh

// Position of an atom along an edge: the mesh point below, and the fraction beyond it.
struct Along { int point; real beyond; };

#if DOUBLE
DEVICE Along along_edge(const BoxGeometry& geometry, Position p, int axis, int n) {
    const Fractions s = fractions(geometry, p.x, p.y, p.z);
    const double at = axis == 0 ? s.x : axis == 1 ? s.y : s.z, u = (at - floor(at)) * n;
    // NaNs must not lead out of the mesh.
    const int point = max(0, min((int)u, n - 1));
    return {point, u - point};
}
#else
DEVICE Along along_edge(const BoxGeometry&, Position p, int axis, int n) {
    const u32 at = axis == 0 ? p.x : axis == 1 ? p.y : p.z;
    return {(int)__umulhi(at, (u32)n), (real)(at * (u32)n) * (real)(1.0 / 4294967296.0)};
}
#endif

DEVICE int points_along(int axis) { return axis == 0 ? MESH_X : axis == 1 ? MESH_Y : MESH_Z; }

// Point of the mesh for a point less than an edge outside.
DEVICE int wrapped(int k, int n) { return k < 0 ? k + n : k < n ? k : k - n; }

// Positions of the atoms of a block on the mesh, and their splines, with STRIDE numbers for each atom.
template <int STRIDE>
struct Splines {
    int origin[3];                  // point below the first atom
    int low[3], high[3];            // first point of all atoms, and one after the last, from there
    int point[3][SPREAD_ATOMS];     // point below an atom, from there
    alignas(16) real weight[3][SPREAD_ATOMS][STRIDE];
    alignas(16) real slope[3][SPREAD_ATOMS][STRIDE];

    // Fills the arrays, by all threads of the block.
    DEVICE_MEMBER void find(const DeviceData& w, const Position* position, int first, int own) {
        static_assert(3 * SPREAD_ATOMS <= SPREAD_THREADS && SPREAD_ATOMS % 32 == 0, "a warp has an axis");
        const int axis = threadIdx.x / SPREAD_ATOMS, atom = threadIdx.x % SPREAD_ATOMS, lane = threadIdx.x % 32;
        if (threadIdx.x < 3) {
            low[threadIdx.x] = FARTHEST;
            high[threadIdx.x] = -FARTHEST;
        }
        __syncthreads();
        if (axis < 3) {
            const int n = points_along(axis), begin = along_edge(w.geometry, position[first], axis, n).point;
            int from = FARTHEST, to = -FARTHEST;
            if (atom < own) {
                const Along along = along_edge(w.geometry, position[first + atom], axis, n);
                const int ahead = along.point - begin;
                from = ahead - (2 * ahead >= n ? n : 0) + (2 * ahead < -n ? n : 0);
                to = from + MESH_ORDER;
                point[axis][atom] = from;
                const real in[1] = {along.beyond};
                real out[2 * MESH_ORDER];
                spline(in, out);
                for (int k = 0; k < MESH_ORDER; k++) {
                    weight[axis][atom][k] = out[k];
                    slope[axis][atom][k] = out[MESH_ORDER + k];
                }
            }
            from = __reduce_min_sync(ALL_LANES, from);
            to = __reduce_max_sync(ALL_LANES, to);
            if (lane == 0) {
                atomicMin(&low[axis], from);
                atomicMax(&high[axis], to);
                origin[axis] = begin;
            }
        }
        __syncthreads();
    }

    // Index on the mesh of the i-th, j-th and k-th point of an atom along x, y and z.
    DEVICE_MEMBER int on_mesh(int atom, int i, int j, int k) const {
        const int x = wrapped(origin[0] + point[0][atom] + i, MESH_X);
        const int y = wrapped(origin[1] + point[1][atom] + j, MESH_Y);
        return (x * MESH_Y + y) * MESH_Z + wrapped(origin[2] + point[2][atom] + k, MESH_Z);
    }
};

// Points around the atoms of a block, of which shared memory has copies.
struct MeshPatch {
    int first[3];           // on the mesh
    int low[3];             // from the origin of the splines
    int layers, columns, height;
    int pitch, layer;       // from a column to the next, and from a layer; columns in different banks
    bool fit;               // all of them fit shared memory, and none occurs twice

    template <int STRIDE>
    DEVICE_MEMBER explicit MeshPatch(const Splines<STRIDE>& s) {
        for (int a = 0; a < 3; a++) {
            low[a] = s.low[a];
            first[a] = wrapped(s.origin[a] + s.low[a], points_along(a));
        }
        layers = s.high[0] - s.low[0], columns = s.high[1] - s.low[1], height = s.high[2] - s.low[2];
        pitch = height | 1, layer = columns * pitch;
        fit = layers <= MESH_X && columns <= MESH_Y && height <= MESH_Z && (i64)layers * layer <= AROUND;
    }

    // Index of the copy of an atom's first point along x and z, and its j-th along y.
    template <int STRIDE>
    DEVICE_MEMBER int line(const Splines<STRIDE>& s, int atom, int j) const {
        const int x = s.point[0][atom] - low[0], y = s.point[1][atom] - low[1], z = s.point[2][atom] - low[2];
        return x * layer + (y + j) * pitch + z;
    }

    // Calls `f` with the indices of each copy and of its point on the mesh, by all threads of the block.
    template <typename F>
    DEVICE_MEMBER void each(F f) const {
        const int team = threadIdx.x / COLUMN_TEAM, member = threadIdx.x % COLUMN_TEAM;
        // Quotients of so few columns are exact from a reciprocal that is by 2^-20 too large.
        static_assert(AROUND <= 1 << 12 && MESH_ORDER > 1, "");
        const u32 per_layer = (u32)(4294967296.0f * (1.0f + 1.0f / 1048576) * reciprocal((float)columns));
        // Point of the mesh for a point less than an edge beyond: the smaller of two unsigned numbers.
        auto on_edge = [](int k, int n) { return (int)min((u32)k, (u32)(k - n)); };
        for (int z = member; z < height; z += COLUMN_TEAM) {
            const int along = on_edge(first[2] + z, MESH_Z);
#pragma unroll 4
            for (int column = team; column < layers * columns; column += SPREAD_THREADS / COLUMN_TEAM) {
                const int x = (int)__umulhi((u32)column, per_layer), y = column - x * columns;
                const int begin = on_edge(first[0] + x, MESH_X) * MESH_Y + on_edge(first[1] + y, MESH_Y);
                f(column * pitch + z, (u32)(begin * MESH_Z + along));
            }
        }
    }
};

// Calls `f` with an atom, the number of a y, and true where this lane has points: the lanes that share an atom have
// those of one y each. Lanes without points call it with another's numbers, so that the warp does not diverge.
template <typename F>
DEVICE void each_slice(int own, F f) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, member = min(lane / MESH_ORDER, SLICED - 1);
    for (int base = warp * SLICED; base < own; base += SPREAD_WARPS * SLICED) {
        const int atom = base + member;
        f(min(atom, own - 1), lane % MESH_ORDER, atom < own && lane < SLICED * MESH_ORDER);
    }
}

// Integer charges in the sums of a block.
#if DOUBLE
typedef i64 Units;
DEVICE i64 whole(double x) { return __double2ll_rn(x); }
#else
typedef int Units;
DEVICE int whole(float x) { return __float2int_rn(x); }
#endif
DEVICE void add_units(int* at, int units) { atomicAdd(at, units); }
DEVICE void add_units(i64* at, i64 units) { atomicAdd((u64*)at, (u64)units); }

// Adds a charge to a point of the mesh, to which atoms of other GPUs may add theirs.
DEVICE void add_charge(const MeshArrays& m, u32 point, i64 units) {
#if SEVERAL
    atomicAdd_system((u64*)charge_at(m, point), (u64)units);
#else
    atomicAdd((u64*)charge_at(m, point), (u64)units);
#endif
}

// Calls `add` with the numbers along x and z of an atom's points with the j-th y, and their shares of its charge.
template <int STRIDE, typename Add>
DEVICE void spread_slice(const Splines<STRIDE>& s, int atom, int j, real charge, Add add) {
    const real part = charge * s.weight[1][atom][j];
#pragma unroll
    for (int i = 0; i < MESH_ORDER; i++) {
        const real share = part * s.weight[0][atom][i];
#pragma unroll
        for (int k = 0; k < MESH_ORDER; k++) add(i, k, whole(share * s.weight[2][atom][k]));
    }
}

extern "C" __global__ void __launch_bounds__(SPREAD_THREADS, SPREAD_BLOCKS)
mesh_spread(DeviceData w, MeshArrays m, int slot, int trigger) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!long_range_due(w.control, now, trigger)) return;
    const Span atoms = own_atoms(w);
    const int first = atoms.begin + blockIdx.x * SPREAD_ATOMS, own = min((int)SPREAD_ATOMS, atoms.end - first);
    if (own <= 0) return;
    __shared__ Splines<MESH_ORDER> s;
    __shared__ real units[SPREAD_ATOMS];
    __shared__ Units copy[AROUND];
    const int k = SPREAD_THREADS - 1 - threadIdx.x;  // the last warps have no axis in `find`
    if (k < own) units[k] = strength_of(w, w.atoms.position[now.parity], first + k) * (real)(1.0 / m.unit);
    s.find(w, w.atoms.position[now.parity], first, own);
    const MeshPatch around(s);
    if (around.fit) {
        for (int k = threadIdx.x; k < around.layers * around.layer; k += SPREAD_THREADS) copy[k] = 0;
        __syncthreads();
    }
    each_slice(own, [&](int atom, int j, bool there) {
        const real charge = units[atom];
        if (!there || charge == 0) return;
        if (around.fit) {
            Units* const line = copy + around.line(s, atom, j);
            spread_slice(s, atom, j, charge, [&](int i, int k, Units more) {
                add_units(line + i * around.layer + k, more);
            });
        } else {
            spread_slice(s, atom, j, charge, [&](int i, int k, Units more) {
                add_charge(m, s.on_mesh(atom, i, j, k), (i64)more);
            });
        }
    });
    if (!around.fit) return;
    __syncthreads();
    around.each([&](int here, u32 there) {
        if (copy[here] != 0) add_charge(m, there, (i64)copy[here]);
    });
}

// Sum over the lanes that share an atom, valid in the first of them.
DEVICE real sum_of_slices(real number) {
    static_assert(MESH_ORDER >= 4 && MESH_ORDER <= 6, "");
    const real two = number + __shfl_down_sync(ALL_LANES, number, 1);
    const real four = two + __shfl_down_sync(ALL_LANES, two, 2);
    if (MESH_ORDER == 4) return four;
    return four + __shfl_down_sync(ALL_LANES, MESH_ORDER == 5 ? number : two, 4);
}

// Contribution of an atom's points with the j-th y to the slope of the potential there. `potential_at` returns the
// potential at these points by their numbers along x and z.
template <int STRIDE, typename Potential>
DEVICE real3 slope_of_slice(const Splines<STRIDE>& s, int atom, int j, Potential potential_at) {
    real value = 0, along_x = 0, along_z = 0;
#pragma unroll
    for (int k = 0; k < MESH_ORDER; k++) {
        real here = 0, change = 0;
#pragma unroll
        for (int i = 0; i < MESH_ORDER; i++) {
            const real potential = potential_at(i, k);
            here = multiply_add(s.weight[0][atom][i], potential, here);
            change = multiply_add(s.slope[0][atom][i], potential, change);
        }
        along_x = multiply_add(s.weight[2][atom][k], change, along_x);
        value = multiply_add(s.weight[2][atom][k], here, value);
        along_z = multiply_add(s.slope[2][atom][k], here, along_z);
    }
    const real b = s.weight[1][atom][j];
    return {b * along_x, s.slope[1][atom][j] * value, b * along_z};
}

// Place of the forces of a mesh: as in mesh.rs.
enum ForcesTo {
    TO_FORCES,       // of pairs, to which they are added; those in the array for meshes become 0
    TO_MESH_FORCES,  // an array for them, while those of pairs are computed
};

// Weighted reciprocal-space forces on the atoms of a block and forces between excluded atoms, with those of meshes of a
// lower number; energy and virial of excluded atoms are added to `sums`. Forces of meshes are added up before they are
// added to others, so that their place makes no difference.
template <bool ENERGY>
DEVICE void gather(const DeviceData& w, const MeshArrays& m, const Slot& now, double weight, int to, int number, double* sums) {
    if (!ENERGY && weight == 0 && w.exclusions.fours == 0 && w.atoms.mesh_force == nullptr) return;
    const Span atoms = own_atoms(w);
    const int first = atoms.begin + blockIdx.x * SPREAD_ATOMS, own = min((int)SPREAD_ATOMS, atoms.end - first);
    if (own <= 0) return;
    const int atom = threadIdx.x / TEAM, part = threadIdx.x % TEAM, i = first + atom;
    const u32 partner = atom < own ? partner_of(w, i, part) : NO_ATOM;
    __shared__ real3 reciprocal_force[SPREAD_ATOMS];
    if (weight != 0) {
        // Strides of four numbers allow vector loads.
        __shared__ Splines<(MESH_ORDER + 3) / 4 * 4> s;
        __shared__ real copy[AROUND];
        s.find(w, w.atoms.position[now.parity], first, own);
        const MeshPatch around(s);
        if (around.fit) around.each([&](int here, u32 there) { prefetch(&copy[here], potential_at(m, there)); });
        wait_for_prefetched();
        __syncthreads();
        each_slice(own, [&](int atom, int j, bool there) {
            const real* const line = copy + around.line(s, atom, j);
            const real3 slope = around.fit
                ? slope_of_slice(s, atom, j, [&](int i, int k) { return line[i * around.layer + k]; })
                : slope_of_slice(s, atom, j, [&](int i, int k) { return *potential_at(m, s.on_mesh(atom, i, j, k)); });
            const real3 sum = {sum_of_slices(slope.x), sum_of_slices(slope.y), sum_of_slices(slope.z)};
            if (there && j == 0) reciprocal_force[atom] = sum;
        });
    } else if (threadIdx.x < SPREAD_ATOMS) {
        reciprocal_force[threadIdx.x] = {};
    }
    __syncthreads();
    real3 force = {}, before = {}, of_meshes = {};
    if (part == 0 && atom < own) {
        if (to == TO_FORCES) before = force_in(w.atoms.force, i);
        if (number > 0) of_meshes = force_in(w.atoms.mesh_force, i);
    }
    if (atom < own) force = excluded_force_on<ENERGY>(w, now, i, partner, part, TEAM, infinity(), sums);
#pragma unroll
    for (int step = TEAM / 2; step > 0; step /= 2) {
        force.x += __shfl_xor_sync(ALL_LANES, force.x, step);
        force.y += __shfl_xor_sync(ALL_LANES, force.y, step);
        force.z += __shfl_xor_sync(ALL_LANES, force.z, step);
    }
    if (part > 0 || atom >= own) return;
    const real charge = (real)weight * strength_of(w, w.atoms.position[now.parity], i);
    const real3 slope = reciprocal_force[atom];
    const real a = -charge * MESH_X * slope.x, b = -charge * MESH_Y * slope.y, c = -charge * MESH_Z * slope.z;
    const double* r = m.reciprocal;
    const real3 f = {a * (real)r[0], multiply_add(a, (real)r[1], b * (real)r[3]),
                     multiply_add(a, (real)r[2], multiply_add(b, (real)r[4], c * (real)r[5]))};
    real3 more = {f.x + force.x, f.y + force.y, f.z + force.z};
    if (number > 0) more = {more.x + of_meshes.x, more.y + of_meshes.y, more.z + of_meshes.z};
    if (to == TO_FORCES) store_force(w, i, {before.x + more.x, before.y + more.y, before.z + more.z});
    if (w.atoms.mesh_force != nullptr) store_force_in(w.atoms.mesh_force, i, to == TO_FORCES ? real3{} : more);
}

// Weight of long-range forces: `asked` in an evaluation that belongs to no step.
DEVICE double weight_of(const DeviceData& w, const Slot& now, int trigger, double asked) {
    return trigger == TRIGGER_IMMEDIATE ? asked : long_range_weight(w.control, now);
}

extern "C" __global__ void __launch_bounds__(SPREAD_THREADS, SPREAD_BLOCKS)
mesh_gather(DeviceData w, MeshArrays m, int slot, int trigger, double asked, int to, int number) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (due(w.control, now, trigger)) gather<false>(w, m, now, weight_of(w, now, trigger, asked), to, number, nullptr);
}

// Forces, and shares of blocks in energy and virial of excluded atoms.
extern "C" __global__ void __launch_bounds__(SPREAD_THREADS)
mesh_gather_energies(DeviceData w, MeshArrays m, int slot, int trigger, double asked, int to, int number) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, trigger)) return;
    double sums[EXCLUDED_SUMS] = {};
    gather<true>(w, m, now, weight_of(w, now, trigger, asked), to, number, sums);
#if REPRODUCIBLE
    for (int k = 0; k < EXCLUDED_SUMS; k++) {
        for (int step = TEAM / 2; step > 0; step /= 2) sums[k] += __shfl_xor_sync(ALL_LANES, sums[k], step);
    }
#endif
    const int atom = own_atoms(w).begin + blockIdx.x * SPREAD_ATOMS + threadIdx.x / TEAM;
    block_partial<SPREAD_THREADS, EXCLUDED_SUMS>(w, sums, 0, threadIdx.x % TEAM == 0 ? atom : w.n);
}
