// Friction and noise between pairs of atoms: dissipative particle dynamics.
//
// Generated source in front of this file:
//     void pair_impulse(const double* in, double* out)
// from {weight, velocity, noise, friction, amplitude} to the impulse along the line between the two.

enum { PURPOSE_PAIR = 6 };

// Noise of a pair: see jostle_core::thermostat::pair_noise.
DEVICE double pair_noise(const DissipationData& p, u32 a, u32 b) {
    const u32 low = min(a, b), high = max(a, b);
    const u64 seed = p.seed ^ (u64)high * 0x9E3779B97F4A7C15ull;
    const u32 upper = (u32)(p.step >> 32) << 8 | PURPOSE_PAIR;
    const u32 word = philox(0, low, (u32)p.step, upper, seed).w[0];
    return sqrt(3.0) * ((word + 0.5) / 2147483648.0 - 1.0);
}

// Kick by friction and noise: to = v + part / m times the impulses at the velocities `from`; in the middle of the step
// of a slot, or at once, for the step of `p`, where there is no slot.
extern "C" __global__ void
apply_dpd_thermostat(DeviceData w, DissipationData p, int slot, const double* from, double* to, double part) {
    wait_for_previous_kernel();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const Control* control = w.control;
    const Slot now = control->slot[max(slot, 0)];
    if (slot >= 0) {
        if (!crosses(control, now)) return;
        p.seed = control->motion.seed;
        p.step = control->motion.first_step + now.done / 2;
    }
    if (i >= w.n) return;
    const int set = control->sorted;
    const Position* position = w.atoms.position[now.parity];
    const Position mine = position[i];
    const double* velocity = from ? from : w.atoms.v[set];
    const Double3 v = load(velocity, i);
    const u32 id = w.atoms.id[set][i];
    const real cutoff2 = (real)(p.cutoff * p.cutoff);
    const double per_cutoff = 1.0 / p.cutoff;
    Double3 sum = {0.0, 0.0, 0.0};
    auto visit = [&](u32 j) {
        const real3 d = difference(w.geometry, mine, position[j]);
        const real r2 = dot(d, d);
        if (j == (u32)i || !(r2 < cutoff2) || r2 == (real)0) return;
        // One division for three quotients.
        const double inverse = 1.0 / sqrt((double)r2), x = d.x * inverse, y = d.y * inverse, z = d.z * inverse;
        const Double3 u = load(velocity, j);
        const double speed = x * (v.x - u.x) + y * (v.y - u.y) + z * (v.z - u.z);
        const double noise = pair_noise(p, id, w.atoms.id[set][j]);
        double in[5] = {1.0 - r2 * inverse * per_cutoff, speed, noise, p.friction, p.noise}, impulse;
        pair_impulse(in, &impulse);
        sum.x = fma(impulse, x, sum.x);
        sum.y = fma(impulse, y, sum.y);
        sum.z = fma(impulse, z, sum.z);
    };
    each_in_reach(w, i, mine, p.cutoff, p.listed, visit);
    const double scale = part * w.atoms.inverse_mass[mass_index(w, i, (int)mine.species)];
    const Double3 before = load(w.atoms.v[set], i);
    store(to ? to : w.atoms.v[set], i,
          {fma(scale, sum.x, before.x), fma(scale, sum.y, before.y), fma(scale, sum.z, before.z)});
}
