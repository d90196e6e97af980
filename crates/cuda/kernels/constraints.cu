// Motion of groups of atoms with constraints and virtual sites. The thread of a group's first atom moves all of it,
// with the results of the separate operations: it has the group in registers from the force of one step to the
// positions of the next. Atoms without constraints have threads of their own.
//
// Operations on a group are in body.cuh, which stands in front of this file.

// Kinds of warp groups. A warp group is as many atoms of a SPAN as a warp has lanes, all of which lead groups of the
// same shape, or have no group: a warp of several kinds would diverge. Atoms that another GPU of the run may move are
// kinds of their own. Warp groups are formed after a sort, while lists are built, in any order: from the beginning of
// h.mover on those that this GPU moves, and those of others from its end back.
enum { OWN_KINDS = N_SHAPES + 1, KINDS = SEVERAL ? 2 * OWN_KINDS : OWN_KINDS };

extern "C" __global__ void constrained_disband(DeviceData w, ConstraintData h, int slot) {
    wait_for_previous_kernel();
    if (build_due(w.control, w.control->slot[slot])) h.n_warp_groups[0] = h.n_warp_groups[1] = 0;
}

extern "C" __global__ void __launch_bounds__(SPAN) constrained_indices(DeviceData w, ConstraintData h, int slot) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!build_due(w.control, now)) return;
    const int i = blockIdx.x * SPAN + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    u32 kind = KINDS;
    uint4 mover = {(u32)i, UNCONSTRAINED, 0, 0};
    if (i < w.n) {
        const u32 id = w.atoms.id[w.control->sorted ^ 1][i], leads = h.leads[id];
        h.leader[i] = leads;
        if (leads < FOLLOWER) {
            const uint4 group = h.group[leads];
            mover = {(u32)i, group.x, group.y, group.z};
        }
        if (leads != UNCONSTRAINED) h.index[h.slot[id]] = {(u32)i, (u32)w.atoms.position[now.parity ^ 1][i].species};
        if (leads != FOLLOWER) kind = leads == UNCONSTRAINED ? (u32)N_SHAPES : mover.y;
        if (SEVERAL && kind < KINDS && !owns(w, i)) kind += OWN_KINDS;
    }
    // Numbers of each kind in the warps before, and in all; first warp groups of the kinds.
    __shared__ int before[SPAN / 32][KINDS], all[KINDS], begin[KINDS];
    u32 alike = 0;
    for (u32 k = 0; k < KINDS; k++) {
        const u32 found = __ballot_sync(ALL_LANES, kind == k);
        if (kind == k) alike = found;
        if (lane == 0) before[warp][k] = __popc(found);
    }
    __syncthreads();
    if (threadIdx.x < KINDS) {
        int sum = 0;
        for (int other = 0; other < SPAN / 32; other++) {
            const int found = before[other][threadIdx.x];
            before[other][threadIdx.x] = sum;
            sum += found;
        }
        all[threadIdx.x] = sum;
    }
    __syncthreads();
    if (threadIdx.x < KINDS / OWN_KINDS) {
        const int first = threadIdx.x * OWN_KINDS;
        int warp_groups = 0;
        for (int k = first; k < first + OWN_KINDS; k++) {
            begin[k] = warp_groups;
            warp_groups += (all[k] + 31) / 32;
        }
        const int others = atomicAdd(&h.n_warp_groups[threadIdx.x], warp_groups);
        const int from = threadIdx.x == 0 ? others : (int)h.most_warp_groups - others - warp_groups;
        for (int k = first; k < first + OWN_KINDS; k++) begin[k] += from;
    }
    __syncthreads();
    if (kind < KINDS) {
        const int index = before[warp][kind] + __popc(alike & lanes_before());
        h.mover[(size_t)begin[kind] * 32 + index] = mover;
    }
    // The last warp group of a kind is filled up with NO_ATOM.
    for (u32 k = warp; k < KINDS; k += SPAN / 32) {
        const int index = all[k] + lane;
        if (index < (all[k] + 31) / 32 * 32) {
            h.mover[(size_t)begin[k] * 32 + index] = {(u32)NO_ATOM, UNCONSTRAINED, 0, 0};
        }
    }
}

// Operations of a kernel that moves atoms before it kicks them for the first half of a step.
enum MoveFrom {
    MOVE_FROM_SEGMENT_START,  // none: a segment begins
    MOVE_FROM_STEP,           // the second half of the step before
};

