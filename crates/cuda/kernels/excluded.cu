// Forces between excluded charges where no mesh kernel adds them: see excluded.cuh, which stands in front of this
// file.

enum { EXCLUDED_THREADS = 256 };

template <bool ENERGY>
DEVICE void add_excluded_force(const DeviceData& w, const Slot& now, int i, double cutoff2, double* sums) {
    const real3 force = excluded_force_on<ENERGY>(w, now, i, partner_of(w, i, 0), 0, 1, cutoff2, sums), before = load_force(w, i);
    store_force(w, i, {before.x + force.x, before.y + force.y, before.z + force.z});
}

extern "C" __global__ void __launch_bounds__(EXCLUDED_THREADS)
excluded_forces(DeviceData w, double cutoff2, int slot, int trigger) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (due(w.control, now, trigger) && i < w.n) add_excluded_force<false>(w, now, i, cutoff2, nullptr);
}

extern "C" __global__ void __launch_bounds__(EXCLUDED_THREADS)
excluded_forces_energies(DeviceData w, double cutoff2, int slot, int trigger) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, trigger)) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double sums[EXCLUDED_SUMS] = {};
    if (i < w.n) add_excluded_force<true>(w, now, i, cutoff2, sums);
    block_partial<EXCLUDED_THREADS, EXCLUDED_SUMS>(w, sums);
}
