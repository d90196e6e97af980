// Whether lists lack a pair of atoms that have strayed from where they have them.
//
// A list has all pairs that are within reach, cut-off and skin, where it was built around. It lacks one within
// the cut-off only where two atoms have come nearer by more than the skin: then one of them has strayed by more
// than half of it. So lists need not end with the first atom that does: whoever may have come is looked for.
// What ends them is no longer the fastest atom, but the first two fast ones that fly towards each other from
// just out of reach, which takes much longer.

enum {
    AROUND_THREADS = 256,
    AROUND_WARPS = AROUND_THREADS / 32,
    AROUND_WORDS = 64,  // of bits of atoms for each block, which looks around those that have strayed
    AROUND_ATOMS = 32 * AROUND_WORDS,
    LOOKS = 4,          // atoms that each lane has on the way from memory at once
};

// Where an atom may lack another one that has not strayed further, as seen from where the list has it: out of
// its reach, but no further from where it is now than the cut-off and as far as the other may have strayed. That
// is a crescent in the direction in which it has strayed, within an angle whose cosine is at least `cosine`.
struct Crescent {
    real inner, outer, cosine;
    real from_end;  // how far from where the atom is now

    // For an atom that may stray by a part of half the skin.
    DEVICE_MEMBER Crescent(real cutoff, real half_skin, real part, real strayed) {
        // Somewhat larger than it is: numbers are rounded.
        const real more = (real)(1.0 + 1e-5), twice = (real)2 * strayed;
        inner = (cutoff + half_skin * part) * (real)(1.0 - 1e-5);
        from_end = (cutoff + strayed / part) * more;
        outer = (from_end + strayed) * more;
        // The cosine of the angle between the way and what is at a distance, so far from the end of the way,
        auto at = [&](real r, real end) { return (strayed * strayed + (r - end) * (r + end)) / (twice * r); };
        // which is smallest for what may stray most, or least.
        cosine = fmin(at(inner, cutoff), at(inner + half_skin, from_end)) - (real)1e-3;
    }

    // Its ends along an axis that makes an angle with the way whose cosine is this.
    DEVICE_MEMBER real high(real along) const {
        if (along >= cosine) return outer;
        const real sines = ((real)1 - along * along) * ((real)1 - cosine * cosine);
        const real c = along * cosine + square_root(fmax((real)0, sines));
        return c * (c > (real)0 ? outer : inner);
    }
    DEVICE_MEMBER real low(real along) const { return -high(-along); }
};

// What each lane of a warp has some of, dealt out one after the other.
struct Dealt {
    int before, upto, all;  // those of the lanes before this one, with its own, and of all lanes

    DEVICE_MEMBER explicit Dealt(int own) : upto(sum_up_to_lane(own)) {
        before = upto - own;
        all = __shfl_sync(ALL_LANES, upto, 31);
    }

    // The lane that has one of them, by its number: each lane of the warp may ask for another.
    DEVICE_MEMBER int whose(int number) const {
        int lane = 0;
        for (int m = 16; m > 0; m /= 2) {
            if (__shfl_sync(ALL_LANES, upto, lane + m - 1) <= number) lane += m;
        }
        return lane;
    }
};

// An atom that has strayed, and where it looks.
struct Seeker {
    u32 atom;
    Position built;
    real3 way;  // from there
    real reach, from_end2;
    BinRange bins;
};

DEVICE Seeker seeker_of(const DeviceData& w, const Position* position, u32 i) {
    const Control* control = w.control;
    const BoxGeometry& geometry = w.geometry;
    const real skin = (real)control->skin, half_skin = (real)0.5 * skin, cutoff = (real)(control->reach - control->skin);
    const Position here = position[i], built = w.built[i];
    const real3 way = difference(geometry, here, built);
    const real part = may_stray(w, (int)here.species), strayed = square_root(dot(way, way));
    const Crescent crescent(cutoff, half_skin, part, strayed);
    // In sheared boxes it looks all around.
    double half[3] = {crescent.outer, crescent.outer, crescent.outer};
    Fixed middle = to_fixed(geometry, built);
    if (!geometry.triclinic) {
        const real along[3] = {way.x / strayed, way.y / strayed, way.z / strayed};
        u32* const coordinate[3] = {&middle.x, &middle.y, &middle.z};
        for (int a = 0; a < 3; a++) {
            const real low = crescent.low(along[a]), high = crescent.high(along[a]);
            half[a] = (real)0.5 * (high - low);
            *coordinate[a] += (u32)__double2ll_rn(0.5 * (high + low) * geometry.inverse[a] * 4294967296.0);
        }
    }
    const real reach = (cutoff + skin) * (real)(1.0 - 1e-5) - nearer_by(w, half_skin, (int)here.species);
    return {i, built, way, reach, crescent.from_end * crescent.from_end, bins_within(geometry, middle, half)};
}