// Reports a group that has come apart, by its first atom; where its forces are not finite that is reported already.
template <class S>
DEVICE void report_torn(const DeviceData& w, const Body<S>& body, i64 done) {
    for (int k = 0; k < S::ATOMS; k++) {
        if (!is_finite(load_force(w, body.index[k]))) return;
    }
    atomicMin(&w.control->first_bad, (u64)done << 32 | w.atoms.id[w.control->sorted][body.index[0]]);
    report(w.control, TORN);
}

// Data of small groups in shared memory, copied there while their threads compute.
struct Prefetched {
    Double3 vectors[MOST_PREFETCHED][BODY_THREADS];  // noise, and then vectors to be stored
    Position built[MOST_PREFETCHED][BODY_THREADS];
};

// Stores a vector of an atom of each lane of a warp group. Adjacent lanes write the components of one atom: stores
// are coalesced as far as atoms are adjacent in memory.
DEVICE void store_by_warp_group(double* a, u32 warp_group, u32 i, Double3 u, Double3* buffer) {
    const int lane = threadIdx.x % 32, lanes = __popc(warp_group);
    __syncwarp(warp_group);
    buffer[lane] = u;
    __syncwarp(warp_group);
    for (int k = lane, round = 0; round < 3; round++, k += lanes) {
        a[3 * (size_t)__shfl_sync(warp_group, i, k / 3) + k % 3] = ((const double*)buffer)[k];
    }
}

// Noise of the atoms of a group, which constrained_noise has computed.
template <bool EARLY>
struct BodyNoise {
    const double* noise;
    const Prefetched* prefetched;
    u32 i;
    int k;

    DEVICE_MEMBER Double3 operator()() const {
        if (!EARLY) return load(noise, i);
        wait_for_prefetched();
        return prefetched->vectors[k][threadIdx.x];
    }
};

// Group of atoms with constraints, whose sub-steps are made.
template <class S>
struct MovingBody {
    enum { N = S::ATOMS, EARLY = N <= MOST_PREFETCHED, DRIFTS_AT_ONCE = 1 };
    typedef BodyNoise<EARLY> Noise;
    typedef MovingAtom<Noise> Atom;

    const DeviceData& w;
    const double* noise;
    const Prefetched* prefetched;
    double timestep;
    Body<S> body;
    real3 force[N];
    bool held;

    DEVICE_MEMBER MovingBody(const DeviceData& w, const ConstraintData& h, uint4 group, const Prefetched* prefetched)
        : w(w), noise(h.noise), prefetched(prefetched), timestep(w.control->motion.timestep), body(body_of<S>(w, h, group)),
          held(true) {}

    DEVICE_MEMBER void load_forces(i64 done) {
        for (int k = 0; k < N; k++) force[k] = load_force(w, body.index[k]);
        for (int k = 0; k < N; k++) force[k] = check_force(w, force[k], body.v[k], w.control->sorted, body.index[k], done);
    }

    template <class SubSteps>
    DEVICE_MEMBER void each(const SubSteps& make) {
        for (int k = 0; k < N; k++) {
            const Noise noise_of_atom = {noise, prefetched, body.index[k], k};
            Atom atom = {w, timestep, body.inverse_mass[k], force[k], noise_of_atom, body.x[k], body.v[k]};
            make(atom);
        }
    }
    DEVICE_MEMBER void reflect(double) {}
    DEVICE_MEMBER void constrain_positions(double part) { held = hold(w.geometry, body, part * timestep) && held; }
    DEVICE_MEMBER void constrain_velocities() {
        double unused[IMPULSES];
        brake(w.geometry, body, unused);
    }
    DEVICE_MEMBER void begin_closing_kick(double) {}
};

