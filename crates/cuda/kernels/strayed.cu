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
    AROUND_WORDS = 8,  // of bits of atoms for each warp, which looks around those that have strayed
    AROUND_ATOMS = 32 * AROUND_WORDS * AROUND_WARPS,
    LOOKS = 4,         // atoms that each thread has on the way from memory at once
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

// An atom that has strayed, and where it looks.
struct Seeker {
    u32 atom;
    Position built;
    real3 way;  // from there
    real reach, from_end2;
    Near near;
};

DEVICE Seeker seeker_of(const World& w, const Position* position, u32 i) {
    const Control* control = w.control;
    const Frame& frame = w.frame;
    const real skin = (real)control->skin, half_skin = (real)0.5 * skin, cutoff = (real)(control->reach - control->skin);
    const Position here = position[i], built = w.built[i];
    const real3 way = difference(frame, here, built);
    const real part = may_stray(w, (int)here.species), strayed = square_root(dot(way, way));
    const Crescent crescent(cutoff, half_skin, part, strayed);
    // In sheared boxes it looks all around.
    double half[3] = {crescent.outer, crescent.outer, crescent.outer};
    Fixed middle = to_fixed(frame, built);
    if (!frame.triclinic) {
        const real along[3] = {way.x / strayed, way.y / strayed, way.z / strayed};
        u32* const coordinate[3] = {&middle.x, &middle.y, &middle.z};
        for (int a = 0; a < 3; a++) {
            const real low = crescent.low(along[a]), high = crescent.high(along[a]);
            half[a] = (real)0.5 * (high - low);
            *coordinate[a] += (u32)__double2ll_rn(0.5 * (high + low) * frame.inverse[a] * 4294967296.0);
        }
    }
    const real reach = (cutoff + skin) * (real)(1.0 - 1e-5) - nearer_by(w, half_skin, (int)here.species);
    return {i, built, way, reach, crescent.from_end * crescent.from_end, bins_near(frame, middle, half)};
}

extern "C" __global__ void __launch_bounds__(AROUND_THREADS) around_strayed(World w, int slot) {
    await_those_before();
    Control* control = w.control;
    const Frame& frame = w.frame;
    Slot* now = &control->slot[slot];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int first_word = (blockIdx.x * AROUND_WARPS + warp) * AROUND_WORDS;
    u32 word = 0;
    if (lane < AROUND_WORDS && 32 * (first_word + lane) < w.n) {
        word = w.strayed[first_word + lane];
        if (word != 0) w.strayed[first_word + lane] = 0;
    }
    if (__all_sync(ALL_LANES, word == 0) || __any_sync(ALL_LANES, now->stale)) return;
    const Position* position = w.position[now->parity];
    if (lane == 0 && !now->soon) now->soon = 1;

    // A lane for each that has strayed. Where there are more than a few, a list is cheaper.
    __shared__ u32 strayed[AROUND_WARPS][32];
    int n_strayed = 0;
    for (int k = 0; k < AROUND_WORDS; k++) {
        const u32 bits = __shfl_sync(ALL_LANES, word, k);
        const int rank = n_strayed + __popc(bits & lanes_before());
        if ((bits >> lane & 1) != 0 && rank < 32) strayed[warp][rank] = 32 * (first_word + k) + lane;
        n_strayed += __popc(bits);
    }
    if (n_strayed > 32) {
        if (lane == 0) now->stale = 1;
        return;
    }
    __shared__ Seeker seekers[AROUND_WARPS][32];
    __syncwarp();
    if (lane < n_strayed) seekers[warp][lane] = seeker_of(w, position, strayed[warp][lane]);
    __syncwarp();

    const double cutoff = control->reach - control->skin;
    const real cutoff2 = (real)(cutoff * cutoff * (1.0 + 1e-5)), half_skin = (real)(0.5 * control->skin);
    bool lacking = false;
    for (int k = 0; k < n_strayed; k++) {
        const Seeker& mine = seekers[warp][k];
        const int n_spans = mine.near.n_spans();
        for (int s = 0; s < n_spans; s += 32) {
            const Span found = s + lane < n_spans ? mine.near.span(w, s + lane) : Span{0, 0};
            u32 some = __ballot_sync(ALL_LANES, found.count != 0);
            while (some != 0) {
                const int which = __ffs((int)some) - 1;
                some &= some - 1;
                const u32 first = __shfl_sync(ALL_LANES, found.first, which);
                const u32 count = __shfl_sync(ALL_LANES, found.count, which);
                for (u32 m = lane; m < count; m += 32 * LOOKS) {
                    Position other[LOOKS];
#pragma unroll
                    for (int u = 0; u < LOOKS; u++) other[u] = w.built[first + min(m + 32 * u, count - 1)];
#pragma unroll
                    for (int u = 0; u < LOOKS; u++) {
                        const real3 r = difference(frame, other[u], mine.built);
                        const real3 end = {r.x - mine.way.x, r.y - mine.way.y, r.z - mine.way.z};
                        const real reach = mine.reach - nearer_by(w, half_skin, (int)other[u].species);
                        if (dot(r, r) < reach * reach || dot(end, end) > mine.from_end2) continue;
                        const u32 j = first + min(m + 32 * u, count - 1);
                        const real3 d = difference(frame, position[j], position[mine.atom]);
                        lacking = lacking || dot(d, d) < cutoff2;
                    }
                }
            }
        }
    }
    if (lacking) now->stale = 1;
}
