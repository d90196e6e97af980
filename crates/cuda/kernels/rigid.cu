// Motion of rigid bodies. A block of threads moves a body, each thread some of its atoms, which stay in memory between
// the passes over them; constraints.cu, which stands in front of this file, moves all other atoms.
//
// Generated source in front of both: jostle_core::constraints for rigid bodies, with axes as nine numbers and inertia as
// INERTIA_NUMBERS,
//     rigid_axes_linear, rigid_axes_spatial   from the vectors from the first atom to the second and the third to {axes}
//     rigid_spin     from {axes, inertia, angular momentum} to {angular velocity}
//     rigid_begin    from {axes, inertia, angular momentum, dt} to {half, u}
//     rigid_improve  from {inertia, half, u} to {u, square of its change}
//     rigid_turned   from {axes, u} to {axes}
//     rigid_arm      from {axes, place} to {vector in space}
//     rigid_turn     from {axes before, axes after, place of the first atom, place, vector from the first atom before} to
//                    {displacement}
// RIGID_THREADS, INERTIA_NUMBERS and ATOM_NUMBERS.

enum { RIGID_LINEAR = 1 };

// Atoms and constants of a body.
struct RigidBody {
    const uint2* index;  // index and species of each atom
    int atoms;
    bool linear;
    const double* inertia;
    const double* numbers;  // mass and place of each atom
    double inverse_mass;
    u32 first;  // index of the first atom
};

DEVICE RigidBody rigid_body_of(const ConstraintData& h, const RigidData& r) {
    const uint4 row = r.body[blockIdx.x];
    const double* inertia = r.numbers + row.z;
    const uint2* index = h.index + row.x;
    return {index, (int)row.y, row.w == RIGID_LINEAR, inertia, inertia + INERTIA_NUMBERS, inertia[0], index[0].x};
}

DEVICE Double3 vector_of(const double* from) { return {from[0], from[1], from[2]}; }

