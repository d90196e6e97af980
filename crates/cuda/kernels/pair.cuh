// What a pair of atoms does to the first of them. Follows the generated `pair_force`.

#if REPRODUCIBLE
// A sum that is the same in whatever order: whole numbers of 2^-20 and of 2^-60 EXACT_UNIT.
struct Sum { i64 high, low; };

DEVICE void add(Sum& sum, real value) {
    const double v = value * (1.0 / EXACT_UNIT);
    const i64 high = __double2ll_rn(v * 1048576.0);
    sum.high += high;
    sum.low += __double2ll_rn((v - (double)high * (1.0 / 1048576.0)) * 1152921504606846976.0);
}

DEVICE void add_product(Sum& sum, real a, real b) { add(sum, a * b); }

DEVICE double value_of(Sum sum) {
    return ((double)sum.high * (1.0 / 1048576.0) + (double)sum.low * (1.0 / 1152921504606846976.0)) * EXACT_UNIT;
}

struct Sum3 { Sum x, y, z; };
#else
typedef real Sum;
typedef real3 Sum3;
DEVICE void add_product(Sum& sum, real a, real b) { sum = multiply_add(a, b, sum); }
DEVICE double value_of(Sum sum) { return sum; }
#endif

// What the force between two atoms depends on besides their distance.
struct Atom {
    int species;
    real charge;  // times the root of Coulomb's constant; 0 where charges have no forces
};

DEVICE Atom atom_of(const DeviceData& w, Position p, u32 i) {
#if CHARGED
    return {(int)p.species, w.charge[i]};
#else
    return {(int)p.species, (real)0};
#endif
}

// What the others do to an atom.
struct Pull {
    Sum3 force;
    Sum energy[N_TERMS > 0 ? N_TERMS : 1];
    Sum virial[6];
    bool beyond;  // something was too large for exact sums
};

#if !REPRODUCIBLE
// Multiplies it by what all of it has in common.
DEVICE void scale(Pull& pull, real by) {
    pull.force = {by * pull.force.x, by * pull.force.y, by * pull.force.z};
    for (int k = 0; k < N_TERMS; k++) pull.energy[k] *= by;
    for (int k = 0; k < 6; k++) pull.virial[k] *= by;
}
#endif

DEVICE real3 force_of(const Pull& pull) {
    return {(real)value_of(pull.force.x), (real)value_of(pull.force.y), (real)value_of(pull.force.z)};
}

DEVICE void add_virial(Pull& pull, real f, real3 d) {
    const real3 force = {f * d.x, f * d.y, f * d.z};
    add_product(pull.virial[0], force.x, d.x);
    add_product(pull.virial[1], force.y, d.y);
    add_product(pull.virial[2], force.z, d.z);
    add_product(pull.virial[3], force.x, d.y);
    add_product(pull.virial[4], force.x, d.z);
    add_product(pull.virial[5], force.y, d.z);
}

// What acts on an atom: all there is, or charges alone.
enum Law { ALL_TERMS, CHARGES };

// The generated function for that.
template <bool ENERGY, Law LAW>
DEVICE real force_by(const DeviceData& w, real r2, Atom atom, Atom other, real* energy) {
    const real charges = atom.charge * other.charge;
#if CHARGES_ALONE
    if (LAW == CHARGES) return charge_force<ENERGY>(r2, charges, energy);
#endif
    return pair_force<ENERGY>(r2, atom.species, other.species, charges, w.table, energy);
}

// The force between two atoms over their distance; counts their energy.
template <bool ENERGY, Law LAW>
DEVICE real force_between(const DeviceData& w, Pull& pull, real r2, Atom atom, Atom other) {
#if REPRODUCIBLE
    real energy[N_TERMS > 0 ? N_TERMS : 1] = {};
    const real f = force_by<ENERGY, LAW>(w, r2, atom, other, energy);
    // So that even a sum over all atoms cannot overflow.
    const real most = (real)(EXACT_UNIT * 4398046511104.0) / (real)w.n;
    bool fits = fabs(f) * square_root(r2) < most && fabs(f) * r2 < most;
    if (ENERGY) {
        for (int k = 0; k < N_TERMS; k++) {
            fits = fits && fabs(energy[k]) < most;
            add(pull.energy[k], energy[k]);
        }
    }
    pull.beyond = pull.beyond || !fits;
    return f;
#else
    return force_by<ENERGY, LAW>(w, r2, atom, other, pull.energy);
#endif
}

// Adds the force of an atom at distance -d.
template <bool ENERGY, Law LAW = ALL_TERMS>
DEVICE void pull_towards(const DeviceData& w, Pull& pull, real3 d, real r2, Atom atom, Atom other) {
    const real f = force_between<ENERGY, LAW>(w, pull, r2, atom, other);
    add_product(pull.force.x, f, d.x);
    add_product(pull.force.y, f, d.y);
    add_product(pull.force.z, f, d.z);
    if (ENERGY) add_virial(pull, f, d);
}

// The same where most pairs are beyond every cut-off: those cost no more than looking.
template <bool ENERGY>
DEVICE void attract(const DeviceData& w, Pull& pull, real3 d, Atom atom, Atom other) {
    const real r2 = dot(d, d);
    if (r2 < (real)LONGEST_CUTOFF2) pull_towards<ENERGY>(w, pull, d, r2, atom, other);
}

// Stores the force on an atom of the slot.
DEVICE void store_pull(const DeviceData& w, int i, const Pull& pull, const Slot& now) {
    store_force(w, i, force_of(pull));
    if (pull.beyond) report_force(w, w.control->sorted, i, now.done);
}

// Energies and virial of a block's atoms; `part` is what of them each atom counts: half of what it
// sees, if its partners see the same. `first` blocks have left their shares before.
template <int THREADS_PER_BLOCK>
DEVICE void block_energies(const DeviceData& w, const Pull& pull, double part, int first = 0) {
    double sums[N_TERMS + 6];
    for (int k = 0; k < N_TERMS; k++) sums[k] = part * value_of(pull.energy[k]);
    for (int k = 0; k < 6; k++) sums[N_TERMS + k] = part * value_of(pull.virial[k]);
    block_partial<THREADS_PER_BLOCK, N_TERMS + 6>(w, sums, first);
}
