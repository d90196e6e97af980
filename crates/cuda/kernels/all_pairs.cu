// All pairs of atoms, without lists, and each once: for forces of long range.
//
// Atoms in the order of storage make groups of 32, and groups make tiles of PAIR_WARPS x PAIR_ROWS
// groups. A block takes a tile and one of the PAIR_PARTS parts of another, each of its warps
// PAIR_ROWS groups of the first: a lane holds PAIR_ROWS atoms and goes through the atoms of the second tile
// one after the other, all lanes of a warp different ones; the reaction forces are passed from lane to
// lane with the atoms they act on (tiles as in Hoang's and in the IUMD code, and Newton's third
// law). Tile A is combined with the tiles after it around the circle, A + 0 to A + T / 2, which is every pair
// of tiles once. Each block stores its forces, and a second kernel adds them up: no atomics, always the same
// order.
//
// Coordinates are relative to the centre of the group, and the nearest image is found for groups,
// not for pairs, wherever groups are compact enough to have one; groups out of reach of each other
// are left out. Atoms in spatial order make this fast; in any other it is as correct.

enum {
    PAIR_GROUPS = PAIR_WARPS * PAIR_ROWS,
    PAIR_TILE = 32 * PAIR_GROUPS,
    PAIR_THREADS = 32 * PAIR_WARPS,
    PART_GROUPS = PAIR_GROUPS / PAIR_PARTS,
    GROUP_THREADS = 256,
    GROUP_WARPS = GROUP_THREADS / 32,
    // Groups that a warp compares together: each lane one of them and one of its rows.
    LOOK = 32 / PAIR_ROWS < PART_GROUPS ? 32 / PAIR_ROWS : PART_GROUPS,
};

DEVICE int pair_tiles(const DeviceData& w) { return (w.n + PAIR_TILE - 1) / PAIR_TILE; }

// Returns true where tile `a` computes its pairs with the k-th one after it, and not that one, half the circle away.
DEVICE bool computes(int a, int k, int tiles) { return 2 * k < tiles || (2 * k == tiles && a < k) || k == 0; }

// ---- groups

// Stores centre, extent and relative coordinates of a group, whose atoms are those of this warp's lanes. Indices
// beyond the last atom are filled with coordinates out of reach of everything.
DEVICE void arrange_group(const DeviceData& w, int i, Position mine) {
    const BoxGeometry& geometry = w.geometry;
    const int group = i / 32;
    Position anchor;
    anchor.x = __shfl_sync(ALL_LANES, mine.x, 0);
    anchor.y = __shfl_sync(ALL_LANES, mine.y, 0);
    anchor.z = __shfl_sync(ALL_LANES, mine.z, 0);
    anchor.species = 0;
    const Fixed a = to_fixed(geometry, anchor), s = to_fixed(geometry, mine);
    const int d[3] = {(int)(s.x - a.x), (int)(s.y - a.y), (int)(s.z - a.z)};
    int shift[3];
    real half[3];
    for (int k = 0; k < 3; k++) {
        const i64 low = __reduce_min_sync(ALL_LANES, d[k]), high = __reduce_max_sync(ALL_LANES, d[k]);
        shift[k] = (int)((low + high) / 2);
        half[k] = (real)((double)((high - low) / 2 + 1) / 4294967296.0);
    }
    const Position center = moved_by(geometry, anchor, shift);
    if (i % 32 == 0) {
        w.groups.center[group] = center;
        w.groups.extent[group] = {half[0], half[1], half[2], 0};
    }
    const real3 r = difference(geometry, mine, center);
    // Such coordinates are far from each other, too.
    const real away = (real)1e30 * (real)(i + 1 - w.n);
    if (i < w.n) {
        w.groups.relative[i] = {r.x, r.y, r.z, as_real((int)mine.species)};
    } else {
        w.groups.relative[i] = {away, away, away, as_real(0)};
    }
}

