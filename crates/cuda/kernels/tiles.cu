// Block-local neighbour lists in shared memory: the fast path.
//
// A block of threads owns TILE_ATOMS atoms that follow each other in the sorted order. It copies
// every atom within reach of them once into shared memory, its tile, in coordinates relative to
// the tile's origin; each thread's list is then made of 16-bit places in the tile. TEAM threads
// share one atom where there are too few atoms to fill the card.
//
// Shared memory serves eight 16-byte reads at a time if they fall into different banks. Places are
// in bank class "place mod 8", and lane l finds an atom of class (l + k) mod 8 in its k-th slot
// wherever it has one left. Slots that stay empty hold a dummy, far from everything, of that class.

enum {
    CLASSES = 8,
    DUMMIES = CLASSES,               // one of each class, at places 0 to 7
    THREADS = TILE_ATOMS * TEAM,
    WARPS = THREADS / 32,
    WARP_ATOMS = 32 / TEAM,          // atoms that the lanes of a warp work on
    SPANS = 256,                     // stretches of bins that a tile is gathered from, at most
    FETCH = 8,                       // atoms each thread has on the way from memory at once
};

#define FAR ((real)1e6)

// What a slot holds: a byte offset into the tile, or a place where 16 bits cannot hold that.
#if WIDE_TILE
#define SLOT_UNIT 1
DEVICE real4 tile_at(const real4* tile, u32 slot) { return tile[slot]; }
#else
#define SLOT_UNIT ((u32)sizeof(real4))
DEVICE real4 tile_at(const real4* tile, u32 slot) { return *(const real4*)((const char*)tile + slot); }
#endif

DEVICE real4 in_tile(const World& w, Position p, Position origin) {
    real3 d = difference(w.frame, p, origin);
    return {d.x, d.y, d.z, as_real((int)p.species)};
}

DEVICE u32 lanes_before() { return (1u << (threadIdx.x % 32)) - 1; }

// An axis-aligned box: its centre and half its edges.
struct Bounds { real3 center, half; };

DEVICE real gap(real d, real half) { return fmax(fabs(d) - half, (real)0); }

// The squared distance from a box.
DEVICE real distance2(const Bounds& b, real x, real y, real z) {
    real3 d = {gap(x - b.center.x, b.half.x), gap(y - b.center.y, b.half.y), gap(z - b.center.z, b.half.z)};
    return dot(d, d);
}

DEVICE real warp_min(real x) {
    for (int m = 16; m > 0; m /= 2) x = fmin(x, __shfl_xor_sync(ALL_LANES, x, m));
    return x;
}

// ---- gathering the tile

// Fractions between two corners, in units of 2^-32, relative to a point.
struct Extent { int low[3], high[3]; };

// The box around an extent, relative to an origin that lies `shift` from the point.
DEVICE Bounds bounds_of(const Frame& frame, const Extent& e, const int shift[3]) {
    const double unit = 1.0 / 4294967296.0;
    double center[3], half[3];
    for (int k = 0; k < 3; k++) {
        center[k] = (0.5 * ((double)e.low[k] + e.high[k]) - shift[k]) * unit;
        half[k] = (0.5 * ((double)e.high[k] - e.low[k]) + 1.0) * unit;
    }
    const double *l = frame.edge, *t = frame.tilt;
    return {{(real)(center[0] * l[0] + center[1] * t[0] + center[2] * t[1]),
             (real)(center[1] * l[1] + center[2] * t[2]), (real)(center[2] * l[2])},
            {(real)(half[0] * l[0] + half[1] * fabs(t[0]) + half[2] * fabs(t[1])),
             (real)(half[1] * l[1] + half[2] * fabs(t[2])), (real)(half[2] * l[2])}};
}

// ---- building the lists

