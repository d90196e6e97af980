// Bonds and angles. Every atom gathers the forces of its own: a bond is computed for both of its
// atoms and an angle for all three, always in the same order, and added to the forces of pairs.
//
// The generated source in front of this says N_BONDED, how many terms there are (bonds, then
// angles), N_BOND_TERMS, BOND_COEFFICIENTS and ANGLE_COEFFICIENTS, how many coefficients they have
// at most, and
//     void bond(int term, const real* in, real* out)   from {r^2, coefficients} to {energy, force / r}
//     void angle(int term, const real* in, real* out)  from {a, b, coefficients} to {energy, forces}
// with a and b from the middle of the angle to its ends, and the forces on these.

enum { BONDED_THREADS = 256, ALONE = 0xffffffff };

// What atoms are bound in: layers, the k-th bond of every atom side by side, as atoms are stored.
struct Bound {
    int bonds;                // layers
    int angles;
    const u32* bond_of;       // [bonds][n], by id: the other atom's id, or ALONE
    const u32* bond_row;      // [bonds][n], by id: row of the table
    const uint2* angle_of;    // [angles][n], by id: the ids of the others in the angle's order
    const u32* angle_row;     // [angles][n], by id: row of the table, 4 times, and which of the three
    u32* place;               // by id
    u32* partner;             // [bonds][n]: the other atom's place
    u32* partner_row;
    uint2* ends;              // [angles][n]: the other atoms' places
    u32* ends_row;
    const real* bond_table;   // rows: term, square of the length at which it breaks, coefficients
    const real* angle_table;  // rows: term, coefficients
};

// After a sort, while lists are built: where everybody is now.
extern "C" __global__ void bonded_places(World w, Bound b, int slot) {
    if (!builds(w.control, w.control->slot[slot])) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < w.n) b.place[w.id[w.control->sorted ^ 1][i]] = i;
}

extern "C" __global__ void bonded_find(World w, Bound b, int slot) {
    if (!builds(w.control, w.control->slot[slot])) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.n) return;
    const u32 id = w.id[w.control->sorted ^ 1][i];
    for (int k = 0; k < b.bonds; k++) {
        const size_t from = (size_t)k * w.n + id, to = (size_t)k * w.n + i;
        const u32 other = b.bond_of[from];
        b.partner[to] = other == ALONE ? ALONE : b.place[other];
        b.partner_row[to] = b.bond_row[from];
    }
    for (int k = 0; k < b.angles; k++) {
        const size_t from = (size_t)k * w.n + id, to = (size_t)k * w.n + i;
        const uint2 others = b.angle_of[from];
        b.ends[to] = others.x == ALONE ? others : make_uint2(b.place[others.x], b.place[others.y]);
        b.ends_row[to] = b.angle_row[from];
    }
}

DEVICE real3 scaled(real3 d, real s) { return {d.x * s, d.y * s, d.z * s}; }

DEVICE void add_virial(double* sums, real3 d, real3 f) {
    sums[N_BONDED] += (double)d.x * f.x;
    sums[N_BONDED + 1] += (double)d.y * f.y;
    sums[N_BONDED + 2] += (double)d.z * f.z;
    sums[N_BONDED + 3] += (double)d.x * f.y;
    sums[N_BONDED + 4] += (double)d.x * f.z;
    sums[N_BONDED + 5] += (double)d.y * f.z;
}

