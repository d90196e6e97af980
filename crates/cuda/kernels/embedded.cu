// Embedded-atom potentials, in two passes over the lists of tiles or atoms: the density at each atom, from
// which its embedding energy follows, then forces. Formulas and grids are generated (embedded.rs).

// Position in the tables of distances: the knot before it, and the fraction beyond.
struct TableKnot {
    int knot;
    real p;
};

// Position of a distance; NaNs have the last knot.
DEVICE TableKnot knot_of(real r) {
    const real x = fmin(multiply_add(r, (real)KNOTS_PER_LENGTH, (real)-KNOTS_START), (real)LAST_KNOT);
    const int knot = max((int)x, 0);
    return {knot, x - (real)knot};
}

// Cubic of the density that `other` adds at `species` (half 0) or of their pair energy (1).
DEVICE real4 function_of(const DeviceData& w, int species, int other, int knot, int half) {
    return w.embedded.functions[((size_t)(species * N_SPECIES + other) * (LAST_KNOT + 1) + knot) * 2 + half];
}

struct ValueAndSlope { real value, slope; };

DEVICE ValueAndSlope cubic_at(real p, real4 c) {
    const real in[5] = {p, c.x, c.y, c.z, c.w};
    real out[2];
    cubic(in, out);
    return {out[0], out[1]};
}

DEVICE real density_of(const DeviceData& w, real r2, int species, int other) {
    const TableKnot at = knot_of(r2 * reciprocal_square_root(r2));
    const real value = cubic_at(at.p, function_of(w, species, other, at.knot, 0)).value;
    return r2 < (real)EMBEDDED_CUTOFF2 ? value : (real)0;
}

// Stores the derivative of an atom's embedding energy, and with `energies` the energy itself, from its density.
DEVICE void embed(const DeviceData& w, int i, int species, real density, int energies) {
    const EmbeddingGrid grid = embedding_grid(species);
    const real x = (density - grid.start) * grid.per_density, last = (real)(grid.knots - 1);
    const int knot = min(max((int)fmin(x, last), 0), grid.knots - 2);
    const ValueAndSlope f = cubic_at(fmin(x, last) - (real)knot, w.embedded.functions[grid.first + knot]);
    w.embedded.derivative[i] = f.slope * grid.per_density;
    // The continuation beyond the last knot is linear.
    if (energies) w.embedded.energy[i] = (double)f.value + (double)f.slope * fmax(x - last, (real)0);
}

// Adds the force of an atom at distance -d: from the derivatives of the embedding energies of both, and from pair
// potentials.
template <bool ENERGY>
DEVICE void add_embedded_pair(const DeviceData& w, PairSums& pairs, real3 d, int species, int other, real derivative, real other_derivative) {
    const real r2 = dot(d, d), inverse = reciprocal_square_root(r2);
    if (N_TERMS > 1) add_pair<ENERGY>(w, pairs, d, r2, {species, 0}, {other, 0});
    const TableKnot at = knot_of(r2 * inverse);
    const real per_length = (real)KNOTS_PER_LENGTH;
    const real4 density = function_of(w, species, other, at.knot, 0);
    const real here = cubic_at(at.p, density).slope * per_length;
    const real there = N_SPECIES == 1 ? here : cubic_at(at.p, function_of(w, other, species, at.knot, 0)).slope * per_length;
    const ValueAndSlope z = cubic_at(at.p, function_of(w, species, other, at.knot, 1));
    const real in[7] = {inverse, z.value, z.slope * per_length, here, there, derivative, other_derivative};
    real out[2];
    embedded_pair(in, out);
    const bool near = r2 < (real)EMBEDDED_CUTOFF2;
    const real f = near ? out[1] : (real)0;
    add_product(pairs.force.x, f, d.x);
    add_product(pairs.force.y, f, d.y);
    add_product(pairs.force.z, f, d.z);
    if (ENERGY) {
        add_product(pairs.energy[N_TERMS - 1], near ? out[0] : (real)0, (real)1);
        add_virial(pairs, f, d);
    }
}

// Share of a block: half the energies and virial of pairs, and the embedding energies of its atoms.
template <int THREADS_PER_BLOCK>
DEVICE void embedded_energies(const DeviceData& w, const PairSums& pairs, int i) {
    double sums[N_TERMS + 6];
    for (int k = 0; k < N_TERMS; k++) sums[k] = 0.5 * value_of(pairs.energy[k]);
    for (int k = 0; k < 6; k++) sums[N_TERMS + k] = 0.5 * value_of(pairs.virial[k]);
    if (i >= 0) sums[N_TERMS - 1] += w.embedded.energy[i];
    block_partial<THREADS_PER_BLOCK, N_TERMS + 6>(w, sums);
}

