// Bonds, angles, dihedrals, maps over two dihedrals. Every atom that is bound gathers the forces of its
// own: a bond is computed for both of its atoms and a dihedral for all four, always in the same order,
// and added to the forces of pairs. TEAM threads share an atom. Where ALL_BOUND (0 or 1), atoms are taken
// as they are stored, which is near each other, and their numbers are ids.
//
// The generated source in front of this says N_BONDED, how many energies there are (bonds, angles,
// dihedrals, and one for all maps), N_BOND_TERMS, N_ANGLE_TERMS, N_DIHEDRAL_TERMS and N_MAPS, how many
// terms, BOND_COEFFICIENTS and so on, how many coefficients they have at most, and
//     void bond(int term, const real* in, real* out)   from {r^2, coefficients} to {energy, force / r}
//     void angle(int term, const real* in, real* out)  from {a, b, coefficients} to {energy, forces}
// with a and b from the middle of the angle to its ends, and the forces on these;
//     void dihedral(int term, const real* in, real* out)
// from the vectors that lead from atom to atom and the coefficients to {energy, forces on their tips};
//     void map_places(const real* in, real* out)   from {vectors, points per radian} to two places
//     void map_forces(const real* in, real* out)
// from {vectors, places between four points, what is known of these, points per radian} to {energy,
// forces on the tips}.

enum { BONDED_THREADS = 256, ROLES = 8 };

// What atoms are bound in. Lists are by number of the atom among those that are bound, with what each is
// (its row in a table, ROLES times, and which of its atoms this one is) and where the others are stored,
// in its own order.
struct Bound {
    const u32* atoms;    // by number: ids
    const uint4* first;  // by number: where its bonds, angles, dihedrals and maps begin in their lists
    const u32* row[4];
    const u32* place[4];
    const u32* ids;      // the ids of all these others,
    u32* places;         // and their places
    u32* place_of;       // by id
    const real* bond_table;      // rows: term, square of the length at which it breaks, coefficients
    const real* angle_table;     // rows: term, coefficients
    const real* dihedral_table;  // likewise
    const real* map_table;       // rows: points per radian, points along an angle, first point
    const real4* points;
    i64 n_others;
    i64 n_atoms;
};

// After a sort, while lists are built: where everybody is now.
extern "C" __global__ void bonded_places(World w, Bound b, int slot) {
    await_those_before();
    if (!builds(w.control, w.control->slot[slot])) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < w.n) b.place_of[w.id[w.control->sorted ^ 1][i]] = i;
}

extern "C" __global__ void bonded_find(World w, Bound b, int slot) {
    await_those_before();
    if (!builds(w.control, w.control->slot[slot])) return;
    const i64 k = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (k < b.n_others) b.places[k] = b.place_of[b.ids[k]];
}

DEVICE real3 scaled(real3 d, real s) { return {d.x * s, d.y * s, d.z * s}; }

DEVICE void add(real3& sum, real3 f) { sum = {sum.x + f.x, sum.y + f.y, sum.z + f.z}; }

DEVICE void add_virial(double* sums, real3 d, real3 f) {
    sums[N_BONDED] += (double)d.x * f.x;
    sums[N_BONDED + 1] += (double)d.y * f.y;
    sums[N_BONDED + 2] += (double)d.z * f.z;
    sums[N_BONDED + 3] += (double)d.x * f.y;
    sums[N_BONDED + 4] += (double)d.x * f.z;
    sums[N_BONDED + 5] += (double)d.y * f.z;
}

// The vectors from atom to atom along a group of N + 1, of which `mine` has the given role.
template <int N>
DEVICE void chain(const Frame& frame, const Position* position, Position mine, u32 role, const u32* others,
                  real* vectors) {
    Position from = role == 0 ? mine : position[others[0]];
    for (int m = 0; m < N; m++) {
        const u32 next = m + 1;
        const Position to = next == role ? mine : position[others[next < role ? next : m]];
        const real3 d = difference(frame, to, from);
        vectors[3 * m] = d.x;
        vectors[3 * m + 1] = d.y;
        vectors[3 * m + 2] = d.z;
        from = to;
    }
}

DEVICE real3 vector_at(const real* of, int m) { return {of[3 * m], of[3 * m + 1], of[3 * m + 2]}; }