// Groups of all tiles.
extern "C" __global__ void __launch_bounds__(GROUP_THREADS) arrange_groups(DeviceData w, int slot, int trigger) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, trigger)) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i / 32 * 32 >= pair_tiles(w) * PAIR_TILE) return;
    arrange_group(w, i, w.atoms.position[now.parity][min(i, w.n - 1)]);
}

// Relative position of two groups of atoms.
struct GroupGeometry {
    bool apart;      // all pairs are out of reach
    bool wide;       // pairs are in more than two images
    bool wraps[3];   // the nearest image is not the same for all pairs, along this axis
    real3 between;   // from the centre of the second to that of the first
};

DEVICE GroupGeometry group_geometry(const DeviceData& w, int a, int b) {
    const BoxGeometry& geometry = w.geometry;
    const Position p = w.groups.center[a], q = w.groups.center[b];
    const Fixed s = to_fixed(geometry, p), t = to_fixed(geometry, q);
    const real4 e = w.groups.extent[a], f = w.groups.extent[b];
    const real unit = (real)(1.0 / 4294967296.0);
    const real apart[3] = {fabs((real)(int)(s.x - t.x)) * unit, fabs((real)(int)(s.y - t.y)) * unit,
                           fabs((real)(int)(s.z - t.z)) * unit};
    const real both[3] = {e.x + f.x, e.y + f.y, e.z + f.z};
    GroupGeometry m = {false, false, {}, difference(geometry, p, q)};
    real sum = 0, most = 0;
    for (int k = 0; k < 3; k++) {
        m.wraps[k] = geometry.periodic[k] && apart[k] + both[k] > (real)0.499999;
        m.wide = m.wide || (geometry.periodic[k] && both[k] > (real)0.499);
        const real gap = fmax(apart[k] - both[k] - (real)1e-6, (real)0) * (real)geometry.width[k];
        sum += gap * gap;
        most = fmax(most, gap * gap);
    }
    m.apart = (geometry.triclinic ? most : sum) > (real)(LONGEST_CUTOFF2 * 1.00001);
    return m;
}

// ---- pairs

// Atoms of a lane, and the sums over their pairs.
struct Rows {
    real3 position[PAIR_ROWS];
    int species[PAIR_ROWS];
    real3 force[PAIR_ROWS];
    PairSums sums;  // energies and virial of all pairs of this lane
};

// Adds the force between the r-th atom of this lane and another one.
template <bool ENERGY>
DEVICE void interact(const DeviceData& w, Rows& rows, int r, real3 d, real r2, int other, real3& reaction) {
    const real f = pair_force<ENERGY>(r2, rows.species[r], other, (real)0, w.table, rows.sums.energy);
    real3& force = rows.force[r];
    force = {multiply_add(f, d.x, force.x), multiply_add(f, d.y, force.y), multiply_add(f, d.z, force.z)};
    reaction = {multiply_add(-f, d.x, reaction.x), multiply_add(-f, d.y, reaction.y), multiply_add(-f, d.z, reaction.z)};
    if (ENERGY) add_virial(rows.sums, f, d);
}

// Passes the reaction forces on to the lane before.
DEVICE void shift_reaction(real3& reaction) {
    const int next = (threadIdx.x + 1) % 32;
    reaction.x = __shfl_sync(ALL_LANES, reaction.x, next);
    reaction.y = __shfl_sync(ALL_LANES, reaction.y, next);
    reaction.z = __shfl_sync(ALL_LANES, reaction.z, next);
}

// Moves d to the nearest image along an axis.
DEVICE void nearest(real& d, real edge, real inverse) {
#if DOUBLE
    d -= rint(d * inverse) * edge;
#else
    // Adding and subtracting 1.5 x 2^23 rounds to an integer.
    d = fmaf(-((fmaf(d, inverse, 12582912.0f)) - 12582912.0f), edge, d);
#endif
}

