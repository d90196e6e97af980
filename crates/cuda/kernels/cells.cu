// Forces straight from the cells, without a list: every atom looks through the bins around it
// (the first of Wang's kernels). Nothing to store but the sorted atoms.

enum { CELL_THREADS = 128 };

template <bool ENERGY>
DEVICE void cell_forces(const World& w, int slot) {
    const Control* control = w.control;
    const Slot now = control->slot[slot];
    const Position* position = w.position[now.parity];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    Pull pull = {};
    if (i < w.n) {
        const Position mine = position[i];
        // The others are in the bins where they were when they were sorted, at most half a skin ago.
        const double distance = (control->reach - 0.5 * control->skin) * (1.0 + 1e-6);
        each_near(w, to_fixed(w.frame, mine), distance, [&](u32 j) {
            const Position other = position[j];
            const real3 d = difference(w.frame, mine, other);
            if (j != (u32)i) attract<ENERGY>(w, pull, d, (int)mine.species, (int)other.species);
        });
        store_pull(w, i, pull, now);
    }
    if (ENERGY) block_energies<CELL_THREADS>(w, pull, 0.5);
}

extern "C" __global__ void __launch_bounds__(CELL_THREADS) forces_cells(World w, int slot, int when) {
    if (due(w.control, w.control->slot[slot], when)) cell_forces<false>(w, slot);
}

extern "C" __global__ void __launch_bounds__(CELL_THREADS) forces_cells_energies(World w, int slot, int when) {
    if (due(w.control, w.control->slot[slot], when)) cell_forces<true>(w, slot);
}
