// What is in each tile, and the lists of its atoms: built where they are stale.

// An axis-aligned box: its centre and half its edges.
struct Bounds { real3 center, half; };

DEVICE real gap(real d, real half) { return fmax(fabs(d) - half, (real)0); }

// The squared distance from a box.
DEVICE real distance2(const Bounds& b, real x, real y, real z) {
    real3 d = {gap(x - b.center.x, b.half.x), gap(y - b.center.y, b.half.y), gap(z - b.center.z, b.half.z)};
    return dot(d, d);
}

// How far a box reaches from the origin at most.
DEVICE real farthest(const Bounds& b) {
    const real3 corner = {fabs(b.center.x) + b.half.x, fabs(b.center.y) + b.half.y, fabs(b.center.z) + b.half.z};
    return sqrt(dot(corner, corner));
}

// ---- the block's atoms

#if PARTS > 1
static_assert(TILE_ATOMS == 32, "");

// Atoms that follow each other may lie on both sides of a cavity, with too much around them for one tile.
// TILE_ATOMS of them are for PARTS blocks: where they are spread too far, they are parted at the longest ways
// from one to the next, and else the first block has them all.
DEVICE Owned part_of_block(const DeviceData& w, double reach) {
    const BoxGeometry& geometry = w.geometry;
    const int groups = gridDim.x / PARTS, part = blockIdx.x / groups, start = blockIdx.x % groups * TILE_ATOMS;
    const int lane = threadIdx.x % 32, all = min((int)TILE_ATOMS, w.n - start), k = min(lane, all - 1);
    const Position here = w.atoms.built[start + k];
    const Fixed s = to_fixed(geometry, here), middle = to_fixed(geometry, w.atoms.built[start + all / 2]);
    const u32 from_middle[3] = {s.x - middle.x, s.y - middle.y, s.z - middle.z};
    // BinRange each other they are as long a stretch of a column as this is wide, or two such.
    const double column = geometry.width[0] / geometry.columns[0] * geometry.width[1] / geometry.columns[1];
    // How long the way is from the atom before, along where they are spread.
    float way = 0;
    for (int a = 0; a < 3; a++) {
        // Of numbers with a sign, as if they had none.
        const u32 d = from_middle[a] ^ 0x80000000u, before = __shfl_up_sync(ALL_LANES, d, 1);
        const u32 extent = __reduce_max_sync(ALL_LANES, d) - ~__reduce_max_sync(ALL_LANES, ~d);
        const double width = geometry.width[a], length = extent / 4294967296.0 * width;
        const bool spread = length * length > 4.0 * column || length + 2.0 * reach * (1.0 + 1e-5) > 0.999 * width;
        const float along = fabsf((float)(int)(d - before)) * (float)(width / 4294967296.0);
        if (spread && lane > 0 && lane < all) way = fmaxf(way, along);
    }
    u32 breaks = 0;
    for (int p = 1; p < PARTS; p++) {
        // Such numbers are ordered as their bits are.
        const u32 longest = __reduce_max_sync(ALL_LANES, (u32)__float_as_int(way));
        const u32 where = __ballot_sync(ALL_LANES, way > 0 && (u32)__float_as_int(way) == longest);
        breaks |= where & (0 - where);
        if (breaks >> lane & 1) way = 0;
    }
    int first = 0;
    for (int p = 0; p < part; p++) {
        first = breaks != 0 ? __ffs((int)breaks) - 1 : all;
        breaks &= breaks - 1;
    }
    return {start + first, (breaks != 0 ? __ffs((int)breaks) - 1 : all) - first};
}
#endif

// ---- gathering the tile

// Fractions between two corners, in units of 2^-32, relative to a point.
struct Extent { int low[3], high[3]; };

