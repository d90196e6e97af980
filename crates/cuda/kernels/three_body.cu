// Three-body potentials over the lists of atoms, in two passes: the energy of each centre with its derivatives by the
// vectors to its neighbours, then forces. Formulas are generated (three_body.rs).
//
// A centre packs those of its list that are within the cut-off and stores a row for them: derivative and index. In the
// second pass an atom adds up its own row and, from the row of each neighbour, the place that is its own.
// - Advantages: no atomic sums, and sums in the order of lists; each triplet is evaluated once; several GPUs exchange rows
//   between the passes, since each evaluates its own centres alone.
// - Disadvantages: a row has space for MOST_NEAR neighbours, most of which is empty; the second pass looks for an index
//   in each row; one thread does all the work of a centre, in local memory.

struct Near {
    real3 direction;  // unit vector from the centre
    real distance, inverse;
    real shared[2];  // a function of the distance, and its derivative
    real3 gradient;
    u32 atom;
    int species;
};

struct Center {
    Near near[MOST_NEAR];
    int n, species;
    bool crowded;
};

DEVICE const real* pair_coefficients(const DeviceData& w, const Center& center, int j) {
    return w.three_body.pairs + (center.species * N_SPECIES + center.near[j].species) * PAIR_COEFFICIENTS;
}

DEVICE const real* triplet_coefficients(const DeviceData& w, const Center& center, int j, int k) {
    const int pair = center.species * N_SPECIES + center.near[j].species;
    return w.three_body.triplets + (pair * N_SPECIES + center.near[k].species) * TRIPLET_COEFFICIENTS;
}

// Adds the derivatives of a function of two distances and the cosine between them, times a factor.
DEVICE void add_angle(Near& one, Near& other, real cosine, const real* slopes, real factor) {
    const real3 u = one.direction, v = other.direction;
    const real in[12] = {u.x, u.y, u.z, v.x, v.y, v.z, one.inverse, other.inverse, cosine, factor * slopes[0], factor * slopes[1], factor * slopes[2]};
    real out[6];
    angle_gradients(in, out);
    one.gradient = {one.gradient.x + out[0], one.gradient.y + out[1], one.gradient.z + out[2]};
    other.gradient = {other.gradient.x + out[3], other.gradient.y + out[4], other.gradient.z + out[5]};
}

DEVICE void add_along(Near& near, real slope) {
    near.gradient.x = multiply_add(slope, near.direction.x, near.gradient.x);
    near.gradient.y = multiply_add(slope, near.direction.y, near.gradient.y);
    near.gradient.z = multiply_add(slope, near.direction.z, near.gradient.z);
}

#if TERSOFF
DEVICE void cutoff_at(real distance, const real* c, real* out) {
    const real in[4] = {distance, c[0], c[1], c[2]};
    tersoff_cutoff(in, out);
}

// Energy of a centre; stores derivatives.
DEVICE real evaluate_center(const DeviceData& w, Center& center) {
    real total = 0;
    for (int j = 0; j < center.n; j++) {
        Near& one = center.near[j];
        cutoff_at(one.distance, pair_coefficients(w, center, j) + 7, one.shared);
    }
    real terms[MOST_NEAR][4];
    for (int j = 0; j < center.n; j++) {
        Near& one = center.near[j];
        real sum = 0;
        for (int k = 0; k < center.n; k++) {
            if (k == j) continue;
            const Near& other = center.near[k];
            const real* c = triplet_coefficients(w, center, j, k);
#if TRIPLET_CUTOFFS
            real cutoff[2];
            cutoff_at(other.distance, c + 6, cutoff);
#else
            const real* cutoff = other.shared;
#endif
            const real in[10] = {one.distance - other.distance, cutoff[0], cutoff[1], dot(one.direction, other.direction), c[0], c[1], c[2], c[3], c[4], c[5]};
            tersoff_zeta(in, terms[k]);
            sum += terms[k][0];
        }
        const real* c = pair_coefficients(w, center, j);
        const real in[11] = {one.distance, one.shared[0], one.shared[1], sum, c[0], c[1], c[2], c[3], c[4], c[5], c[6]};
        real bond[3];
        tersoff_bond(in, bond);
        total += bond[0];
        add_along(one, bond[1]);
        for (int k = 0; k < center.n; k++) {
            if (k == j) continue;
            Near& other = center.near[k];
            add_angle(one, other, dot(one.direction, other.direction), terms[k] + 1, bond[2]);
        }
    }
    return total;
}
#else
DEVICE real evaluate_center(const DeviceData& w, Center& center) {
    real total = 0;
    for (int j = 0; j < center.n; j++) {
        Near& one = center.near[j];
        const real* c = pair_coefficients(w, center, j);
        const real in[10] = {one.distance, one.inverse, c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]};
        real bond[4];
        stillinger_weber_bond(in, bond);
        total += bond[0];
        add_along(one, bond[1]);
        one.shared[0] = bond[2];
        one.shared[1] = bond[3];
    }
    for (int j = 0; j < center.n; j++) {
        Near& one = center.near[j];
        for (int k = j + 1; k < center.n; k++) {
            Near& other = center.near[k];
            const real cosine = dot(one.direction, other.direction);
            const real* c = triplet_coefficients(w, center, j, k);
            const real in[7] = {one.shared[0], one.shared[1], other.shared[0], other.shared[1], cosine, c[0], c[1]};
            real angle[4];
            stillinger_weber_angle(in, angle);
            total += angle[0];
            add_angle(one, other, cosine, angle + 1, (real)1);
        }
    }
    return total;
}
#endif