// Returns true where a pair of two lanes counts: each once in all.
DEVICE bool counts(const DeviceData& w, int i, int j) {
    return i < w.n && j < w.n && (i / PAIR_TILE != j / PAIR_TILE || i < j);
}

// Ways to find the nearest image: bits of the axes along which a pair may be in one of two images, or any image
// along all axes.
enum { WRAPS_X = 1, WRAPS_Y = 2, WRAPS_Z = 4, WRAPS_ANY = 8 };

// Coordinate where two images are possible: moved by half a box, to the side where the other image is not.
DEVICE real unfolded(real at, real between, real half) { return at - copysign(half, between); }

// Difference of unfolded coordinates in the nearer of the two images.
DEVICE real folded(real d, real half) { return d - copysign(half, d); }

// Forces between two groups; returns the reaction forces. `at[r]` are this lane's atoms relative to the centre of
// the others' group, `i` is the first of them, and `j` the first of the others. With WRAPS_ANY groups may be
// incomplete, and both may be the same one.
template <bool ENERGY, int WRAPS>
DEVICE real3 group_forces(const DeviceData& w, Rows& rows, const real3* at, const real4* others, int i, int j) {
    const BoxGeometry& geometry = w.geometry;
    const real half[3] = {(real)(0.5 * geometry.edge[0]), (real)(0.5 * geometry.edge[1]), (real)(0.5 * geometry.edge[2])};
    const int lane = threadIdx.x % 32;
    real3 reaction = {};
    others += lane;
#pragma unroll 2
    for (int s = 0; s < 32; s++) {
        const real4 q = others[s];
        real3 d[PAIR_ROWS];
#pragma unroll
        for (int r = 0; r < PAIR_ROWS; r++) {
            d[r] = {at[r].x - q.x, at[r].y - q.y, at[r].z - q.z};
            if (WRAPS & WRAPS_X) d[r].x = folded(d[r].x, half[0]);
            if (WRAPS & WRAPS_Y) d[r].y = folded(d[r].y, half[1]);
            if (WRAPS & WRAPS_Z) d[r].z = folded(d[r].z, half[2]);
            if (WRAPS & WRAPS_ANY) {
                nearest(d[r].x, (real)geometry.edge[0], (real)geometry.inverse[0]);
                nearest(d[r].y, (real)geometry.edge[1], (real)geometry.inverse[1]);
                nearest(d[r].z, (real)geometry.edge[2], (real)geometry.inverse[2]);
            }
        }
#pragma unroll
        for (int r = 0; r < PAIR_ROWS; r++) {
            real r2 = dot(d[r], d[r]);
            if (WRAPS & WRAPS_ANY) {
                const int me = i + 32 * r, other = j + (lane + s) % 32;
                if (!counts(w, me, other)) r2 = (real)1e30;
            }
            interact<ENERGY>(w, rows, r, d[r], r2, as_species(q.w), reaction);
        }
        shift_reaction(reaction);
    }
    return reaction;
}

template <bool ENERGY>
DEVICE real3 group_forces_folded(const DeviceData& w, Rows& rows, const real3* at, const real4* others, int wraps, int i, int j) {
    switch (wraps) {
        case 0: return group_forces<ENERGY, 0>(w, rows, at, others, i, j);
        case 1: return group_forces<ENERGY, 1>(w, rows, at, others, i, j);
        case 2: return group_forces<ENERGY, 2>(w, rows, at, others, i, j);
        case 3: return group_forces<ENERGY, 3>(w, rows, at, others, i, j);
        case 4: return group_forces<ENERGY, 4>(w, rows, at, others, i, j);
        case 5: return group_forces<ENERGY, 5>(w, rows, at, others, i, j);
        case 6: return group_forces<ENERGY, 6>(w, rows, at, others, i, j);
        default: return group_forces<ENERGY, 7>(w, rows, at, others, i, j);
    }
}

