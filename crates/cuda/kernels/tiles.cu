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
    BATCH = 4,                       // candidates looked at together while building
};

// No potential reaches there, and its square and its sixth power are still numbers.
#define FAR ((real)(1e3 * sqrt((double)LONGEST_CUTOFF2)))

#define SMALL_TILE 0
#define MEDIUM_TILE 1
#define LARGE_TILE 2

// How large tiles may become. In a small one the candidates of a class can be numbered with 8 bits;
// in a large one slots hold places, where they otherwise hold byte offsets into the tile.
#if TILE_SIZE == SMALL_TILE
typedef u8 Stage;
#else
typedef u16 Stage;
#endif

// Entries of each class while lists are built; a batch may reach beyond the last class.
#define STAGE_ROWS(class_rows) (CLASSES * (class_rows) + BATCH)

#if TILE_SIZE == LARGE_TILE
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

// The same for finding out what is near: with minus half the squared distance from the origin.
DEVICE real4 in_search_tile(const World& w, Position p, Position origin) {
    const real3 d = difference(w.frame, p, origin);
    return {d.x, d.y, d.z, (real)-0.5 * dot(d, d)};
}

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

// Room in shared memory for building: see `build_bytes` in tiles.rs.
extern "C" __global__ void __launch_bounds__(THREADS) build_tiles(World w, int slot) {
    Control* control = w.control;
    const Slot now = control->slot[slot];
    if (!builds(control, now)) return;

    extern __shared__ real4 tile[];
    const int capacity = w.tile_capacity, class_rows = w.class_rows;
    // Hardly ever does a warp need most of its block's tile.
    const int candidate_room = capacity * 3 / 4 / CLASSES, class_room = candidate_room + BATCH * TEAM;
    u16* all_candidates = (u16*)(tile + capacity);
    __shared__ Extent pieces[2];
    __shared__ Span spans[SPANS];
    __shared__ int found[WARPS];

    const Frame& frame = w.frame;
    const Position* position = w.position[now.parity ^ 1];
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int first = blockIdx.x * TILE_ATOMS, own = min(TILE_ATOMS, w.n - first);
    const real reach = (real)(control->reach * (1.0 + 1e-5)), reach2 = reach * reach;

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
    const real4 far = {FAR, FAR, FAR, (real)-1.5 * FAR * FAR};
    if (thread < DUMMIES) tile[thread] = far;
    for (int k = thread; k < TILE_ATOMS; k += THREADS) {
        // Atoms beyond the last one are far from the dummies, too.
        tile[DUMMIES + k] = k < own ? in_search_tile(w, position[first + k], origin) : real4{-FAR, -FAR, -FAR, (real)-1.5 * FAR * FAR};
    }
    __syncthreads();

    // Each warp looks through a share of the spans; what it finds waits where entries will be.
    const Bounds piece0 = bounds_of(frame, pieces[0], shift), piece1 = bounds_of(frame, pieces[1], shift);
    Stage* stage = (Stage*)(all_candidates + WARPS * CLASSES * class_room) + warp * STAGE_ROWS(class_rows) * 32;
    u32* waiting = (u32*)stage;
    const int waiting_room = STAGE_ROWS(class_rows) * 32 * (int)sizeof(Stage) / 4;
    int n_found = 0, turn = warp;  // stretches of 32 atoms are dealt out in turn
    for (int s = 0; s < n_spans; s++) {
        const Span span = spans[s];
        u32 base = 32 * turn;
        for (; base < span.count; base += 32 * WARPS) {
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
        turn = (int)(base - (span.count + 31) / 32 * 32) / 32;
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
                atomicMax(&control->need_rows, most_waiting * 4 / (CLASSES * 32 * (int)sizeof(Stage)) + 1);
                report(control, ROWS_FULL);
            }
        }
        return;
    }
    u32* halo = w.halo + (size_t)blockIdx.x * w.tile_stride;
    for (int k = lane; k < n_found; k += 32) {
        const u32 j = waiting[k];
        halo[place - DUMMIES - TILE_ATOMS + k] = j;
        tile[place + k] = in_search_tile(w, position[j], origin);
    }
    if (thread == 0) {
        w.n_halo[blockIdx.x] = filled - DUMMIES - TILE_ATOMS;
        w.origin[blockIdx.x] = origin;
    }
    __syncthreads();

    // What is within reach of any of the warp's atoms, class by class.
    const int atom = warp * WARP_ATOMS + lane / TEAM, part = lane % TEAM;
    const bool exists = atom < own;
    const real4 mine = tile[DUMMIES + atom];
    const real inf = (real)1e30;
    const real3 low = {warp_min(exists ? mine.x : inf), warp_min(exists ? mine.y : inf), warp_min(exists ? mine.z : inf)};
    const real3 high = {-warp_min(exists ? -mine.x : inf), -warp_min(exists ? -mine.y : inf),
                        -warp_min(exists ? -mine.z : inf)};
    const Bounds around = {{(low.x + high.x) / 2, (low.y + high.y) / 2, (low.z + high.z) / 2},
                           {(high.x - low.x) / 2, (high.y - low.y) / 2, (high.z - low.z) / 2}};
    u16* candidates = all_candidates + warp * CLASSES * class_room;
    const u32 same_class = 0x01010101u << (lane % CLASSES);
    u16* my_class = candidates + lane % CLASSES * class_room;
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
        const int place = n_class + __popc(who & lanes_before());
        if (within && place < candidate_room) my_class[place] = k * SLOT_UNIT;
        n_class += __popc(who);
    }
    // What the tile must have room for on account of the candidates.
    const int wanted = (int)__reduce_max_sync(ALL_LANES, (u32)n_class) * (CLASSES * 4) / 3 + CLASSES;
    if (wanted > capacity + CLASSES) {
        if (lane == 0) {
            atomicMax(&control->need_tile, wanted);
            report(control, TILE_FULL);
        }
        return;
    }
    // The last batch is filled up with dummies.
    for (int k = lane / CLASSES; k < BATCH * TEAM; k += 32 / CLASSES) {
        my_class[n_class + k] = lane % CLASSES * SLOT_UNIT;
    }
    __syncwarp();

    // Which candidates are each atom's neighbours. A batch is loaded before anything is stored, so
    // that loads need not wait for stores.
    const u32 my_slot = (DUMMIES + atom) * SLOT_UNIT;
    // |a - b|^2 <= r^2 where a.b - |b|^2 / 2 >= (|a|^2 - r^2) / 2, which takes fewer operations.
    const real nearest = (real)0.5 * (dot({mine.x, mine.y, mine.z}, {mine.x, mine.y, mine.z}) - reach2);
    u64 counts = 0;  // entries of each class, 8 bits a class
    int total = 0, most_entries = 0;
    bool full = false;
    for (int c = 0; c < CLASSES; c++) {
        const int n = __shfl_sync(ALL_LANES, n_class, c);
        const u16* candidate = candidates + c * class_room;
        const int start = c * class_rows * 32 + lane, end = start + class_rows * 32;
        int entry = start;
        for (int k = part; k < n; k += BATCH * TEAM) {
            real4 q[BATCH];
            u32 slots[BATCH];
#pragma unroll
            for (int u = 0; u < BATCH; u++) {
                slots[u] = candidate[k + u * TEAM];
                q[u] = tile_at(tile, slots[u]);
            }
            if (entry > end) break;
#pragma unroll
            for (int u = 0; u < BATCH; u++) {
                const real near = multiply_add(mine.x, q[u].x, multiply_add(mine.y, q[u].y, multiply_add(mine.z, q[u].z, q[u].w)));
                if (near >= nearest && slots[u] != my_slot) {
                    stage[entry] = (Stage)(k + u * TEAM);
                    entry += 32;
                }
            }
        }
        full = full || entry > end;
        const int entries = (entry - start) / 32;
        most_entries = max(most_entries, entries);
        counts |= (u64)entries << (8 * c);
        total += entries;
    }
    if (__any_sync(ALL_LANES, full)) {
        if (lane == 0) {
            atomicMax(&control->need_rows, class_rows + class_rows / 8 + BATCH);
            report(control, ROWS_FULL);
        }
        return;
    }
    __syncwarp();

    // What there must be room for, so that the host need not give more.
    most_entries = (int)__reduce_max_sync(ALL_LANES, (u32)most_entries);
    if (lane == 0) {
        const int tile_atoms = max(filled, wanted);
        if (tile_atoms > control->largest_tile) atomicMax(&control->largest_tile, tile_atoms);
        if (most_entries > control->most_rows) atomicMax(&control->most_rows, most_entries);
    }

    // The lists: each slot gets an entry of its class as long as there are some, then a dummy. The
    // slots of even rows are of the classes lane, lane + 1, ...; those of odd rows of the next four.
    const int rows = ((int)__reduce_max_sync(ALL_LANES, (u32)total) + 3) / 4, slots = 4 * rows;
    const int warp_index = blockIdx.x * WARPS + warp;
    uint2* list = w.list + (size_t)warp_index * w.row_stride * 32 + lane;
    int n_of[CLASSES], staged[CLASSES], listed[CLASSES];