// Room in shared memory for building: see `build_bytes` in neighbors.rs.
extern "C" __global__ void __launch_bounds__(THREADS) build_tiles(World w, int slot) {
    Control* control = w.control;
    const Slot now = control->slot[slot];
    if (!builds(control, now)) return;

    extern __shared__ real4 tile[];
    const int capacity = w.tile_capacity, class_room = capacity / CLASSES, slots = CLASSES * w.class_rows;
    u16* all_candidates = (u16*)(tile + capacity);
    u16* all_lists = all_candidates + WARPS * capacity;
    __shared__ Extent pieces[2];
    __shared__ Span spans[SPANS];
    __shared__ int found[WARPS];

    const Frame& frame = w.frame;
    const Position* position = w.position[now.parity ^ 1];
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int first = blockIdx.x * TILE_ATOMS, own = min(TILE_ATOMS, w.n - first);
    const real reach = (real)(control->reach * (1.0 + 1e-6)), reach2 = reach * reach;

    // How far the block's atoms spread around one in their midst. Where the line of columns turns,
    // a block has two pieces, and what lies between them is not its own.
    const Position anchor = position[first + own / 2];
    const Fixed center = to_fixed(frame, anchor);
    if (thread < 6) {
        pieces[thread / 3].low[thread % 3] = 0x7fffffff;
        pieces[thread / 3].high[thread % 3] = -0x7fffffff;
    }
    __syncthreads();
    const u32 first_column = column_of(frame, to_fixed(frame, position[first]));
    for (int k = thread; k < own; k += THREADS) {
        Fixed s = to_fixed(frame, position[first + k]);
        Extent* piece = &pieces[column_of(frame, s) != first_column];
        const int d[3] = {(int)(s.x - center.x), (int)(s.y - center.y), (int)(s.z - center.z)};
        for (int a = 0; a < 3; a++) {
            atomicMin(&piece->low[a], d[a]);
            atomicMax(&piece->high[a], d[a]);
        }
    }
    __syncthreads();
    const bool two_pieces = pieces[1].low[0] <= pieces[1].high[0];

    // The tile's origin is the middle of all; everything within reach must be nearer to it than
    // half the box, or images could not be told apart.
    int shift[3];
    i64 radius[3];
    bool fits = true;
    for (int a = 0; a < 3; a++) {
        i64 low = min(pieces[0].low[a], pieces[1].low[a]), high = max(pieces[0].high[a], pieces[1].high[a]);
        shift[a] = (int)((low + high) / 2);
        radius[a] = (high - low) / 2 + 2 + (i64)(control->reach * (1.0 + 1e-6) / frame.width[a] * 4294967296.0);
        fits = fits && radius[a] < 0x7fffffffll;
    }
    const Position origin = moved_by(frame, anchor, shift);
    const u32 low_x = center.x + shift[0] - (u32)radius[0], low_y = center.y + shift[1] - (u32)radius[1];
    const u32 low_z = center.z + shift[2] - (u32)radius[2];
    const Cells cx = cells_between(low_x, 2 * radius[0], frame.columns[0]);
    const Cells cy = cells_between(low_y, 2 * radius[1], frame.columns[1]);
    const Cells cz = cells_between(low_z, 2 * radius[2], frame.bins);
    const int n_spans = 2 * cx.count * cy.count;
    if (!fits || n_spans > SPANS) {
        if (thread == 0) report(control, UNFIT);
        return;
    }
    for (int k = thread; k < n_spans; k += THREADS) {
        int c = k / 2, x = (cx.first + c / cy.count) % frame.columns[0];
        u32 column = column_place(frame, x, (cy.first + c % cy.count) % frame.columns[1]);
        int end = cz.first + cz.count - 1;  // may lie beyond the top, where the column starts again
        spans[k] = k % 2 == 0 ? bins_between(w, column, cz.first, min(end, frame.bins - 1))
                              : bins_between(w, column, 0, end - frame.bins);
    }
    const real4 far = {FAR, FAR, FAR, as_real(0)};
    if (thread < DUMMIES) tile[thread] = far;
    for (int k = thread; k < TILE_ATOMS; k += THREADS) {
        // Atoms beyond the last one are far from the dummies, too.
        tile[DUMMIES + k] = k < own ? in_tile(w, position[first + k], origin) : real4{-FAR, -FAR, -FAR, as_real(0)};
    }
    __syncthreads();

    // Each warp looks through some of the spans; what it finds waits where the lists will be.
    const Bounds piece0 = bounds_of(frame, pieces[0], shift), piece1 = bounds_of(frame, pieces[1], shift);
    u16* lists = all_lists + (size_t)warp * slots * 32;
    u32* waiting = (u32*)lists;
    const int waiting_room = slots * 16;
    int n_found = 0;
    for (int s = warp; s < n_spans; s += WARPS) {
        const Span span = spans[s];
        for (u32 base = 0; base < span.count; base += 32) {
            const u32 j = span.first + base + lane;
            bool within = false;
            if (base + lane < span.count && (j < (u32)first || j >= (u32)(first + own))) {
                real3 d = difference(frame, position[j], origin);
                within = distance2(piece0, d.x, d.y, d.z) <= reach2;
                if (two_pieces) within = within || distance2(piece1, d.x, d.y, d.z) <= reach2;
            }
            const u32 who = __ballot_sync(ALL_LANES, within);
            const int place = n_found + __popc(who & lanes_before());
            if (within && place < waiting_room) waiting[place] = j;
            n_found += __popc(who);
        }
    }
    if (lane == 0) found[warp] = n_found;
    __syncthreads();
    int place = DUMMIES + TILE_ATOMS, filled = DUMMIES + TILE_ATOMS, most_waiting = 0;
    for (int k = 0; k < WARPS; k++) {
        if (k < warp) place += found[k];
        filled += found[k];
        most_waiting = max(most_waiting, found[k]);
    }
    if (filled > capacity || most_waiting > waiting_room) {
        if (thread == 0) {
            if (filled > capacity) {
                atomicMax(&control->need_tile, filled);
                report(control, TILE_FULL);
            } else {
                atomicMax(&control->need_rows, most_waiting / (CLASSES * 16) + 1);
                report(control, ROWS_FULL);
            }
        }
        return;
    }
    u32* halo = w.halo + (size_t)blockIdx.x * capacity;
    for (int k = lane; k < n_found; k += 32) {
        const u32 j = waiting[k];
        halo[place - DUMMIES - TILE_ATOMS + k] = j;
        tile[place + k] = in_tile(w, position[j], origin);
    }
    if (thread == 0) {
        atomicMax(&control->largest_tile, filled);
        w.n_halo[blockIdx.x] = filled - DUMMIES - TILE_ATOMS;
        w.origin[blockIdx.x] = origin;
    }
    __syncthreads();

    // What is within reach of any of the warp's atoms, class by class.
    const int atom = warp * WARP_ATOMS + lane / TEAM, me = DUMMIES + atom, part = lane % TEAM;
    const bool exists = atom < own;
    const real4 mine = tile[me];
    const real inf = (real)1e30;
    const real3 low = {warp_min(exists ? mine.x : inf), warp_min(exists ? mine.y : inf), warp_min(exists ? mine.z : inf)};
    const real3 high = {-warp_min(exists ? -mine.x : inf), -warp_min(exists ? -mine.y : inf),
                        -warp_min(exists ? -mine.z : inf)};
    const Bounds around = {{(low.x + high.x) / 2, (low.y + high.y) / 2, (low.z + high.z) / 2},
                           {(high.x - low.x) / 2, (high.y - low.y) / 2, (high.z - low.z) / 2}};
    u16* candidates = all_candidates + warp * capacity;
    const u32 same_class = 0x01010101u << (lane % CLASSES);
    int n_class = 0;
    const bool any = __any_sync(ALL_LANES, exists);
    for (int base = 0; base < filled && any; base += 32) {
        const int k = base + lane;
        bool within = false;
        if (k >= DUMMIES && k < filled) {
            const real4 q = tile[k];
            within = distance2(around, q.x, q.y, q.z) <= reach2;
        }
        const u32 who = __ballot_sync(ALL_LANES, within) & same_class;
        if (within) candidates[lane % CLASSES * class_room + n_class + __popc(who & lanes_before())] = k;
        n_class += __popc(who);
    }
    for (int k = 0; k < slots; k++) lists[k * 32 + lane] = (lane + k) % CLASSES * SLOT_UNIT;
    __syncwarp();

    // Each atom's neighbours, into the slots of their class.
    u64 counts = 0;  // entries of each class, 8 bits a class
    int total = 0;
    bool full = false;
    for (int c = 0; c < CLASSES; c++) {
        const int n_candidates = __shfl_sync(ALL_LANES, n_class, c), first_slot = (c - lane) & (CLASSES - 1);
        const u16* candidate = candidates + c * class_room;
        u16* entry = lists + first_slot * 32 + lane;
        int entries = 0;
#pragma unroll 4
        for (int k = part; k < n_candidates; k += TEAM) {
            const int j = candidate[k];
            const real4 q = tile[j];
            const real3 d = {mine.x - q.x, mine.y - q.y, mine.z - q.z};
            if (dot(d, d) <= reach2 && j != me) {
                if (entries < w.class_rows) entry[entries * CLASSES * 32] = j * SLOT_UNIT;
                entries++;
            }
        }
        if (!exists) entries = 0;
        full = full || entries > w.class_rows;
        counts |= (u64)min(entries, 255) << (8 * c);
        total += entries;
    }
    const int longest = (int)__reduce_max_sync(ALL_LANES, (u32)total), rows = (longest + 3) / 4;
    if (__any_sync(ALL_LANES, full)) {
        // Room for all if the classes are as uneven as they can be.
        if (full) {
            int most = 0;
            for (int c = 0; c < CLASSES; c++) most = max(most, (int)(counts >> (8 * c) & 255));
            atomicMax(&control->need_rows, max(most, total / CLASSES + 2));
            report(control, ROWS_FULL);
        }
        return;
    }

    // Entries in slots beyond the last row move into empty slots before it.
    __syncwarp();
    const int used = 4 * rows;
    int hole_class = 0;
    for (int c = 0; c < CLASSES; c++) {
        const int first_slot = (c - lane) & (CLASSES - 1);
        const int n = (int)(counts >> (8 * c) & 255), room = (used - first_slot + CLASSES - 1) / CLASSES;
        for (int k = max(room, 0); k < n; k++) {
            int hole;
            for (;; hole_class++) {
                const int start = (hole_class - lane) & (CLASSES - 1);
                hole = start + CLASSES * (int)(counts >> (8 * hole_class) & 255);
                if (hole < used) break;
            }
            lists[hole * 32 + lane] = lists[(first_slot + CLASSES * k) * 32 + lane];
            counts += 1ull << (8 * hole_class);
        }
    }
    __syncwarp();
    const int warp_index = blockIdx.x * WARPS + warp, row_room = 2 * w.class_rows + 1;
    uint2* list = w.list + (size_t)warp_index * row_room * 32 + lane;
    for (int r = 0; r < rows; r++) {
        const u16* s = lists + 4 * r * 32 + lane;
        list[r * 32] = make_uint2(s[0] | (u32)s[32] << 16, s[64] | (u32)s[96] << 16);
    }
    if (lane == 0) w.n_rows[warp_index] = rows;
}

