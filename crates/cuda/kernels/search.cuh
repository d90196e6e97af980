// Bins and columns of the sorted order, and the search for atoms near a point.

// Number of a column along the serpentine order of columns.
DEVICE u32 column_index(const BoxGeometry& geometry, u32 cx, u32 cy) {
    if (cx & 1) cy = geometry.columns[1] - 1 - cy;
    return cx * geometry.columns[1] + cy;
}

DEVICE u32 column_of(const BoxGeometry& geometry, Fixed s) {
    return column_index(geometry, __umulhi(s.x, (u32)geometry.columns[0]), __umulhi(s.y, (u32)geometry.columns[1]));
}

DEVICE u32 bin_of(const BoxGeometry& geometry, Fixed s) {
    u32 column = column_of(geometry, s), bin = __umulhi(s.z, (u32)geometry.bins);
    if (column & 1) bin = geometry.bins - 1 - bin;
    return column * geometry.bins + bin;
}

DEVICE u32 n_bins(const BoxGeometry& geometry) { return (u32)(geometry.columns[0] * geometry.columns[1] * geometry.bins); }

// Calls `f` with the index of each atom that an atom excludes.
template <typename F>
DEVICE void each_partner(const DeviceData& w, u32 i, F f) {
    for (int k = 0; k < w.exclusions.fours; k++) {
        const uint4 four = w.exclusions.partner[(size_t)k * w.n + i];
        const u32 others[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int u = 0; u < 4; u++) {
            if (others[u] == NO_ATOM) return;
            f(others[u]);
        }
    }
}

// Returns true where an atom excludes another.
DEVICE bool excludes(const DeviceData& w, u32 i, u32 j) {
    bool found = false;
    each_partner(w, i, [&](u32 other) { found = found || other == j; });
    return found;
}

// Point moved by fractions of the box.
DEVICE Position moved_by(const BoxGeometry& geometry, Position p, const int shift[3]) {
#if DOUBLE
    const double unit = 1.0 / 4294967296.0;
    double a = shift[0] * unit, b = shift[1] * unit, c = shift[2] * unit;
    p.x += a * geometry.edge[0] + b * geometry.tilt[0] + c * geometry.tilt[1];
    p.y += b * geometry.edge[1] + c * geometry.tilt[2];
    p.z += c * geometry.edge[2];
#else
    p.x += shift[0];
    p.y += shift[1];
    p.z += shift[2];
#endif
    return p;
}

// Cells of a divided axis between two fractions: the first, and how many. `n` cells make the whole axis, and no
// cell is counted twice.
struct Cells { int first, count; };
DEVICE Cells cells_between(u32 low, u64 length, int n) {
    int first = __umulhi(low, (u32)n), last = (int)((low + length) * (u64)n >> 32);
    return {first, min(last - first + 1, n)};
}

// Contiguous range of atoms in sorted order.
struct AtomRange { u32 first, count; };

DEVICE AtomRange atoms_in_bins(const DeviceData& w, u32 column, int low, int high) {
    if (low > high) return {0, 0};
    const int bins = w.geometry.bins;
    if (column & 1) {
        int turned = bins - 1 - high;
        high = bins - 1 - low;
        low = turned;
    }
    u32 first = w.sort.start[column * bins + low];
    return {first, w.sort.start[column * bins + high + 1] - first};
}

// Bins within a distance of a point, along each edge.
struct BinRange {
    Cells x, y, z;

    // Atoms of a column: in two ranges, of which the second goes on at the other end of the box.
    DEVICE_MEMBER AtomRange atoms(const DeviceData& w, int cx, int cy, int part) const {
        const BoxGeometry& geometry = w.geometry;
        const int end = z.first + z.count - 1;
        const u32 column = column_index(geometry, (x.first + cx) % geometry.columns[0], (y.first + cy) % geometry.columns[1]);
        return part == 0 ? atoms_in_bins(w, column, z.first, min(end, geometry.bins - 1))
                         : atoms_in_bins(w, column, 0, end - geometry.bins);
    }

    // Ranges of all columns, by number.
    DEVICE_MEMBER int n_ranges() const { return 2 * x.count * y.count; }
    DEVICE_MEMBER AtomRange atoms(const DeviceData& w, int k) const { return atoms(w, k / 2 / y.count, k / 2 % y.count, k % 2); }
};

DEVICE BinRange bins_within(const BoxGeometry& geometry, Fixed point, const double distance[3]) {
    u64 length[3];
    u32 low[3] = {point.x, point.y, point.z};
    for (int k = 0; k < 3; k++) {
        const double radius = ceil(distance[k] / geometry.width[k] * 4294967296.0) + 1.0;
        length[k] = radius < 2147483647.0 ? 2 * (u64)radius : 0xffffffffull;
        low[k] -= (u32)(length[k] / 2);
    }
    return {cells_between(low[0], length[0], geometry.columns[0]), cells_between(low[1], length[1], geometry.columns[1]),
            cells_between(low[2], length[2], geometry.bins)};
}

// Deals every atom of the bins within a distance of a point, each once, and thus some farther away, to so many lanes:
// all of them call visit(j, true), or visit(j, false) where no atom is left for a lane.
template <int LANES, class Visit>
DEVICE void each_near(const DeviceData& w, Fixed point, double distance, Visit visit) {
    const double along[3] = {distance, distance, distance};
    const BinRange bins = bins_within(w.geometry, point, along);
    const u32 lane = threadIdx.x % LANES;
    for (int cx = 0; cx < bins.x.count; cx++) {
        for (int cy = 0; cy < bins.y.count; cy++) {
            for (int part = 0; part < 2; part++) {
                const AtomRange range = bins.atoms(w, cx, cy, part);
                for (u32 k = 0; k < range.count; k += LANES) visit(range.first + k + lane, k + lane < range.count);
            }
        }
    }
}

// Calls visit(j) for each of these atoms.
template <class Visit>
DEVICE void each_near(const DeviceData& w, Fixed point, double distance, Visit visit) {
    each_near<1>(w, point, distance, [&](u32 j, bool) { visit(j); });
}
