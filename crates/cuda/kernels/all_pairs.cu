// Every pair of atoms, without lists, and each once: for forces that reach far.
//
// Atoms in the order of storage make groups of 32, and groups make tiles of PAIR_WARPS x PAIR_ROWS
// groups. A block takes two tiles, each of its warps PAIR_ROWS groups of the first: a lane holds
// PAIR_ROWS atoms and meets the atoms of the second tile one after the other, all lanes of a warp
// different ones; the reaction forces travel from lane to lane with the atoms they act on (tiles as
// in Hoang's and in the IUMD code, and Newton's third law). Tile A meets the tiles after it around
// the circle, A + 0 to A + T / 2, which is every pair of tiles once. Each block stores the forces
// it has found, and a second kernel adds them up: no atomics, always the same order.
//
// Coordinates are relative to the centre of the group, and the nearest image is found for groups,
// not for pairs, wherever groups are compact enough to have one; groups out of reach of each other
// are left out. Atoms in spatial order make this fast; in any other it is as correct.

enum {
    PAIR_GROUPS = PAIR_WARPS * PAIR_ROWS,
    PAIR_TILE = 32 * PAIR_GROUPS,
    PAIR_THREADS = 32 * PAIR_WARPS,
    GROUP_THREADS = 128,
};

DEVICE int pair_tiles(const World& w) { return (w.n + PAIR_TILE - 1) / PAIR_TILE; }

// Whether tile `a` meets the k-th one after it: not if that has met it half the circle ago.
DEVICE bool meets(int a, int k, int tiles) { return 2 * k < tiles || (2 * k == tiles && a < k) || k == 0; }

// ---- groups

// Centre, extent and relative coordinates of each group of 32 atoms, a warp each.
extern "C" __global__ void __launch_bounds__(GROUP_THREADS) arrange_groups(World w, int slot, int when) {
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, when)) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x, group = i / 32, first = 32 * group;
    if (first >= w.n) return;
    const Frame& frame = w.frame;
    const Position* position = w.position[now.parity];
    const Position anchor = position[first], mine = position[min(i, w.n - 1)];
    const Fixed a = to_fixed(frame, anchor), s = to_fixed(frame, mine);
    const int d[3] = {(int)(s.x - a.x), (int)(s.y - a.y), (int)(s.z - a.z)};
    int shift[3];
    real half[3];
    for (int k = 0; k < 3; k++) {
        const i64 low = __reduce_min_sync(ALL_LANES, d[k]), high = __reduce_max_sync(ALL_LANES, d[k]);
        shift[k] = (int)((low + high) / 2);
        half[k] = (real)((double)((high - low) / 2 + 1) / 4294967296.0);
    }
    const Position center = moved_by(frame, anchor, shift);
    if (i == first) {
        w.center[group] = center;
        w.extent[group] = {half[0], half[1], half[2], 0};
    }
    if (i < w.n) {
        const real3 r = difference(frame, mine, center);
        w.relative[i] = {r.x, r.y, r.z, as_real((int)mine.species)};
    }
}

// How two groups of atoms lie to each other.
struct Meeting {
    bool apart;      // all pairs are out of reach
    bool wraps[3];   // the nearest image is not the same for all pairs, along this axis
    real3 between;   // from the centre of the second to that of the first
};

DEVICE Meeting meeting(const World& w, int a, int b) {
    const Frame& frame = w.frame;
    const Position p = w.center[a], q = w.center[b];
    const Fixed s = to_fixed(frame, p), t = to_fixed(frame, q);
    const real4 e = w.extent[a], f = w.extent[b];
    const real unit = (real)(1.0 / 4294967296.0);
    const real apart[3] = {fabs((real)(int)(s.x - t.x)) * unit, fabs((real)(int)(s.y - t.y)) * unit,
                           fabs((real)(int)(s.z - t.z)) * unit};
    const real both[3] = {e.x + f.x, e.y + f.y, e.z + f.z};
    Meeting m = {false, {}, difference(frame, p, q)};
    real sum = 0, most = 0;
    for (int k = 0; k < 3; k++) {
        m.wraps[k] = frame.periodic[k] && apart[k] + both[k] > (real)0.499999;
        const real gap = fmax(apart[k] - both[k] - (real)1e-6, (real)0) * (real)frame.width[k];
        sum += gap * gap;
        most = fmax(most, gap * gap);
    }
    m.apart = (frame.triclinic ? most : sum) > (real)(LONGEST_CUTOFF2 * 1.00001);
    return m;
}

// ---- pairs

// What a warp has found about its atoms, and what the atoms it meets have felt.
struct Rows {
    real3 position[PAIR_ROWS];
    int species[PAIR_ROWS];
    real3 force[PAIR_ROWS];
    Pull sums;  // energies and virial of all pairs of this lane
};