// What of the forces on the tips of these vectors acts on the atom of this role; the first one counts
// energy and virial.
template <bool ENERGY, int N>
DEVICE real3 on_chain(u32 role, const real* vectors, const real* out, int term, double* sums) {
    real3 force = {(real)0, (real)0, (real)0};
    for (int m = 0; m < N; m++) {
        const real3 f = vector_at(out + 1, m);
        if ((int)role == m + 1) add(force, f);
        if ((int)role == m) force = force - f;
        if (ENERGY && role == 0) add_virial(sums, vector_at(vectors, m), f);
    }
    if (ENERGY && role == 0) sums[term] += out[0];
    return force;
}

template <bool ENERGY>
DEVICE real3 bonded_forces_on(const World& w, const Bound& b, const Slot& now, u32 number, int i, u32 lane,
                              double* sums) {
    const Position* position = w.position[now.parity];
    const Position mine = position[i];
    const uint4 first = b.first[number], end = b.first[number + 1];
    real3 force = {(real)0, (real)0, (real)0};
#if N_BOND_TERMS > 0
    for (u32 k = first.x + lane; k < end.x; k += TEAM) {
        const real* row = b.bond_table + b.row[0][k] / ROLES * (2 + BOND_COEFFICIENTS);
        const real3 d = difference(w.frame, mine, position[b.place[0][k]]);
        real in[1 + BOND_COEFFICIENTS], out[2];
        in[0] = dot(d, d);
        for (int c = 0; c < BOND_COEFFICIENTS; c++) in[1 + c] = row[2 + c];
        const int term = (int)row[0];
        bond(term, in, out);
        const real3 f = scaled(d, out[1]);
        add(force, f);
        if (!(in[0] < row[1])) report_force(w, w.control->sorted, i, now.done);
        if (ENERGY) {
            // Half of it belongs to the other atom.
            sums[term] += 0.5 * out[0];
            add_virial(sums, scaled(d, (real)0.5), f);
        }
    }
#endif
#if N_ANGLE_TERMS > 0
    for (u32 k = first.y + lane; k < end.y; k += TEAM) {
        const u32 role = b.row[1][k] % ROLES;
        const real* row = b.angle_table + b.row[1][k] / ROLES * (1 + ANGLE_COEFFICIENTS);
        const Position one = position[b.place[1][2 * k]], other = position[b.place[1][2 * k + 1]];
        const Position end_a = role == 0 ? mine : one, end_b = role == 2 ? mine : other;
        const Position middle = role == 0 ? one : role == 1 ? mine : other;
        const real3 p = difference(w.frame, end_a, middle), q = difference(w.frame, end_b, middle);
        real in[6 + ANGLE_COEFFICIENTS] = {p.x, p.y, p.z, q.x, q.y, q.z}, out[7];
        for (int c = 0; c < ANGLE_COEFFICIENTS; c++) in[6 + c] = row[1 + c];
        const int term = (int)row[0];
        angle(term, in, out);
        const real3 on_a = vector_at(out + 1, 0), on_b = vector_at(out + 1, 1);
        add(force, role == 0   ? on_a
                   : role == 2 ? on_b
                               : real3{-(on_a.x + on_b.x), -(on_a.y + on_b.y), -(on_a.z + on_b.z)});
        if (ENERGY && role == 1) {
            sums[N_BOND_TERMS + term] += out[0];
            add_virial(sums, p, on_a);
            add_virial(sums, q, on_b);
        }
    }
#endif
#if N_DIHEDRAL_TERMS > 0
    for (u32 k = first.z + lane; k < end.z; k += TEAM) {
        const u32 role = b.row[2][k] % ROLES;
        const real* row = b.dihedral_table + b.row[2][k] / ROLES * (1 + DIHEDRAL_COEFFICIENTS);
        real in[9 + DIHEDRAL_COEFFICIENTS], out[10];
        chain<3>(w.frame, position, mine, role, b.place[2] + 3 * k, in);
        for (int c = 0; c < DIHEDRAL_COEFFICIENTS; c++) in[9 + c] = row[1 + c];
        const int term = (int)row[0];
        dihedral(term, in, out);
        add(force, on_chain<ENERGY, 3>(role, in, out, N_BOND_TERMS + N_ANGLE_TERMS + term, sums));
    }
#endif
#if N_MAPS > 0
    for (u32 k = first.w + lane; k < end.w; k += TEAM) {
        const u32 role = b.row[3][k] % ROLES;
        const real* row = b.map_table + b.row[3][k] / ROLES * 3;
        real in[12 + 2 + 16 + 1], out[13], place[2];
        chain<4>(w.frame, position, mine, role, b.place[3] + 4 * k, in);
        in[12] = row[0];
        map_places(in, place);
        const int size = (int)row[1];
        int cell[2];
        for (int m = 0; m < 2; m++) {
            cell[m] = place[m] > (real)0 ? (int)place[m] : 0;
            in[12 + m] = place[m] - (real)cell[m];
        }
        for (int m = 0; m < 4; m++) {
            const int s = (cell[0] + m % 2) % size, t = (cell[1] + m / 2) % size;
            const real4 point = b.points[(int)row[2] + s + size * t];
            in[14 + 4 * m] = point.x;
            in[15 + 4 * m] = point.y;
            in[16 + 4 * m] = point.z;
            in[17 + 4 * m] = point.w;
        }
        in[30] = row[0];
        map_forces(in, out);
        add(force, on_chain<ENERGY, 4>(role, in, out, N_BONDED - 1, sums));
    }
#endif
    return force;
}