// The box around an extent, relative to an origin that lies `shift` from the point.
DEVICE Bounds bounds_of(const BoxGeometry& geometry, const Extent& e, const int shift[3]) {
    const double unit = 1.0 / 4294967296.0;
    double center[3], half[3];
    for (int k = 0; k < 3; k++) {
        center[k] = (0.5 * ((double)e.low[k] + e.high[k]) - shift[k]) * unit;
        half[k] = (0.5 * ((double)e.high[k] - e.low[k]) + 1.0) * unit;
    }
    const double *l = geometry.edge, *t = geometry.tilt;
    return {{(real)(center[0] * l[0] + center[1] * t[0] + center[2] * t[1]),
             (real)(center[1] * l[1] + center[2] * t[2]), (real)(center[2] * l[2])},
            {(real)(half[0] * l[0] + half[1] * fabs(t[0]) + half[2] * fabs(t[1])),
             (real)(half[1] * l[1] + half[2] * fabs(t[2])), (real)(half[2] * l[2])}};
}

// What a block's atoms and all within reach of them occupy; lengths of integers are fractions of the box
// in units of 2^-32.
struct Region {
    Position origin;                      // of the tile: the middle of the block's atoms
    u32 middle[3];                        // the same
    i64 own_half[3], half[3];             // how far from there the block's atoms are, and all of them
    Cells across[2];                      // of columns
    Bounds piece[2];                      // boxes around the block's atoms
    real own_radius;                      // how far from the origin they are
    int two_pieces, fits;
};

// How far the block's atoms spread around one in their midst is known. Everything within reach must be
// nearer to the origin than half the box, or images could not be told apart.
DEVICE Region region_of(const BoxGeometry& geometry, double reach, Position anchor, Fixed center, const Extent* pieces) {
    Region region;
    region.fits = true;
    const u32 from[3] = {center.x, center.y, center.z};
    int shift[3];
    for (int a = 0; a < 3; a++) {
        const i64 low = min(pieces[0].low[a], pieces[1].low[a]), high = max(pieces[0].high[a], pieces[1].high[a]);
        shift[a] = (int)((low + high) / 2);
        region.middle[a] = from[a] + shift[a];
        region.own_half[a] = (high - low) / 2 + 2;
        region.half[a] = region.own_half[a] + (i64)(reach * (1.0 + 1e-6) / geometry.width[a] * 4294967296.0);
        region.fits = region.fits && region.half[a] < 0x7fffffffll;
        if (a < 2) {
            const u32 first = region.middle[a] - (u32)region.half[a];
            region.across[a] = cells_between(first, 2 * region.half[a], geometry.columns[a]);
        }
    }
    region.origin = moved_by(geometry, anchor, shift);
    region.two_pieces = pieces[1].low[0] <= pieces[1].high[0];
    region.own_radius = 0;
    for (int k = 0; k < 2; k++) {
        // Most blocks have one.
        region.piece[k] = k == 0 || region.two_pieces ? bounds_of(geometry, pieces[k], shift) : region.piece[0];
        region.own_radius = fmax(region.own_radius, farthest(region.piece[k]));
    }
    return region;
}

// The square of how far a column is from the block's atoms along x or y, at least.
DEVICE real aside2(const BoxGeometry& geometry, const Region& region, int axis, int cell) {
    const float n = (float)geometry.columns[axis], unit = 1.0f / 4294967296.0f;
    float away = ((float)cell + 0.5f) / n - (float)region.middle[axis] * unit;
    away -= rintf(away);
    // Single precision knows where things are to some 2^-23 of the box.
    const float gap = fabsf(away) - 0.5f / n - (float)region.own_half[axis] * unit - 1e-6f;
    const float d = fmaxf(gap, 0.0f) * (float)geometry.width[axis];
    return d * d;
}

