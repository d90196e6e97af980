// How one atom moves: the same functions in the fused step and in the kernels of single verbs, so
// that both give the same bits.
//
// Generated source in front of this file, made from the lists of sub-steps of jostle_core::thermostat (sub_steps.rs):
//     make_sub_steps_to_positions(group, kind)   from one evaluation of forces to the positions of the next
//     make_sub_steps_to_end(group, kind)         from there to the end of the step
//     has_noise(kind)                            true where each atom gets noise in its drift
// for the kind of step in w.step_kind; and from jostle_potentials::external,
//     void reflected_atom(const double* in, double* out)   from position, velocity, those of a wall, and its side
// A group is what moves together: an atom, a group of atoms with constraints, a rigid body. It makes sub-steps by
//     group.each(f)                       f(atom) for each of its atoms, a MovingAtom (Group::Atom)
//     group.reflect(part)                 what walls that reflect demand when that part of a step is over: of free atoms,
//                                         since there are no others where there are such walls
//     group.constrain_positions(part), group.constrain_velocities()
//                                         what its constraints demand, after a drift by that part of a step
//     group.begin_closing_kick(part)      before the kick that ends a step, whose last drift had that part of it
// and says by Group::DRIFTS_AT_ONCE how many drifts are unrolled.

struct Double3 { double x, y, z; };

DEVICE Double3 load(const double* a, int i) {
    a += 3 * (size_t)i;
    return {a[0], a[1], a[2]};
}
DEVICE void store(double* a, int i, Double3 u) {
    a += 3 * (size_t)i;
    a[0] = u.x;
    a[1] = u.y;
    a[2] = u.z;
}
DEVICE real3 force_in(const real* array, int i) {
    array += 3 * (size_t)i;
    return {array[0], array[1], array[2]};
}
DEVICE void store_force_in(real* array, int i, real3 f) {
    array += 3 * (size_t)i;
    array[0] = f.x;
    array[1] = f.y;
    array[2] = f.z;
}

DEVICE real3 with_beside(const ForcesBeside& beside, int i, real3 f) {
    const int place = beside.place == nullptr ? -1 : beside.place[i];
    if (place < 0) return f;
    const real3 more = force_in(beside.force, place);
    return {f.x + more.x, f.y + more.y, f.z + more.z};
}

// Force on an atom. Those of bonds, biases and meshes come from arrays of their own in steps in which they are computed
// beside those of pairs: kernels that move atoms get their addresses, and those that add forces do not.
DEVICE real3 load_force(const DeviceData& w, int i) {
    const real3 bound = with_beside(w.atoms.of_bonds, i, force_in(w.atoms.force, i));
    const real3 f = with_beside(w.atoms.of_biases, i, bound);
    if (w.atoms.mesh_force == nullptr) return f;
    const real3 of_mesh = force_in(w.atoms.mesh_force, i);
    return {f.x + of_mesh.x, f.y + of_mesh.y, f.z + of_mesh.z};
}

DEVICE void store_force(const DeviceData& w, int i, real3 f) { store_force_in(w.atoms.force, i, f); }

// v += scale f
DEVICE void kick(Double3& v, double scale, real3 f) {
    v.x = fma(scale, (double)f.x, v.x);
    v.y = fma(scale, (double)f.y, v.y);
    v.z = fma(scale, (double)f.z, v.z);
}

// x += dt v
DEVICE void drift(Double3& x, double dt, Double3 v) {
    x.x = fma(dt, v.x, x.x);
    x.y = fma(dt, v.y, x.y);
    x.z = fma(dt, v.z, x.z);
}

// Reflection of an atom after a drift, by all walls that reflect, so many steps after the time set last or before the
// batch, as jostle_potentials::external::PlacedWalls has it. Returns false where it is not between walls afterwards.
DEVICE bool reflect(const DeviceData& w, double inverse_mass, double steps, Double3& x, Double3& v) {
    bool is_turned = inverse_mass != 0;
    for (int turn = 0; turn < w.walls.most_turns && is_turned; turn++) {
        is_turned = false;
        for (int k = 0; k < w.walls.count; k++) {
            const WallPlane& plane = w.walls.plane[k];
            const WallPlace wall = wall_place(plane, time_after(*plane.time, steps));
            double& position = plane.axis == 0 ? x.x : plane.axis == 1 ? x.y : x.z;
            double& velocity = plane.axis == 0 ? v.x : plane.axis == 1 ? v.y : v.z;
            const double in[5] = {position, velocity, wall.at, wall.velocity, plane.side};
            double out[2];
            reflected_atom(in, out);
            is_turned |= out[0] != position;
            position = out[0];
            velocity = out[1];
        }
    }
    return !is_turned;
}

