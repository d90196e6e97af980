// Fields and walls: forces that depend on the position of an atom alone, added to those of other atoms.
//
// Source in front of this file: `field.cu`, a generated pair force and `wall.cu`, or a generated formula and
// `formula_field.cu`, which define
//     template <bool ENERGY>
//     real3 force_on(const DeviceData& w, const ExternalData& data, const Slot& now, int trigger, int i, double* energy)

enum { EXTERNAL_THREADS = 256 };

template <bool ENERGY>
DEVICE void external_force(const DeviceData& w, const ExternalData& data, const Slot& now, int trigger, int i,
                           double* energy) {
    const real3 more = force_on<ENERGY>(w, data, now, trigger, i, energy);
    if (more.x == 0 && more.y == 0 && more.z == 0) return;
    const real3 force = load_force(w, i);
    store_force(w, i, {force.x + more.x, force.y + more.y, force.z + more.z});
}

extern "C" __global__ void __launch_bounds__(EXTERNAL_THREADS)
external_forces(DeviceData w, ExternalData data, int slot, int trigger) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (due(w.control, now, trigger) && i < w.n) external_force<false>(w, data, now, trigger, i, nullptr);
}

extern "C" __global__ void __launch_bounds__(EXTERNAL_THREADS)
external_forces_energies(DeviceData w, ExternalData data, int slot, int trigger) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, trigger)) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double energy[1] = {};
    if (i < w.n) external_force<true>(w, data, now, trigger, i, energy);
    block_partial<EXTERNAL_THREADS, 1>(w, energy);
}

// Sum of the energy, into a column of a row of w.reduction.total.
extern "C" __global__ void __launch_bounds__(EXTERNAL_THREADS)
external_sums(DeviceData w, int blocks, int row_length, int column, int trigger) {
    wait_for_previous_kernel();
    if (!due(w.control, w.control->slot[0], trigger) && trigger != TRIGGER_IMMEDIATE) return;
    double* row = w.reduction.total + (trigger == TRIGGER_SEGMENT_END ? (size_t)(w.control->part / 2) * row_length : 0);
    const double sum = sum_of_shares<EXTERNAL_THREADS>(w, blocks, 1, 0);
    if (threadIdx.x == 0) row[column] = sum;
}