// Moves a group from the force of a step to the positions of the next one.
template <class S>
DEVICE void move_body(const DeviceData& w, const ConstraintData& h, uint4 group, int slot, const Slot& now, int what, u32 warp_group,
                      Prefetched& prefetched) {
    enum { N = S::ATOMS, EARLY = N <= MOST_PREFETCHED };
    Control* control = w.control;
    const int set = control->sorted, mine = threadIdx.x;
    MovingBody<S> moving(w, h, group, &prefetched);
    const Body<S>& body = moving.body;
    if (EARLY) {
        for (int k = 0; k < N; k++) {
            prefetch(&prefetched.built[k][mine], &w.atoms.built[body.index[k]]);
            if (has_noise(w.step_kind)) prefetch(&prefetched.vectors[k][mine], (const Double3*)h.noise + body.index[k]);
        }
    }
    moving.load_forces(now.done);
    if (what == MOVE_FROM_STEP) make_sub_steps_to_end(moving, w.step_kind);
    make_sub_steps_to_positions(moving, w.step_kind);
    if (!moving.held) report_torn(w, body, now.done);
    wait_for_prefetched();
    DisplacementCheck check(w);
    for (int k = 0; k < N; k++) {
        const u32 i = body.index[k];
        if (EARLY) {
            Double3* buffer = &prefetched.vectors[k][mine / 32 * 32];
            store_by_warp_group(w.atoms.x[set], warp_group, i, body.x[k], buffer);
            store_by_warp_group(w.atoms.v[set], warp_group, i, body.v[k], buffer);
        } else {
            store(w.atoms.x[set], i, body.x[k]);
            store(w.atoms.v[set], i, body.v[k]);
        }
        const Position p = store_position(w, i, body.x[k], body.species[k], w.atoms.position[now.parity ^ 1]);
        send_position(w, now.parity ^ 1, (int)i, body.x[k], p);
        check.add(w, (int)i, p, EARLY ? prefetched.built[k][mine] : w.atoms.built[i]);
    }
    check.note(&control->slot[slot + 1]);
}

// Returns true where a step, or the first one of a segment, is due.
DEVICE bool moves(const Control* control, const Slot& now, int what) {
    return what == MOVE_FROM_SEGMENT_START ? segment_start_due(control) : step_due(control, now);
}

// Noise of a step for each atom that is moved. It does not depend on forces, and is computed at the same time.
extern "C" __global__ void constrained_noise(DeviceData w, ConstraintData h, int slot, int what) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.n || !moves(w.control, now, what) || !has_noise(w.step_kind)) return;
    if (divides_motion(w) && !has_bit(w.division.moved, i)) return;
    const u32 of_mass = mass_index(w, i, (int)w.atoms.position[now.parity][i].species);
    store(h.noise, i, noise_of(w, i, w.atoms.inverse_mass[of_mass], now.done));
}

// Moves an atom without constraints, or a group by its first atom.
DEVICE void move_by(const DeviceData& w, const ConstraintData& h, int slot, const Slot& now, int what, uint4 mover, u32 warp_group,
                    Prefetched& prefetched) {
    if (mover.y != UNCONSTRAINED) {
        const uint4 group = {mover.y, mover.z, mover.w, 0};
        switch (group.x) {
#define MOVE(shape) case shape: move_body<Shape<shape>>(w, h, group, slot, now, what, warp_group, prefetched); break;
            EACH_SHAPE(MOVE)
        }
        return;
    }
    const int i = (int)mover.x;
    const Control* control = w.control;
    const int set = control->sorted, species = (int)w.atoms.position[now.parity][i].species;
    Double3 x = load(w.atoms.x[set], i), v = load(w.atoms.v[set], i);
    const real3 f = check_force(w, load_force(w, i), v, set, i, now.done);
    if (what == MOVE_FROM_STEP) end_step(w, i, v, f, species);
    advance_atom(w, slot, now, i, x, v, f, species, [&] { return load(h.noise, i); });
}

extern "C" __global__ void __launch_bounds__(BODY_THREADS, MOVE_BLOCKS) constrained_move(DeviceData w, ConstraintData h, int slot, int what) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    const bool moving = moves(w.control, now, what);
    next_slot(w, slot, moving);
    if (!moving) return;
    __shared__ Prefetched prefetched;
    const int own = 32 * h.n_warp_groups[0], of_others = SEVERAL && !divides_motion(w) ? 32 * h.n_warp_groups[1] : 0;
    const int all = own + of_others;
    for (int k = blockIdx.x * BODY_THREADS + threadIdx.x; k < all; k += gridDim.x * BODY_THREADS) {
        const uint4 mover = h.mover[k < own ? k : 32 * (int)h.most_warp_groups - all + k];
        const u32 warp_group = __ballot_sync(ALL_LANES, mover.x != NO_ATOM);
        if (mover.x != NO_ATOM) move_by(w, h, slot, now, what, mover, warp_group, prefetched);
        __syncwarp();  // other lanes read what a lane has prefetched
    }
}

// Adds the centripetal part of the constraint impulses to a sum, for a group as it was before the kick that ends a
// step. `turning` is by how much more that part counts: see ClosingKick in jostle_core.
template <class S>
DEVICE void add_turning(const BoxGeometry& geometry, Body<S> before, double turning, double* impulse) {
    double unkicked[IMPULSES] = {};
    brake(geometry, before, unkicked);
    for (int k = 0; k < IMPULSES; k++) impulse[k] += turning * unkicked[k];
}