// Forces between groups of several images in a tilted box.
template <bool ENERGY>
DEVICE real3 group_forces_tilted(const DeviceData& w, Rows& rows, const Position* position, int i, int first) {
    const int lane = threadIdx.x % 32;
    real3 reaction = {};
    for (int s = 0; s < 32; s++) {
        const int j = first + (lane + s) % 32;
        const Position q = position[min(j, w.n - 1)];
        for (int r = 0; r < PAIR_ROWS; r++) {
            const int me = i + 32 * r;
            const real3 d = difference(w.geometry, position[min(me, w.n - 1)], q);
            if (counts(w, me, j)) interact<ENERGY>(w, rows, r, d, dot(d, d), (int)q.species, reaction);
        }
        shift_reaction(reaction);
    }
    return reaction;
}

// Geometry of LOOK groups of the others and the PAIR_ROWS groups of this warp: a bit, and a lane, for each two.
struct GroupImages {
    u32 near, wide, wraps_x, wraps_y, wraps_z;
    real3 between;  // of this lane's two groups
};

// Geometry of groups `a` and `b` of each lane, which are out of reach of each other unless they exist.
DEVICE GroupImages group_images(const DeviceData& w, int a, int b, bool exist) {
    GroupGeometry m = {true};
    if (exist) m = group_geometry(w, a, b);
    const bool near = !m.apart;
    return {__ballot_sync(ALL_LANES, near), __ballot_sync(ALL_LANES, near && m.wide),
            __ballot_sync(ALL_LANES, near && m.wraps[0]), __ballot_sync(ALL_LANES, near && m.wraps[1]),
            __ballot_sync(ALL_LANES, near && m.wraps[2]), m.between};
}

// Forces between this warp's atoms, of which `i` is the lane's first, and the g-th of the others' groups at which the
// geometry is known, whose first atom is `j`. Returns the reaction forces. Groups of `rank` less than PAIR_ROWS are
// among the warp's own, or before them.
template <bool ENERGY>
DEVICE real3 reaction_of_group(const DeviceData& w, Rows& rows, const GroupImages& images, int slot,
                               const real4* others, int g, int i, int j, int rank) {
    const u32 bits = (u32)((1ull << PAIR_ROWS) - 1) << (g * PAIR_ROWS % 32);
    if (!(images.near & bits)) return {};
    const BoxGeometry& geometry = w.geometry;
    const int folds = (images.wraps_x & bits ? WRAPS_X : 0) | (images.wraps_y & bits ? WRAPS_Y : 0) |
                      (images.wraps_z & bits ? WRAPS_Z : 0);
    const bool any_image = (images.wide & bits) || rank < PAIR_ROWS;
    real3 at[PAIR_ROWS];
#pragma unroll
    for (int r = 0; r < PAIR_ROWS; r++) {
        const int from = (g * PAIR_ROWS + r) % 32;
        const real3 between = {__shfl_sync(ALL_LANES, images.between.x, from),
                               __shfl_sync(ALL_LANES, images.between.y, from),
                               __shfl_sync(ALL_LANES, images.between.z, from)};
        at[r] = {rows.position[r].x + between.x, rows.position[r].y + between.y, rows.position[r].z + between.z};
        if (any_image) continue;
        if (folds & WRAPS_X) at[r].x = unfolded(at[r].x, between.x, (real)(0.5 * geometry.edge[0]));
        if (folds & WRAPS_Y) at[r].y = unfolded(at[r].y, between.y, (real)(0.5 * geometry.edge[1]));
        if (folds & WRAPS_Z) at[r].z = unfolded(at[r].z, between.z, (real)(0.5 * geometry.edge[2]));
    }
    if (geometry.triclinic && folds) {
        return group_forces_tilted<ENERGY>(w, rows, w.atoms.position[w.control->slot[slot].parity], i, j);
    }
    if (any_image) return group_forces<ENERGY, WRAPS_ANY>(w, rows, at, others, i, j);
    return group_forces_folded<ENERGY>(w, rows, at, others, folds, i, j);
}

