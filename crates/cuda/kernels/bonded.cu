// Bonds, angles, dihedrals, maps over two dihedrals. Forces are gathered for each bonded atom: a bond is computed for
// both of its atoms and a dihedral for all four, always in the same order, and added to the forces of pairs: no
// atomics. TEAM threads share an atom. Where ALL_BOUND is 1, atoms are taken in the order of storage, in which those
// near in space are near in memory, and their numbers are ids.
//
// Generated source in front of this file: N_BONDED, the number of energies (bonds, angles, dihedrals, and one for all
// maps); N_BOND_TERMS, N_ANGLE_TERMS, N_DIHEDRAL_TERMS and N_MAPS, the numbers of terms; BOND_COEFFICIENTS and so on,
// the largest numbers of their coefficients; the types bond_real, angle_real and dihedral_real of their arithmetic;
//     void bond(int term, const bond_real* in, bond_real* out)     from {r^2, coefficients} to {energy, force / r}
//     void angle(int term, const angle_real* in, angle_real* out)  from {a, b, coefficients} to {energy, forces}
// with a and b the vectors from the middle atom to the ends, and the forces on these;
//     void dihedral(int term, const dihedral_real* in, dihedral_real* out)
// from the vectors from atom to atom and the coefficients to {energy, forces on their tips};
//     void map_places(const real* in, real* out)   from {vectors, points per radian} to two map coordinates
//     void map_forces(const real* in, real* out)
// from {vectors, coordinates between four points, values and derivatives there, points per radian} to {energy,
// forces on the tips}.

enum { BONDED_THREADS = 256, ROLES = 8 };

// Indices of all atoms after a sort, while lists are built.
extern "C" __global__ void bonded_indices(DeviceData w, BondedData b, int slot) {
    wait_for_previous_kernel();
    if (!build_due(w.control, w.control->slot[slot])) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.n) return;
    const u32 id = w.atoms.id[w.control->sorted ^ 1][i];
    b.index_by_id[id] = i;
    if (b.number_by_id != nullptr) b.number_of_atom[i] = b.number_by_id[id];
}

extern "C" __global__ void bonded_find(DeviceData w, BondedData b, int slot) {
    wait_for_previous_kernel();
    if (!build_due(w.control, w.control->slot[slot])) return;
    const i64 k = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (k < b.n_others) b.indices[k] = b.index_by_id[b.ids[k]];
}

#if SEVERAL
// Returns true where another GPU computes the forces on one of the partners, of which every entry has so many.
DEVICE bool reach_others(const DeviceData& w, const u32* index, u32 first, u32 end, u32 partners) {
    for (u32 k = first * partners; k < end * partners; k++) {
        if (!owns(w, (int)index[k])) return true;
    }
    return false;
}

// Marks the atoms of this GPU that others need to know for bonds across a border, while lists are built.
extern "C" __global__ void bonded_mark(DeviceData w, BondedData b, int slot) {
    wait_for_previous_kernel();
    if (!build_due(w.control, w.control->slot[slot])) return;
    const u32 number = blockIdx.x * blockDim.x + threadIdx.x;
    if (number >= b.n_atoms) return;
    const int i = (int)b.index_by_id[ALL_BOUND ? number : b.atoms[number]];
    if (!owns(w, i)) return;
    const uint4 first = b.first[number], end = b.first[number + 1];
    const bool needed = reach_others(w, b.index[0], first.x, end.x, 1) || reach_others(w, b.index[1], first.y, end.y, 2) ||
                        reach_others(w, b.index[2], first.z, end.z, 3) || reach_others(w, b.index[3], first.w, end.w, 4);
    if (needed) atomicOr(&w.division.exact[i / 32], 1u << i % 32);
}
#endif

// Positions and differences of atoms for terms in the arithmetic R.
template <class R>
struct Atoms {
    typedef Position Place;
    const DeviceData& w;
    const Position* position;
    DEVICE_MEMBER Atoms(const DeviceData& w, const Slot& now) : w(w), position(w.atoms.position[now.parity]) {}
    DEVICE_MEMBER Position at(u32 i) const { return position[i]; }
    // Vector from one position to another.
    DEVICE_MEMBER void between(Position from, Position to, R* vector) const {
        const real3 d = difference(w.geometry, to, from);
        vector[0] = d.x;
        vector[1] = d.y;
        vector[2] = d.z;
    }
};

