// Forces by the lists of tiles, and whole steps.

DEVICE real charge_of(const DeviceData& w, u32 i) {
#if CHARGED
    return w.atoms.charge[i];
#else
    return 0;
#endif
}

// Stores an atom of the tile. Where there are charges, they are behind the coordinates, and species, which forces of
// charges do not depend on, behind all atoms.
DEVICE void put(const DeviceData& w, real4* tile, int index, real4 q, real charge) {
#if CHARGED
    ((real*)(tile + w.tiles.capacity))[index] = q.w;
    q.w = charge;
#endif
    tile[index] = q;
}

// Properties of the atom in a slot, for these terms.
template <TermSet TERMS>
DEVICE Atom atom_in(const DeviceData& w, const real4* tile, u32 slot, real4 q) {
#if CHARGED
    const real* species = (const real*)((const char*)(tile + w.tiles.capacity) + slot * (u32)sizeof(real) / SLOT_UNIT);
    return {TERMS == CHARGES ? 0 : as_species(*species), q.w};
#else
    return {as_species(q.w), (real)0};
#endif
}

// Adds the forces of a thread's list, of which two rows are loaded already.
template <bool ENERGY, TermSet TERMS>
DEVICE void add_listed_pairs(const DeviceData& w, PairSums& pairs, const real4* tile, const uint2* list, int rows, uint2 row,
                         uint2 next, real4 mine, Atom atom) {
    for (int r = 0; r < rows; r++) {
        const uint2 after = stream(list + (r + 2) * 32);
        const u32 slots[4] = {row.x & 0xffff, row.x >> 16, row.y & 0xffff, row.y >> 16};
#pragma unroll
        for (int u = 0; u < 4; u++) {
            const real4 q = tile_at(tile, slots[u]);
            const real3 d = {mine.x - q.x, mine.y - q.y, mine.z - q.z};
            // No branch: hardly ever are all lanes of a warp beyond the cut-off.
            add_pair<ENERGY, TERMS>(w, pairs, d, dot(d, d), atom, atom_in<TERMS>(w, tile, slots[u], q));
        }
        row = next;
        next = after;
    }
}

// Forces on a block's atoms: copies the tile and returns the sums of this thread's list; TEAM neighbouring
// threads hold parts of those of one atom.
template <bool ENERGY>
DEVICE PairSums pair_sums_of_tile(const DeviceData& w, const Position* position, real4* tile) {
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const Owned owned = owned_by_block(w);
    if (PARTS > 1 && owned.count == 0) return {};
    const int first = owned.first, warp_index = blockIdx.x * WARPS + warp;
    const Position origin = w.tiles.origin[blockIdx.x];
    const int n_tile_atoms = w.tiles.n_atoms[blockIdx.x], rows = w.tiles.n_rows[warp_index];
    const u32* tile_atoms = w.tiles.atoms + (size_t)blockIdx.x * w.tiles.stride;
    const uint2* list = w.tiles.list + (size_t)warp_index * w.tiles.row_stride * 32 + lane;
    // Rows are loaded two ahead of their use.
    uint2 row = stream(list), next = stream(list + 32);

    for (int base = thread; base < n_tile_atoms; base += FETCH * THREADS) {
        u32 j[FETCH];
#pragma unroll
        for (int u = 0; u < FETCH; u++) j[u] = base + u * THREADS < n_tile_atoms ? tile_atoms[base + u * THREADS] : 0xffffffffu;
#pragma unroll
        for (int u = 0; u < FETCH; u++) {
            if (j[u] != 0xffffffffu) {
                const int index = DUMMIES + TILE_ATOMS + base + u * THREADS;
                put(w, tile, index, in_tile(w, position[j[u]], origin), charge_of(w, j[u]));
            }
        }
    }
    for (int k = thread; k < TILE_ATOMS; k += THREADS) {
        const bool exists = k < owned.count;
        const real4 q = exists ? in_tile(w, position[first + k], origin) : real4{-FAR, -FAR, -FAR, as_real(0)};
        put(w, tile, DUMMIES + k, q, exists ? charge_of(w, first + k) : (real)0);
    }
    if (thread < DUMMIES) put(w, tile, thread, {FAR, FAR, FAR, as_real(0)}, 0);
    __syncthreads();

    const int own = own_of_thread(w);
    const real4 mine = tile[DUMMIES + own];
    const Atom atom = atom_in<ALL_TERMS>(w, tile, (DUMMIES + own) * SLOT_UNIT, mine);
    PairSums pairs = {};
#if CHARGES_ALONE
    if (ORDERED && __all_sync(ALL_LANES, own >= owned.count || feels_charges_alone(atom.species))) {
#if REPRODUCIBLE
        add_listed_pairs<ENERGY, CHARGES>(w, pairs, tile, list, rows, row, next, mine, atom);
#else
        add_listed_pairs<ENERGY, CHARGES>(w, pairs, tile, list, rows, row, next, mine, {atom.species, (real)1});
        scale(pairs, atom.charge);
#endif
    } else
#endif
    {
        add_listed_pairs<ENERGY, ALL_TERMS>(w, pairs, tile, list, rows, row, next, mine, atom);
    }
#pragma unroll
    for (int m = 1; m < TEAM; m *= 2) {
        pairs.force.x += __shfl_xor_sync(ALL_LANES, pairs.force.x, m);
        pairs.force.y += __shfl_xor_sync(ALL_LANES, pairs.force.y, m);
        pairs.force.z += __shfl_xor_sync(ALL_LANES, pairs.force.z, m);
    }
    return pairs;
}

