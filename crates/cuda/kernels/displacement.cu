// Search for pairs that lists lack because atoms are displaced from their listed positions.
//
// A list has all pairs within reach, which is cut-off and skin, of the positions it was built around. It lacks a
// pair within the cut-off only where two atoms have come nearer by more than the skin: then one of them is displaced
// by more than half of it. Lists need not become stale with the first such atom: pairs with it that may be missing
// are searched for. The life of a list is then limited not by the fastest atom, but by the first two fast ones
// that fly towards each other from just out of reach, which takes much longer.

enum {
    DISPLACED_THREADS = 256,
    DISPLACED_WARPS = DISPLACED_THREADS / 32,
    DISPLACED_WORDS = 64,  // of bits of atoms for each block, which searches around those that are displaced
    DISPLACED_ATOMS = 32 * DISPLACED_WORDS,
    LOADS = 4,             // atoms that each lane loads at once
};

// Region in which a pair with a displaced atom may be missing, if the other is not displaced further, relative to
// the atom's listed position: out of its reach, but no further from its present position than the cut-off and the
// largest displacement of the other. That is a part of a spherical shell in the direction of the displacement,
// within an angle whose cosine is at least `cosine`.
struct SearchShell {
    real inner, outer, cosine;
    real from_end;  // largest distance from the present position

    // Region for an atom whose displacement limit is a part of half the skin.
    DEVICE_MEMBER SearchShell(real cutoff, real half_skin, real part, real displacement) {
        // The region is enlarged for rounding.
        const real more = (real)(1.0 + 1e-5), twice = (real)2 * displacement;
        inner = (cutoff + half_skin * part) * (real)(1.0 - 1e-5);
        from_end = (cutoff + displacement / part) * more;
        outer = (from_end + displacement) * more;
        // Cosine of the angle between the displacement and a point at distance r, at distance `end` from its end,
        auto at = [&](real r, real end) { return (displacement * displacement + (r - end) * (r + end)) / (twice * r); };
        // which is smallest for atoms of the largest displacement, or of the smallest.
        cosine = fmin(at(inner, cutoff), at(inner + half_skin, from_end)) - (real)1e-3;
    }

    // Ends of the region along an axis whose angle with the displacement has this cosine.
    DEVICE_MEMBER real high(real along) const {
        if (along >= cosine) return outer;
        const real sines = ((real)1 - along * along) * ((real)1 - cosine * cosine);
        const real c = along * cosine + square_root(fmax((real)0, sines));
        return c * (c > (real)0 ? outer : inner);
    }
    DEVICE_MEMBER real low(real along) const { return -high(-along); }
};

// Items of all lanes of a warp, of which each lane has some, numbered lane after lane.
struct LaneItems {
    int before, upto, all;  // numbers of items of the lanes before this one, with its own, and of all lanes

    DEVICE_MEMBER explicit LaneItems(int own) : upto(sum_up_to_lane(own)) {
        before = upto - own;
        all = __shfl_sync(ALL_LANES, upto, 31);
    }

    // Lane that has the item of a number, which may differ from lane to lane.
    DEVICE_MEMBER int owner_of(int number) const {
        int lane = 0;
        for (int m = 16; m > 0; m /= 2) {
            if (__shfl_sync(ALL_LANES, upto, lane + m - 1) <= number) lane += m;
        }
        return lane;
    }
};

// Displaced atom, and the bins in which pairs with it may be missing.
struct DisplacedAtom {
    u32 atom;
    Position built;
    real3 displacement;  // from there
    real reach, from_end2;
    BinRange bins;
};

DEVICE DisplacedAtom displaced_atom(const DeviceData& w, const Position* position, u32 i) {
    const Control* control = w.control;
    const BoxGeometry& geometry = w.geometry;
    const real skin = (real)control->skin, half_skin = (real)0.5 * skin, cutoff = (real)(control->reach - control->skin);
    const Position here = position[i], built = w.atoms.built[i];
    const real3 displacement = difference(geometry, here, built);
    const real part = displacement_limit(w, (int)here.species), length = square_root(dot(displacement, displacement));
    const SearchShell shell(cutoff, half_skin, part, length);
    // In sheared boxes the search is in all directions.
    double half[3] = {shell.outer, shell.outer, shell.outer};
    Fixed middle = to_fixed(geometry, built);
    if (!geometry.triclinic) {
        const real along[3] = {displacement.x / length, displacement.y / length, displacement.z / length};
        u32* const coordinate[3] = {&middle.x, &middle.y, &middle.z};
        for (int a = 0; a < 3; a++) {
            const real low = shell.low(along[a]), high = shell.high(along[a]);
            half[a] = (real)0.5 * (high - low);
            *coordinate[a] += (u32)__double2ll_rn(0.5 * (high + low) * geometry.inverse[a] * 4294967296.0);
        }
    }
    const real reach = (cutoff + skin) * (real)(1.0 - 1e-5) - nearer_by(w, half_skin, (int)here.species);
    return {i, built, displacement, reach, shell.from_end * shell.from_end, bins_within(geometry, middle, half)};
}