// ---- forces

// The forces on a block's atoms. Returns with the sums of this thread's list; TEAM neighbouring
// threads hold parts of one atom's.
template <bool ENERGY>
DEVICE Pull pull_of_tile(const World& w, const Position* position, real4* tile) {
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int first = blockIdx.x * TILE_ATOMS, warp_index = blockIdx.x * WARPS + warp;
    const Position origin = w.origin[blockIdx.x];
    const int n_halo = w.n_halo[blockIdx.x], rows = w.n_rows[warp_index];
    const u32* halo = w.halo + (size_t)blockIdx.x * w.tile_capacity;
    const uint2* list = w.list + (size_t)warp_index * (2 * w.class_rows + 1) * 32 + lane;
    uint2 row = list[0];

    for (int base = thread; base < n_halo; base += FETCH * THREADS) {
        u32 j[FETCH];
#pragma unroll
        for (int u = 0; u < FETCH; u++) j[u] = base + u * THREADS < n_halo ? halo[base + u * THREADS] : 0xffffffffu;
#pragma unroll
        for (int u = 0; u < FETCH; u++) {
            if (j[u] != 0xffffffffu) {
                tile[DUMMIES + TILE_ATOMS + base + u * THREADS] = in_tile(w, position[j[u]], origin);
            }
        }
    }
    for (int k = thread; k < TILE_ATOMS; k += THREADS) {
        tile[DUMMIES + k] = first + k < w.n ? in_tile(w, position[first + k], origin)
                                            : real4{-FAR, -FAR, -FAR, as_real(0)};
    }
    if (thread < DUMMIES) tile[thread] = {FAR, FAR, FAR, as_real(0)};
    __syncthreads();

    const real4 mine = tile[DUMMIES + warp * WARP_ATOMS + lane / TEAM];
    const int species = as_species(mine.w);
    Pull pull = {};
    for (int r = 0; r < rows; r++) {
        const uint2 next = list[(r + 1) * 32];
        const u32 slots[4] = {row.x & 0xffff, row.x >> 16, row.y & 0xffff, row.y >> 16};
#pragma unroll
        for (int u = 0; u < 4; u++) {
            const real4 q = tile_at(tile, slots[u]);
            const real3 d = {mine.x - q.x, mine.y - q.y, mine.z - q.z};
            attract<ENERGY>(w, pull, d, species, as_species(q.w));
        }
        row = next;
    }
#pragma unroll
    for (int m = 1; m < TEAM; m *= 2) {
        pull.force.x += __shfl_xor_sync(ALL_LANES, pull.force.x, m);
        pull.force.y += __shfl_xor_sync(ALL_LANES, pull.force.y, m);
        pull.force.z += __shfl_xor_sync(ALL_LANES, pull.force.z, m);
    }
    return pull;
}