template <bool ENERGY>
DEVICE void bonded_forces_on(const World& w, const Bound& b, const Slot& now, int i, double* sums) {
    const Position* position = w.position[now.parity];
    const Position mine = position[i];
    real3 force = load_force(w, i);
#if N_BOND_TERMS > 0
    for (int k = 0; k < b.bonds; k++) {
        const size_t at = (size_t)k * w.n + i;
        const u32 j = b.partner[at];
        if (j == ALONE) break;
        const real* row = b.bond_table + b.partner_row[at] * (2 + BOND_COEFFICIENTS);
        const real3 d = difference(w.frame, mine, position[j]);
        real in[1 + BOND_COEFFICIENTS], out[2];
        in[0] = dot(d, d);
        for (int c = 0; c < BOND_COEFFICIENTS; c++) in[1 + c] = row[2 + c];
        const int term = (int)row[0];
        bond(term, in, out);
        const real3 f = scaled(d, out[1]);
        force = {force.x + f.x, force.y + f.y, force.z + f.z};
        if (!(in[0] < row[1])) report_force(w, w.control->sorted, i, now.done);
        if (ENERGY) {
            // Half of it belongs to the other atom.
            sums[term] += 0.5 * out[0];
            add_virial(sums, scaled(d, (real)0.5), f);
        }
    }
#endif
#if N_BONDED > N_BOND_TERMS
    for (int k = 0; k < b.angles; k++) {
        const size_t at = (size_t)k * w.n + i;
        const uint2 others = b.ends[at];
        if (others.x == ALONE) break;
        const u32 role = b.ends_row[at] % 4;
        const real* row = b.angle_table + b.ends_row[at] / 4 * (1 + ANGLE_COEFFICIENTS);
        const Position first = position[others.x], second = position[others.y];
        const Position end_a = role == 0 ? mine : first, end_b = role == 2 ? mine : second;
        const Position middle = role == 0 ? first : role == 1 ? mine : second;
        const real3 p = difference(w.frame, end_a, middle), q = difference(w.frame, end_b, middle);
        real in[6 + ANGLE_COEFFICIENTS] = {p.x, p.y, p.z, q.x, q.y, q.z}, out[7];
        for (int c = 0; c < ANGLE_COEFFICIENTS; c++) in[6 + c] = row[1 + c];
        const int term = (int)row[0];
        angle(term, in, out);
        const real3 on_a = {out[1], out[2], out[3]}, on_b = {out[4], out[5], out[6]};
        const real3 f = role == 0   ? on_a
                        : role == 2 ? on_b
                                    : real3{-(on_a.x + on_b.x), -(on_a.y + on_b.y), -(on_a.z + on_b.z)};
        force = {force.x + f.x, force.y + f.y, force.z + f.z};
        if (ENERGY && role == 1) {
            sums[N_BOND_TERMS + term] += out[0];
            add_virial(sums, p, on_a);
            add_virial(sums, q, on_b);
        }
    }
#endif
    store_force(w, i, force);
}

extern "C" __global__ void __launch_bounds__(BONDED_THREADS) bonded_forces(World w, Bound b, int slot, int when) {
    const Slot now = w.control->slot[slot];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (due(w.control, now, when) && i < w.n) bonded_forces_on<false>(w, b, now, i, nullptr);
}

extern "C" __global__ void __launch_bounds__(BONDED_THREADS)
bonded_forces_energies(World w, Bound b, int slot, int when) {
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, when)) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double sums[N_BONDED + 6] = {};
    if (i < w.n) bonded_forces_on<true>(w, b, now, i, sums);
    block_partial<BONDED_THREADS, N_BONDED + 6>(w, sums);
}

// The sums, into a row of w.total: energies after what pairs have left there (energies and virial),
// the virial added to theirs.
extern "C" __global__ void __launch_bounds__(BONDED_THREADS)
bonded_sums(World w, int blocks, int row_length, int n_pairs, int when) {
    if (!due(w.control, w.control->slot[0], when) && when != WHEN_ASKED) return;
    double* row = w.total + (when == WHEN_ENDS ? (size_t)(w.control->part / 2) * row_length : 0);
    for (int k = 0; k < N_BONDED + 6; k++) {
        const double sum = sum_of_shares<BONDED_THREADS>(w, blocks, N_BONDED + 6, k);
        if (threadIdx.x != 0) continue;
        if (k < N_BONDED) {
            row[n_pairs + 6 + k] = sum;
        } else {
            row[n_pairs + k - N_BONDED] += sum;
        }
    }
}