extern "C" __global__ void __launch_bounds__(AROUND_THREADS) around_strayed(DeviceData w, int slot) {
    await_those_before();
    Control* control = w.control;
    const BoxGeometry& geometry = w.geometry;
    Slot* now = &control->slot[slot];
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int first_word = blockIdx.x * AROUND_WORDS;
    __shared__ u32 strayed[AROUND_THREADS];
    __shared__ Seeker seekers[AROUND_WARPS][32];
    __shared__ int n_all;
    if (thread == 0) n_all = 0;
    u32 word = 0;
    if (thread < AROUND_WORDS && 32 * (first_word + thread) < w.n) {
        word = w.strayed[first_word + thread];
        if (word != 0) w.strayed[first_word + thread] = 0;
    }
    if (!__syncthreads_or(word != 0 && !now->stale)) return;
    if (thread == 0 && !now->soon) now->soon = 1;

    // Who has strayed. Where that are more than a few, a list is cheaper.
    int place = word != 0 ? atomicAdd(&n_all, __popc(word)) : 0;
    for (; word != 0 && place < AROUND_THREADS; word &= word - 1) {
        strayed[place++] = 32 * (first_word + thread) + __ffs((int)word) - 1;
    }
    __syncthreads();
    if (n_all > AROUND_THREADS) {
        if (thread == 0) now->stale = 1;
        return;
    }
    // They are dealt out to the warps, a lane for each.
    const Position* position = w.position[now->parity];
    const int mine = lane * AROUND_WARPS + warp;
    if (mine < n_all) seekers[warp][lane] = seeker_of(w, position, strayed[mine]);
    __syncwarp();

    const double cutoff = control->reach - control->skin;
    const real cutoff2 = (real)(cutoff * cutoff * (1.0 + 1e-5)), half_skin = (real)(0.5 * control->skin);
    // All of their ranges are dealt out to lanes, and so are all atoms in 32 of these: what lanes wait for is on
    // its way from memory together.
    const Dealt ranges(mine < n_all ? seekers[warp][lane].bins.n_ranges() : 0);
    bool lacking = false;
    for (int s = 0; s < ranges.all; s += 32) {
        const int turn = min(s + lane, ranges.all - 1), seeker = ranges.whose(turn);
        const int number = turn - __shfl_sync(ALL_LANES, ranges.before, seeker);
        const AtomRange found = s + lane < ranges.all ? seekers[warp][seeker].bins.atoms(w, number) : AtomRange{0, 0};
        const Dealt atoms((int)found.count);
        for (int m = lane; m < atoms.all + lane; m += 32 * LOOKS) {
            u32 who[LOOKS], j[LOOKS];
            Position other[LOOKS];
#pragma unroll
            for (int u = 0; u < LOOKS; u++) {
                const int k = min(m + 32 * u, atoms.all - 1), which = atoms.whose(k);
                who[u] = __shfl_sync(ALL_LANES, (u32)seeker, which);
                j[u] = __shfl_sync(ALL_LANES, found.first - (u32)atoms.before, which) + (u32)k;
                other[u] = w.built[j[u]];
            }
#pragma unroll
            for (int u = 0; u < LOOKS; u++) {
                const Seeker& it = seekers[warp][who[u]];
                const real3 r = difference(geometry, other[u], it.built);
                const real3 end = {r.x - it.way.x, r.y - it.way.y, r.z - it.way.z};
                if (dot(end, end) > it.from_end2) continue;
                const real reach = it.reach - nearer_by(w, half_skin, (int)other[u].species);
                if (dot(r, r) < reach * reach) continue;
                const real3 d = difference(geometry, position[j[u]], position[it.atom]);
                lacking = lacking || dot(d, d) < cutoff2;
            }
        }
    }
    if (lacking) now->stale = 1;
}
