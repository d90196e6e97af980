// Tiles and the lists of their atoms, built where they are stale.
//
// Phases of a block: the region around its atoms (tile_region.cuh), the atoms within reach of them and their copy in
// shared memory (tile_gather.cuh), and from that copy the neighbours of each thread's atom, first class by class in
// shared memory and then as rows of the list.

// ---- finding neighbours

// Test for which atoms of the tile are neighbours of this thread's.
struct NeighborTest {
    const TileBuild& build;
    int atom, part;          // of the block, and of the team that works on it
    bool exists;
    u32 x, y, z, threshold;  // two halves each
    int n_each;              // atoms of a class for each thread
    u32 own_mark;            // mark of the atom itself
    int n_excluded;
    u32 excluded[HELD];      // marks of the first atoms that it excludes

    DEVICE_MEMBER NeighborTest(const TileBuild& build, int filled, const u8* order, const int* all_excluded) : build(build) {
        const DeviceData& w = build.w;
        const SearchRadius& search = build.search;
        const int thread = threadIdx.x;
        atom = ORDERED ? order[thread / TEAM] : thread / TEAM;
        part = thread % 32 % TEAM;
        exists = atom < build.owned.count;
        const u16* mine = build.sketch.at(DUMMIES + atom);
        x = mine[0] * 0x10001u;
        y = mine[2] * 0x10001u;
        z = mine[4] * 0x10001u;
        const float ax = from_half(mine[0]), ay = from_half(mine[2]), az = from_half(mine[4]);
        const float a2 = ax * ax + ay * ay + az * az;
        const int species = exists ? (int)w.atoms.built[build.owned.first + atom].species : 0;
        const float nearer = exists ? (float)(search.unit * nearer_by(w, search.half_skin, species)) : 0.0f;
        const float least = search.nearness_within(nearer, a2, search.radius);
        threshold = to_half(exists ? least : 65504.0f) * 0x10001u;
        n_each = ((filled + CLASSES - 1) / CLASSES + TEAM - 1) / TEAM;
        own_mark = mark_of(DUMMIES + atom);
        n_excluded = w.exclusions.fours > 0 && exists ? all_excluded[atom] : 0;
#pragma unroll
        for (int k = 0; k < HELD; k++) excluded[k] = k < n_excluded ? excluded_mark(k) : NO_MARK;
    }

    // Class and number of an atom of the tile among those that this thread tests.
    DEVICE_MEMBER u32 mark_of(u32 index) const {
        const u32 number = index / CLASSES;
        return number % TEAM == (u32)part ? index % CLASSES << 16 | number / TEAM : NO_MARK;
    }

    DEVICE_MEMBER u32 excluded_mark(int k) const {
        const DeviceData& w = build.w;
        return mark_of(w.exclusions.tile_index[(size_t)k * w.n + build.owned.first + atom]);
    }

    // Bits of a thread's next 32 atoms of class `c` from its `n`-th on that are neighbours, without the atom itself
    // and those that it excludes.
    DEVICE_MEMBER u32 neighbors(int c, int n) const {
        const uint4* pair = build.sketch.word(c, n, part);
        u32 word = 0;
#pragma unroll
        for (int k = 0; k < 16; k += BATCH) {
            if (k > 0 && k >= n_each - n) break;
#pragma unroll
            for (int u = k; u < k + BATCH; u++) {
                word |= at_least(nearness(pair[u * TEAM], x, y, z), threshold) & (0x10001u << u);
            }
        }
        const u32 here = (u32)(c << 16 | n);
        auto leave_out = [&](u32 mark) { word &= ~bit(mark - here); };
        leave_out(own_mark);
#pragma unroll
        for (int k = 0; k < HELD; k++) leave_out(excluded[k]);
        for (int k = HELD; k < n_excluded; k++) leave_out(excluded_mark(k));
        return word;
    }
};