// The force between an atom of this lane and the one passing by.
template <bool ENERGY>
DEVICE void interact(const World& w, Rows& rows, int r, real3 d, real r2, int other, real3& reaction) {
    const real f = pair_force<ENERGY>(r2, rows.species[r], other, w.table, rows.sums.energy);
    real3& force = rows.force[r];
    force = {multiply_add(f, d.x, force.x), multiply_add(f, d.y, force.y), multiply_add(f, d.z, force.z)};
    reaction = {multiply_add(-f, d.x, reaction.x), multiply_add(-f, d.y, reaction.y), multiply_add(-f, d.z, reaction.z)};
    if (ENERGY) add_virial(rows.sums, f, d);
}

DEVICE void hand_on(real3& reaction) {
    const int next = (threadIdx.x + 1) % 32;
    reaction.x = __shfl_sync(ALL_LANES, reaction.x, next);
    reaction.y = __shfl_sync(ALL_LANES, reaction.y, next);
    reaction.z = __shfl_sync(ALL_LANES, reaction.z, next);
}

// d in the nearest image along an axis.
DEVICE void nearest(real& d, real edge, real inverse) {
#if DOUBLE
    d -= rint(d * inverse) * edge;
#else
    // Adding and subtracting 1.5 x 2^23 rounds to an integer.
    d = fmaf(-((fmaf(d, inverse, 12582912.0f)) - 12582912.0f), edge, d);
#endif
}

// Two whole groups: `at[r]` are this lane's atoms seen from the centre of the others' group.
template <bool ENERGY>
DEVICE real3 meet_group(const World& w, Rows& rows, const real3* at, const real4* others, const bool* wraps) {
    const Frame& frame = w.frame;
    const real edge[3] = {(real)frame.edge[0], (real)frame.edge[1], (real)frame.edge[2]};
    const real inverse[3] = {(real)frame.inverse[0], (real)frame.inverse[1], (real)frame.inverse[2]};
    const int lane = threadIdx.x % 32;
    real3 reaction = {};
#pragma unroll 2
    for (int s = 0; s < 32; s++) {
        const real4 q = others[(lane + s) % 32];
        real3 d[PAIR_ROWS];
#pragma unroll
        for (int r = 0; r < PAIR_ROWS; r++) d[r] = {at[r].x - q.x, at[r].y - q.y, at[r].z - q.z};
        if (wraps[0]) {
#pragma unroll
            for (int r = 0; r < PAIR_ROWS; r++) nearest(d[r].x, edge[0], inverse[0]);
        }
        if (wraps[1]) {
#pragma unroll
            for (int r = 0; r < PAIR_ROWS; r++) nearest(d[r].y, edge[1], inverse[1]);
        }
        if (wraps[2]) {
#pragma unroll
            for (int r = 0; r < PAIR_ROWS; r++) nearest(d[r].z, edge[2], inverse[2]);
        }
#pragma unroll
        for (int r = 0; r < PAIR_ROWS; r++) {
            interact<ENERGY>(w, rows, r, d[r], dot(d[r], d[r]), as_species(q.w), reaction);
        }
        hand_on(reaction);
    }
    return reaction;
}

// Groups of which not all pairs count: those with themselves, where each pair is seen twice, and
// the last one, which may not be full; or groups too wide apart in a tilted box.
template <bool ENERGY>
DEVICE real3 meet_some(const World& w, Rows& rows, const Position* position, int i, int first) {
    const int lane = threadIdx.x % 32;
    real3 reaction = {};
    for (int s = 0; s < 32; s++) {
        const int j = first + (lane + s) % 32;
        const Position q = position[min(j, w.n - 1)];
        for (int r = 0; r < PAIR_ROWS; r++) {
            const int me = i + 32 * r;
            const bool counts = me < w.n && j < w.n && (me / PAIR_TILE != j / PAIR_TILE || me < j);
            const real3 d = difference(w.frame, position[min(me, w.n - 1)], q);
            if (counts) interact<ENERGY>(w, rows, r, d, dot(d, d), (int)q.species, reaction);
        }
        hand_on(reaction);
    }
    return reaction;
}

