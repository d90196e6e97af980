// Charges that are excluded from each other: no list has them, but the waves that all charges feel know
// of no exclusions. So they feel minus the smooth part of Coulomb's force, which the waves add. Every
// atom gathers the forces of its own, always in the same order.
//
// In front of this stands the generated
//     void excluded_pair(const real* in, real* out)   from {r^2} to {energy, force / r} of unit charges
// There is a force up to the square `cutoff2` of a distance; at any, if there are waves.

enum { EXCLUDED_THREADS = 256 };

// Energy and virial into `sums`: half of them belong to the other atom.
template <bool ENERGY>
DEVICE void excluded_forces_on(const World& w, double cutoff2, const Slot& now, int i, double* sums) {
    const Position* position = w.position[now.parity];
    const Position mine = position[i];
    const real charge = w.charge[i];
    real3 force = {};
    for (int k = 0; k < w.n_excluded; k++) {
        const u32 j = w.partner[(size_t)k * w.n + i];
        if (j == NOBODY) break;
        const real3 d = difference(w.frame, mine, position[j]);
        const real in[1] = {dot(d, d)}, charges = charge * w.charge[j];
        if (!(in[0] < (real)cutoff2)) continue;
        real out[2];
        excluded_pair(in, out);
        const real f = charges * out[1];
        force = {multiply_add(f, d.x, force.x), multiply_add(f, d.y, force.y), multiply_add(f, d.z, force.z)};
        if (ENERGY) {
            const double half = 0.5 * f;
            sums[0] += 0.5 * charges * out[0];
            sums[1] += half * d.x * d.x;
            sums[2] += half * d.y * d.y;
            sums[3] += half * d.z * d.z;
            sums[4] += half * d.x * d.y;
            sums[5] += half * d.x * d.z;
            sums[6] += half * d.y * d.z;
        }
    }
    const real3 before = load_force(w, i);
    store_force(w, i, {before.x + force.x, before.y + force.y, before.z + force.z});
}

extern "C" __global__ void __launch_bounds__(EXCLUDED_THREADS)
excluded_forces(World w, double cutoff2, int slot, int when) {
    const Slot now = w.control->slot[slot];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (due(w.control, now, when) && i < w.n) excluded_forces_on<false>(w, cutoff2, now, i, nullptr);
}

extern "C" __global__ void __launch_bounds__(EXCLUDED_THREADS)
excluded_forces_energies(World w, double cutoff2, int slot, int when) {
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, when)) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double sums[7] = {};
    if (i < w.n) excluded_forces_on<true>(w, cutoff2, now, i, sums);
    block_partial<EXCLUDED_THREADS, 7>(w, sums);
}