// Returns true where the list can hold so many rows, and reports a fault otherwise.
DEVICE bool rows_fit(const DeviceData& w, int rows) {
    Control* control = w.control;
    const int lane = threadIdx.x % 32;
    const bool enough = rows <= w.tiles.row_capacity && rows <= MOST_ROWS;
    if (lane == 0 && !enough) {
        atomicMax(&control->need_rows, rows);
        report(control, rows > MOST_ROWS ? UNFIT : ROWS_FULL);
    }
    if (lane == 0 && enough && rows > control->most_rows) atomicMax(&control->most_rows, rows);
    return enough;
}

DEVICE uint2* list_of_thread(const DeviceData& w) {
    return w.tiles.list + (size_t)(blockIdx.x * WARPS + threadIdx.x / 32) * w.tiles.row_stride * 32 + threadIdx.x % 32;
}

#if EIGHT
// ---- lists of a team of eight, which has a thread for each class

// Number from which on atoms of a class are marked by a second word.
enum { SECOND_WORD = 32 * TEAM };

// True where numbers in shared memory count from the beginning of their word.
#define BY_WORDS (TILE_SIZE == MEDIUM_TILE)

// Neighbours of a team's atom in shared memory, class by class, by their numbers among the atoms of their class.
// Thread c of the team writes the rows of those of class c first.
struct StagedNeighbors {
    Stage* of_atom;
    int n_all, n_mine, before_mine;  // of all classes, of this thread's, and of those before it
    int n_first;                     // of this thread's, those of the first word
};

// Number that shared memory has of the k-th neighbour of a class; `n_first` of them are of the first word.
DEVICE int staged_number(const Stage* of_class, int k, int n_first) {
    return of_class[k] + (BY_WORDS && k >= n_first ? SECOND_WORD : 0);
}

DEVICE StagedNeighbors stage_neighbors(const TileBuild& build, const NeighborTest& test) {
    const int capacity = TEAM * build.entry_capacity, part = test.part, n_marks = ONE_WORD ? 1 : test.n_each;
    StagedNeighbors staged = {build.stage + threadIdx.x % 32 / TEAM * capacity, 0, 0, 0, 0};
    for (int c = 0; c < CLASSES; c++) {
        int total = 0;
        for (int n = 0; n < n_marks; n += 32) {
            u32 word = test.neighbors(c, n);
            const int count = __popc(word);
            int upto = count;
#pragma unroll
            for (int m = 1; m < TEAM; m *= 2) {
                const int before = __shfl_up_sync(ALL_LANES, upto, m, TEAM);
                if (part >= m) upto += before;
            }
            Stage* entry = staged.of_atom + staged.n_all + total + upto - count;
            total += __shfl_sync(ALL_LANES, upto, TEAM - 1, TEAM);
            if (staged.n_all + total > capacity) word = 0;
            const int start = n * TEAM + part;
            while (word != 0) {
                const int last = 31 - __clz((int)word);
                *entry++ = (Stage)(start + last * TEAM);
                word ^= 1u << last;
            }
            if (BY_WORDS && c == part && n == 0) staged.n_first = total;
        }
        if (c == part) staged.n_mine = total, staged.before_mine = staged.n_all;
        staged.n_all += total;
    }
    return staged;
}

// Rows that the threads of a warp need. Every thread of a team gets as many neighbours as any other, one of each
// class at a time; surplus of one class fills the slots that another has no neighbours for, up to LEFT_OVER of them.
DEVICE int rows_needed(const StagedNeighbors& staged) {
    auto of_team = [&](int value) {
#pragma unroll
        for (int m = 1; m < TEAM; m *= 2) value += __shfl_xor_sync(ALL_LANES, value, m);
        return value;
    };
    auto rows_for = [&](int entries) { return ((int)__reduce_max_sync(ALL_LANES, (u32)entries) + 3) / 4; };
    int rows = rows_for((staged.n_all + TEAM - 1) / TEAM);
    if (__any_sync(ALL_LANES, of_team(max(staged.n_mine - 4 * rows, 0)) > LEFT_OVER)) rows = rows_for(staged.n_mine);
    return rows;
}