#if !DOUBLE
// Positions in f64 that are integrated: units of 2^-32 of the box are as coarse as f32 is for a bond.
template <>
struct Atoms<double> {
    typedef Double3 Place;
    const DeviceData& w;
    const double* x;
    DEVICE_MEMBER Atoms(const DeviceData& w, const Slot&) : w(w), x(w.atoms.x[w.control->sorted]) {}
    DEVICE_MEMBER Double3 at(u32 i) const { return load(x, (int)i); }
    DEVICE_MEMBER void between(Double3 from, Double3 to, double* vector) const {
        vector[0] = to.x - from.x;
        vector[1] = to.y - from.y;
        vector[2] = to.z - from.z;
        image_by_fractions(w.geometry, vector[0], vector[1], vector[2]);
    }
};
#endif

DEVICE void add(real3& sum, real3 f) { sum = {sum.x + f.x, sum.y + f.y, sum.z + f.z}; }

template <class R>
DEVICE real3 vector_at(const R* of, int m) {
    return {(real)of[3 * m], (real)of[3 * m + 1], (real)of[3 * m + 2]};
}

// Adds a part of the virial of a force with a vector.
template <class R>
DEVICE void add_virial(double* sums, double part, const R* d, real3 f) {
    const double x = part * d[0], y = part * d[1], z = part * d[2];
    sums[N_BONDED] += x * f.x;
    sums[N_BONDED + 1] += y * f.y;
    sums[N_BONDED + 2] += z * f.z;
    sums[N_BONDED + 3] += x * f.y;
    sums[N_BONDED + 4] += x * f.z;
    sums[N_BONDED + 5] += y * f.z;
}

// Vectors from atom to atom along a group of N + 1, of which `mine` has the given role.
template <int N, class R>
DEVICE void chain(const Atoms<R>& atoms, typename Atoms<R>::Place mine, u32 role, const u32* others, R* vectors) {
    typename Atoms<R>::Place from = role == 0 ? mine : atoms.at(others[0]);
    for (int m = 0; m < N; m++) {
        const u32 next = m + 1;
        const typename Atoms<R>::Place to = next == role ? mine : atoms.at(others[next < role ? next : m]);
        atoms.between(from, to, vectors + 3 * m);
        from = to;
    }
}

// Force on the atom of a role from the forces on the tips of these vectors; the first atom adds energy and virial.
template <bool ENERGY, int N, class R>
DEVICE real3 on_chain(u32 role, const R* vectors, const R* out, int term, double* sums) {
    real3 force = {(real)0, (real)0, (real)0};
    for (int m = 0; m < N; m++) {
        const real3 f = vector_at(out + 1, m);
        if ((int)role == m + 1) add(force, f);
        if ((int)role == m) force = force - f;
        if (ENERGY && role == 0) add_virial(sums, 1, vectors + 3 * m, f);
    }
    if (ENERGY && role == 0) sums[term] += out[0];
    return force;
}

#if N_BOND_TERMS > 0
// Adds the forces of bonds on an atom: every TEAM-th from `first` to `end`.
template <bool ENERGY>
DEVICE void add_bonds(const DeviceData& w, const BondedData& b, const Slot& now, u32 first, u32 end, int i, real3& force,
                      double* sums) {
    const Atoms<bond_real> bound(w, now);
    const typename Atoms<bond_real>::Place here = bound.at(i);
    for (u32 k = first; k < end; k += TEAM) {
        const bond_real* row = b.bond_table + b.row[0][k] / ROLES * (2 + BOND_COEFFICIENTS);
        bond_real d[3], in[1 + BOND_COEFFICIENTS], out[2];
        bound.between(bound.at(b.index[0][k]), here, d);
        in[0] = multiply_add(d[0], d[0], multiply_add(d[1], d[1], d[2] * d[2]));
        for (int c = 0; c < BOND_COEFFICIENTS; c++) in[1 + c] = row[2 + c];
        const int term = (int)row[0];
        bond(term, in, out);
        const real3 f = {(real)(d[0] * out[1]), (real)(d[1] * out[1]), (real)(d[2] * out[1])};
        add(force, f);
        if (!(in[0] < row[1])) report_force(w, w.control->sorted, i, now.done);
        if (ENERGY) {
            // The other half is the other atom's.
            sums[term] += 0.5 * out[0];
            add_virial(sums, 0.5, d, f);
        }
    }
}
#endif