// Two tiles: the `first`-th to the `count`-th tile after each one.
template <bool ENERGY>
DEVICE void meet_tiles(const World& w, int slot, int first, int count) {
    extern __shared__ real4 others[];
    real* reactions = (real*)(others + PAIR_TILE);  // [warp][group][3][32]
    const Frame& frame = w.frame;
    const Position* position = w.position[w.control->slot[slot].parity];
    const int tiles = pair_tiles(w), mine = blockIdx.x % tiles, nth = blockIdx.x / tiles, k = first + nth;
    const int other = (mine + k) % tiles, thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const bool active = meets(mine, k, tiles);
    const int i = mine * PAIR_TILE + warp * 32 * PAIR_ROWS + lane, group = i / 32;

    for (int t = thread; t < PAIR_TILE; t += PAIR_THREADS) {
        others[t] = w.relative[min(other * PAIR_TILE + t, w.n - 1)];
    }
    Rows rows = {};
    for (int r = 0; r < PAIR_ROWS; r++) {
        const real4 p = w.relative[min(i + 32 * r, w.n - 1)];
        rows.position[r] = {p.x, p.y, p.z};
        rows.species[r] = as_species(p.w);
    }
    __syncthreads();

    for (int g = 0; g < PAIR_GROUPS && active; g++) {
        const int j = other * PAIR_TILE + 32 * g, j_group = j / 32;
        const bool whole = (group + PAIR_ROWS) * 32 <= w.n && j + 32 <= w.n;
        real3 reaction = {};
        if (group * 32 >= w.n || j >= w.n || (k == 0 && j_group < group)) {
            // Nothing there, or all pairs have been seen from the other side.
        } else {
            bool apart = true, wraps[3] = {};
            real3 at[PAIR_ROWS];
#pragma unroll
            for (int r = 0; r < PAIR_ROWS; r++) {
                if ((group + r) * 32 >= w.n) continue;
                const Meeting m = meeting(w, group + r, j_group);
                apart = apart && m.apart;
                for (int a = 0; a < 3; a++) wraps[a] = wraps[a] || m.wraps[a];
                at[r] = {rows.position[r].x + m.between.x, rows.position[r].y + m.between.y,
                         rows.position[r].z + m.between.z};
            }
            const bool same = k == 0 && j_group < group + PAIR_ROWS;
            const bool tilted = frame.triclinic && (wraps[0] || wraps[1] || wraps[2]);
            if (!apart) {
                reaction = whole && !same && !tilted ? meet_group<ENERGY>(w, rows, at, others + 32 * g, wraps)
                                                     : meet_some<ENERGY>(w, rows, position, i, j);
            }
        }
        real* felt = reactions + (warp * PAIR_GROUPS + g) * 96 + lane;
        felt[0] = reaction.x;
        felt[32] = reaction.y;
        felt[64] = reaction.z;
    }
    __syncthreads();

    // Shares: what the tile has felt from the nth one after it, then from the nth one before it.
    const size_t n = w.n;
    if (active) {
        real* acted = w.share + (size_t)nth * 3 * n;
        for (int r = 0; r < PAIR_ROWS; r++) {
            const int a = i + 32 * r;
            if (a >= w.n) continue;
            acted[a] = rows.force[r].x;
            acted[n + a] = rows.force[r].y;
            acted[2 * n + a] = rows.force[r].z;
        }
        real* reacted = w.share + (size_t)(count + nth) * 3 * n;
        for (int t = thread; t < 3 * PAIR_TILE; t += PAIR_THREADS) {
            const int axis = t / PAIR_TILE, a = t % PAIR_TILE, j = other * PAIR_TILE + a;
            real sum = 0;
            for (int v = 0; v < PAIR_WARPS; v++) sum += reactions[(v * PAIR_GROUPS + a / 32) * 96 + axis * 32 + a % 32];
            if (j < w.n) reacted[axis * n + j] = sum;
        }
    }
    // Each pair has been met once.
    if (ENERGY) block_energies<PAIR_THREADS>(w, rows.sums, 1.0, first * tiles);
}

extern "C" __global__ void __launch_bounds__(PAIR_THREADS)
forces_all_pairs(World w, int slot, int when, int first, int count) {
    if (due(w.control, w.control->slot[slot], when)) meet_tiles<false>(w, slot, first, count);
}

extern "C" __global__ void __launch_bounds__(PAIR_THREADS)
forces_all_pairs_energies(World w, int slot, int when, int first, int count) {
    if (due(w.control, w.control->slot[slot], when)) meet_tiles<true>(w, slot, first, count);
}

// Adds up the shares of `count` tiles after and before each one, on top of those from before
// `first`. A thread for each component.
extern "C" __global__ void __launch_bounds__(GROUP_THREADS) add_forces(World w, int slot, int when, int first, int count) {
    if (!due(w.control, w.control->slot[slot], when)) return;
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= 3 * w.n) return;
    const int tiles = pair_tiles(w), tile = c % w.n / PAIR_TILE;
    double sum = first > 0 ? w.force[c] : 0.0;
#pragma unroll 4
    for (int nth = 0; nth < count; nth++) {
        const int k = first + nth;
        if (meets(tile, k, tiles)) sum += w.share[(size_t)nth * 3 * w.n + c];
        if (meets((tile - k + tiles) % tiles, k, tiles)) sum += w.share[(size_t)(count + nth) * 3 * w.n + c];
    }
    w.force[c] = (real)sum;
}