DEVICE u32 slot_of(int c, int number) { return (u32)(number * CLASSES + c) * SLOT_UNIT; }

DEVICE void write_rows(const TileBuild& build, const NeighborTest& test, const StagedNeighbors& staged, int rows) {
    u16* const others = build.left_over[test.exists ? test.atom : 0];
    uint2* list = list_of_thread(build.w);
    const int part = test.part, n_mine = staged.n_mine;
    const int slots = 4 * rows, more = max(n_mine - slots, 0), fewer = max(slots - n_mine, 0);
    int more_upto = more, fewer_upto = fewer, n_of[CLASSES], n_first_of[CLASSES];
#pragma unroll
    for (int m = 1; m < TEAM; m *= 2) {
        const int a = __shfl_up_sync(ALL_LANES, more_upto, m, TEAM), b = __shfl_up_sync(ALL_LANES, fewer_upto, m, TEAM);
        if (part >= m) more_upto += a;
        if (part >= m) fewer_upto += b;
    }
    const int n_others = __shfl_sync(ALL_LANES, more_upto, TEAM - 1, TEAM);
    const Stage* const mine = staged.of_atom + staged.before_mine;
    for (int k = 0; k < more; k++) {
        others[more_upto - more + k] = (u16)slot_of(part, staged_number(mine, slots + k, staged.n_first));
    }
    const Stage* from[CLASSES];
#pragma unroll
    for (int v = 0; v < CLASSES; v++) {
        n_of[v] = __shfl_sync(ALL_LANES, n_mine, part + v, TEAM);
        n_first_of[v] = BY_WORDS ? __shfl_sync(ALL_LANES, staged.n_first, part + v, TEAM) : 0;
        from[v] = staged.of_atom + __shfl_sync(ALL_LANES, staged.before_mine, part + v, TEAM);
    }
    for (int pair = 0; pair < rows; pair += 2) {
#pragma unroll
        for (int odd = 0; odd < 2; odd++) {
            if (pair + odd == rows) break;
            u32 out[4];
#pragma unroll
            for (int u = 0; u < 4; u++) {
                const int v = 4 * odd + u, c = (part + v) % CLASSES, k = 4 * pair + v;
                out[u] = slot_of(c, k < n_of[v] ? staged_number(from[v], k, n_first_of[v]) : 0);
            }
            list[(pair + odd) * 32] = make_uint2(out[0] | out[1] << 16, out[2] | out[3] << 16);
        }
    }
    __syncwarp();
    for (int k = 0; k < fewer && fewer_upto - fewer + k < n_others; k++) {
        const int hole = n_mine + k, thread_of_team = (part - hole) & (CLASSES - 1);
        ((u16*)&list[hole / 4 * 32 + thread_of_team - part])[hole % 4] = others[fewer_upto - fewer + k];
    }
}
#else
// ---- lists of smaller teams, whose threads have neighbours of all classes

// Small number for each class.
struct Fields {
    u64 low, high;  // 16 bits each

    DEVICE_MEMBER void set(int c, int n) { (c < 4 ? low : high) |= (u64)n << (16 * (c % 4)); }
    DEVICE_MEMBER int get(int c) const { return (int)((c < 4 ? low : high) >> (16 * (c & 3)) & 0xffff); }
};

// Neighbours of a thread in shared memory, class by class: where the entries of each class begin, how many there
// are of each, and of all.
struct StagedNeighbors {
    Fields starts, counts;
    int total;
};