DEVICE Double3 cross_product(Double3 a, Double3 b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

DEVICE double inverse_mass_of(const DeviceData& w, uint2 atom) {
    return w.atoms.inverse_mass[mass_index(w, atom.x, (int)atom.y)];
}

// Position and velocity of the first atom of a body.
struct FirstAtom {
    Double3 x, v;
};

// Vector from the first atom of a body to one at x with velocity v, `dt` ago.
DEVICE Double3 apart_before(const DeviceData& w, const FirstAtom& first, Double3 x, Double3 v, double dt) {
    Double3 d = apart(w.geometry, x, first.x);
    drift(d, -dt, v - first.v);
    return d;
}

// Axes of a body `dt` ago, and its first atom now.
DEVICE FirstAtom axes_of(const DeviceData& w, const RigidBody& body, double dt, double* axes) {
    const int set = w.control->sorted;
    const FirstAtom first = {load(w.atoms.x[set], body.first), load(w.atoms.v[set], body.first)};
    double in[6];
    for (int k = 1; k < 3; k++) {
        const u32 i = body.index[k < body.atoms ? k : 1].x;
        put(in + 3 * (k - 1), apart_before(w, first, load(w.atoms.x[set], i), load(w.atoms.v[set], i), dt));
    }
    if (body.linear) {
        rigid_axes_linear(in, axes);
    } else {
        rigid_axes_spatial(in, axes);
    }
    return first;
}

// Vector from the centre of mass to an atom.
DEVICE Double3 arm_of(const RigidBody& body, const double* axes, int k) {
    double in[12], out[3];
    for (int n = 0; n < 9; n++) in[n] = axes[n];
    for (int n = 0; n < 3; n++) in[9 + n] = body.numbers[k * ATOM_NUMBERS + 1 + n];
    rigid_arm(in, out);
    return vector_of(out);
}

// Momentum and angular momentum of a body with these axes; `velocity` gives those of its atoms.
template <class Velocity>
DEVICE void momenta_of(const RigidBody& body, const double* axes, double* momenta, const Velocity& velocity) {
    double sums[6] = {};
    for (int k = threadIdx.x; k < body.atoms; k += RIGID_THREADS) {
        const double mass = body.numbers[k * ATOM_NUMBERS];
        const Double3 v = velocity(k), l = cross_product(arm_of(body, axes, k), v);
        sums[0] += mass * v.x;
        sums[1] += mass * v.y;
        sums[2] += mass * v.z;
        sums[3] += mass * l.x;
        sums[4] += mass * l.y;
        sums[5] += mass * l.z;
    }
    __shared__ double total[6];
    __syncthreads();  // sums before these have been read
    block_sums<RIGID_THREADS>(sums, total);
    __syncthreads();
    for (int k = 0; k < 6; k++) momenta[k] = total[k];
}

// Velocity of the centre of mass and angular velocity of a body.
struct RigidMotion {
    Double3 v, spin;
};

template <class Velocity>
DEVICE RigidMotion rigid_motion_of(const RigidBody& body, const double* axes, const Velocity& velocity) {
    double momenta[6], in[9 + INERTIA_NUMBERS + 3], spin[3];
    momenta_of(body, axes, momenta, velocity);
    for (int k = 0; k < 9; k++) in[k] = axes[k];
    for (int k = 0; k < INERTIA_NUMBERS; k++) in[9 + k] = body.inertia[k];
    for (int k = 0; k < 3; k++) in[9 + INERTIA_NUMBERS + k] = momenta[3 + k];
    rigid_spin(in, spin);
    const double m = body.inverse_mass;
    return {{momenta[0] * m, momenta[1] * m, momenta[2] * m}, vector_of(spin)};
}

// Axes of a body after a drift by dt from `before`. Returns true if the iteration converged.
DEVICE bool turn_rigid(const RigidBody& body, const double* before, const double* angular, double dt, double* after) {
    double begin[9 + INERTIA_NUMBERS + 4], in[INERTIA_NUMBERS + 6], out[4], axes[12];
    for (int k = 0; k < 9; k++) begin[k] = axes[k] = before[k];
    for (int k = 0; k < INERTIA_NUMBERS; k++) begin[9 + k] = in[k] = body.inertia[k];
    for (int k = 0; k < 3; k++) begin[9 + INERTIA_NUMBERS + k] = angular[k];
    begin[12 + INERTIA_NUMBERS] = dt;
    double *half = in + INERTIA_NUMBERS, *u = half + 3;
    rigid_begin(begin, half);
    bool held = false;
    for (int round = 0; round < MOST_ROUNDS && !held; round++) {
        rigid_improve(in, out);
        for (int k = 0; k < 3; k++) u[k] = out[k];
        held = out[3] <= TOLERANCE2;
    }
    for (int k = 0; k < 3; k++) axes[9 + k] = u[k];
    rigid_turned(axes, after);
    return held;
}

// Moves the atoms of a body after a drift by dt to where it has turned, and changes velocities accordingly. Returns true
// if the iteration converged.
DEVICE bool hold_rigid(const DeviceData& w, const RigidBody& body, double dt) {
    const int set = w.control->sorted;
    double before[9], after[9], momenta[6];
    const FirstAtom first = axes_of(w, body, dt, before);
    momenta_of(body, before, momenta, [&](int k) { return load(w.atoms.v[set], body.index[k].x); });
    const bool held = turn_rigid(body, before, momenta + 3, dt, after);
    const double m = body.inverse_mass, per_time = 1.0 / dt;
    const Double3 velocity = {momenta[0] * m, momenta[1] * m, momenta[2] * m};
    for (int k = threadIdx.x; k < body.atoms; k += RIGID_THREADS) {
        const u32 i = body.index[k].x;
        Double3 x = load(w.atoms.x[set], i), v = load(w.atoms.v[set], i);
        double in[27], out[3];
        for (int n = 0; n < 9; n++) {
            in[n] = before[n];
            in[9 + n] = after[n];
        }
        for (int n = 0; n < 3; n++) {
            in[18 + n] = body.numbers[1 + n];
            in[21 + n] = body.numbers[k * ATOM_NUMBERS + 1 + n];
        }
        put(in + 24, apart_before(w, first, x, v, dt));
        rigid_turn(in, out);
        Double3 change = vector_of(out);
        drift(change, dt, velocity - v);
        drift(x, 1.0, change);
        drift(v, per_time, change);
        store(w.atoms.x[set], i, x);
        store(w.atoms.v[set], i, v);
    }
    __syncthreads();
    return held;
}

// Velocity of an atom of a body that moves like this.
DEVICE Double3 velocity_of(const RigidMotion& motion, Double3 arm) {
    Double3 v = cross_product(motion.spin, arm);
    drift(v, 1.0, motion.v);
    return v;
}

// Adds the arms times the impulses that make velocities those of a rigid body, times a factor.
template <class Velocity>
DEVICE void add_impulses(const RigidBody& body, const double* axes, const RigidMotion& motion, double factor, double* impulse,
                         const Velocity& velocity) {
    for (int k = threadIdx.x; k < body.atoms; k += RIGID_THREADS) {
        const Double3 arm = arm_of(body, axes, k), change = velocity_of(motion, arm) - velocity(k);
        const double mass = factor * body.numbers[k * ATOM_NUMBERS];
        impulse[0] += mass * arm.x * change.x;
        impulse[1] += mass * arm.y * change.y;
        impulse[2] += mass * arm.z * change.z;
        impulse[3] += mass * arm.x * change.y;
        impulse[4] += mass * arm.x * change.z;
        impulse[5] += mass * arm.y * change.z;
    }
}

// Makes the velocities of a body those of a rigid one.
DEVICE void brake_rigid(const DeviceData& w, const RigidBody& body, const double* axes, const RigidMotion& motion) {
    for (int k = threadIdx.x; k < body.atoms; k += RIGID_THREADS) {
        store(w.atoms.v[w.control->sorted], body.index[k].x, velocity_of(motion, arm_of(body, axes, k)));
    }
    __syncthreads();
}

// Stores the share of a body in a sum: behind those of constraints.cu, or for its first atom.
DEVICE void store_impulses(const DeviceData& w, const RigidBody& body, int first_share, double (&impulse)[IMPULSES]) {
#if REPRODUCIBLE
    const i64 share = w.atoms.id[w.control->sorted][body.first];
#else
    const i64 share = first_share + blockIdx.x;
#endif
    __syncthreads();
    block_sums<RIGID_THREADS>(impulse, w.reduction.partial + share * IMPULSES);
}

// Reports a body that turns too far in a step, by its first atom.
DEVICE void report_turn(const DeviceData& w, const RigidBody& body, i64 done) {
    if (threadIdx.x != 0) return;
    atomicMin(&w.control->first_bad, (u64)done << 32 | w.atoms.id[w.control->sorted][body.first]);
    report(w.control, TORN);
}

// Noise of an atom, which constrained_noise has computed.
struct StoredNoise {
    const double* noise;
    u32 i;

    DEVICE_MEMBER Double3 operator()() const { return load(noise, i); }
};

// Rigid body whose sub-steps are made, by all threads of a block.
struct MovingRigidBody {
    typedef MovingAtom<StoredNoise> Atom;
    enum { DRIFTS_AT_ONCE = 1 };

    const DeviceData& w;
    const double* noise;
    const RigidBody& body;
    i64 done;
    double timestep;
    bool held;

    DEVICE_MEMBER MovingRigidBody(const DeviceData& w, const ConstraintData& h, const RigidBody& body, i64 done)
        : w(w), noise(h.noise), body(body), done(done), timestep(w.control->motion.timestep), held(true) {}

    DEVICE_MEMBER Double3 velocity(int k) const { return load(w.atoms.v[w.control->sorted], body.index[k].x); }

    // Velocities as those of a rigid body; adds the arms times the impulses, times a factor, to a sum, if there is one.
    DEVICE_MEMBER void make_rigid(double* impulse) {
        double axes[9];
        axes_of(w, body, 0.0, axes);
        const auto velocities = [&](int k) { return velocity(k); };
        const RigidMotion rigid = rigid_motion_of(body, axes, velocities);
        if (impulse) add_impulses(body, axes, rigid, 1.0, impulse, velocities);
        brake_rigid(w, body, axes, rigid);
    }

    template <class SubSteps>
    DEVICE_MEMBER void each(const SubSteps& make) {
        const int set = w.control->sorted;
        for (int k = threadIdx.x; k < body.atoms; k += RIGID_THREADS) {
            const u32 i = body.index[k].x;
            Double3 x = load(w.atoms.x[set], i), v = load(w.atoms.v[set], i);
            const real3 f = check_force(w, load_force(w, i), v, set, i, done);
            const StoredNoise noise_of_atom = {noise, i};
            Atom atom = {w, timestep, inverse_mass_of(w, body.index[k]), f, noise_of_atom, x, v};
            make(atom);
            store(w.atoms.x[set], i, x);
            store(w.atoms.v[set], i, v);
        }
        __syncthreads();
    }
    DEVICE_MEMBER void reflect(double) {}
    DEVICE_MEMBER void constrain_positions(double part) { held = hold_rigid(w, body, part * timestep) && held; }
    DEVICE_MEMBER void constrain_velocities() { make_rigid(nullptr); }
    DEVICE_MEMBER void begin_closing_kick(double) {}
};

// Moves a body from the force of a step to the positions of the next one.
extern "C" __global__ void __launch_bounds__(RIGID_THREADS)
rigid_move(DeviceData w, ConstraintData h, RigidData r, int slot, int what) {
    wait_for_previous_kernel();
    Control* control = w.control;
    const Slot now = control->slot[slot];
    if (!moves(control, now, what)) return;
    const RigidBody body = rigid_body_of(h, r);
    if (divides_motion(w) && !has_bit(w.division.moved, body.first)) return;
    const int set = control->sorted;
    MovingRigidBody moving(w, h, body, now.done);
    if (what == MOVE_FROM_STEP) make_sub_steps_to_end(moving, w.step_kind);
    make_sub_steps_to_positions(moving, w.step_kind);
    bool finite = true;
    DisplacementCheck check(w);
    for (int k = threadIdx.x; k < body.atoms; k += RIGID_THREADS) {
        const u32 i = body.index[k].x;
        const Double3 x = load(w.atoms.x[set], i);
        const Position p = store_position(w, i, x, (int)body.index[k].y, w.atoms.position[now.parity ^ 1]);
        send_position(w, now.parity ^ 1, (int)i, x, p);
        check.add(w, (int)i, p, w.atoms.built[i]);
        finite = finite && is_finite(load_force(w, i));
    }
    check.note(&control->slot[slot + 1]);
    // Where forces are not finite that is reported already.
    const bool all_finite = __syncthreads_and(finite);
    if (!moving.held && all_finite) report_turn(w, body, now.done);
}

// Rigid body at the end of a step, where the virial of its constraints is wanted.
struct EndingRigidBody : MovingRigidBody {
    double impulse[IMPULSES];

    DEVICE_MEMBER EndingRigidBody(const DeviceData& w, const ConstraintData& h, const RigidBody& body, i64 done)
        : MovingRigidBody(w, h, body, done), impulse{} {}

    DEVICE_MEMBER void constrain_velocities() { make_rigid(impulse); }
    DEVICE_MEMBER void begin_closing_kick(double part) {
        if (part == 1.0) return;
        double axes[9];
        axes_of(w, body, 0.0, axes);
        const auto velocities = [&](int k) { return velocity(k); };
        const RigidMotion unkicked = rigid_motion_of(body, axes, velocities);
        add_impulses(body, axes, unkicked, 1.0 / part - 1.0, impulse, velocities);
    }
};

// The end of a step.
extern "C" __global__ void __launch_bounds__(RIGID_THREADS)
rigid_kick(DeviceData w, ConstraintData h, RigidData r, int slot, int trigger, int first_share) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, trigger)) return;
    const RigidBody body = rigid_body_of(h, r);
    EndingRigidBody ending(w, h, body, now.done);
    make_sub_steps_to_end(ending, w.step_kind);
    store_impulses(w, body, first_share, ending.impulse);
}