// The forces on the atom of a team of threads, and their sums. Returns the number of the atom, or
// `n_atoms` if there is none.
template <bool ENERGY>
DEVICE u32 bonded(const World& w, const Bound& b, const Slot& now, double* sums) {
    const u32 lane = threadIdx.x % TEAM, n_atoms = (u32)b.n_atoms;
    const u32 team = blockIdx.x * (BONDED_THREADS / TEAM) + threadIdx.x / TEAM;
    const bool exists = team < n_atoms;
#if ALL_BOUND
    const int i = (int)team;
    const u32 number = exists ? w.id[w.control->sorted][i] : n_atoms;
#else
    const u32 number = exists ? team : n_atoms;
    const int i = exists ? (int)b.place_of[b.atoms[number]] : 0;
#endif
    real3 force = {(real)0, (real)0, (real)0};
    if (exists) force = bonded_forces_on<ENERGY>(w, b, now, number, i, lane, sums);
    for (int m = TEAM / 2; m > 0; m /= 2) {
        force.x += __shfl_xor_sync(ALL_LANES, force.x, m);
        force.y += __shfl_xor_sync(ALL_LANES, force.y, m);
        force.z += __shfl_xor_sync(ALL_LANES, force.z, m);
    }
    if (lane > 0 || !exists) return number;
    add(force, load_force(w, i));
    store_force(w, i, force);
    return number;
}

extern "C" __global__ void __launch_bounds__(BONDED_THREADS) bonded_forces(World w, Bound b, int slot, int when) {
    await_those_before();
    const Slot now = w.control->slot[slot];
    if (due(w.control, now, when)) bonded<false>(w, b, now, nullptr);
}

extern "C" __global__ void __launch_bounds__(BONDED_THREADS)
bonded_forces_energies(World w, Bound b, int slot, int when) {
    await_those_before();
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, when)) return;
    double sums[N_BONDED + 6] = {};
    const u32 number = bonded<true>(w, b, now, sums);
#if REPRODUCIBLE
    for (int k = 0; k < N_BONDED + 6; k++) {
        for (int m = TEAM / 2; m > 0; m /= 2) sums[k] += __shfl_xor_sync(ALL_LANES, sums[k], m);
    }
    if (threadIdx.x % TEAM == 0 && number < b.n_atoms) store_share(w, sums, number);
#else
    block_sums<BONDED_THREADS>(sums, w.partial + (size_t)blockIdx.x * (N_BONDED + 6));
#endif
}

extern "C" __global__ void __launch_bounds__(BONDED_THREADS)
bonded_sums(World w, int blocks, int row_length, int virial, int first, int when) {
    await_those_before();
    add_energies_and_virial<BONDED_THREADS, N_BONDED>(w, blocks, row_length, virial, first, when);
}