#pragma unroll
    for (int u = 0; u < CLASSES; u++) {
        const int c = (lane + u) % CLASSES;
        n_of[u] = (int)(counts >> (8 * c) & 255);
        staged[u] = c * class_rows * 32 + lane;
        listed[u] = c * class_room;
    }
    for (int pair = 0; pair < rows; pair += 2) {
        const int e = pair / 2;
#pragma unroll
        for (int odd = 0; odd < 2; odd++) {
            if (pair + odd == rows) break;
            u32 out[4];
#pragma unroll
            for (int u = 0; u < 4; u++) {
                const int v = 4 * odd + u;
                const bool full_slot = e < n_of[v];
                const int candidate = full_slot ? stage[staged[v] + e * 32] : 0;
                out[u] = full_slot ? candidates[listed[v] + candidate] : (lane + v) % CLASSES * SLOT_UNIT;
            }
            list[(pair + odd) * 32] = make_uint2(out[0] | out[1] << 16, out[2] | out[3] << 16);
        }
    }
    // Entries left over in classes with more of them than slots replace the dummies of others.
    auto count = [&](int c) { return (int)(counts >> (8 * c) & 255); };
    auto slots_of = [&](int c) { return (slots - ((c - lane) & (CLASSES - 1)) + CLASSES - 1) / CLASSES; };
    int hole_class = 0, hole = count(0);
    for (int c = 0; c < CLASSES; c++) {
        for (int e = slots_of(c); e < count(c); e++) {
            while (hole >= slots_of(hole_class)) hole = count(++hole_class);
            const int k = ((hole_class - lane) & (CLASSES - 1)) + CLASSES * hole++;
            ((u16*)&list[k / 4 * 32])[k % 4] = candidates[c * class_room + stage[(c * class_rows + e) * 32 + lane]];
        }
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
    const u32* halo = w.halo + (size_t)blockIdx.x * w.tile_stride;
    const uint2* list = w.list + (size_t)warp_index * w.row_stride * 32 + lane;
    // Two rows ahead of what is used.
    uint2 row = stream(list), next = stream(list + 32);

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
        const uint2 after = stream(list + (r + 2) * 32);
        const u32 slots[4] = {row.x & 0xffff, row.x >> 16, row.y & 0xffff, row.y >> 16};
#pragma unroll
        for (int u = 0; u < 4; u++) {
            const real4 q = tile_at(tile, slots[u]);
            const real3 d = {mine.x - q.x, mine.y - q.y, mine.z - q.z};
            // Without a branch: hardly ever are all lanes of a warp beyond the cut-off.
            pull_towards<ENERGY>(w, pull, d, dot(d, d), species, as_species(q.w));
        }
        row = next;
        next = after;
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
    const int set = control->sorted, i = atom_of_thread(w);
    if (i >= 0) {
        for (int k = 0; k < 3; k++) {
            fetch_ahead(&w.x[set][k * (size_t)w.n + i]);
            fetch_ahead(&w.v[set][k * (size_t)w.n + i]);
        }
        fetch_ahead(&w.built[i]);
    }
    extern __shared__ real4 tile[];
    const Pull pull = pull_of_tile<false>(w, w.position[now.parity], tile);
    if (i < 0) return;
    const int species = as_species(tile[DUMMIES + threadIdx.x / TEAM].w);
    Double3 x = load(w.x[set], w.n, i), v = load(w.v[set], w.n, i);
    check_force(w, pull.force, set, i, now.done);
    kick(v, 0.5 * control->motion.timestep * w.inverse_mass[species], pull.force);
    go_on(w, slot, now, i, x, v, pull.force, species);
}
