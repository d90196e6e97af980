// One list per atom: layers of neighbours, the k-th neighbours of all atoms side by side in memory, so that loads
// are coalesced (Rapaport, "Multibillion-atom MD on a GPU", the layered matrix). For boxes and densities that tiles
// are not made for: boxes may be as small as they like.
//
// LIST_TEAM threads share a list where lists are long and atoms few: every LIST_TEAM-th neighbour belongs to one
// thread, and threads of different atoms are neighbours in a warp.
//
// LIST_BUILDERS lanes make a list, 1 or a warp: these look at as many candidates at a time, and what they find is in the
// order of the search all the same.

enum { LIST_THREADS = 128, LIST_ATOMS = LIST_THREADS / LIST_TEAM };

// Returns true where two atoms belong into each other's lists.
DEVICE bool listed(const DeviceData& w, Position a, Position b, real reach2) {
    const BoxGeometry& geometry = w.geometry;
    if (!geometry.triclinic) {
        const real3 d = difference(geometry, a, b);
        return dot(d, d) <= reach2;
    }
    // Lists may reach beyond half a tilted box, where the image with the smallest fractions need not be the
    // nearest. Pairs of which another image may be nearer are listed.
    const double unit = 1.0 / 4294967296.0;
    const Fixed p = to_fixed(geometry, a), q = to_fixed(geometry, b);
    const double s[3] = {(int)(p.x - q.x) * unit, (int)(p.y - q.y) * unit, (int)(p.z - q.z) * unit};
    const double *l = geometry.edge, *t = geometry.tilt;
    const double x = s[0] * l[0] + s[1] * t[0] + s[2] * t[1], y = s[1] * l[1] + s[2] * t[2], z = s[2] * l[2];
    bool near = x * x + y * y + z * z <= reach2;
    for (int k = 0; k < 3; k++) {
        near = near || (geometry.periodic[k] && fabs(s[k]) >= 1.0 - w.control->reach / geometry.width[k]);
    }
    return near;
}

// Rows of a list that lanes fill together.
struct ListRows {
    int found;

    // Row of what this lane has found; all lanes say whether they have.
    DEVICE_MEMBER int take(bool finds) {
        if (LIST_BUILDERS == 1) return found++;
        const u32 finders = __ballot_sync(ALL_LANES, finds);
        const int row = found + __popc(finders & ((1u << threadIdx.x % 32) - 1));
        found += __popc(finders);
        return row;
    }
};

extern "C" __global__ void __launch_bounds__(LIST_THREADS) build_list(DeviceData w, int slot) {
    wait_for_previous_kernel();
    Control* control = w.control;
    const Slot now = control->slot[slot];
    const int i = (blockIdx.x * LIST_THREADS + threadIdx.x) / LIST_BUILDERS, lane = threadIdx.x % LIST_BUILDERS;
    if (!build_due(control, now) || i >= w.n) return;
    const Position* position = w.atoms.built;
    const Position mine = position[i];
    const double reach = control->reach * (1.0 + 1e-6);
    const real half_skin = (real)(0.5 * w.control->skin);
    const real mine_reach = (real)reach - nearer_by(w, half_skin, (int)mine.species);
    auto belongs = [&](u32 j) {
        if (j == (u32)i) return false;
        const Position other = position[j];
        const real pair_reach = mine_reach - nearer_by(w, half_skin, (int)other.species);
        return listed(w, mine, other, pair_reach * pair_reach) && !(w.exclusions.fours > 0 && excludes(w, i, j));
    };
    ListRows rows = {};
    each_near<LIST_BUILDERS>(w, to_fixed(w.geometry, mine), reach, [&](u32 j, bool there) {
        const bool found = there && belongs(j);
        if (LIST_BUILDERS == 1 && !found) return;
        const int row = rows.take(found);
        if (found && row < w.lists.capacity) w.lists.neighbor[(size_t)row * w.n + i] = j;
    });
    if (lane > 0) return;
    w.lists.n_neighbor[i] = rows.found;
    if (rows.found > w.lists.capacity) {
        atomicMax(&control->need_rows, rows.found);
        report(control, ROWS_FULL);
    }
}

// Atom of a thread, and the thread's number in the team.
struct TeamMember { int i, rank; };

DEVICE TeamMember list_member(const DeviceData& w) {
    return {(int)(w.owned.first + blockIdx.x * LIST_ATOMS + threadIdx.x % LIST_ATOMS), (int)(threadIdx.x / LIST_ATOMS)};
}

template <bool ENERGY>
DEVICE PairSums pair_sums_of_list(const DeviceData& w, const Position* position, TeamMember member) {
    const int i = member.i;
    PairSums pairs = {};
    if (i >= w.owned.end) return pairs;
    const Position mine = position[i];
    const Atom atom = atom_of(w, mine, i);
    const int entries = w.lists.n_neighbor[i];
    const u32* neighbor = w.lists.neighbor + i;
#pragma unroll 4
    for (int k = member.rank; k < entries; k += LIST_TEAM) {
        const u32 j = neighbor[(size_t)k * w.n];
        const Position other = position[j];
        add_pair_within_cutoff<ENERGY>(w, pairs, difference(w.geometry, mine, other), atom, atom_of(w, other, j));
    }
    return pairs;
}

// Sum of the forces of a team, always in the same order, for its first thread.
DEVICE void add_team(PairSums& pairs, TeamMember member) {
#if LIST_TEAM > 1
    __shared__ real3 part[LIST_TEAM][LIST_ATOMS];
    const int index = member.i % LIST_ATOMS;
    part[member.rank][index] = pairs.force;
    __syncthreads();
    for (int k = 1; member.rank == 0 && k < LIST_TEAM; k++) {
        const real3 more = part[k][index];
        pairs.force = {pairs.force.x + more.x, pairs.force.y + more.y, pairs.force.z + more.z};
    }
#endif
}

template <bool ENERGY>
DEVICE void list_forces(const DeviceData& w, int slot) {
    const Slot now = w.control->slot[slot];
    const TeamMember member = list_member(w);
    PairSums pairs = pair_sums_of_list<ENERGY>(w, w.atoms.position[now.parity], member);
    add_team(pairs, member);
    if (member.rank == 0 && member.i < w.owned.end) store_pair_force(w, member.i, pairs, now);
    if (ENERGY) block_energies<LIST_THREADS>(w, pairs, 0.5, 0, member.i < w.owned.end ? member.i : w.n);
}

extern "C" __global__ void __launch_bounds__(LIST_THREADS) forces_list(DeviceData w, int slot, int trigger) {
    wait_for_previous_kernel();
    if (due(w.control, w.control->slot[slot], trigger)) list_forces<false>(w, slot);
}

extern "C" __global__ void __launch_bounds__(LIST_THREADS) forces_list_energies(DeviceData w, int slot, int trigger) {
    wait_for_previous_kernel();
    if (due(w.control, w.control->slot[slot], trigger)) list_forces<true>(w, slot);
}

#if WHOLE_STEPS
// Whole step in one kernel.
extern "C" __global__ void __launch_bounds__(LIST_THREADS) step_list(DeviceData w, int slot) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    const bool moves = step_due(w.control, now);
    next_slot(w, slot, moves);
    if (!moves) return;
    const TeamMember member = list_member(w);
    PairSums pairs = pair_sums_of_list<false>(w, w.atoms.position[now.parity], member);
    add_team(pairs, member);
    const int i = member.i;
    if (member.rank != 0 || i >= w.owned.end) return;
    if (pairs.beyond) report_force(w, w.control->sorted, i, now.done);
    finish_step(w, slot, now, i, force_of(pairs));
}
#endif