// Velocities of bodies after a kick by `time`, as constrained_brake; or the impulses alone that such a kick would need, as
// constrained_trial_kick, where velocities are those before it.
template <bool TRIAL>
DEVICE void follow_kick(const DeviceData& w, const ConstraintData& h, const RigidData& r, double time, double turning,
                        int first_share) {
    const RigidBody body = rigid_body_of(h, r);
    const int set = w.control->sorted;
    double axes[9], impulse[IMPULSES] = {};
    axes_of(w, body, 0.0, axes);
    const auto kicked = [&](int k, double by) {
        const u32 i = body.index[k].x;
        Double3 v = load(w.atoms.v[set], i);
        if (by != 0) kick(v, by * inverse_mass_of(w, body.index[k]), load_force(w, i));
        return v;
    };
    const auto before = [&](int k) { return kicked(k, TRIAL ? 0.0 : -time); };
    const auto after = [&](int k) { return kicked(k, TRIAL ? time : 0.0); };
    if (turning != 0) add_impulses(body, axes, rigid_motion_of(body, axes, before), turning, impulse, before);
    const RigidMotion rigid = rigid_motion_of(body, axes, after);
    add_impulses(body, axes, rigid, 1.0, impulse, after);
    if (!TRIAL) brake_rigid(w, body, axes, rigid);
    store_impulses(w, body, first_share, impulse);
}

extern "C" __global__ void __launch_bounds__(RIGID_THREADS)
rigid_brake(DeviceData w, ConstraintData h, RigidData r, double time, double turning, int first_share) {
    wait_for_previous_kernel();
    follow_kick<false>(w, h, r, time, turning, first_share);
}

extern "C" __global__ void __launch_bounds__(RIGID_THREADS)
rigid_trial_kick(DeviceData w, ConstraintData h, RigidData r, double time, double turning, int first_share) {
    wait_for_previous_kernel();
    follow_kick<true>(w, h, r, time, turning, first_share);
}

// Bodies after a drift of their atoms by dt, in place.
extern "C" __global__ void __launch_bounds__(RIGID_THREADS)
rigid_hold(DeviceData w, ConstraintData h, RigidData r, double dt) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[0];
    const RigidBody body = rigid_body_of(h, r);
    if (!hold_rigid(w, body, dt)) report_turn(w, body, now.done);
    for (int k = threadIdx.x; k < body.atoms; k += RIGID_THREADS) {
        const u32 i = body.index[k].x;
        store_position(w, i, load(w.atoms.x[w.control->sorted], i), (int)body.index[k].y, w.atoms.position[now.parity]);
    }
}