// The atom whose force this thread holds after `pull_of_tile`; -1 for the other threads.
DEVICE int atom_of_thread(const World& w) {
    const int i = blockIdx.x * TILE_ATOMS + threadIdx.x / TEAM;
    return threadIdx.x % TEAM == 0 && i < w.n ? i : -1;
}

extern "C" __global__ void __launch_bounds__(THREADS) forces_tiles(World w, int slot, int when) {
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, when)) return;
    extern __shared__ real4 tile[];
    const Pull pull = pull_of_tile<false>(w, w.position[now.parity], tile);
    const int i = atom_of_thread(w);
    if (i >= 0) store_force(w, i, pull.force);
}

extern "C" __global__ void __launch_bounds__(THREADS) forces_tiles_energies(World w, int slot, int when) {
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, when)) return;
    extern __shared__ real4 tile[];
    const Pull pull = pull_of_tile<true>(w, w.position[now.parity], tile);
    const int i = atom_of_thread(w);
    if (i >= 0) store_force(w, i, pull.force);
    // Beyond the last atom there are only dummies in reach of nobody: nothing is added.
    double sums[N_TERMS + 6];
    for (int k = 0; k < N_TERMS; k++) sums[k] = 0.5 * pull.energy[k];
    for (int k = 0; k < 6; k++) sums[N_TERMS + k] = 0.5 * pull.virial[k];
    block_partial<THREADS, N_TERMS + 6>(w, sums);
}