// The k-th stretch of bins that a tile is gathered from: one of two in a column, of which the second
// goes on at the other end of the box.
DEVICE AtomRange range_of(const DeviceData& w, const Region& region, real reach2, int k) {
    const BoxGeometry& geometry = w.geometry;
    const Cells cx = region.across[0], cy = region.across[1];
    const int x = (cx.first + k / 2 / cy.count) % geometry.columns[0], y = (cy.first + k / 2 % cy.count) % geometry.columns[1];
    i64 half = region.half[2];
    if (!geometry.triclinic) {
        // What is aside of the block's atoms is within reach only where it is nearly as high.
        const real part2 = (real)1 - (aside2(geometry, region, 0, x) + aside2(geometry, region, 1, y)) / reach2;
        if (part2 < (real)0) return {0, 0};
        const real reach_along = (real)(half - region.own_half[2]);
        half = min(half, region.own_half[2] + (i64)((sqrt(part2) + (real)1e-5) * reach_along) + 1);
    }
    return BinRange{cx, cy, cells_between(region.middle[2] - (u32)half, 2 * half, geometry.bins)}.atoms(w, k);
}

// ---- building the lists

// The atoms of a tile in half precision, in units of the reach, and two in four words: x and x, y
// and y, z and z, and minus half the squared distances from the tile's origin, less for atoms of
// a smaller displacement limit. They are sorted by class. Each thread of a team looks at every TEAM-th atom
// of a class, at 32 of them for a word of marks: together with the k-th one comes the one 16 further.
struct Sketch {
    u16* halves;
    int words;  // of marks for each class: one in small tiles if a team is large

    DEVICE_MEMBER u16* at(int place) const {
        const u32 k = (u32)place / CLASSES, i = k / TEAM;
        return halves + (((place % CLASSES * words + i / 32) * 16 + i % 16) * TEAM + k % TEAM) * 8 + i / 16 % 2;
    }
    // `less` is taken from the last number.
    DEVICE_MEMBER void put(int place, real3 d, real unit, float less) const {
        u16* half = at(place);
        half[0] = to_half((float)(d.x * unit));
        half[2] = to_half((float)(d.y * unit));
        half[4] = to_half((float)(d.z * unit));
        const float x = from_half(half[0]), y = from_half(half[2]), z = from_half(half[4]);
        half[6] = to_half(-0.5f * (x * x + y * y + z * z) - less);
    }
};

// A small number for each class.
struct Fields {
    u64 low, high;  // 16 bits each

    DEVICE_MEMBER void set(int c, int n) { (c < 4 ? low : high) |= (u64)n << (16 * (c % 4)); }
    DEVICE_MEMBER int get(int c) const { return (int)((c < 4 ? low : high) >> (16 * (c & 3)) & 0xffff); }
};

// Decides which of the block's atoms its threads work on: see `own_of_thread`. By one warp.
DEVICE void put_in_order(const DeviceData& w, const Position* position, int first, int own, u8* order) {
    const int k = threadIdx.x % 32;
    bool last = k >= own;
#if CHARGES_ALONE
    last = last || feels_charges_alone((int)position[first + k].species);
#endif
    const u32 others = __ballot_sync(ALL_LANES, !last);
    const int rank = last ? __popc(others) + __popc(~others & lanes_before()) : __popc(others & lanes_before());
    order[rank] = w.tiles.own_order[blockIdx.x * TILE_ATOMS + rank] = (u8)k;
}

