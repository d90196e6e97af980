// Sums over all atoms: every block stores its share, then one block adds the shares up.

// Kinetic energy tensor (xx, yy, zz, xy, xz, yz) and momentum.
extern "C" __global__ void __launch_bounds__(SUM_THREADS) kinetic_shares(DeviceData w, int trigger) {
    wait_for_previous_kernel();
    if (!due(w.control, w.control->slot[0], trigger) && trigger != TRIGGER_IMMEDIATE) return;
    const int set = w.control->sorted, i = blockIdx.x * blockDim.x + threadIdx.x;
    double sums[KINETIC_SUMS] = {};
    if (i < w.n) {
        const int species = (int)w.atoms.position[w.control->slot[0].parity][i].species;
        kinetic_of(w.atoms.mass[mass_index(w, i, species)], load(w.atoms.v[set], i), sums);
    }
    block_partial<SUM_THREADS, KINETIC_SUMS>(w, sums);
}

// Sums of `count` numbers from each of `blocks` shares, each in a block of its own, into a row of
// w.reduction.total: that of the current segment in a batch, the first one otherwise. With ONTO they are added to
// the numbers there, otherwise they replace them. All but the first number are stored `further` columns to the right.
template <bool ONTO>
DEVICE void add_up_shares(const DeviceData& w, int blocks, int count, int row_length, int offset, int trigger, int further) {
    if (!due(w.control, w.control->slot[0], trigger) && trigger != TRIGGER_IMMEDIATE) return;
    double* row = w.reduction.total + (trigger == TRIGGER_SEGMENT_END ? last_row(w.control) * row_length : 0) + offset;
    const double sum = sum_of_shares<SUM_THREADS>(w, blocks, count, blockIdx.x);
    const int index = blockIdx.x + (blockIdx.x > 0 ? further : 0);
    if (threadIdx.x == 0) row[index] = ONTO ? row[index] + sum : sum;
}

extern "C" __global__ void __launch_bounds__(SUM_THREADS) add_shares(DeviceData w, int blocks, int count, int row_length,
                                                                     int offset, int trigger) {
    wait_for_previous_kernel();
    add_up_shares<false>(w, blocks, count, row_length, offset, trigger, 0);
}

extern "C" __global__ void __launch_bounds__(SUM_THREADS) add_shares_onto(DeviceData w, int blocks, int count, int row_length,
                                                                          int offset, int trigger, int further) {
    wait_for_previous_kernel();
    add_up_shares<true>(w, blocks, count, row_length, offset, trigger, further);
}

// Sums that control a minimiser: f.v, f.f, v.v, and the largest squares of force and velocity.
extern "C" __global__ void __launch_bounds__(SUM_THREADS) descent_shares(DeviceData w) {
    wait_for_previous_kernel();
    const int set = w.control->sorted, i = blockIdx.x * blockDim.x + threadIdx.x;
    double sums[3] = {}, most[2] = {};
    if (i < w.n && !driven(w, i)) {
        const Double3 v = load(w.atoms.v[set], i);
        const real3 f = load_force(w, i);
        const double x = f.x, y = f.y, z = f.z;
        sums[0] = x * v.x + y * v.y + z * v.z;
        most[0] = sums[1] = x * x + y * y + z * z;
        most[1] = sums[2] = v.x * v.x + v.y * v.y + v.z * v.z;
    }
    block_partial<SUM_THREADS, 3>(w, sums);
    // Doubles that are not negative have the order of their bits.
    for (int k = 0; k < 2; k++) {
        for (int m = 16; m > 0; m /= 2) most[k] = fmax(most[k], __shfl_xor_sync(0xffffffffu, most[k], m));
        if (threadIdx.x % 32 == 0) atomicMax((u64*)&w.reduction.total[3 + k], (u64)__double_as_longlong(most[k]));
    }
}
