// Atoms of a tile: found within reach of the block's own, and copied to shared memory in half precision, from which
// lists are built.

// Stores an atom at `d` from the tile's origin in half precision, as one of two in four words: x and x, y and y, z and
// z, and minus half the squared distances from the origin. `lowered` is subtracted from the last number.
DEVICE void put_halves(u16* half, real3 d, real unit, float lowered) {
    half[0] = to_half((float)(d.x * unit));
    half[2] = to_half((float)(d.y * unit));
    half[4] = to_half((float)(d.z * unit));
    const float x = from_half(half[0]), y = from_half(half[2]), z = from_half(half[4]);
    half[6] = to_half(-0.5f * (x * x + y * y + z * z) - lowered);
}

// Two entries that are near no other.
DEVICE uint4 no_entries() { return {0, 0, 0, to_half(-60000.0f) * 0x10001u}; }

// Two products, each of the position of an entry with another position and less half the entry's square: see
// `SearchRadius::nearness_within`.
DEVICE u32 nearness(uint4 entries, u32 x, u32 y, u32 z) {
    return multiply_add_halves(x, entries.x, multiply_add_halves(y, entries.y, multiply_add_halves(z, entries.z, entries.w)));
}

// Atoms of a tile in half precision, in units of the reach, lowered for atoms of a smaller displacement limit. Atoms
// are sorted by class. Each thread of a team tests every TEAM-th atom of a class, 32 of them for a word of marks:
// together with the k-th of them comes the one 16 further.
struct Sketch {
    u16* halves;
    int pairs_of_class;  // of each thread; 16 for all words of marks but the last one, which has no more than it needs

    DEVICE_MEMBER Sketch(real4* memory, int capacity) : halves((u16*)memory), pairs_of_class(16) {
        if (ONE_WORD) return;
        const int last = (capacity + CLASSES * TEAM - 1) / (CLASSES * TEAM) - 1;
        pairs_of_class = last / 32 * 16 + min(16, (last % 32 / BATCH + 1) * BATCH);
    }

    // Entries of two atoms.
    DEVICE_MEMBER int pairs() const { return CLASSES * pairs_of_class * TEAM; }

    // First of a thread's entries of a class in the word of its n-th atom.
    DEVICE_MEMBER const uint4* word(int c, int n, int part) const {
        return (const uint4*)halves + (c * pairs_of_class + n / 32 * 16) * TEAM + part;
    }

    DEVICE_MEMBER u16* at(int index) const {
        const u32 k = (u32)index / CLASSES, i = k / TEAM;
        return halves + ((index % CLASSES * pairs_of_class + i / 32 * 16 + i % 16) * TEAM + k % TEAM) * 8 + i / 16 % 2;
    }
};

// Distances that decide which atoms are in a tile and in its lists.
struct SearchRadius {
    real reach, unit, half_skin;  // `unit` is 1 / reach
    float largest_limit;          // largest displacement limit, in units of the reach
    float own_radius, radius;     // of spheres around the origin with the block's atoms and with all, likewise

    DEVICE_MEMBER SearchRadius(const DeviceData& w, const Region& region, real reach) : reach(reach) {
        unit = (real)1 / reach;
        half_skin = (real)(0.5 * w.control->skin);
        largest_limit = LIMITS_BY_SPECIES ? (float)(unit * half_skin) : 0.0f;
        own_radius = (float)(unit * region.own_radius);
        radius = own_radius + 1.01f;
    }

    // Number that `nearness` reaches for entries within the reach less `nearer` of an atom, in units of the reach, whose
    // position has the square `a2`, where entries are no further from the origin than `farthest`. It is lower by what half
    // precision may take from it.
    //
    // |a - b|^2 <= r^2 where a.b - |b|^2 / 2 >= (|a|^2 - r^2) / 2. Half precision takes in some that are a little too far
    // away, but none is lost: rounding moves each of two atoms by 2^-11 of its distance from the origin at most, and each
    // of four sums by as much of the largest of them. Where b has to be nearer by s, (r - s)^2 = r^2 - s (2 r - s) takes
    // the place of r^2, with the smallest r there is in the product.
    DEVICE_MEMBER float nearness_within(float nearer, float a2, float farthest) const {
        const float rounding = 1.0f / 2048, r = 1.0f - nearer + rounding * (own_radius + radius);
        const float largest = farthest * (0.5f * farthest + sqrtf(a2)) + largest_limit;
        return 0.5f * (a2 - r * r) - 1.001f * rounding * (4.0f * largest + 1.0f);
    }

    // Number by which the entry of an atom is lowered: see `nearness_within`.
    DEVICE_MEMBER float lowered(const DeviceData& w, Position p) const {
        const float s = (float)(unit * nearer_by(w, half_skin, (int)p.species));
        return LIMITS_BY_SPECIES ? s * (1.0f - largest_limit - 0.5f * s) : 0.0f;
    }
};