#if N_ANGLE_TERMS > 0
// Adds the forces of angles on an atom, likewise.
template <bool ENERGY>
DEVICE void add_angles(const DeviceData& w, const BondedData& b, const Slot& now, u32 first, u32 end, int i, real3& force,
                       double* sums) {
    const Atoms<angle_real> bent(w, now);
    for (u32 k = first; k < end; k += TEAM) {
        typedef typename Atoms<angle_real>::Place Place;
        const u32 role = b.row[1][k] % ROLES;
        const angle_real* row = b.angle_table + b.row[1][k] / ROLES * (1 + ANGLE_COEFFICIENTS);
        const Place mine = bent.at(i), one = bent.at(b.index[1][2 * k]), other = bent.at(b.index[1][2 * k + 1]);
        const Place end_a = role == 0 ? mine : one, end_b = role == 2 ? mine : other;
        const Place middle = role == 0 ? one : role == 1 ? mine : other;
        angle_real in[6 + ANGLE_COEFFICIENTS], out[7];
        bent.between(middle, end_a, in);
        bent.between(middle, end_b, in + 3);
        for (int c = 0; c < ANGLE_COEFFICIENTS; c++) in[6 + c] = row[1 + c];
        const int term = (int)row[0];
        angle(term, in, out);
        const real3 on_a = vector_at(out + 1, 0), on_b = vector_at(out + 1, 1);
        add(force, role == 0   ? on_a
                   : role == 2 ? on_b
                               : real3{-(on_a.x + on_b.x), -(on_a.y + on_b.y), -(on_a.z + on_b.z)});
        if (ENERGY && role == 1) {
            sums[N_BOND_TERMS + term] += out[0];
            add_virial(sums, 1, in, on_a);
            add_virial(sums, 1, in + 3, on_b);
        }
    }
}
#endif

#if N_DIHEDRAL_TERMS > 0
// Adds the forces of dihedrals on an atom, likewise.
template <bool ENERGY>
DEVICE void add_dihedrals(const DeviceData& w, const BondedData& b, const Slot& now, u32 first, u32 end, int i, real3& force,
                          double* sums) {
    const Atoms<dihedral_real> turned(w, now);
    for (u32 k = first; k < end; k += TEAM) {
        const u32 role = b.row[2][k] % ROLES;
        const dihedral_real* row = b.dihedral_table + b.row[2][k] / ROLES * (1 + DIHEDRAL_COEFFICIENTS);
        dihedral_real in[9 + DIHEDRAL_COEFFICIENTS], out[10];
        chain<3>(turned, turned.at(i), role, b.index[2] + 3 * k, in);
        for (int c = 0; c < DIHEDRAL_COEFFICIENTS; c++) in[9 + c] = row[1 + c];
        const int term = (int)row[0];
        dihedral(term, in, out);
        add(force, on_chain<ENERGY, 3>(role, in, out, N_BOND_TERMS + N_ANGLE_TERMS + term, sums));
    }
}
#endif