extern "C" __global__ void __launch_bounds__(DISPLACED_THREADS) find_missing_pairs(DeviceData w, int slot) {
    wait_for_previous_kernel();
    Control* control = w.control;
    const BoxGeometry& geometry = w.geometry;
    Slot* now = &control->slot[slot];
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int first_word = blockIdx.x * DISPLACED_WORDS;
    __shared__ u32 displaced[DISPLACED_THREADS];
    __shared__ DisplacedAtom displaced_atoms[DISPLACED_WARPS][32];
    __shared__ int n_all;
    if (thread == 0) n_all = 0;
    u32 word = 0;
    if (thread < DISPLACED_WORDS && 32 * (first_word + thread) < w.n) {
        word = w.atoms.displaced[first_word + thread];
        if (word != 0) w.atoms.displaced[first_word + thread] = 0;
    }
    if (!__syncthreads_or(word != 0 && !now->stale)) return;
    if (thread == 0 && !now->soon) now->soon = 1;

    // Displaced atoms of the block. If there are many, a new list is cheaper.
    int index = word != 0 ? atomicAdd(&n_all, __popc(word)) : 0;
    for (; word != 0 && index < DISPLACED_THREADS; word &= word - 1) {
        displaced[index++] = 32 * (first_word + thread) + __ffs((int)word) - 1;
    }
    __syncthreads();
    if (n_all > DISPLACED_THREADS) {
        if (thread == 0) now->stale = 1;
        return;
    }
    // Displaced atoms are dealt out to the warps, a lane for each.
    const Position* position = w.atoms.position[now->parity];
    const int mine = lane * DISPLACED_WARPS + warp;
    if (mine < n_all) displaced_atoms[warp][lane] = displaced_atom(w, position, displaced[mine]);
    __syncwarp();

    const double cutoff = control->reach - control->skin;
    const real cutoff2 = (real)(cutoff * cutoff * (1.0 + 1e-5)), half_skin = (real)(0.5 * control->skin);
    // Ranges of all displaced atoms are dealt out to lanes, and so are all atoms in 32 of these: the loads of lanes
    // overlap.
    const LaneItems ranges(mine < n_all ? displaced_atoms[warp][lane].bins.n_ranges() : 0);
    bool lacking = false;
    for (int s = 0; s < ranges.all; s += 32) {
        const int turn = min(s + lane, ranges.all - 1), owner = ranges.owner_of(turn);
        const int number = turn - __shfl_sync(ALL_LANES, ranges.before, owner);
        const AtomRange found = s + lane < ranges.all ? displaced_atoms[warp][owner].bins.atoms(w, number) : AtomRange{0, 0};
        const LaneItems atoms((int)found.count);
        for (int m = lane; m < atoms.all + lane; m += 32 * LOADS) {
            u32 seeker[LOADS], j[LOADS];
            Position other[LOADS];
#pragma unroll
            for (int u = 0; u < LOADS; u++) {
                const int k = min(m + 32 * u, atoms.all - 1), which = atoms.owner_of(k);
                seeker[u] = __shfl_sync(ALL_LANES, (u32)owner, which);
                j[u] = __shfl_sync(ALL_LANES, found.first - (u32)atoms.before, which) + (u32)k;
                other[u] = w.atoms.built[j[u]];
            }
#pragma unroll
            for (int u = 0; u < LOADS; u++) {
                const DisplacedAtom& atom = displaced_atoms[warp][seeker[u]];
                const real3 r = difference(geometry, other[u], atom.built);
                const real3 end = {r.x - atom.displacement.x, r.y - atom.displacement.y, r.z - atom.displacement.z};
                if (dot(end, end) > atom.from_end2) continue;
                const real reach = atom.reach - nearer_by(w, half_skin, (int)other[u].species);
                if (dot(r, r) < reach * reach) continue;
                const real3 d = difference(geometry, position[j[u]], position[atom.atom]);
                lacking = lacking || dot(d, d) < cutoff2;
            }
        }
    }
    if (lacking) now->stale = 1;
}