#ifdef TILE_ATOMS
// ---- over tiles

// Copies the block's atoms and those within reach into its tile; `last(j, species)` is stored behind the coordinates
// of atom j.
template <class Last>
DEVICE void fill_tile(const DeviceData& w, const Position* position, real4* tile, Last last) {
    const int thread = threadIdx.x, n_tile_atoms = w.tiles.n_atoms[blockIdx.x];
    const Owned owned = owned_by_block(w);
    const Position origin = w.tiles.origin[blockIdx.x];
    const u32* tile_atoms = w.tiles.atoms + (size_t)blockIdx.x * w.tiles.stride;
    auto put = [&](int index, u32 j) {
        real4 q = in_tile(w, position[j], origin);
        q.w = last(j, (int)position[j].species);
        tile[index] = q;
    };
    for (int base = thread; base < n_tile_atoms; base += FETCH * THREADS) {
        u32 j[FETCH];
#pragma unroll
        for (int u = 0; u < FETCH; u++) j[u] = base + u * THREADS < n_tile_atoms ? tile_atoms[base + u * THREADS] : 0xffffffffu;
#pragma unroll
        for (int u = 0; u < FETCH; u++) {
            if (j[u] != 0xffffffffu) put(DUMMIES + TILE_ATOMS + base + u * THREADS, j[u]);
        }
    }
    for (int k = thread; k < TILE_ATOMS; k += THREADS) {
        if (k < owned.count) put(DUMMIES + k, owned.first + k);
        else tile[DUMMIES + k] = {-FAR, -FAR, -FAR, (real)0};
    }
    if (thread < DUMMIES) tile[thread] = {FAR, FAR, FAR, (real)0};
}

// Calls visit(q, index) for every atom in this thread's list.
template <class Visit>
DEVICE void each_in_list(const DeviceData& w, const real4* tile, Visit visit) {
    const int warp_index = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
    const int rows = w.tiles.n_rows[warp_index];
    const uint2* list = w.tiles.list + (size_t)warp_index * w.tiles.row_stride * 32 + lane;
    uint2 row = stream(list), next = stream(list + 32);
    for (int r = 0; r < rows; r++) {
        const uint2 after = stream(list + (r + 2) * 32);
        const u32 slots[4] = {row.x & 0xffff, row.x >> 16, row.y & 0xffff, row.y >> 16};
#pragma unroll
        for (int u = 0; u < 4; u++) visit(tile_at(tile, slots[u]), slots[u] / SLOT_UNIT);
        row = next;
        next = after;
    }
}

DEVICE int index_of_thread(const DeviceData& w) { return DUMMIES + own_of_thread(w); }

extern "C" __global__ void __launch_bounds__(THREADS) densities_embedded(DeviceData w, int slot, int trigger, int energies) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, trigger)) return;
    extern __shared__ real4 tile[];
    fill_tile(w, w.atoms.position[now.parity], tile, [](u32, int species) { return as_real(species); });
    __syncthreads();
    const real4 mine = tile[index_of_thread(w)];
    const int species = N_SPECIES == 1 ? 0 : as_species(mine.w);
    real density = 0;
    each_in_list(w, tile, [&](real4 q, u32) {
        const real3 d = {mine.x - q.x, mine.y - q.y, mine.z - q.z};
        density += density_of(w, dot(d, d), species, N_SPECIES == 1 ? 0 : as_species(q.w));
    });
#pragma unroll
    for (int m = 1; m < TEAM; m *= 2) density += __shfl_xor_sync(ALL_LANES, density, m);
    const int i = atom_of_thread(w);
    if (i >= 0) embed(w, i, species, density, energies);
}

// Forces over tiles. With one species the derivatives are stored in the tile in place of species, otherwise behind it.
template <bool ENERGY>
DEVICE void embedded_forces(const DeviceData& w, int slot, int trigger) {
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, trigger)) return;
    extern __shared__ real4 tile[];
    const Position* position = w.atoms.position[now.parity];
#if N_SPECIES == 1
    fill_tile(w, position, tile, [&](u32 j, int) { return w.embedded.derivative[j]; });
    __syncthreads();
    const real4 mine = tile[index_of_thread(w)];
    PairSums pairs = {};
    each_in_list(w, tile, [&](real4 q, u32) {
        const real3 d = {mine.x - q.x, mine.y - q.y, mine.z - q.z};
        add_embedded_pair<ENERGY>(w, pairs, d, 0, 0, mine.w, q.w);
    });
