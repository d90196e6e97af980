// Force and energies of a pair, for its first atom. Follows the generated `pair_force`.

#if REPRODUCIBLE
// Sum that does not depend on the order of its terms: integer multiples of 2^-20 and of 2^-60 EXACT_UNIT.
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

// Properties of an atom on which pair forces depend.
struct Atom {
    int species;
    real charge;  // times the root of Coulomb's constant; 0 where charges have no forces
};

DEVICE Atom atom_of(const DeviceData& w, Position p, u32 i) {
#if CHARGED
    return {(int)p.species, w.atoms.charge[i]};
#else
    return {(int)p.species, (real)0};
#endif
}

// Sums over the pairs of an atom: force, energies and virial.
struct PairSums {
    Sum3 force;
    Sum energy[N_TERMS > 0 ? N_TERMS : 1];
    Sum virial[6];
    bool beyond;  // true after a term too large for exact sums
};

#if !REPRODUCIBLE
// Multiplies all sums by a factor that their pairs have in common.
DEVICE void scale(PairSums& pairs, real by) {
    pairs.force = {by * pairs.force.x, by * pairs.force.y, by * pairs.force.z};
    for (int k = 0; k < N_TERMS; k++) pairs.energy[k] *= by;
    for (int k = 0; k < 6; k++) pairs.virial[k] *= by;
}
#endif

DEVICE real3 force_of(const PairSums& pairs) {
    return {(real)value_of(pairs.force.x), (real)value_of(pairs.force.y), (real)value_of(pairs.force.z)};
}

DEVICE void add_virial(PairSums& pairs, real f, real3 d) {
    const real3 force = {f * d.x, f * d.y, f * d.z};
    add_product(pairs.virial[0], force.x, d.x);
    add_product(pairs.virial[1], force.y, d.y);
    add_product(pairs.virial[2], force.z, d.z);
    add_product(pairs.virial[3], force.x, d.y);
    add_product(pairs.virial[4], force.x, d.z);
    add_product(pairs.virial[5], force.y, d.z);
}

// Terms that act on an atom: all there are, or charges alone.
enum TermSet { ALL_TERMS, CHARGES };

// Force over distance from the generated function for a set of terms.
template <bool ENERGY, TermSet TERMS>
DEVICE real force_by(const DeviceData& w, real r2, Atom atom, Atom other, real* energy) {
    const real charges = atom.charge * other.charge;
#if CHARGES_ALONE
    if (TERMS == CHARGES) return charge_force<ENERGY>(r2, charges, energy);
#endif
    return pair_force<ENERGY>(r2, atom.species, other.species, charges, w.table, energy);
}

// Force between two atoms over their distance; adds their energy to the sums.
template <bool ENERGY, TermSet TERMS>
DEVICE real force_between(const DeviceData& w, PairSums& pairs, real r2, Atom atom, Atom other) {
#if REPRODUCIBLE
    real energy[N_TERMS > 0 ? N_TERMS : 1] = {};
    const real f = force_by<ENERGY, TERMS>(w, r2, atom, other, energy);
    // Limit of terms: even a sum over all atoms cannot overflow.
    const real most = (real)(EXACT_UNIT * 4398046511104.0) / (real)w.n;
    bool fits = fabs(f) * square_root(r2) < most && fabs(f) * r2 < most;
    if (ENERGY) {
        for (int k = 0; k < N_TERMS; k++) {
            fits = fits && fabs(energy[k]) < most;
            add(pairs.energy[k], energy[k]);
        }
    }
    pairs.beyond = pairs.beyond || !fits;
    return f;
#else
    return force_by<ENERGY, TERMS>(w, r2, atom, other, pairs.energy);
#endif
}

// Adds the pair with an atom at distance -d.
template <bool ENERGY, TermSet TERMS = ALL_TERMS>
DEVICE void add_pair(const DeviceData& w, PairSums& pairs, real3 d, real r2, Atom atom, Atom other) {
    const real f = force_between<ENERGY, TERMS>(w, pairs, r2, atom, other);
    add_product(pairs.force.x, f, d.x);
    add_product(pairs.force.y, f, d.y);
    add_product(pairs.force.z, f, d.z);
    if (ENERGY) add_virial(pairs, f, d);
}

// Adds the pair if it is within the longest cut-off: for loops over pairs of which most are not.
template <bool ENERGY>
DEVICE void add_pair_within_cutoff(const DeviceData& w, PairSums& pairs, real3 d, Atom atom, Atom other) {
    const real r2 = dot(d, d);
    if (r2 < (real)LONGEST_CUTOFF2) add_pair<ENERGY>(w, pairs, d, r2, atom, other);
}

// Stores the force on an atom, and reports one too large for exact sums.
DEVICE void store_pair_force(const DeviceData& w, int i, const PairSums& pairs, const Slot& now) {
    store_force(w, i, force_of(pairs));
    if (pairs.beyond) report_force(w, w.control->sorted, i, now.done);
}

// Share of a block in energies and virial; `part` is the part of a pair that each atom counts: half, if its partner
// counts the other. `first` blocks have stored their shares before; `i` is the thread's atom.
template <int THREADS_PER_BLOCK>
DEVICE void block_energies(const DeviceData& w, const PairSums& pairs, double part, int first, int i) {
    double sums[N_TERMS + 6];
    for (int k = 0; k < N_TERMS; k++) sums[k] = part * value_of(pairs.energy[k]);
    for (int k = 0; k < 6; k++) sums[N_TERMS + k] = part * value_of(pairs.virial[k]);
    block_partial<THREADS_PER_BLOCK, N_TERMS + 6>(w, sums, first, i);
}
