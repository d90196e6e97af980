// What a pair of atoms does to the first of them. Follows the generated `pair_force`.

// What the others do to an atom.
struct Pull {
    real3 force;
    real energy[N_TERMS > 0 ? N_TERMS : 1];
    real virial[6];
};

DEVICE void add_virial(Pull& pull, real f, real3 d) {
    const real3 force = {f * d.x, f * d.y, f * d.z};
    pull.virial[0] += force.x * d.x;
    pull.virial[1] += force.y * d.y;
    pull.virial[2] += force.z * d.z;
    pull.virial[3] += force.x * d.y;
    pull.virial[4] += force.x * d.z;
    pull.virial[5] += force.y * d.z;
}

// Adds the force of an atom at distance -d. Pairs beyond every cut-off cost no more than looking.
template <bool ENERGY>
DEVICE void attract(const World& w, Pull& pull, real3 d, int species, int other) {
    const real r2 = dot(d, d);
    if (r2 < (real)LONGEST_CUTOFF2) {
        const real f = pair_force<ENERGY>(r2, species, other, w.table, pull.energy);
        pull.force.x += f * d.x;
        pull.force.y += f * d.y;
        pull.force.z += f * d.z;
        if (ENERGY) add_virial(pull, f, d);
    }
}

// Energies and virial of a block's atoms; `part` is what of them each atom counts: half of what it
// sees, if its partners see the same. `first` blocks have left their shares before.
template <int THREADS_PER_BLOCK>
DEVICE void block_energies(const World& w, const Pull& pull, double part, int first = 0) {
    double sums[N_TERMS + 6];
    for (int k = 0; k < N_TERMS; k++) sums[k] = part * pull.energy[k];
    for (int k = 0; k < 6; k++) sums[N_TERMS + k] = part * pull.virial[k];
    block_partial<THREADS_PER_BLOCK, N_TERMS + 6>(w, sums, first);
}
