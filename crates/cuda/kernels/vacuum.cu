// Molecules in open space: every atom has a force on every other one, without a cut-off. A warp has an atom, and each
// of its lanes every 32nd of the others; their forces are added to those of pairs.
//
// Generated source in front of this file:
//     void vacuum_pair(const real* in, real* out)
// from {r^2, two coefficients, product of the charges} to {energy of each term, force / r}.

enum { VACUUM_THREADS = 256, VACUUM_ATOMS = VACUUM_THREADS / 32, VACUUM_TERMS = 2, VACUUM_SUMS = VACUUM_TERMS + 6 };

// Bits of the 32 atoms from `first` on that this warp's atom excludes. Each lane has one of the first 32 excluded
// atoms, or NO_ATOM, as its `partner`.
DEVICE u32 left_out(const DeviceData& w, int i, u32 partner, u32 first) {
    u32 bits = 0;
    for (int k = 0; k < 4 * w.exclusions.fours; k += 32) {
        if (k > 0) partner = partner_of(w, i, k + threadIdx.x % 32);
        const bool here = partner != NO_ATOM && partner - first < 32;
        for (u32 lanes = __ballot_sync(ALL_LANES, here); lanes != 0; lanes &= lanes - 1) {
            bits |= 1u << (__shfl_sync(ALL_LANES, partner, __ffs((int)lanes) - 1) - first);
        }
    }
    return bits;
}

// Adds the forces of all others on the atom of this warp, and half of the pairs' energies and virial to `sums`.
template <bool ENERGY>
DEVICE void add_vacuum(const DeviceData& w, const real* table, int n_species, const Slot& now, double* sums) {
    const int lane = threadIdx.x % 32, i = blockIdx.x * VACUUM_ATOMS + threadIdx.x / 32;
    if (i >= w.n) return;
    const Position* position = w.atoms.position[now.parity];
    const Position mine = position[i];
    const real charge = w.atoms.charge[i];
    const real* row = table + (size_t)mine.species * n_species * 2;
    const u32 partner = partner_of(w, i, lane);
    real3 force = {};
    for (int first = 0; first < w.n; first += 32) {
        const u32 out_of_it = left_out(w, i, partner, (u32)first);
        const int j = first + lane;
        if (j >= w.n || j == i || (out_of_it >> lane & 1)) continue;
        const Position there = position[j];
        const real3 d = difference(w.geometry, mine, there);
        const real in[4] = {dot(d, d), row[2 * there.species], row[2 * there.species + 1], charge * w.atoms.charge[j]};
        real out[VACUUM_TERMS + 1];
        vacuum_pair(in, out);
        const real f = out[VACUUM_TERMS];
        force = {multiply_add(f, d.x, force.x), multiply_add(f, d.y, force.y), multiply_add(f, d.z, force.z)};
        if (ENERGY) {
            for (int term = 0; term < VACUUM_TERMS; term++) sums[term] += 0.5 * out[term];
            add_half_virial(sums + VACUUM_TERMS, d, f);
        }
    }
    for (int step = 16; step > 0; step /= 2) {
        force.x += __shfl_xor_sync(ALL_LANES, force.x, step);
        force.y += __shfl_xor_sync(ALL_LANES, force.y, step);
        force.z += __shfl_xor_sync(ALL_LANES, force.z, step);
    }
    if (lane != 0) return;
    const real3 before = load_force(w, i);
    store_force(w, i, {before.x + force.x, before.y + force.y, before.z + force.z});
}

extern "C" __global__ void __launch_bounds__(VACUUM_THREADS)
vacuum_forces(DeviceData w, const real* table, int n_species, int slot, int trigger) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (due(w.control, now, trigger)) add_vacuum<false>(w, table, n_species, now, nullptr);
}

// Forces, and shares of blocks in energies and virial.
extern "C" __global__ void __launch_bounds__(VACUUM_THREADS)
vacuum_forces_energies(DeviceData w, const real* table, int n_species, int slot, int trigger) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, trigger)) return;
    double sums[VACUUM_SUMS] = {};
    add_vacuum<true>(w, table, n_species, now, sums);
    block_sums<VACUUM_THREADS>(sums, w.reduction.partial + (size_t)blockIdx.x * VACUUM_SUMS);
}

extern "C" __global__ void __launch_bounds__(VACUUM_THREADS)
vacuum_sums(DeviceData w, int blocks, int row_length, int virial, int first, int trigger) {
    wait_for_previous_kernel();
    add_energies_and_virial<VACUUM_THREADS, VACUUM_TERMS>(w, blocks, row_length, virial, first, trigger);
}
