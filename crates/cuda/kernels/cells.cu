// Forces straight from the cells, without a list: a thread goes through the bins around its atom (the first of
// Wang's kernels). Memory is needed for the sorted atoms only.

enum { CELL_THREADS = 128 };

template <bool ENERGY>
DEVICE PairSums pair_sums_of_cells(const DeviceData& w, const Position* position, int i) {
    PairSums pairs = {};
    const Position mine = position[i];
    const Atom atom = atom_of(w, mine, i);
    // Bins are those of the last sort, since when atoms have moved by half a skin at most.
    const double distance = (w.control->reach - 0.5 * w.control->skin) * (1.0 + 1e-6);
    each_near(w, to_fixed(w.geometry, mine), distance, [&](u32 j) {
        const Position other = position[j];
        const real3 d = difference(w.geometry, mine, other);
        if (j != (u32)i) add_pair_within_cutoff<ENERGY>(w, pairs, d, atom, atom_of(w, other, j));
    });
    return pairs;
}

template <bool ENERGY>
DEVICE void cells_forces(const DeviceData& w, int slot) {
    const Slot now = w.control->slot[slot];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    PairSums pairs = {};
    if (i < w.n) {
        pairs = pair_sums_of_cells<ENERGY>(w, w.atoms.position[now.parity], i);
        store_pair_force(w, i, pairs, now);
    }
    if (ENERGY) block_energies<CELL_THREADS>(w, pairs, 0.5, 0, i);
}

extern "C" __global__ void __launch_bounds__(CELL_THREADS) forces_cells(DeviceData w, int slot, int trigger) {
    wait_for_previous_kernel();
    if (due(w.control, w.control->slot[slot], trigger)) cells_forces<false>(w, slot);
}

extern "C" __global__ void __launch_bounds__(CELL_THREADS) forces_cells_energies(DeviceData w, int slot, int trigger) {
    wait_for_previous_kernel();
    if (due(w.control, w.control->slot[slot], trigger)) cells_forces<true>(w, slot);
}

#if WHOLE_STEPS
// Whole step in one kernel.
extern "C" __global__ void __launch_bounds__(CELL_THREADS) step_cells(DeviceData w, int slot) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    const bool moves = step_due(w.control, now);
    next_slot(w, slot, moves);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (!moves || i >= w.n) return;
    const PairSums pairs = pair_sums_of_cells<false>(w, w.atoms.position[now.parity], i);
    if (pairs.beyond) report_force(w, w.control->sorted, i, now.done);
    finish_step(w, slot, now, i, force_of(pairs));
}
#endif