// The shared memory for building: see `build_bytes` in tiles.rs.
extern "C" __global__ void __launch_bounds__(THREADS, BUILDERS / THREADS) build_tiles(DeviceData w, int slot) {
    wait_for_previous_kernel();
    Control* control = w.control;
    const Slot now = control->slot[slot];
    if (!build_due(control, now)) return;

    extern __shared__ real4 tile[];
    const int capacity = w.tiles.capacity, entry_capacity = 4 * w.tiles.row_capacity;
    const Sketch sketch = {(u16*)tile, ONE_WORD ? 1 : (capacity + 256 * TEAM - 1) / (256 * TEAM)};
    // Neighbours class by class, by their numbers among the atoms of the class that a thread looks at.
    const int sketch_pairs = CLASSES * sketch.words * 16 * TEAM;
    Stage* const stage = (Stage*)(sketch.halves + sketch_pairs * 8) + threadIdx.x / 32 * entry_capacity * 32;
    __shared__ Extent pieces[2];
    __shared__ AtomRange ranges[RANGES];
    __shared__ int found[WARPS];
    __shared__ int n_met[TILE_ATOMS];
    __shared__ Region region;
    __shared__ u8 order[TILE_ATOMS];

    const BoxGeometry& geometry = w.geometry;
    const Position* position = w.atoms.built;
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
#if PARTS > 1
    const Owned owned = part_of_block(w, control->reach);
    if (thread == 0) w.tiles.owned[blockIdx.x] = {(u32)owned.first, (u32)owned.count};
    if (owned.count == 0) {
        if (thread == 0) w.tiles.n_atoms[blockIdx.x] = 0;
        if (ORDERED && warp == 0) put_in_order(w, position, owned.first, 0, order);
        if (lane == 0) w.tiles.n_rows[blockIdx.x * WARPS + warp] = 0;
        return;
    }
#else
    const Owned owned = owned_by_block(w);
#endif
    const int first = owned.first, own = owned.count;
    const real reach = (real)(control->reach * (1.0 + 1e-5)), reach2 = reach * reach;

    // How far the block's atoms spread around one in their midst. Where the line of columns turns,
    // a block has two pieces, and what lies between them is not its own.
    const Position anchor = position[first + own / 2];
    const Fixed center = to_fixed(geometry, anchor);
    if (thread < 6) {
        pieces[thread / 3].low[thread % 3] = 0x7fffffff;
        pieces[thread / 3].high[thread % 3] = -0x7fffffff;
    }
    __syncthreads();
    if (ORDERED && warp == 0) put_in_order(w, position, first, own, order);
    const u32 first_column = column_of(geometry, to_fixed(geometry, position[first]));
    for (int k = thread; k < own; k += THREADS) {
        Fixed s = to_fixed(geometry, position[first + k]);
        Extent* piece = &pieces[column_of(geometry, s) != first_column];
        const int d[3] = {(int)(s.x - center.x), (int)(s.y - center.y), (int)(s.z - center.z)};
        for (int a = 0; a < 3; a++) {
            atomicMin(&piece->low[a], d[a]);
            atomicMax(&piece->high[a], d[a]);
        }
    }
    __syncthreads();
    if (thread == 0) region = region_of(w.geometry, control->reach, anchor, center, pieces);
    __syncthreads();
    const Position origin = region.origin;
    const Bounds piece0 = region.piece[0], piece1 = region.piece[1];
    const bool two_pieces = region.two_pieces;
    const int n_ranges = 2 * region.across[0].count * region.across[1].count;
    const real unit = (real)1 / reach;
    // Of atoms that have to be nearer than the reach: see where neighbours are looked for.
    const real half_skin = (real)(0.5 * control->skin);
    const float largest_limit = LIMITS_BY_SPECIES ? (float)(unit * half_skin) : 0.0f;
    auto less = [&](Position p) {
        const float s = (float)(unit * nearer_by(w, half_skin, (int)p.species));
        return LIMITS_BY_SPECIES ? s * (1.0f - largest_limit - 0.5f * s) : 0.0f;
    };
    const float own_radius = (float)(unit * region.own_radius), radius_of_all = own_radius + 1.01f;
    if (!region.fits || n_ranges > RANGES || !(radius_of_all < 200.0f)) {
        if (thread == 0) report(control, UNFIT);
        return;
    }
    for (int k = thread; k < n_ranges; k += THREADS) ranges[k] = range_of(w, region, reach2, k);
    for (int k = thread; k < sketch_pairs; k += THREADS) {
        // Nothing is near a dummy.
        ((uint4*)sketch.halves)[k] = {0, 0, 0, to_half(-60000.0f) * 0x10001u};
    }
    __syncthreads();
    for (int k = thread; k < own; k += THREADS) {
        const Position here = position[first + k];
        sketch.put(DUMMIES + k, difference(geometry, here, origin), unit, less(here));
        // Where in the tile those are that it excludes: first the block's own.
        int met = 0;
        each_partner(w, first + k, [&](u32 j) {
            if (j - first < (u32)own) w.exclusions.tile_index[(size_t)met++ * w.n + first + k] = DUMMIES + j - first;
        });
        n_met[k] = met;
    }

    // Each warp looks through a share of the ranges; what it finds waits where lists will be.
    u32* const waiting = (u32*)stage;
    const int waiting_capacity = entry_capacity * 32 * (int)sizeof(Stage) / 4;
    int n_found = 0, turn = warp;  // stretches of 32 atoms are dealt out in turn
    for (int s = 0; s < n_ranges; s += 32) {
        const AtomRange range = s + lane < n_ranges ? ranges[s + lane] : AtomRange{0, 0};
        const int stretches = (int)(range.count + 31) / 32;
        const int upto = sum_up_to_lane(stretches), all = __shfl_sync(ALL_LANES, upto, 31);
        struct Candidate { u32 j; Position at; };  // NO_ATOM: one of the block's own, or beyond the stretch
        auto candidate_of = [&](int turn) {
            const int which = __popc(__ballot_sync(ALL_LANES, upto <= turn));
            const u32 k = 32 * (turn - __shfl_sync(ALL_LANES, upto - stretches, which)) + lane;
            const u32 start = __shfl_sync(ALL_LANES, range.first, which);
            const u32 count = __shfl_sync(ALL_LANES, range.count, which);
            const u32 j = start + min(k, count - 1);
            return Candidate{k < count && j - first >= (u32)own ? j : NO_ATOM, position[j]};
        };
        // The next is on its way from memory while one is looked at.
        Candidate next = {};
        if (turn < all) next = candidate_of(turn);
        while (turn < all) {
            const Candidate now = next;
            turn += WARPS;
            if (turn < all) next = candidate_of(turn);
            const real3 d = rough_difference(geometry, now.at, origin);
            const real nearer = reach - nearer_by(w, half_skin, (int)now.at.species), nearer2 = nearer * nearer;
            bool within = distance2(piece0, d.x, d.y, d.z) <= nearer2;
            if (two_pieces) within = within || distance2(piece1, d.x, d.y, d.z) <= nearer2;
            within = within && now.j != NO_ATOM;
            const u32 who = __ballot_sync(ALL_LANES, within);
            const int place = n_found + __popc(who & lanes_before());
            if (within && place < waiting_capacity) waiting[place] = now.j;
            n_found += __popc(who);
        }
        turn -= all;
    }
    if (lane == 0) found[warp] = n_found;
    __syncthreads();
    int place = DUMMIES + TILE_ATOMS, filled = DUMMIES + TILE_ATOMS, most_waiting = 0;
    for (int k = 0; k < WARPS; k++) {
        if (k < warp) place += found[k];
        filled += found[k];
        most_waiting = max(most_waiting, found[k]);
    }
    if (filled > capacity || most_waiting > waiting_capacity) {
        if (thread == 0) {
            if (filled > capacity) {
                atomicMax(&control->need_tile, filled);
                report(control, TILE_FULL);
            } else {
                atomicMax(&control->need_rows, most_waiting / (32 * (int)sizeof(Stage)) + 1);
                report(control, ROWS_FULL);
            }
        }
        return;
    }
    u32* tile_atoms = w.tiles.atoms + (size_t)blockIdx.x * w.tiles.stride;
    for (int k = lane; k < n_found + lane; k += 32) {
        const bool there = k < n_found;
        const u32 j = waiting[min(k, n_found - 1)];
        const Position here = position[j];
        // Hardly any of them is bound to one of the block's own.
        const uint2 range = w.exclusions.fours > 0 ? w.exclusions.partner_range[j] : uint2{NO_ATOM, 0};
        const bool bound = there && range.x < (u32)(first + own) && range.y >= (u32)first;
        if (there) {
            tile_atoms[place - DUMMIES - TILE_ATOMS + k] = j;
            sketch.put(place + k, difference(geometry, here, origin), unit, less(here));
        }
        if (__any_sync(ALL_LANES, bound)) {
            auto meet = [&](u32 mine) {
                if (mine - first < (u32)own) w.exclusions.tile_index[(size_t)atomicAdd(&n_met[mine - first], 1) * w.n + mine] = place + k;
            };
            if (bound) each_partner(w, j, meet);
            __syncwarp();
        }
    }
    if (thread == 0) {
        if (filled > control->largest_tile) atomicMax(&control->largest_tile, filled);
        w.tiles.n_atoms[blockIdx.x] = filled - DUMMIES - TILE_ATOMS;
        w.tiles.origin[blockIdx.x] = origin;
    }
    __syncthreads();

    // Which atoms of the tile are neighbours of this thread's: |a - b|^2 <= r^2 where
    // a.b - |b|^2 / 2 >= (|a|^2 - r^2) / 2. Half precision takes in some that are a little too far
    // away, but all that are not: rounding moves each of two atoms by 2^-11 of its distance from the
    // origin at most, and each of four sums by as much of the largest of them. Where b has to be nearer by
    // s, (r - s)^2 = r^2 - s (2 r - s) takes the place of r^2, and what is never more than r its in the product.
    const int atom = ORDERED ? order[thread / TEAM] : thread / TEAM, part = lane % TEAM;
    const bool exists = atom < own;
    const u16* mine = sketch.at(DUMMIES + atom);
    const u32 xx = mine[0] * 0x10001u, yy = mine[2] * 0x10001u, zz = mine[4] * 0x10001u;
    const float x = from_half(mine[0]), y = from_half(mine[2]), z = from_half(mine[4]), a2 = x * x + y * y + z * z;
    const float nearer = exists ? (float)(unit * nearer_by(w, half_skin, (int)position[first + atom].species)) : 0.0f;
    const float rounding = 1.0f / 2048, r = 1.0f - nearer + rounding * (own_radius + radius_of_all);
    const float largest = radius_of_all * (0.5f * radius_of_all + sqrtf(a2)) + largest_limit;
    const float nearest = 0.5f * (a2 - r * r) - 1.001f * rounding * (4.0f * largest + 1.0f);
    const u32 threshold = to_half(exists ? nearest : 65504.0f) * 0x10001u;
    const int n_each = ((filled + CLASSES - 1) / CLASSES + TEAM - 1) / TEAM;  // atoms of a class for each thread
    const int n_marks = ONE_WORD ? 1 : n_each;
    // Where the atom itself and those that it excludes are among the marks of this thread.
    auto mark_of = [&](u32 place) {
        const u32 number = place / CLASSES;
        return number % TEAM == (u32)part ? place % CLASSES << 16 | number / TEAM : NO_MARK;
    };
    const u32 own_mark = mark_of(DUMMIES + atom);
    const int n_excluded = w.exclusions.fours > 0 && exists ? n_met[atom] : 0;
    u32 excluded[HELD];
#pragma unroll
    for (int k = 0; k < HELD; k++) {
        excluded[k] = k < n_excluded ? mark_of(w.exclusions.tile_index[(size_t)k * w.n + first + atom]) : NO_MARK;
    }
    // Which of a thread's next 32 atoms of a class are: all but the atom itself and those that it excludes.
    auto marks = [&](int c, int n) {
        const uint4* pair = (const uint4*)sketch.halves + (c * sketch.words + n / 32) * 16 * TEAM + part;
        u32 word = 0;
#pragma unroll
        for (int k = 0; k < 16; k += BATCH) {
            if (k > 0 && k >= n_each - n) break;
#pragma unroll
            for (int u = k; u < k + BATCH; u++) {
                const uint4 q = pair[u * TEAM];
                const u32 nearness = multiply_add_halves(xx, q.x, multiply_add_halves(yy, q.y, multiply_add_halves(zz, q.z, q.w)));
                word |= at_least(nearness, threshold) & (0x10001u << u);
            }
        }
        const u32 here = (u32)(c << 16 | n);
        auto leave_out = [&](u32 mark) { word &= ~bit(mark - here); };
        leave_out(own_mark);
#pragma unroll
        for (int k = 0; k < HELD; k++) leave_out(excluded[k]);
        for (int k = HELD; k < n_excluded; k++) leave_out(mark_of(w.exclusions.tile_index[(size_t)k * w.n + first + atom]));
        return word;
    };
    const int warp_index = blockIdx.x * WARPS + warp;
    uint2* list = w.tiles.list + (size_t)warp_index * w.tiles.row_stride * 32 + lane;
    // Whether the list can hold so many rows; says so where there is not.
    auto has_capacity = [&](int rows) {
        const bool enough = rows <= w.tiles.row_capacity && rows <= MOST_ROWS;
        if (lane == 0 && !enough) {
            atomicMax(&control->need_rows, rows);
            report(control, rows > MOST_ROWS ? UNFIT : ROWS_FULL);
        }
        if (lane == 0 && enough && rows > control->most_rows) atomicMax(&control->most_rows, rows);
        return enough;
    };
#if EIGHT
    // The atom's neighbours wait class by class; thread c of the team looks after those of class c.
    const int capacity_of_atom = TEAM * entry_capacity;
    Stage* const waiting_of_atom = stage + lane / TEAM * capacity_of_atom;
    int n_all = 0, n_mine = 0, before_mine = 0;
    for (int c = 0; c < CLASSES; c++) {
        int total = 0;
        for (int n = 0; n < n_marks; n += 32) {
            u32 word = marks(c, n);
            const int count = __popc(word);
            int upto = count;
#pragma unroll
            for (int m = 1; m < TEAM; m *= 2) {
                const int before = __shfl_up_sync(ALL_LANES, upto, m, TEAM);
                if (part >= m) upto += before;
            }
            Stage* entry = waiting_of_atom + n_all + total + upto - count;
            total += __shfl_sync(ALL_LANES, upto, TEAM - 1, TEAM);
            if (n_all + total > capacity_of_atom) word = 0;
            const int start = n * TEAM + part;
            while (word != 0) {
                const int last = 31 - __clz((int)word);
                *entry++ = (Stage)(start + last * TEAM);
                word ^= 1u << last;
            }
        }
        if (c == part) n_mine = total, before_mine = n_all;
        n_all += total;
    }
    auto of_team = [&](int value) {
#pragma unroll
        for (int m = 1; m < TEAM; m *= 2) value += __shfl_xor_sync(ALL_LANES, value, m);
        return value;
    };
    auto rows_for = [&](int entries) { return ((int)__reduce_max_sync(ALL_LANES, (u32)entries) + 3) / 4; };
    // Every thread gets as many of them as any other, one of each class at a time. What is left over of
    // one class takes the place of what another is short of.
    int rows = rows_for((n_all + TEAM - 1) / TEAM);
    if (__any_sync(ALL_LANES, of_team(max(n_mine - 4 * rows, 0)) > LEFT_OVER)) rows = rows_for(n_mine);
    if (!has_capacity(rows)) return;
    __shared__ u16 left_over[TILE_ATOMS][LEFT_OVER];
    u16* const others = left_over[exists ? atom : 0];
    const int slots = 4 * rows, more = max(n_mine - slots, 0), fewer = max(slots - n_mine, 0);
    int more_upto = more, fewer_upto = fewer, n_of[CLASSES];
#pragma unroll
    for (int m = 1; m < TEAM; m *= 2) {
        const int a = __shfl_up_sync(ALL_LANES, more_upto, m, TEAM), b = __shfl_up_sync(ALL_LANES, fewer_upto, m, TEAM);
        if (part >= m) more_upto += a;
        if (part >= m) fewer_upto += b;
    }
    const int n_others = __shfl_sync(ALL_LANES, more_upto, TEAM - 1, TEAM);
    auto slot_of = [&](int c, int number) { return (u32)(number * CLASSES + c) * SLOT_UNIT; };
    const Stage* const left = waiting_of_atom + before_mine + slots;
    for (int k = 0; k < more; k++) others[more_upto - more + k] = (u16)slot_of(part, left[k]);
    const Stage* from[CLASSES];
#pragma unroll
    for (int v = 0; v < CLASSES; v++) {
        n_of[v] = __shfl_sync(ALL_LANES, n_mine, part + v, TEAM);
        from[v] = waiting_of_atom + __shfl_sync(ALL_LANES, before_mine, part + v, TEAM);
    }
    for (int pair = 0; pair < rows; pair += 2) {
#pragma unroll
        for (int odd = 0; odd < 2; odd++) {
            if (pair + odd == rows) break;
            u32 out[4];
#pragma unroll
            for (int u = 0; u < 4; u++) {
                const int v = 4 * odd + u, c = (part + v) % CLASSES, k = 4 * pair + v;
                out[u] = slot_of(c, k < n_of[v] ? from[v][k] : 0);
            }
            list[(pair + odd) * 32] = make_uint2(out[0] | out[1] << 16, out[2] | out[3] << 16);
        }
    }
    __syncwarp();
    for (int k = 0; k < fewer && fewer_upto - fewer + k < n_others; k++) {
        const int hole = n_mine + k, thread_of_team = (part - hole) & (CLASSES - 1);
        ((u16*)&list[hole / 4 * 32 + thread_of_team - part])[hole % 4] = others[fewer_upto - fewer + k];
    }
#else
    Fields starts = {}, counts = {};  // of the entries of each class
    int total = 0;
    for (int c = 0; c < CLASSES; c++) {
        const int start = total;
        for (int n = 0; n < n_each; n += 32) {
            u32 word = marks(c, n);
            Stage* entry = stage + total * 32 + lane;
            total += __popc(word);
            if (total > entry_capacity) word = 0;
            while (word != 0) {
                *entry = (Stage)(n + __ffs((int)word) - 1);
                entry += 32;
                word &= word - 1;
            }
        }
        starts.set(c, start);
        counts.set(c, total - start);
    }
    const int rows = ((int)__reduce_max_sync(ALL_LANES, (u32)total) + 3) / 4, slots = 4 * rows;
    if (!has_capacity(rows)) return;
    __syncwarp();

    // The lists: each slot gets a neighbour of its class as long as there are some, then a dummy.
    // The slots of even rows are of the classes lane, lane + 1, ...; those of odd rows of the next
    // four.
    auto slot_of = [&](int c, int number) { return (u32)((number * TEAM + part) * CLASSES + c) * SLOT_UNIT; };
    int n_of[CLASSES], staged[CLASSES];
#pragma unroll
    for (int u = 0; u < CLASSES; u++) {
        const int c = (lane + u) % CLASSES;
        n_of[u] = counts.get(c);
        staged[u] = starts.get(c) * 32 + lane;
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
                out[u] = e < n_of[v] ? slot_of(c, stage[staged[v] + e * 32]) : c * SLOT_UNIT;
            }
            list[(pair + odd) * 32] = make_uint2(out[0] | out[1] << 16, out[2] | out[3] << 16);
        }
    }
    // Entries left over in classes with more of them than slots replace the dummies of others.
    auto slots_of = [&](int u) { return (slots - u + CLASSES - 1) / CLASSES; };
    int hole_class = 0, hole = n_of[0];
#pragma unroll
    for (int u = 0; u < CLASSES; u++) {
        for (int e = slots_of(u); e < n_of[u]; e++) {
            while (hole >= slots_of(hole_class)) {
                hole_class++;
                hole = counts.get((lane + hole_class) % CLASSES);
            }
            const int k = hole_class + CLASSES * hole++;
            ((u16*)&list[k / 4 * 32])[k % 4] = (u16)slot_of((lane + u) % CLASSES, stage[staged[u] + e * 32]);
        }
    }
#endif
    if (lane == 0) w.tiles.n_rows[warp_index] = rows;
}