// Group of atoms at the end of a step, with what its constraints add to the virial.
template <class S>
struct EndingBody : MovingBody<S> {
    double* impulse;

    DEVICE_MEMBER EndingBody(const DeviceData& w, const ConstraintData& h, uint4 group, double* impulse)
        : MovingBody<S>(w, h, group, nullptr), impulse(impulse) {}

    DEVICE_MEMBER void constrain_velocities() { brake(this->w.geometry, this->body, impulse); }
    DEVICE_MEMBER void begin_closing_kick(double part) {
        if (part != 1.0) add_turning(this->w.geometry, this->body, 1.0 / part - 1.0, impulse);
    }
};

// The end of a step.
template <class S>
DEVICE void end_body(const DeviceData& w, const ConstraintData& h, uint4 group, const Slot& now, double* impulse) {
    EndingBody<S> ending(w, h, group, impulse);
    ending.load_forces(now.done);
    make_sub_steps_to_end(ending, w.step_kind);
    for (int k = 0; k < S::ATOMS; k++) store(w.atoms.v[w.control->sorted], ending.body.index[k], ending.body.v[k]);
}

// The end of a step for all atoms. Blocks store their shares of bond vectors times impulses.
extern "C" __global__ void __launch_bounds__(BODY_THREADS) constrained_kick(DeviceData w, ConstraintData h, int slot, int trigger) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, trigger)) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x, set = w.control->sorted;
    double impulse[IMPULSES] = {};
    const u32 leader = i < w.n ? h.leader[i] : (u32)FOLLOWER;
    if (leader == UNCONSTRAINED) {
        const int species = (int)w.atoms.position[now.parity][i].species;
        Double3 v = load(w.atoms.v[set], i);
        const real3 f = check_force(w, load_force(w, i), v, set, i, now.done);
        end_step(w, i, v, f, species);
        store(w.atoms.v[set], i, v);
    } else if (leader < FOLLOWER) {
        const uint4 group = h.group[leader];
        switch (group.x) {
#define END(shape) case shape: end_body<Shape<shape>>(w, h, group, now, impulse); break;
            EACH_SHAPE(END)
        }
    }
    block_partial<BODY_THREADS, IMPULSES>(w, impulse);
}

// Velocity constraints after a kick by `time`.
template <class S>
DEVICE void brake_body(const DeviceData& w, const ConstraintData& h, uint4 group, double time, double turning, double* impulse) {
    const int set = w.control->sorted;
    Body<S> body = body_of<S>(w, h, group);
    if (turning != 0) {
        Body<S> before = body;
        for (int k = 0; k < S::ATOMS; k++) {
            kick(before.v[k], -time * body.inverse_mass[k], load_force(w, body.index[k]));
        }
        add_turning(w.geometry, before, turning, impulse);
    }
    brake(w.geometry, body, impulse);
    for (int k = 0; k < S::ATOMS; k++) store(w.atoms.v[set], body.index[k], body.v[k]);
}

extern "C" __global__ void __launch_bounds__(BODY_THREADS)
constrained_brake(DeviceData w, ConstraintData h, double time, double turning) {
    wait_for_previous_kernel();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double impulse[IMPULSES] = {};
    const u32 leader = i < w.n ? h.leader[i] : (u32)FOLLOWER;
    if (leader < FOLLOWER) {
        const uint4 group = h.group[leader];
        switch (group.x) {
#define BRAKE(shape) case shape: brake_body<Shape<shape>>(w, h, group, time, turning, impulse); break;
            EACH_SHAPE(BRAKE)
        }
    }
    block_partial<BODY_THREADS, IMPULSES>(w, impulse);
}

// Impulses of the velocity constraints that a kick by `time` would need; velocities stay as they are.
template <class S>
DEVICE void trial_kick_body(const DeviceData& w, const ConstraintData& h, uint4 group, double time, double turning, double* impulse) {
    Body<S> body = body_of<S>(w, h, group);
    if (turning != 0) add_turning(w.geometry, body, turning, impulse);
    for (int k = 0; k < S::ATOMS; k++) kick(body.v[k], time * body.inverse_mass[k], load_force(w, body.index[k]));
    brake(w.geometry, body, impulse);
}

