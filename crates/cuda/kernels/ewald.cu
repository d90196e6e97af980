// Ewald's sum in reciprocal space without a mesh: slow, exact. A block computes the amplitude of one wave vector;
// then a warp has an atom, and adds up the reciprocal-space forces on it.
//
// Generated source in front of this file (codegen.rs, `excluded_source`):
//     real strength_of(const DeviceData& w, const Position* position, u32 i)

enum { EWALD_THREADS = 256, EWALD_ATOMS = EWALD_THREADS / 32, EWALD_SUMS = 7 };

struct Phase { real cosine, sine; };

// Phase of a wave at a position.
#if DOUBLE
DEVICE Phase phase_at(const BoxGeometry& geometry, Position p, const int* numbers) {
    const Fractions s = fractions(geometry, p.x, p.y, p.z);
    const double turns = numbers[0] * s.x + numbers[1] * s.y + numbers[2] * s.z;
    const double angle = 6.283185307179586476925 * (turns - rint(turns));
    return {cosine(angle), sine(angle)};
}
#else
DEVICE Phase phase_at(const BoxGeometry&, Position p, const int* numbers) {
    // Whole turns overflow and drop out.
    const u32 turns = (u32)numbers[0] * p.x + (u32)numbers[1] * p.y + (u32)numbers[2] * p.z;
    const float angle = (float)(int)turns * (float)(3.141592653589793 / 2147483648.0);
    return {cosine(angle), sine(angle)};
}
#endif

// Amplitude of this block's wave vector; with ENERGY its energy and virial, too.
template <bool ENERGY>
DEVICE void add_amplitude(const DeviceData& w, const EwaldSum& all, const Slot& now) {
    const WaveData& wave = all.waves[blockIdx.x];
    const Position* position = w.atoms.position[now.parity];
    const int numbers[3] = {wave.numbers[0], wave.numbers[1], wave.numbers[2]};
    double amplitude[2] = {};
    for (int i = threadIdx.x; i < w.n; i += EWALD_THREADS) {
        const Phase phase = phase_at(w.geometry, position[i], numbers);
        const double strength = strength_of(w, position, i);
        amplitude[0] = fma(strength, (double)phase.cosine, amplitude[0]);
        amplitude[1] = fma(strength, (double)phase.sine, amplitude[1]);
    }
    __shared__ double sum[2];
    block_sums<EWALD_THREADS>(amplitude, sum);
    __syncthreads();
    if (threadIdx.x != 0) return;
    all.amplitude[blockIdx.x] = {(real)(wave.weight * sum[0]), (real)(wave.weight * sum[1])};
    if (!ENERGY) return;
    const double energy = 0.5 * wave.weight * (sum[0] * sum[0] + sum[1] * sum[1]);
    double share[EWALD_SUMS] = {energy};
    for (int k = 0; k < 6; k++) share[1 + k] = energy * wave.virial[k];
    store_share(w, share, blockIdx.x);
}

extern "C" __global__ void __launch_bounds__(EWALD_THREADS)
ewald_amplitudes(DeviceData w, EwaldSum all, int slot, int trigger) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (long_range_due(w.control, now, trigger)) add_amplitude<false>(w, all, now);
}

extern "C" __global__ void __launch_bounds__(EWALD_THREADS)
ewald_amplitudes_energies(DeviceData w, EwaldSum all, int slot, int trigger) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (long_range_due(w.control, now, trigger)) add_amplitude<true>(w, all, now);
}

// Weighted reciprocal-space forces.
extern "C" __global__ void __launch_bounds__(EWALD_THREADS)
ewald_forces(DeviceData w, EwaldSum all, int slot, int trigger, double asked) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    const double weight = trigger == TRIGGER_IMMEDIATE ? asked : long_range_weight(w.control, now);
    const int lane = threadIdx.x % 32, i = blockIdx.x * EWALD_ATOMS + threadIdx.x / 32;
    if (!due(w.control, now, trigger) || weight == 0 || i >= w.n) return;
    const Position* position = w.atoms.position[now.parity];
    const Position mine = position[i];
    double force[3] = {};
    for (i64 k = lane; k < all.n; k += 32) {
        const WaveData& wave = all.waves[k];
        const int numbers[3] = {wave.numbers[0], wave.numbers[1], wave.numbers[2]};
        const Phase phase = phase_at(w.geometry, mine, numbers);
        const real2 amplitude = all.amplitude[k];
        const double magnitude = multiply_add(phase.sine, amplitude.x, -(phase.cosine * amplitude.y));
        for (int axis = 0; axis < 3; axis++) force[axis] = fma(magnitude, wave.vector[axis], force[axis]);
    }
    for (int step = 16; step > 0; step /= 2) {
        for (int axis = 0; axis < 3; axis++) force[axis] += __shfl_xor_sync(ALL_LANES, force[axis], step);
    }
    if (lane != 0) return;
    const double strength = weight * strength_of(w, position, i);
    const real3 before = load_force(w, i);
    store_force(w, i, {before.x + (real)(strength * force[0]), before.y + (real)(strength * force[1]),
                       before.z + (real)(strength * force[2])});
}