#else
    real* tile_derivative = (real*)(tile + w.tiles.capacity);
    fill_tile(w, position, tile, [](u32, int species) { return as_real(species); });
    const u32* tile_atoms = w.tiles.atoms + (size_t)blockIdx.x * w.tiles.stride;
    const Owned owned = owned_by_block(w);
    const int filled = DUMMIES + TILE_ATOMS + w.tiles.n_atoms[blockIdx.x];
    for (int k = threadIdx.x; k < filled; k += THREADS) {
        const int own = k - DUMMIES, there = own - TILE_ATOMS;
        const bool exists = own >= 0 && (there >= 0 || own < owned.count);
        tile_derivative[k] = exists ? w.embedded.derivative[there >= 0 ? tile_atoms[there] : (u32)(owned.first + own)] : (real)0;
    }
    __syncthreads();
    const real4 mine = tile[index_of_thread(w)];
    const real derivative = tile_derivative[index_of_thread(w)];
    PairSums pairs = {};
    each_in_list(w, tile, [&](real4 q, u32 index) {
        const real3 d = {mine.x - q.x, mine.y - q.y, mine.z - q.z};
        add_embedded_pair<ENERGY>(w, pairs, d, as_species(mine.w), as_species(q.w), derivative, tile_derivative[index]);
    });
#endif
#pragma unroll
    for (int m = 1; m < TEAM; m *= 2) {
        pairs.force.x += __shfl_xor_sync(ALL_LANES, pairs.force.x, m);
        pairs.force.y += __shfl_xor_sync(ALL_LANES, pairs.force.y, m);
        pairs.force.z += __shfl_xor_sync(ALL_LANES, pairs.force.z, m);
    }
    const int i = atom_of_thread(w);
    if (i >= 0) store_force(w, i, pairs.force);
    if (ENERGY) embedded_energies<THREADS>(w, pairs, i);
}

enum { EMBEDDED_THREADS = THREADS };
#else
// ---- over the lists of atoms

extern "C" __global__ void __launch_bounds__(LIST_THREADS) densities_embedded(DeviceData w, int slot, int trigger, int energies) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    const int i = w.owned.first + blockIdx.x * blockDim.x + threadIdx.x;
    if (!due(w.control, now, trigger) || i >= w.owned.end) return;
    const Position* position = w.atoms.position[now.parity];
    const Position mine = position[i];
    real density = 0;
    const int entries = w.lists.n_neighbor[i];
    for (int k = 0; k < entries; k++) {
        const Position other = position[w.lists.neighbor[(size_t)k * w.n + i]];
        const real3 d = difference(w.geometry, mine, other);
        const real r2 = dot(d, d);
        if (r2 < (real)EMBEDDED_CUTOFF2) density += density_of(w, r2, (int)mine.species, (int)other.species);
    }
    embed(w, i, (int)mine.species, density, energies);
}

template <bool ENERGY>
DEVICE void embedded_forces(const DeviceData& w, int slot, int trigger) {
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, trigger)) return;
    const int i = w.owned.first + blockIdx.x * blockDim.x + threadIdx.x;
    PairSums pairs = {};
    if (i < w.owned.end) {
        const Position* position = w.atoms.position[now.parity];
        const Position mine = position[i];
        const real derivative = w.embedded.derivative[i];
        const int entries = w.lists.n_neighbor[i];
        for (int k = 0; k < entries; k++) {
            const u32 j = w.lists.neighbor[(size_t)k * w.n + i];
            const Position other = position[j];
            const real3 d = difference(w.geometry, mine, other);
            if (dot(d, d) < (real)LONGEST_CUTOFF2) {
                add_embedded_pair<ENERGY>(w, pairs, d, (int)mine.species, (int)other.species, derivative, w.embedded.derivative[j]);
            }
        }
        store_pair_force(w, i, pairs, now);
    }
    if (ENERGY) embedded_energies<LIST_THREADS>(w, pairs, i < w.owned.end ? i : -1);
}

enum { EMBEDDED_THREADS = LIST_THREADS };
#endif

extern "C" __global__ void __launch_bounds__(EMBEDDED_THREADS) forces_embedded(DeviceData w, int slot, int trigger) {
    wait_for_previous_kernel();
    embedded_forces<false>(w, slot, trigger);
}

extern "C" __global__ void __launch_bounds__(EMBEDDED_THREADS) forces_embedded_energies(DeviceData w, int slot, int trigger) {
    wait_for_previous_kernel();
    embedded_forces<true>(w, slot, trigger);
}