extern "C" __global__ void __launch_bounds__(BODY_THREADS)
constrained_trial_kick(DeviceData w, ConstraintData h, double time, double turning) {
    wait_for_previous_kernel();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double impulse[IMPULSES] = {};
    const u32 leader = i < w.n ? h.leader[i] : (u32)FOLLOWER;
    if (leader < FOLLOWER) {
        const uint4 group = h.group[leader];
        switch (group.x) {
#define TRIAL_KICK(shape) case shape: trial_kick_body<Shape<shape>>(w, h, group, time, turning, impulse); break;
            EACH_SHAPE(TRIAL_KICK)
        }
    }
    block_partial<BODY_THREADS, IMPULSES>(w, impulse);
}

// Sums of these shares: over the time of the kick they are a virial, which is added to the sample at the end of a
// segment. In an immediate evaluation the sums are stored at the beginning of w.reduction.total.
extern "C" __global__ void __launch_bounds__(BODY_THREADS)
constrained_sums(DeviceData w, int blocks, int row_length, int n_pairs, int trigger) {
    wait_for_previous_kernel();
    if (trigger != TRIGGER_IMMEDIATE && !due(w.control, w.control->slot[0], trigger)) return;
    double* row = w.reduction.total;
    if (trigger != TRIGGER_IMMEDIATE) row += (size_t)(w.control->part / 2) * row_length + n_pairs;
    for (int k = 0; k < IMPULSES; k++) {
        const double sum = sum_of_shares<BODY_THREADS>(w, blocks, IMPULSES, k);
        if (threadIdx.x != 0) continue;
        if (trigger == TRIGGER_IMMEDIATE) {
            row[k] = sum;
        } else {
            row[k] += 2.0 * sum / w.control->motion.timestep;
        }
    }
}

template <class S>
DEVICE void hold_body(const DeviceData& w, const ConstraintData& h, uint4 group, double dt) {
    Control* control = w.control;
    const Slot now = control->slot[0];
    Body<S> body = body_of<S>(w, h, group);
    if (!hold(w.geometry, body, dt)) report_torn(w, body, now.done);
    for (int k = 0; k < S::ATOMS; k++) {
        const u32 i = body.index[k];
        store(w.atoms.x[control->sorted], i, body.x[k]);
        store(w.atoms.v[control->sorted], i, body.v[k]);
        store_position(w, i, body.x[k], body.species[k], w.atoms.position[now.parity]);
    }
}

// Constraints of all groups after a drift by dt, in place.
extern "C" __global__ void __launch_bounds__(BODY_THREADS) constrained_hold(DeviceData w, ConstraintData h, double dt) {
    wait_for_previous_kernel();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const u32 leader = i < w.n ? h.leader[i] : (u32)FOLLOWER;
    if (leader >= FOLLOWER) return;
    const uint4 group = h.group[leader];
    switch (group.x) {
#define HOLD(shape) case shape: hold_body<Shape<shape>>(w, h, group, dt); break;
        EACH_SHAPE(HOLD)
    }
}

// Moves the forces on virtual sites of a group to the atoms that they follow.
template <class S>
DEVICE void spread_body(const DeviceData& w, const ConstraintData& h, uint4 group, const Slot& now, double* virial) {
    if (S::SITES == 0) return;
    enum { N = S::ATOMS };
    double in[6 * N - 3], out[3 * N + VIRIAL];
    const Body<S> body = body_of<S>(w, h, group);
    for (int k = 0; k < N; k++) {
        if (k > 0) put(in + 3 * (k - 1), apart(w.geometry, body.x[k], body.x[0]));
        const real3 f = load_force(w, body.index[k]);
        put(in + 3 * (N - 1 + k), {f.x, f.y, f.z});
    }
    S::spread(in, out);
    for (int k = 0; k < N; k++) {
        store_force(w, body.index[k], {(real)out[3 * k], (real)out[3 * k + 1], (real)out[3 * k + 2]});
    }
    for (int k = 0; k < VIRIAL; k++) virial[k] += out[3 * N + k];
}

// Forces on virtual sites of all groups, after all forces are computed. Blocks store their shares of the change of the
// virial.
extern "C" __global__ void __launch_bounds__(BODY_THREADS)
constrained_spread(DeviceData w, ConstraintData h, int slot, int trigger, int energies) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, trigger)) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double virial[VIRIAL] = {};
    const bool spreads = i < w.n && (!divides_motion(w) || owns(w, i));
    const u32 leader = spreads ? h.leader[i] : (u32)FOLLOWER;
    if (leader < FOLLOWER) {
        const uint4 group = h.group[leader];
        switch (group.x) {
#define SPREAD(shape) case shape: spread_body<Shape<shape>>(w, h, group, now, virial); break;
            EACH_SHAPE(SPREAD)
        }
    }
    if (energies) block_partial<BODY_THREADS, VIRIAL>(w, virial);
}