DEVICE StagedNeighbors stage_neighbors(const TileBuild& build, const NeighborTest& test) {
    StagedNeighbors staged = {};
    for (int c = 0; c < CLASSES; c++) {
        const int start = staged.total;
        for (int n = 0; n < test.n_each; n += 32) {
            u32 word = test.neighbors(c, n);
            Stage* entry = build.stage + staged.total * 32 + threadIdx.x % 32;
            staged.total += __popc(word);
            if (staged.total > build.entry_capacity) word = 0;
            while (word != 0) {
                *entry = (Stage)(n + __ffs((int)word) - 1);
                entry += 32;
                word &= word - 1;
            }
        }
        staged.starts.set(c, start);
        staged.counts.set(c, staged.total - start);
    }
    return staged;
}

DEVICE int rows_needed(const StagedNeighbors& staged) {
    return ((int)__reduce_max_sync(ALL_LANES, (u32)staged.total) + 3) / 4;
}

// Writes the lists: each slot gets a neighbour of its class as long as there are some, then a dummy. Slots of even
// rows are of the classes lane, lane + 1, ...; those of odd rows of the next four.
DEVICE void write_rows(const TileBuild& build, const NeighborTest& test, const StagedNeighbors& staged, int rows) {
    __syncwarp();
    const Stage* const stage = build.stage;
    uint2* list = list_of_thread(build.w);
    const int lane = threadIdx.x % 32, slots = 4 * rows;
    auto slot_of = [&](int c, int number) { return (u32)((number * TEAM + test.part) * CLASSES + c) * SLOT_UNIT; };
    int n_of[CLASSES], from[CLASSES];
#pragma unroll
    for (int u = 0; u < CLASSES; u++) {
        const int c = (lane + u) % CLASSES;
        n_of[u] = staged.counts.get(c);
        from[u] = staged.starts.get(c) * 32 + lane;
    }
    for (int pair = 0; pair < rows; pair += 2) {
        const int e = pair / 2;
#pragma unroll
        for (int odd = 0; odd < 2; odd++) {
            if (pair + odd == rows) break;
            u32 out[4];
#pragma unroll
            for (int u = 0; u < 4; u++) {
                const int v = 4 * odd + u, c = (lane + v) % CLASSES;
                out[u] = e < n_of[v] ? slot_of(c, stage[from[v] + e * 32]) : c * SLOT_UNIT;
            }
            list[(pair + odd) * 32] = make_uint2(out[0] | out[1] << 16, out[2] | out[3] << 16);
        }
    }
    // Surplus entries of classes with more of them than slots replace the dummies of others.
    auto slots_of = [&](int u) { return (slots - u + CLASSES - 1) / CLASSES; };
    int hole_class = 0, hole = n_of[0];
#pragma unroll
    for (int u = 0; u < CLASSES; u++) {
        for (int e = slots_of(u); e < n_of[u]; e++) {
            while (hole >= slots_of(hole_class)) {
                hole_class++;
                hole = staged.counts.get((lane + hole_class) % CLASSES);
            }
            const int k = hole_class + CLASSES * hole++;
            ((u16*)&list[k / 4 * 32])[k % 4] = (u16)slot_of((lane + u) % CLASSES, stage[from[u] + e * 32]);
        }
    }
}
#endif

#if SKIPS_DRIVEN
// Returns true where this block builds its list after a sort: unless all of its atoms are driven. It lacks one then.
DEVICE bool lists_with_sort(const DeviceData& w, const Owned& owned) {
    const int k = threadIdx.x;
    const bool free = k < owned.count && !has_bit(w.atoms.driven, w.atoms.id[w.control->sorted ^ 1][owned.first + k]);
    const bool any_free = __syncthreads_or(free);
    if (k == 0) w.tiles.kind[blockIdx.x] = any_free ? WITH_FREE_ATOMS : DRIVEN_WITHOUT_LIST;
    return any_free;
}
#endif

// Leaves a list that does not fit to the next one of all blocks. Forces that need it wait, as for any that is stale.
DEVICE void leave_list(Control* control, int slot, int trigger) {
    if (trigger != TRIGGER_BUILD) control->slot[slot].stale = 1;
}