// Atom whose force this thread holds after `pair_sums_of_tile`; -1 for the other threads.
DEVICE int atom_of_thread(const DeviceData& w) {
    const Owned owned = owned_by_block(w);
    const int k = own_of_thread(w);
    return threadIdx.x % TEAM == 0 && k < owned.count ? owned.first + k : -1;
}

// Numbers of a sample: energies, virial, kinetic tensor and momentum.
enum { SAMPLE_SUMS = N_TERMS + 6 + KINETIC_SUMS };

// Share of a thread in energies and virial. Threads beyond the last atom have lists of dummies: they add nothing.
DEVICE void energies_of_tile(const PairSums& pairs, double* sums) {
    for (int k = 0; k < N_TERMS; k++) sums[k] = 0.5 * pairs.energy[k];
    for (int k = 0; k < 6; k++) sums[N_TERMS + k] = 0.5 * pairs.virial[k];
}

// Returns true where a step does without the forces on a block's atoms, since all of them are driven: see `build_tiles`.
DEVICE bool skips_forces(const DeviceData& w) {
#if SKIPS_DRIVEN
    return w.tiles.kind[blockIdx.x] != WITH_FREE_ATOMS;
#else
    return false;
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT / THREADS) forces_tiles(DeviceData w, int slot, int trigger) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, trigger)) return;
    if (trigger == TRIGGER_STEP && skips_forces(w)) {
        // Other terms add to them.
        const int i = atom_of_thread(w);
        if (i >= 0) store_force(w, i, {(real)0, (real)0, (real)0});
        return;
    }
    extern __shared__ real4 tile[];
    const PairSums pairs = pair_sums_of_tile<false>(w, w.atoms.position[now.parity], tile);
    const int i = atom_of_thread(w);
    if (i >= 0) store_force(w, i, pairs.force);
}

extern "C" __global__ void __launch_bounds__(THREADS) forces_tiles_energies(DeviceData w, int slot, int trigger) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, trigger)) return;
    extern __shared__ real4 tile[];
    const PairSums pairs = pair_sums_of_tile<true>(w, w.atoms.position[now.parity], tile);
    const int i = atom_of_thread(w);
    if (i >= 0) store_force(w, i, pairs.force);
    double sums[N_TERMS + 6];
    energies_of_tile(pairs, sums);
    block_partial<THREADS, N_TERMS + 6>(w, sums);
}

// Whole step: forces, the second half of the kick, the first half of the next one and the drift. A sample is
// taken in between, in the step in which it is due, without a stop.
template <bool SAMPLES>
DEVICE void step_of_tile(const DeviceData& w, int slot, const Slot& now) {
    Control* control = w.control;
    const int set = control->sorted, i = atom_of_thread(w);
    if (skips_forces(w)) {
        if (i >= 0) finish_step(w, slot, now, i, {(real)0, (real)0, (real)0});
        return;
    }
    if (i >= 0) {
        fetch_ahead(&w.atoms.x[set][3 * (size_t)i]);
        fetch_ahead(&w.atoms.v[set][3 * (size_t)i]);
        fetch_ahead(&w.atoms.built[i]);
    }
    extern __shared__ real4 tile[];
    const PairSums pairs = pair_sums_of_tile<SAMPLES>(w, w.atoms.position[now.parity], tile);
    double sums[SAMPLE_SUMS] = {};
    if (i >= 0) {
        const int own = DUMMIES + own_of_thread(w);
        const int species = atom_in<ALL_TERMS>(w, tile, own * SLOT_UNIT, tile[own]).species;
        Double3 x = load(w.atoms.x[set], i), v = load(w.atoms.v[set], i);
        const real3 f = check_force(w, pairs.force, v, set, i, now.done);
        if (now.soon) store_force(w, i, pairs.force);
        end_step(w, i, v, f, species);
        if (SAMPLES) kinetic_of(w.atoms.mass[mass_index(w, i, species)], v, sums + N_TERMS + 6);
        advance_atom(w, slot, now, i, x, v, f, species);
    }
    if (!SAMPLES) return;
    energies_of_tile(pairs, sums);
    block_partial<THREADS, SAMPLE_SUMS>(w, sums);
    if (comes_last(control)) add_up<THREADS, SAMPLE_SUMS>(w, gridDim.x, w.reduction.total + now.row * SAMPLE_SUMS);
}

#if WHOLE_STEPS
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT / THREADS) step_tiles(DeviceData w, int slot) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    const bool made = step_due(w.control, now);
    next_slot(w, slot, made);
    if (!made) return;
#if SEVERAL
    if (w.owned.first == w.owned.end) {
        // A GPU without atoms has a part in sums, too.
        if (now.row >= 0 && threadIdx.x < SAMPLE_SUMS) w.reduction.total[now.row * SAMPLE_SUMS + threadIdx.x] = 0;
        return;
    }
#endif
    if (now.row >= 0) {
        step_of_tile<true>(w, slot, now);
    } else {
        step_of_tile<false>(w, slot, now);
    }
}
#endif
