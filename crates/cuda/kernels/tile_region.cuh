// Region of a block's tile: the atoms that the block owns, the box around them, and the bins within reach of it
// that the tile is gathered from.

// Axis-aligned box: its centre and half its edges.
struct Bounds { real3 center, half; };

DEVICE real gap(real d, real half) { return fmax(fabs(d) - half, (real)0); }

// Squared distance from a box.
DEVICE real distance2(const Bounds& b, real x, real y, real z) {
    real3 d = {gap(x - b.center.x, b.half.x), gap(y - b.center.y, b.half.y), gap(z - b.center.z, b.half.z)};
    return dot(d, d);
}

// Largest distance of a box's corners from the origin.
DEVICE real farthest(const Bounds& b) {
    const real3 corner = {fabs(b.center.x) + b.half.x, fabs(b.center.y) + b.half.y, fabs(b.center.z) + b.half.z};
    return sqrt(dot(corner, corner));
}

// ---- the block's atoms

#if PARTS > 1
static_assert(TILE_ATOMS == 32, "");

// Part of TILE_ATOMS atoms that this block owns. Atoms that follow each other may lie on both sides of a cavity,
// with too many around them for one tile. PARTS blocks share TILE_ATOMS of them: where they spread too far, they
// are divided at the longest steps from one atom to the next, and otherwise the first block has them all.
DEVICE Owned part_of_block(const DeviceData& w, double reach) {
    const BoxGeometry& geometry = w.geometry;
    const int groups = gridDim.x / PARTS, part = blockIdx.x / groups;
    const int start = w.owned.first + blockIdx.x % groups * TILE_ATOMS;
    const int lane = threadIdx.x % 32, all = min((int)TILE_ATOMS, w.owned.end - start), k = min(lane, all - 1);
    const Position here = w.atoms.built[start + k];
    const Fixed s = to_fixed(geometry, here), middle = to_fixed(geometry, w.atoms.built[start + all / 2]);
    const u32 from_middle[3] = {s.x - middle.x, s.y - middle.y, s.z - middle.z};
    // Atoms near each other occupy a piece of a column that is as long as the column is wide, or two such pieces.
    const double column = geometry.width[0] / geometry.columns[0] * geometry.width[1] / geometry.columns[1];
    // Longest step from the atom before, of the axes along which the atoms spread too far.
    float step = 0;
    for (int a = 0; a < 3; a++) {
        // Signed numbers with the order of unsigned ones.
        const u32 d = from_middle[a] ^ 0x80000000u, before = __shfl_up_sync(ALL_LANES, d, 1);
        const u32 extent = __reduce_max_sync(ALL_LANES, d) - ~__reduce_max_sync(ALL_LANES, ~d);
        const double width = geometry.width[a], length = extent / 4294967296.0 * width;
        const bool spread = length * length > 4.0 * column || length + 2.0 * reach * (1.0 + 1e-5) > 0.999 * width;
        const float along = fabsf((float)(int)(d - before)) * (float)(width / 4294967296.0);
        if (spread && lane > 0 && lane < all) step = fmaxf(step, along);
    }
    u32 breaks = 0;
    for (int p = 1; p < PARTS; p++) {
        // Floats that are not negative have the order of their bits.
        const u32 longest = __reduce_max_sync(ALL_LANES, (u32)__float_as_int(step));
        const u32 where = __ballot_sync(ALL_LANES, step > 0 && (u32)__float_as_int(step) == longest);
        breaks |= where & (0 - where);
        if (breaks >> lane & 1) step = 0;
    }
    int first = 0;
    for (int p = 0; p < part; p++) {
        first = breaks != 0 ? __ffs((int)breaks) - 1 : all;
        breaks &= breaks - 1;
    }
    return {start + first, (breaks != 0 ? __ffs((int)breaks) - 1 : all) - first};
}
#endif

// Order in which threads work on the block's atoms (see `own_of_thread`), found and stored by one warp.
DEVICE void order_own_atoms(const DeviceData& w, const Position* position, int first, int own, u8* order) {
    const int k = threadIdx.x % 32;
    bool last = k >= own;
#if CHARGES_ALONE
    last = last || feels_charges_alone((int)position[first + k].species);
#endif
    const u32 others = __ballot_sync(ALL_LANES, !last);
    const int rank = last ? __popc(others) + __popc(~others & lanes_before()) : __popc(others & lanes_before());
    order[rank] = w.tiles.own_order[blockIdx.x * TILE_ATOMS + rank] = (u8)k;
}

// Atoms of this block. A part without atoms gets an empty tile and empty lists at once.
DEVICE Owned take_owned(const DeviceData& w, const Control* control, u8* order) {
#if PARTS > 1
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const Owned owned = part_of_block(w, control->reach);
    if (thread == 0) w.tiles.owned[blockIdx.x] = {(u32)owned.first, (u32)owned.count};
    if (owned.count == 0) {
        if (thread == 0) w.tiles.n_atoms[blockIdx.x] = 0;
        if (ORDERED && warp == 0) order_own_atoms(w, w.atoms.built, owned.first, 0, order);
        if (lane == 0) w.tiles.n_rows[blockIdx.x * WARPS + warp] = 0;
    }
    return owned;
#else
    return owned_by_block(w);
#endif
}