// Stores a block's shares: the forces on the tile from the parts of the nth one after it, then those on a part of
// another from the nth tile before it, of which each warp has found some.
DEVICE void store_tile_shares(const DeviceData& w, const Rows& rows, const real* reactions, int i, int j_first, int nth,
                              int part, int count) {
    const size_t n = w.n;
    real* acted = w.groups.share + (size_t)(nth * PAIR_PARTS + part) * 3 * n;
    for (int r = 0; r < PAIR_ROWS; r++) {
        const int a = i + 32 * r;
        if (a >= w.n) continue;
        acted[a] = rows.force[r].x;
        acted[n + a] = rows.force[r].y;
        acted[2 * n + a] = rows.force[r].z;
    }
    real* reacted = w.groups.share + (size_t)(count * PAIR_PARTS + nth) * 3 * n;
    for (int t = threadIdx.x; t < 96 * PART_GROUPS; t += PAIR_THREADS) {
        const int axis = t % 96 / 32, a = t / 96 * 32 + t % 32, j = j_first + a;
        real sum = 0;
        for (int v = 0; v < PAIR_WARPS; v++) sum += reactions[v * PART_GROUPS * 96 + t];
        if (j < w.n) reacted[axis * n + j] = sum;
    }
}

// Forces between a tile and a part of another: the `first`-th to the `count`-th tile after each one. Those of this GPU
// begin with the `begin`-th.
template <bool ENERGY>
DEVICE void tile_forces(const DeviceData& w, int slot, int first, int count, int begin) {
    extern __shared__ real4 others[];  // each group twice, so that a lane's 32 atoms are contiguous
    real* reactions = (real*)(others + 64 * PART_GROUPS);  // [warp][group][3][32]
    const int tiles = pair_tiles(w), mine = blockIdx.x % tiles, nth = blockIdx.x / tiles / PAIR_PARTS;
    const int part = blockIdx.x / tiles % PAIR_PARTS, k = first + nth, other = (mine + k) % tiles;
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const bool active = computes(mine, k, tiles);
    const int i = mine * PAIR_TILE + warp * 32 * PAIR_ROWS + lane, group = i / 32;
    const int j_first = other * PAIR_TILE + part * 32 * PART_GROUPS;

    if (active) {
        for (int t = thread; t < 64 * PART_GROUPS; t += PAIR_THREADS) {
            others[t] = w.groups.relative[j_first + t / 64 * 32 + t % 32];
        }
    }
    Rows rows = {};
#pragma unroll
    for (int r = 0; r < PAIR_ROWS; r++) {
        const real4 p = w.groups.relative[i + 32 * r];
        rows.position[r] = {p.x, p.y, p.z};
        rows.species[r] = as_species(p.w);
    }
    __syncthreads();

    for (int look = 0; look < PART_GROUPS && active; look += LOOK) {
        // This lane's group of its own, and of the others.
        const int a = group + lane % PAIR_ROWS, b = j_first / 32 + look + lane / PAIR_ROWS;
        const bool exist = lane < LOOK * PAIR_ROWS && 32 * a < w.n && 32 * b < w.n && (k > 0 || a <= b);
        const GroupImages images = group_images(w, a, b, exist);
        for (int g = 0; g < LOOK; g++) {
            const int j = j_first + 32 * (look + g), rank = k == 0 ? j / 32 - group : PAIR_ROWS;
            const real4* them = others + 64 * (look + g);
            const real3 reaction = reaction_of_group<ENERGY>(w, rows, images, slot, them, g, i, j, rank);
            real* to = reactions + (warp * PART_GROUPS + look + g) * 96 + lane;
            to[0] = reaction.x;
            to[32] = reaction.y;
            to[64] = reaction.z;
        }
    }
    __syncthreads();
    if (active) store_tile_shares(w, rows, reactions, i, j_first, nth, part, count);
    // Each pair is counted once.
    if (ENERGY) block_energies<PAIR_THREADS>(w, rows.sums, 1.0, (first - begin) * tiles * PAIR_PARTS, w.n);
}