#if N_MAPS > 0
// Adds the forces of maps on an atom, likewise.
template <bool ENERGY>
DEVICE void add_maps(const DeviceData& w, const BondedData& b, const Slot& now, u32 first, u32 end, int i, real3& force,
                     double* sums) {
    const Atoms<real> mapped(w, now);
    for (u32 k = first; k < end; k += TEAM) {
        const u32 role = b.row[3][k] % ROLES;
        const real* row = b.map_table + b.row[3][k] / ROLES * 3;
        real in[12 + 2 + 16 + 1], out[13], place[2];
        chain<4>(mapped, mapped.at(i), role, b.index[3] + 4 * k, in);
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
}
#endif

template <bool ENERGY>
DEVICE real3 bonded_forces_on(const DeviceData& w, const BondedData& b, const Slot& now, u32 number, int i, u32 lane,
                              double* sums) {
    const uint4 first = b.first[number], end = b.first[number + 1];
    real3 force = {(real)0, (real)0, (real)0};
#if N_BOND_TERMS > 0
    add_bonds<ENERGY>(w, b, now, first.x + lane, end.x, i, force, sums);
#endif
#if N_ANGLE_TERMS > 0
    add_angles<ENERGY>(w, b, now, first.y + lane, end.y, i, force, sums);
#endif
#if N_DIHEDRAL_TERMS > 0
    add_dihedrals<ENERGY>(w, b, now, first.z + lane, end.z, i, force, sums);
#endif
#if N_MAPS > 0
    add_maps<ENERGY>(w, b, now, first.w + lane, end.w, i, force, sums);
#endif
    return force;
}

// Adds the forces on the atom of a team of threads to those of pairs, or leaves them by number for the kernels that move
// atoms. Returns the number of the atom, or `n_atoms` if
// there is none.
template <bool ENERGY>
DEVICE u32 bonded(const DeviceData& w, const BondedData& b, const Slot& now, double* sums) {
    const u32 lane = threadIdx.x % TEAM, n_atoms = (u32)b.n_atoms;
    const u32 team = blockIdx.x * (BONDED_THREADS / TEAM) + threadIdx.x / TEAM;
#if ALL_BOUND
    const int i = (int)team;
    const bool exists = team < n_atoms && owns(w, i);
    const u32 number = exists ? w.atoms.id[w.control->sorted][i] : n_atoms;
#else
    const int i = team < n_atoms ? (int)b.index_by_id[b.atoms[team]] : -1;
    const bool exists = owns(w, i);
    const u32 number = exists ? team : n_atoms;
#endif
    real3 force = {(real)0, (real)0, (real)0};
    if (exists) force = bonded_forces_on<ENERGY>(w, b, now, number, i, lane, sums);
    for (int m = TEAM / 2; m > 0; m /= 2) {
        force.x += __shfl_xor_sync(ALL_LANES, force.x, m);
        force.y += __shfl_xor_sync(ALL_LANES, force.y, m);
        force.z += __shfl_xor_sync(ALL_LANES, force.z, m);
    }
    if (lane > 0 || !exists) return number;
    if (w.atoms.of_bonds.force != nullptr) {
        store_force_in(w.atoms.of_bonds.force, (int)number, force);
        return number;
    }
    add(force, load_force(w, i));
    store_force(w, i, force);
    return number;
}

extern "C" __global__ void __launch_bounds__(BONDED_THREADS) bonded_forces(DeviceData w, BondedData b, int slot, int trigger) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (due(w.control, now, trigger)) bonded<false>(w, b, now, nullptr);
}

extern "C" __global__ void __launch_bounds__(BONDED_THREADS)
bonded_forces_energies(DeviceData w, BondedData b, int slot, int trigger) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, trigger)) return;
    double sums[N_BONDED + 6] = {};
    const u32 number = bonded<true>(w, b, now, sums);
#if REPRODUCIBLE
    for (int k = 0; k < N_BONDED + 6; k++) {
        for (int m = TEAM / 2; m > 0; m /= 2) sums[k] += __shfl_xor_sync(ALL_LANES, sums[k], m);
    }
    if (threadIdx.x % TEAM == 0 && number < b.n_atoms) store_share(w, sums, number);
#else
    block_sums<BONDED_THREADS>(sums, w.reduction.partial + (size_t)blockIdx.x * (N_BONDED + 6));
#endif
}

extern "C" __global__ void __launch_bounds__(BONDED_THREADS)
bonded_sums(DeviceData w, int blocks, int row_length, int virial, int first, int trigger) {
    wait_for_previous_kernel();
    add_energies_and_virial<BONDED_THREADS, N_BONDED>(w, blocks, row_length, virial, first, trigger);
}