// ---- the region around them

// Fractions between two corners, in units of 2^-32, relative to a point.
struct Extent { int low[3], high[3]; };

// Box around an extent, relative to an origin that lies `shift` from the point.
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

// Space that a block's atoms and all within reach of them occupy; integer lengths are fractions of the box in
// units of 2^-32.
struct Region {
    Position origin;          // of the tile: the middle of the block's atoms
    u32 middle[3];            // the origin in fractions
    i64 own_half[3], half[3]; // half extents around it, of the block's atoms and of all
    Cells across[2];          // columns along x and y
    Bounds piece[2];          // boxes around the block's atoms
    real own_radius;          // of a sphere around the origin that has all of the block's atoms
    int two_pieces, fits;
};

// Region from the extents of the block's atoms around `anchor`, one of them. Everything within reach must be
// nearer to the origin than half the box, or images could not be told apart: otherwise the region does not fit.
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
        // Most blocks have one piece.
        region.piece[k] = k == 0 || region.two_pieces ? bounds_of(geometry, pieces[k], shift) : region.piece[0];
        region.own_radius = fmax(region.own_radius, farthest(region.piece[k]));
    }
    return region;
}

// Finds the region of the block, in shared memory; begins and ends with a barrier. Extents are measured from an
// atom in the middle. Where the line of columns turns, a block has two pieces with atoms of others between them.
DEVICE void find_region(const DeviceData& w, const Control* control, Owned owned, u8* order, Region& region) {
    __shared__ Extent pieces[2];
    const BoxGeometry& geometry = w.geometry;
    const Position* position = w.atoms.built;
    const int thread = threadIdx.x, warp = thread / 32, first = owned.first, own = owned.count;
    const Position anchor = position[first + own / 2];
    const Fixed center = to_fixed(geometry, anchor);
    if (thread < 6) {
        pieces[thread / 3].low[thread % 3] = 0x7fffffff;
        pieces[thread / 3].high[thread % 3] = -0x7fffffff;
    }
    __syncthreads();
    if (ORDERED && warp == 0) order_own_atoms(w, position, first, own, order);
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
}

// Boxes around the block's atoms, in registers.
struct OwnBounds {
    Bounds first, second;
    bool two;

    DEVICE_MEMBER explicit OwnBounds(const Region& region)
        : first(region.piece[0]), second(region.piece[1]), two(region.two_pieces) {}

    // Returns true where a point is within a distance, given its square, of a box.
    DEVICE_MEMBER bool within(real3 d, real radius2) const {
        bool within = distance2(first, d.x, d.y, d.z) <= radius2;
        if (two) within = within || distance2(second, d.x, d.y, d.z) <= radius2;
        return within;
    }
};

// Squared distance of a column from the block's atoms along x or y, rounded down.
DEVICE real distance_across2(const BoxGeometry& geometry, const Region& region, int axis, int cell) {
    const float n = (float)geometry.columns[axis], unit = 1.0f / 4294967296.0f;
    float away = ((float)cell + 0.5f) / n - (float)region.middle[axis] * unit;
    away -= rintf(away);
    // Positions in single precision have errors of some 2^-23 of the box.
    const float gap = fabsf(away) - 0.5f / n - (float)region.own_half[axis] * unit - 1e-6f;
    const float d = fmaxf(gap, 0.0f) * (float)geometry.width[axis];
    return d * d;
}

// Atoms in the k-th range of bins that a tile is gathered from: one of two of a column, of which the second goes
// on at the other end of the box.
DEVICE AtomRange range_of(const DeviceData& w, const Region& region, real reach2, int k) {
    const BoxGeometry& geometry = w.geometry;
    const Cells cx = region.across[0], cy = region.across[1];
    const int x = (cx.first + k / 2 / cy.count) % geometry.columns[0], y = (cy.first + k / 2 % cy.count) % geometry.columns[1];
    i64 half = region.half[2];
    if (!geometry.triclinic) {
        // Columns beside the block's atoms are within reach only at nearly the same height.
        const real part2 = (real)1 - (distance_across2(geometry, region, 0, x) + distance_across2(geometry, region, 1, y)) / reach2;
        if (part2 < (real)0) return {0, 0};
        const real reach_along = (real)(half - region.own_half[2]);
        half = min(half, region.own_half[2] + (i64)((sqrt(part2) + (real)1e-5) * reach_along) + 1);
    }
    return BinRange{cx, cy, cells_between(region.middle[2] - (u32)half, 2 * half, geometry.bins)}.atoms(w, k);
}