// Numbers that the phases of a block share.
struct TileBuild {
    const DeviceData& w;
    Owned owned;
    Position origin;
    SearchRadius search;
    Sketch sketch;
    uint4* own_pairs;    // entries of the block's own atoms, each with the one half a block further
    Stage* stage;        // shared memory of this warp for neighbours before they are listed
    int entry_capacity;  // neighbours of a thread that it can hold
    u16 (*left_over)[LEFT_OVER];  // shared memory for slots of each atom
};

// Shared memory of a block for ranges of bins first, and when the tile is complete for neighbours that are left over.
union Scratch {
    AtomRange ranges[RANGES];
    u16 left_over[EIGHT ? TILE_ATOMS : 1][LEFT_OVER];
};

// ---- gathering the tile

// Begins the sketch: ranges of bins for all, dummies everywhere, and then the block's own atoms. `n_excluded` is how
// many of the atoms that an atom excludes are in the tile so far: here the block's own.
DEVICE void sketch_own_atoms(const TileBuild& build, const Region& region, real reach2, AtomRange* ranges, int n_ranges,
                             int* n_excluded) {
    const DeviceData& w = build.w;
    const int first = build.owned.first, own = build.owned.count, n_pairs = build.sketch.pairs();
    for (int k = threadIdx.x; k < n_ranges; k += THREADS) ranges[k] = range_of(w, region, reach2, k);
    for (int k = threadIdx.x; k < n_pairs; k += THREADS) ((uint4*)build.sketch.halves)[k] = no_entries();
    if (ORDERED && threadIdx.x < OWN_PAIRS) build.own_pairs[threadIdx.x] = no_entries();
    __syncthreads();
    for (int k = threadIdx.x; k < own; k += THREADS) {
        const Position here = w.atoms.built[first + k];
        const real3 d = difference(w.geometry, here, build.origin);
        const float lowered = build.search.lowered(w, here);
        put_halves(build.sketch.at(DUMMIES + k), d, build.search.unit, lowered);
        if (ORDERED) put_halves((u16*)(build.own_pairs + k % OWN_PAIRS) + k / OWN_PAIRS, d, build.search.unit, lowered);
        int n = 0;
        each_partner(w, first + k, [&](u32 j) {
            if (j - first < (u32)own) w.exclusions.tile_index[(size_t)n++ * w.n + first + k] = DUMMIES + j - first;
        });
        n_excluded[k] = n;
    }
    if (ORDERED) __syncthreads();
}

// Returns true where an atom at `d` from the origin is within reach of one of the block's own, or may be. Boxes around
// these have corners that none of them is near: in water a fifth of all atoms within reach of a box.
DEVICE bool is_near_own(const TileBuild& build, real3 d, float nearer) {
    const real unit = build.search.unit;
    const u16 hx = to_half((float)(d.x * unit)), hy = to_half((float)(d.y * unit)), hz = to_half((float)(d.z * unit));
    const float ax = from_half(hx), ay = from_half(hy), az = from_half(hz), a2 = ax * ax + ay * ay + az * az;
    const u32 x = hx * 0x10001u, y = hy * 0x10001u, z = hz * 0x10001u;
    const u32 least = to_half(build.search.nearness_within(nearer, a2, build.search.own_radius)) * 0x10001u;
    u32 near = 0;
#pragma unroll
    for (int k = 0; k < OWN_PAIRS; k++) near |= at_least(nearness(build.own_pairs[k], x, y, z), least);
    return near != 0;
}

// Atom that may belong to the tile. NO_ATOM stands for one of the block's own, and beyond the end of a range.
struct Candidate { u32 j; Position at; };

// Atoms that a tile takes in: all within reach of boxes around the block's own, or only those within reach of one of
// these, which takes as long to find as the neighbours of all.
enum class Gather { NEAR_BOXES, NEAR_ATOMS };