// Packs the neighbours of an atom within the cut-off.
DEVICE void pack_center(const DeviceData& w, const Position* position, int i, Center& center) {
    const Position mine = position[i];
    center.species = (int)mine.species;
    center.n = 0;
    center.crowded = false;
    const int entries = w.lists.n_neighbor[i];
    for (int e = 0; e < entries; e++) {
        const u32 j = w.lists.neighbor[(size_t)e * w.n + i];
        const Position other = position[j];
        const real3 d = difference(w.geometry, other, mine);
        const real r2 = dot(d, d);
        if (r2 >= w.three_body.cutoffs2[center.species * N_SPECIES + (int)other.species]) continue;
        if (center.n == MOST_NEAR) {
            center.crowded = true;
            return;
        }
        Near& near = center.near[center.n++];
        near.inverse = reciprocal_square_root(r2);
        near.distance = r2 * near.inverse;
        near.direction = {d.x * near.inverse, d.y * near.inverse, d.z * near.inverse};
        near.gradient = {0, 0, 0};
        near.atom = j;
        near.species = (int)other.species;
    }
}

// With `energies` stores the energy of a centre, too. A centre with too many neighbours makes forces that are no numbers,
// which ends the run.
extern "C" __global__ void __launch_bounds__(LIST_THREADS) centers_three_body(DeviceData w, int slot, int trigger, int energies) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    const int i = w.owned.first + blockIdx.x * blockDim.x + threadIdx.x;
    if (!due(w.control, now, trigger) || i >= w.owned.end) return;
    Center center;
    pack_center(w, w.atoms.position[now.parity], i, center);
    const real energy = evaluate_center(w, center);
    real4* row = w.three_body.gradient + (size_t)i * MOST_NEAR;
    for (int k = 0; k < center.n; k++) {
        const real3 g = center.near[k].gradient;
        row[k] = {center.crowded ? (real)(infinity() - infinity()) : g.x, g.y, g.z, as_real((int)center.near[k].atom)};
    }
    if (center.n < MOST_NEAR) row[center.n] = {0, 0, 0, as_real(-1)};
    if (energies) w.three_body.energy[i] = energy;
}

// Derivative, in the row of a centre, by the vector to an atom; zero where it is no neighbour.
DEVICE real3 gradient_by(const DeviceData& w, u32 center, int atom) {
    const real4* row = w.three_body.gradient + (size_t)center * MOST_NEAR;
    for (int k = 0; k < MOST_NEAR; k++) {
        const real4 g = row[k];
        const int index = as_species(g.w);
        if (index == atom) return {g.x, g.y, g.z};
        if (index < 0) break;
    }
    return {0, 0, 0};
}

template <bool ENERGY>
DEVICE void three_body_forces(const DeviceData& w, int slot, int trigger) {
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, trigger)) return;
    const int i = w.owned.first + blockIdx.x * blockDim.x + threadIdx.x;
    PairSums pairs = {};
    double virial[6] = {};
    const Position* position = w.atoms.position[now.parity];
    if (i < w.owned.end) {
        if (N_TERMS > 1) pairs = pair_sums_of_list<ENERGY>(w, position, {i, 0});
        const Position mine = position[i];
        const real4* row = w.three_body.gradient + (size_t)i * MOST_NEAR;
        for (int k = 0; k < MOST_NEAR; k++) {
            const real4 g = row[k];
            const int j = as_species(g.w);
            if (j < 0) break;
            const real3 back = gradient_by(w, (u32)j, i);
            pairs.force = {pairs.force.x + g.x - back.x, pairs.force.y + g.y - back.y, pairs.force.z + g.z - back.z};
            if (ENERGY) {
                const real3 d = difference(w.geometry, position[j], mine);
                virial[0] -= d.x * g.x;
                virial[1] -= d.y * g.y;
                virial[2] -= d.z * g.z;
                virial[3] -= d.x * g.y;
                virial[4] -= d.x * g.z;
                virial[5] -= d.y * g.z;
            }
        }
        store_pair_force(w, i, pairs, now);
    }
    if (!ENERGY) return;
    double sums[N_TERMS + 6];
    for (int k = 0; k < N_TERMS; k++) sums[k] = 0.5 * value_of(pairs.energy[k]);
    for (int k = 0; k < 6; k++) sums[N_TERMS + k] = 0.5 * value_of(pairs.virial[k]) + virial[k];
    if (i < w.owned.end) sums[N_TERMS - 1] += w.three_body.energy[i];
    block_partial<LIST_THREADS, N_TERMS + 6>(w, sums);
}

extern "C" __global__ void __launch_bounds__(LIST_THREADS) forces_three_body(DeviceData w, int slot, int trigger) {
    wait_for_previous_kernel();
    three_body_forces<false>(w, slot, trigger);
}

extern "C" __global__ void __launch_bounds__(LIST_THREADS) forces_three_body_energies(DeviceData w, int slot, int trigger) {
    wait_for_previous_kernel();
    three_body_forces<true>(w, slot, trigger);
}