extern "C" __global__ void __launch_bounds__(PAIR_THREADS, RESIDENT / PAIR_THREADS)
forces_all_pairs(DeviceData w, int slot, int trigger, int first, int count, int begin) {
    wait_for_previous_kernel();
    if (due(w.control, w.control->slot[slot], trigger)) tile_forces<false>(w, slot, first, count, begin);
}

extern "C" __global__ void __launch_bounds__(PAIR_THREADS)
forces_all_pairs_energies(DeviceData w, int slot, int trigger, int first, int count, int begin) {
    wait_for_previous_kernel();
    if (due(w.control, w.control->slot[slot], trigger)) tile_forces<true>(w, slot, first, count, begin);
}

// ---- sums of shares

// Sum of the shares of `count` tiles after and before the one of this block's group, and of the forces from the tiles
// between `begin` and `first`; for the atoms of the first warp.
DEVICE real3 sum_of_forces(const DeviceData& w, int i, int first, int count, int begin) {
    __shared__ double sums[GROUP_WARPS][3][32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, tiles = pair_tiles(w), tile = i / PAIR_TILE;
    const size_t n = w.n;
    double x = 0, y = 0, z = 0;
    if (i < w.n) {
        if (warp == 0 && first > begin) {
            const real3 before = load_force(w, i);
            x = before.x;
            y = before.y;
            z = before.z;
        }
        const real* share = w.groups.share + i;
#pragma unroll 4
        for (int t = warp; t < count * (PAIR_PARTS + 1); t += GROUP_WARPS) {
            const bool acted = t < count * PAIR_PARTS;
            const int k = first + (acted ? t / PAIR_PARTS : t - count * PAIR_PARTS);
            if (!computes(acted ? tile : (tile - k + tiles) % tiles, k, tiles)) continue;
            const real* of = share + (size_t)t * 3 * n;
            x += of[0];
            y += of[n];
            z += of[2 * n];
        }
    }
    sums[warp][0][lane] = x;
    sums[warp][1][lane] = y;
    sums[warp][2][lane] = z;
    __syncthreads();
    double f[3] = {};
    if (warp == 0) {
        for (int k = 0; k < 3; k++) {
            for (int v = 0; v < GROUP_WARPS; v++) f[k] += sums[v][k][lane];
        }
    }
    return {(real)f[0], (real)f[1], (real)f[2]};
}

// Kernel with a block for each group.
extern "C" __global__ void __launch_bounds__(GROUP_THREADS) add_forces(DeviceData w, int slot, int trigger, int first, int count, int begin) {
    wait_for_previous_kernel();
    if (!due(w.control, w.control->slot[slot], trigger)) return;
    const int i = blockIdx.x * 32 + threadIdx.x % 32;
    const real3 f = sum_of_forces(w, i, first, count, begin);
    if (threadIdx.x < 32 && i < w.n) store_force(w, i, f);
}

// Sums of forces, the step that follows from them, and the groups at the new positions.
extern "C" __global__ void __launch_bounds__(GROUP_THREADS) advance_groups(DeviceData w, int slot, int first, int count, int begin) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    const bool moves = step_due(w.control, now);
    next_slot(w, slot, moves);
    if (!moves) return;
    const int i = blockIdx.x * 32 + threadIdx.x % 32;
    const real3 f = sum_of_forces(w, i, first, count, begin);
    if (threadIdx.x >= 32) return;
    if (i < w.n) {
        store_force(w, i, f);
        finish_step(w, slot, now, i, f);
    }
    __syncwarp();
    arrange_group(w, i, w.atoms.position[now.parity ^ 1][min(i, w.n - 1)]);
}