// Lists of the blocks when that of a slot is stale or, where steps skip blocks all of whose atoms are driven, those of
// these blocks at a trigger that needs them. Bytes of the dynamic shared memory: see `build_bytes` in tiles.rs.
extern "C" __global__ void __launch_bounds__(THREADS, BUILDERS / THREADS)
    build_tiles(DeviceData w, int slot, int trigger) {
    wait_for_previous_kernel();
    Control* control = w.control;
    const Slot now = control->slot[slot];
#if SKIPS_DRIVEN
    const bool lacks_list = trigger != TRIGGER_BUILD && w.tiles.kind[blockIdx.x] == DRIVEN_WITHOUT_LIST;
    if (trigger != TRIGGER_BUILD && !(lacks_list && due(control, now, trigger))) return;
#endif
    if (trigger == TRIGGER_BUILD && !build_due(control, now)) return;

    extern __shared__ real4 tile[];
    __shared__ Scratch scratch;
    __shared__ int found[WARPS];
    __shared__ int n_excluded[TILE_ATOMS];
    __shared__ Region region;
    __shared__ u8 order[TILE_ATOMS];
    __shared__ uint4 own_pairs[ORDERED ? OWN_PAIRS : 1];
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32, entry_capacity = 4 * w.tiles.row_capacity;
    const Sketch sketch(tile, w.tiles.capacity);
    Stage* const stage = (Stage*)(sketch.halves + sketch.pairs() * 8) + warp * entry_capacity * 32;

    const Owned owned = take_owned(w, control, order);
#if SKIPS_DRIVEN
    if (trigger == TRIGGER_BUILD && !lists_with_sort(w, owned)) return;
    // All threads have read what the first one is about to change.
    __syncthreads();
    if (lacks_list && threadIdx.x == 0) w.tiles.kind[blockIdx.x] = DRIVEN_WITH_LIST;
#endif
    if (PARTS > 1 && owned.count == 0) return;
    const real reach = (real)(control->reach * (1.0 + 1e-5)), reach2 = reach * reach;
    find_region(w, control, owned, order, region);
    const OwnBounds bounds(region);
    const int n_ranges = 2 * region.across[0].count * region.across[1].count;
    const SearchRadius search(w, region, reach);
    const TileBuild build = {w, owned, region.origin, search, sketch, own_pairs, stage, entry_capacity, scratch.left_over};
    if (!region.fits || n_ranges > RANGES || !(build.search.radius < 200.0f)) {
        if (thread == 0) report(control, UNFIT);
        return leave_list(control, slot, trigger);
    }
    sketch_own_atoms(build, region, reach2, scratch.ranges, n_ranges, n_excluded);

    u32* const candidates = (u32*)stage;
    const int candidate_capacity = entry_capacity * 32 * (int)sizeof(Stage) / 4;
    Gather gather = ORDERED && MOST_NEAR_BOXES == 0 ? Gather::NEAR_ATOMS : Gather::NEAR_BOXES;
    int n_found;
    TileLayout layout;
    for (;;) {
        n_found = find_candidates(build, bounds, gather, scratch.ranges, n_ranges, candidates, candidate_capacity);
        if (lane == 0) found[warp] = n_found;
        __syncthreads();
        layout = tile_layout(found);
        if (!ORDERED || gather == Gather::NEAR_ATOMS || layout.filled <= MOST_NEAR_BOXES) break;
        gather = Gather::NEAR_ATOMS;
        __syncthreads();
    }
    if (!tile_fits(w, layout, candidate_capacity)) return leave_list(control, slot, trigger);
    store_tile_atoms(build, layout, candidates, n_found, n_excluded);
    __syncthreads();

    const NeighborTest test(build, layout.filled, order, n_excluded);
    const StagedNeighbors staged = stage_neighbors(build, test);
    const int rows = rows_needed(staged);
    if (!rows_fit(w, rows)) return leave_list(control, slot, trigger);
    write_rows(build, test, staged, rows);
    if (lane == 0) w.tiles.n_rows[blockIdx.x * WARPS + warp] = rows;
}
