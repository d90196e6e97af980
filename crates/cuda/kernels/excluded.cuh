// Atoms that are excluded from each other: no list has them, but what all charges feel, or all that
// disperse, knows of no exclusions. So they feel minus the smooth part of the force, which that adds. Every
// atom gathers the forces of its own, always in the same order.
//
// In front of this stands the generated (codegen.rs, `excluded_source`)
//     real strength_of(const DeviceData& w, const Position* position, u32 i)
//     void excluded_pair(const real* in, real* out)   from {r^2} to {energy, force / r} of unit strengths
// There is a force up to the square `cutoff2` of a distance; at any, if there is a reciprocal-space sum.

// Energy and virial.
enum { EXCLUDED_SUMS = 7 };

// The force on an atom of every `step`-th of those that it excludes from the `first` on, which is `partner`: who
// knows it early need not wait for it. Energy and virial into `sums`: half of them belong to the other atom.
template <bool ENERGY>
DEVICE real3 excluded_force_on(const DeviceData& w, const Slot& now, int i, u32 partner, int first, int step, double cutoff2,
                               double* sums) {
    const Position* position = w.atoms.position[now.parity];
    const Position mine = position[i];
    const real own = strength_of(w, position, i);
    real3 force = {};
    u32 k = first + step, next = partner;
    while (next != NO_ATOM) {
        const u32 j = next;
        next = partner_of(w, i, k);  // as early as possible
        k += step;
        const real3 d = difference(w.geometry, mine, position[j]);
        const real in[1] = {dot(d, d)}, strengths = own * strength_of(w, position, j);
        if (!(in[0] < (real)cutoff2)) continue;
        real out[2];
        excluded_pair(in, out);
        const real f = strengths * out[1];
        force = {multiply_add(f, d.x, force.x), multiply_add(f, d.y, force.y), multiply_add(f, d.z, force.z)};
        if (ENERGY) {
            sums[0] += 0.5 * strengths * out[0];
            add_half_virial(sums + 1, d, f);
        }
    }
    return force;
}
