// Group of atoms with constraints in the registers of a thread, and the operations on it.
//
// Generated source in front of this file: jostle_core::constraints for every shape of groups,
//     Shape<k>::ATOMS, SITES, NUMBERS, COUPLING
//                          numbers of atoms; of virtual sites, which are the last of these; of parameters of
//                          a group; of coupling coefficients of its constraints
//     Shape<k>::couple(const double* in, double* out)
//                          from {positions before, relative to the first, without it; inverse masses} to {coupling}
//     Shape<k>::round(const double* in, double* out)
//                          from {coupling, parameters, inverse masses, positions now} to {positions, error}
//     Shape<k>::brake(const double* in, double* out)
//                          from {relative positions without the first; inverse masses; velocities, likewise} to
//                          {velocities, bond vectors times impulses}
//     Shape<k>::spread(const double* in, double* out)
//                          from {relative positions without the first; forces} to {forces, those on sites moved
//                          to the atoms that they follow; the change of the virial}
// N_SHAPES, and EACH_SHAPE(DO), which is DO(0) DO(1) ...; MOST_ROUNDS and TOLERANCE2, the square of the tolerance of
// squared distances.

#ifndef MOVE_BLOCKS
#define MOVE_BLOCKS 8  // blocks resident on a multiprocessor: they are bound by latency; fewer have more registers
#endif

enum {
    BODY_THREADS = 64,
    MOST_PREFETCHED = 4,  // atoms of groups small enough for a prefetch of their data
    SPAN = 1024,          // atoms of a block that assigns groups to warps
    UNCONSTRAINED = 0xffffffff,
    FOLLOWER = 0xfffffffe,
    IMPULSES = 6,
    VIRIAL = 6,
};

// Group in registers.
template <class S>
struct Body {
    u32 index[S::ATOMS];
    int species[S::ATOMS];
    double inverse_mass[S::ATOMS];
    Double3 x[S::ATOMS], v[S::ATOMS];
    const double* numbers;
};

template <class S>
DEVICE Body<S> body_of(const DeviceData& w, const ConstraintData& h, uint4 group) {
    Body<S> body;
    const int set = w.control->sorted;
    for (int k = 0; k < S::ATOMS; k++) {
        const uint2 index = h.index[group.y + k];
        const u32 i = body.index[k] = index.x;
        body.species[k] = (int)index.y;
        body.inverse_mass[k] = w.atoms.inverse_mass[mass_index(w, i, body.species[k])];
        body.x[k] = load(w.atoms.x[set], i);
        body.v[k] = load(w.atoms.v[set], i);
    }
    body.numbers = h.numbers + group.z;
    return body;
}

DEVICE Double3 operator-(Double3 a, Double3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }

DEVICE void put(double* to, Double3 v) {
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
}

// Difference a - b in the nearest image.
DEVICE Double3 apart(const BoxGeometry& geometry, Double3 a, Double3 b) {
    Double3 d = a - b;
    nearest_image(geometry, d.x, d.y, d.z);
    return d;
}

// Moves atoms after a drift by dt so that distances satisfy their constraints, and changes velocities accordingly.
// Returns true if the iteration converged.
template <class S>
DEVICE bool hold(const BoxGeometry& geometry, Body<S>& body, double dt) {
    enum { N = S::ATOMS, KNOWN = S::COUPLING + S::NUMBERS };
    double before[4 * N - 3], in[KNOWN + 4 * N], out[3 * N + 1], *now = in + KNOWN + N;
    for (int k = 0; k < N; k++) {
        const Double3 d = apart(geometry, body.x[k], body.x[0]), u = body.v[k] - body.v[0];
        put(now + 3 * k, d);
        if (k > 0) put(before + 3 * (k - 1), {fma(-dt, u.x, d.x), fma(-dt, u.y, d.y), fma(-dt, u.z, d.z)});
        before[3 * (N - 1) + k] = in[KNOWN + k] = body.inverse_mass[k];
    }
    double drifted[3 * N];
    for (int k = 0; k < 3 * N; k++) drifted[k] = now[k];
    S::couple(before, in);
    for (int k = 0; k < S::NUMBERS; k++) in[S::COUPLING + k] = body.numbers[k];
    bool held = false;
    for (int round = 0; round < MOST_ROUNDS && !held; round++) {
        S::round(in, out);
        for (int k = 0; k < 3 * N; k++) now[k] = out[k];
        held = out[3 * N] <= TOLERANCE2;
    }
    const double per_time = 1.0 / dt;
    for (int k = 0; k < N; k++) {
        const Double3 c = {now[3 * k] - drifted[3 * k], now[3 * k + 1] - drifted[3 * k + 1],
                           now[3 * k + 2] - drifted[3 * k + 2]};
        drift(body.x[k], 1.0, c);
        drift(body.v[k], per_time, c);
    }
    return held;
}

// Removes the components of velocities that would change a distance; adds bond vectors times impulses to a sum.
template <class S>
DEVICE void brake(const BoxGeometry& geometry, Body<S>& body, double* impulse) {
    enum { N = S::ATOMS };
    double in[7 * N - 6], out[3 * N + IMPULSES], *u = in + 4 * N - 3;
    for (int k = 0; k < N; k++) {
        if (k > 0) {
            put(in + 3 * (k - 1), apart(geometry, body.x[k], body.x[0]));
            put(u + 3 * (k - 1), body.v[k] - body.v[0]);
        }
        in[3 * (N - 1) + k] = body.inverse_mass[k];
    }
    S::brake(in, out);
    for (int k = 0; k < N; k++) {
        const Double3 before = k > 0 ? Double3{u[3 * k - 3], u[3 * k - 2], u[3 * k - 1]} : Double3{0.0, 0.0, 0.0};
        const Double3 after = {out[3 * k], out[3 * k + 1], out[3 * k + 2]};
        drift(body.v[k], 1.0, after - before);
    }
    for (int k = 0; k < IMPULSES; k++) impulse[k] += out[3 * N + k];
}
