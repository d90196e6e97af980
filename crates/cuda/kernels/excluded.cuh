// Corrections for pairs of excluded atoms: no list has them, but the reciprocal-space sums of charges or dispersion
// are over all pairs. The smooth part of the force that these add is subtracted again. Forces are gathered for each
// atom, always in the same order: no atomics.
//
// Generated source in front of this file (codegen.rs, `excluded_source`):
//     real strength_of(const DeviceData& w, const Position* position, u32 i)
//     void excluded_pair(const real* in, real* out)   from {r^2} to {energy, force / r} of unit strengths
// The correction acts up to a distance of square `cutoff2`; with a reciprocal-space sum at any distance.

// Number of sums: energy and virial.
enum { EXCLUDED_SUMS = 7 };

// Force on an atom of every `step`-th of the atoms that it excludes from the `first` on, which is `partner`: loaded
// early by the caller. Half of the pairs' energy and virial is added to `sums`, for this atom.
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