// Notes that an atom is not between walls after a drift, with so many drifts before it, which stops everything: see
// report_force.
DEVICE void report_outside(const DeviceData& w, int i, i64 done) {
    Control* control = w.control;
    const i64 of_step = control->motion.drift < control->motion.timestep ? 2 : 1;
    atomicMin(&control->first_bad, (u64)(done + of_step) << 32 | w.atoms.id[control->sorted][i]);
    report(control, OUTSIDE);
}

DEVICE void scale(Double3& v, double factor) {
    v.x *= factor;
    v.y *= factor;
    v.z *= factor;
}

// Indices in w.thermostat of the factors by which it scales velocities, after a drift and before the next one.
enum { THERMOSTAT_AFTER, THERMOSTAT_BEFORE };

DEVICE bool is_finite(real3 f) {
    real zero = f.x * (real)0 + f.y * (real)0 + f.z * (real)0;
    return zero == (real)0;
}

// Notes that the force on an atom is not finite, which stops everything. The first such force is named, of those of
// one step the one with the smallest id.
DEVICE void report_force(const DeviceData& w, int set, int i, i64 done) {
    atomicMin(&w.control->first_bad, (u64)done << 32 | w.atoms.id[set][i]);
    report(w.control, NOT_FINITE);
}

// The force on an atom, if it is finite. If not, it is reported and the atom comes to rest where it is: the
// diagnosis needs the distance that the force came from.
DEVICE real3 check_force(const DeviceData& w, real3 f, Double3& v, int set, int i, i64 done) {
    if (is_finite(f)) return f;
    report_force(w, set, i, done);
    v = {0, 0, 0};
    return {(real)0, (real)0, (real)0};
}

// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC'11), as in jostle_core::random.
struct Words { u32 w[4]; };
DEVICE Words philox(u32 c0, u32 c1, u32 c2, u32 c3, u64 seed) {
    u32 k0 = (u32)seed, k1 = (u32)(seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; round++) {
        u32 h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0;
        u32 h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
        c0 = h1 ^ c1 ^ k0;
        c1 = l1;
        c2 = h0 ^ c3 ^ k1;
        c3 = l0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return {{c0, c1, c2, c3}};
}

// Uniform in (0, 1) with 53 random bits.
DEVICE double uniform(u32 high, u32 low) {
    u64 bits = (u64)high << 32 | low;
    return ((double)(bits >> 11) + 0.5) * (1.0 / 9007199254740992.0);
}

// Three normal deviates (Box and Muller 1958): jostle_core::random::Stream::normal3 for the purpose
// Langevin, this atom and this step.
APART Double3 langevin_noise(u64 seed, u32 id, u64 step) {
    const u32 purpose = 3;
    const double tau = 6.283185307179586476925;
    u32 upper = (u32)(step >> 32) << 8 | purpose;
    Words a = philox(0, id, (u32)step, upper, seed), b = philox(1, id, (u32)step, upper, seed);
    double radius = sqrt(-2.0 * log(uniform(a.w[0], a.w[1])));
    double angle = tau * uniform(a.w[2], a.w[3]);
    double second = sqrt(-2.0 * log(uniform(b.w[0], b.w[1])));
    return {radius * cos(angle), radius * sin(angle), second * cos(tau * uniform(b.w[2], b.w[3]))};
}

// Noise of a velocity, from normal deviates; its amplitude is generated code.
DEVICE Double3 thermal_noise(double decay, double thermal_energy, double inverse_mass, Double3 xi) {
    const double known[3] = {decay, thermal_energy, inverse_mass};
    double width;
    noise_amplitude(known, &width);
    return {width * xi.x, width * xi.y, width * xi.z};
}

// The O of BAOAB (Leimkuhler and Matthews 2013), but for what is driven.
DEVICE void ornstein_uhlenbeck(Double3& v, double decay, Double3 noise) {
    v.x = fma(decay, v.x, noise.x);
    v.y = fma(decay, v.y, noise.y);
    v.z = fma(decay, v.z, noise.z);
}

// Steps of a batch before a drift, with so many drifts before it.
DEVICE double steps_before(const Control* control, i64 drifts) {
    return (control->motion.drift < control->motion.timestep ? 0.5 : 1.0) * (double)drifts;
}

// An atom whose sub-steps are made, with the force on it; `noise()` gives what friction leaves room for.
template <class Noise>
struct MovingAtom {
    const DeviceData& w;
    double timestep;
    double inverse_mass;  // 0 where nothing changes its velocity
    real3 force;
    const Noise& noise;
    Double3 &x, &v;

    DEVICE_MEMBER void kick() { ::kick(v, 0.5 * timestep * inverse_mass, force); }
    DEVICE_MEMBER void drift(double part) { ::drift(x, part * timestep, v); }
    DEVICE_MEMBER void scale_before_drift() {
        if (inverse_mass != 0) scale(v, w.thermostat[THERMOSTAT_BEFORE]);
    }
    DEVICE_MEMBER void scale_after_drift() {
        if (inverse_mass != 0) scale(v, w.thermostat[THERMOSTAT_AFTER]);
    }
    DEVICE_MEMBER void add_noise() {
        if (inverse_mass != 0) ornstein_uhlenbeck(v, w.control->motion.decay, noise());
    }
};

// Group of one atom, without constraints.
template <class Noise>
struct FreeAtom {
    typedef MovingAtom<Noise> Atom;
    enum { DRIFTS_AT_ONCE = 2 };

    Atom atom;
    i64 done;  // drifts of the batch before the next one
    int i;

    template <class SubSteps>
    DEVICE_MEMBER void each(const SubSteps& make) { make(atom); }
    DEVICE_MEMBER void reflect(double part) {
        const double steps = REFLECTS ? steps_before(atom.w.control, done) + part : 0;
        if (REFLECTS && !::reflect(atom.w, atom.inverse_mass, steps, atom.x, atom.v)) report_outside(atom.w, i, done);
    }
    DEVICE_MEMBER void constrain_positions(double) {}
    DEVICE_MEMBER void constrain_velocities() {}
    DEVICE_MEMBER void begin_closing_kick(double) {}
};

// Slot of the next step, written by one thread of all; atoms note the rest as they arrive.
DEVICE void next_slot(const DeviceData& w, int slot, bool moved) {
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    const Slot now = w.control->slot[slot];
    Slot* next = &w.control->slot[slot + 1];
    next->parity = now.parity ^ moved;
    next->done = now.done + moved;
    next->kept = moved && !halfway(w.control, now) ? now.soon : now.kept;
    next->row = row_after(w.control, next->done);
    if (now.stale) next->stale = 1;
    if (!moved && now.soon) next->soon = 1;
}

// Returns true where a fraction of an open axis is far from its ends.
DEVICE bool is_inside(double s) { return s > 0.125 && s < 0.875; }

// Returns true where each GPU of a run moves its own atoms, and this kernel only those of this one.
DEVICE bool divides_motion(const DeviceData& w) { return SEVERAL && w.peers.count > 0; }

// How far the atoms that arrive in a slot are from where the list has them.
struct DisplacementCheck {
    real limit2;
    bool stale, soon;  // the list is, or will be

    DEVICE_MEMBER explicit DisplacementCheck(const DeviceData& w)
        : limit2((real)w.control->limit2), stale(false), soon(false) {}

    // Atom i, at p: of a slow species as if it were further by as much as its displacement limit is smaller. A list has all
    // pairs of atoms that are not further than half the skin from where it has them. What it lacks of others is
    // looked for, where somebody does: see displacement.cu. That is where it also shows whether a list ends soon:
    // many atoms that note the same in the same place wait for each other.
    DEVICE_MEMBER void add(const DeviceData& w, int i, Position p, Position built) {
        const real3 d = difference(w.geometry, p, built);
        const real d2 = dot(d, d) * inverse_limit2(w, (int)p.species);
        if (!w.atoms.displaced && d2 > (real)0.5 * limit2) soon = true;
        // Not "greater than": what is not a number is displaced, too.
        if (d2 <= limit2) return;
        // Of the surroundings of another GPU's atoms this one knows those near its own.
        const bool known = !divides_motion(w) || w.division.extent >= 0 || owns(w, i);
        if (w.atoms.displaced && known && d2 <= (real)w.control->farthest2) {
            atomicOr(&w.atoms.displaced[i / 32], 1u << i % 32);
        } else {
            stale = true;
        }
    }

    // Notes in a slot what was found of the atoms that are there then.
    DEVICE_MEMBER void note(Slot* slot) const {
        if (stale) slot->stale = 1;
        if (soon) slot->soon = 1;
    }
};

// Where an atom is now, for the forces; makes it known if it is about to leave the range of an open axis.
DEVICE Position store_position(const DeviceData& w, int i, Double3 x, int species, Position* to) {
    const Position p = to_position(w.geometry, x.x, x.y, x.z, species);
    to[i] = p;
    bool inside = true;
    if (!w.geometry.periodic[0]) inside = inside && is_inside((x.x - w.geometry.origin[0]) * w.geometry.inverse[0]);
    if (!w.geometry.periodic[1]) inside = inside && is_inside((x.y - w.geometry.origin[1]) * w.geometry.inverse[1]);
    if (!w.geometry.periodic[2]) inside = inside && is_inside((x.z - w.geometry.origin[2]) * w.geometry.inverse[2]);
    if (!inside) report(w.control, ESCAPED);
    return p;
}

// Storage of a position in one of the two arrays of all other GPUs, where each moves its own atoms: see exchange.cu.
DEVICE void send_position(const DeviceData& w, int parity, int i, Double3 x, Position p) {
#if SEVERAL
    if (w.peers.count == 0) return;
    const u32 needs = w.division.needed_by ? w.division.needed_by[i] : 0xffu;
    for (int k = 0; k < w.peers.count; k++) {
        if (needs >> k & 1) w.peers.position[k][parity][i] = p;
    }
    if (!w.division.moved || !has_bit(w.division.exact, i)) return;
    for (int k = 0; k < w.peers.count; k++) store(w.peers.x[k][w.control->sorted], i, x);
#endif
}

// Storage of a position at the end of a step's drift: the slot that it belongs to notes whether it is displaced.
DEVICE void store_position(const DeviceData& w, int i, Double3 x, int species, int parity, Slot* slot) {
    DisplacementCheck check(w);
    const Position p = store_position(w, i, x, species, w.atoms.position[parity]);
    send_position(w, parity, i, x, p);
    check.add(w, i, p, w.atoms.built[i]);
    check.note(slot);
}

// Noise on an atom in the step after so many drifts of the batch.
DEVICE Double3 noise_of(const DeviceData& w, int i, double inverse_mass, i64 done) {
    const Motion& motion = w.control->motion;
    const Double3 xi = langevin_noise(motion.seed, w.atoms.id[w.control->sorted][i], motion.first_step + done);
    return thermal_noise(motion.decay, motion.thermal_energy, inverse_mass, xi);
}

// The atom i with positions and velocities in registers.
template <class Noise>
DEVICE FreeAtom<Noise> free_atom(const DeviceData& w, i64 done, int i, Double3& x, Double3& v, real3 f, int species,
                                 const Noise& noise) {
    return {{w, w.control->motion.timestep, w.atoms.inverse_mass[mass_index(w, i, species)], f, noise, x, v}, done, i};
}

// On from one force to where the next one is evaluated, by an atom with these positions and velocities.
template <class Noise>
DEVICE void advance_atom(const DeviceData& w, int slot, const Slot& now, int i, Double3 x, Double3 v, real3 f, int species,
                         const Noise& noise) {
    Control* control = w.control;
    const int set = control->sorted;
    FreeAtom<Noise> atom = free_atom(w, now.done, i, x, v, f, species, noise);
    make_sub_steps_to_positions(atom, w.step_kind);
    store(w.atoms.x[set], i, x);
    store(w.atoms.v[set], i, v);
    store_position(w, i, x, species, now.parity ^ 1, &control->slot[slot + 1]);
}

DEVICE void advance_atom(const DeviceData& w, int slot, const Slot& now, int i, Double3 x, Double3 v, real3 f, int species) {
    advance_atom(w, slot, now, i, x, v, f, species, [&] {
        return noise_of(w, i, w.atoms.inverse_mass[mass_index(w, i, species)], now.done);
    });
}

// Noise of what gets none.
struct NoNoise {
    DEVICE_MEMBER Double3 operator()() const { return {0, 0, 0}; }
};

// The end of a step.
DEVICE void end_step(const DeviceData& w, int i, Double3& v, real3 f, int species) {
    Double3 unmoved;
    const NoNoise none;
    FreeAtom<NoNoise> atom = free_atom(w, 0, i, unmoved, v, f, species, none);
    make_sub_steps_to_end(atom, w.step_kind);
}

// An atom whose force is there: the end of the step, and on to where it is next.
DEVICE void finish_step(const DeviceData& w, int slot, const Slot& now, int i, real3 f) {
    Control* control = w.control;
    const int set = control->sorted, species = (int)w.atoms.position[now.parity][i].species;
    Double3 x = load(w.atoms.x[set], i), v = load(w.atoms.v[set], i);
    if (now.soon) store_force(w, i, f);
    f = check_force(w, f, v, set, i, now.done);
    end_step(w, i, v, f, species);
    advance_atom(w, slot, now, i, x, v, f, species);
}

// Returns true where an atom keeps its velocity whatever happens.
DEVICE bool driven(const DeviceData& w, int i) {
    return w.atoms.inverse_mass[mass_index(w, i, (int)w.atoms.position[w.control->slot[0].parity][i].species)] == 0;
}