// Finds the atoms within reach of the block's own that are in this warp's share of the ranges, and stores as many as
// there is space for where lists will be staged. Returns how many there are.
DEVICE int find_candidates(const TileBuild& build, const OwnBounds& bounds, Gather gather, const AtomRange* ranges,
                           int n_ranges, u32* candidates, int capacity) {
    const DeviceData& w = build.w;
    const SearchRadius& search = build.search;
    const Position* position = w.atoms.built;
    const int lane = threadIdx.x % 32, first = build.owned.first, own = build.owned.count;
    int n_found = 0, turn = threadIdx.x / 32;  // pieces of 32 atoms are dealt out in turn
    for (int s = 0; s < n_ranges; s += 32) {
        const AtomRange range = s + lane < n_ranges ? ranges[s + lane] : AtomRange{0, 0};
        const int pieces = (int)(range.count + 31) / 32;
        const int upto = sum_up_to_lane(pieces), all = __shfl_sync(ALL_LANES, upto, 31);
        auto candidate_of = [&](int turn) {
            const int which = __popc(__ballot_sync(ALL_LANES, upto <= turn));
            const u32 k = 32 * (turn - __shfl_sync(ALL_LANES, upto - pieces, which)) + lane;
            const u32 start = __shfl_sync(ALL_LANES, range.first, which);
            const u32 count = __shfl_sync(ALL_LANES, range.count, which);
            const u32 j = start + min(k, count - 1);
            return Candidate{k < count && j - first >= (u32)own ? j : NO_ATOM, position[j]};
        };
        // The next one is loaded while one is tested.
        Candidate next = {};
        if (turn < all) next = candidate_of(turn);
        while (turn < all) {
            const Candidate now = next;
            turn += WARPS;
            if (turn < all) next = candidate_of(turn);
            const real3 d = rough_difference(w.geometry, now.at, build.origin);
            const real nearer_by_limit = nearer_by(w, search.half_skin, (int)now.at.species);
            const real nearer = search.reach - nearer_by_limit;
            bool within = bounds.within(d, nearer * nearer) && now.j != NO_ATOM;
            if (ORDERED && gather == Gather::NEAR_ATOMS && within) {
                within = is_near_own(build, d, (float)(search.unit * nearer_by_limit));
            }
            const u32 lanes = __ballot_sync(ALL_LANES, within);
            const int index = n_found + __popc(lanes & lanes_before());
            if (within && index < capacity) candidates[index] = now.j;
            n_found += __popc(lanes);
        }
        turn -= all;
    }
    return n_found;
}

// Layout of a tile: index of the first atom that this warp has found, the number of all indices, and the largest
// number of candidates of a warp.
struct TileLayout { int index, filled, most_candidates; };

DEVICE TileLayout tile_layout(const int* found) {
    TileLayout layout = {DUMMIES + TILE_ATOMS, DUMMIES + TILE_ATOMS, 0};
    for (int k = 0; k < WARPS; k++) {
        if (k < (int)threadIdx.x / 32) layout.index += found[k];
        layout.filled += found[k];
        layout.most_candidates = max(layout.most_candidates, found[k]);
    }
    return layout;
}

// Returns true where a tile's atoms fit the memory that there is, and reports a fault otherwise.
DEVICE bool tile_fits(const DeviceData& w, const TileLayout& layout, int capacity) {
    Control* control = w.control;
    if (layout.filled <= w.tiles.capacity && layout.most_candidates <= capacity) return true;
    if (threadIdx.x == 0) {
        if (layout.filled > w.tiles.capacity) {
            atomicMax(&control->need_tile, layout.filled);
            report(control, TILE_FULL);
        } else {
            atomicMax(&control->need_rows, layout.most_candidates / (32 * (int)sizeof(Stage)) + 1);
            report(control, ROWS_FULL);
        }
    }
    return false;
}

// Stores the atoms that this warp has found as atoms of the tile, in memory and in the sketch, and notes where the
// block's atoms exclude them.
DEVICE void store_tile_atoms(const TileBuild& build, const TileLayout& layout, const u32* candidates, int n_found,
                             int* n_excluded) {
    const DeviceData& w = build.w;
    Control* control = w.control;
    const int lane = threadIdx.x % 32, first = build.owned.first, own = build.owned.count, index = layout.index;
    u32* tile_atoms = w.tiles.atoms + (size_t)blockIdx.x * w.tiles.stride;
    for (int k = lane; k < n_found + lane; k += 32) {
        const bool there = k < n_found;
        const u32 j = candidates[min(k, n_found - 1)];
        const Position here = w.atoms.built[j];
        // Exclusions with the block's own atoms are rare.
        const uint2 range = w.exclusions.fours > 0 ? w.exclusions.partner_range[j] : uint2{NO_ATOM, 0};
        const bool bound = there && range.x < (u32)(first + own) && range.y >= (u32)first;
        if (there) {
            tile_atoms[index - DUMMIES - TILE_ATOMS + k] = j;
            const real3 d = difference(w.geometry, here, build.origin);
            put_halves(build.sketch.at(index + k), d, build.search.unit, build.search.lowered(w, here));
        }
        if (__any_sync(ALL_LANES, bound)) {
            auto exclude = [&](u32 mine) {
                if (mine - first >= (u32)own) return;
                const int n = atomicAdd(&n_excluded[mine - first], 1);
                w.exclusions.tile_index[(size_t)n * w.n + mine] = index + k;
            };
            if (bound) each_partner(w, j, exclude);
            __syncwarp();
        }
    }
    if (threadIdx.x == 0) {
        if (layout.filled > control->largest_tile) atomicMax(&control->largest_tile, layout.filled);
        w.tiles.n_atoms[blockIdx.x] = layout.filled - DUMMIES - TILE_ATOMS;
        w.tiles.origin[blockIdx.x] = build.origin;
    }
}