// One whole step: forces, the second half of the kick, and on to where the atoms are next.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT / THREADS) step_tiles(World w, int slot) {
    Control* control = w.control;
    const Slot now = control->slot[slot];
    const bool made = goes(control, now);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        control->slot[slot + 1].parity = now.parity ^ made;
        control->slot[slot + 1].done = now.done + made;
        if (now.stale) control->slot[slot + 1].stale = 1;
    }
    if (!made) return;
    extern __shared__ real4 tile[];
    const Pull pull = pull_of_tile<false>(w, w.position[now.parity], tile);
    const int i = atom_of_thread(w);
    if (i < 0) return;
    const int set = control->sorted, species = as_species(tile[DUMMIES + threadIdx.x / TEAM].w);
    Double3 x = load(w.x[set], w.n, i), v = load(w.v[set], w.n, i);
    check_force(w, pull.force, set, i, now.done);
    kick(v, 0.5 * control->motion.timestep * w.inverse_mass[species], pull.force);
    const u32 id = control->motion.decay < 1.0 ? w.id[set][i] : 0;
    kick_and_drift(w, control->motion, x, v, pull.force, species, id, now.done);
    store(w.x[set], w.n, i, x);
    store(w.v[set], w.n, i, v);
    arrive(w, i, x, species, w.position[now.parity ^ 1], &control->slot[slot + 1].stale);
}
