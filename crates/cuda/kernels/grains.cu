// Damping and friction at the contacts of grains, with each other and with walls. Forces are gathered for each grain:
// no atomics. Angular velocities are stored by id, and are never sorted.
//
// Contacts that remember have slots, stored by id as well: each grain has slots of its own, so that no thread waits for
// another. Both grains look at their contact from the one with the lower id, and find the same numbers to the last bit.
//
// Generated source in front of this file:
//     void contact_forces(const double* in, double* out)
// from the 31 numbers of `Meeting` to the force, to the vector of which the torques are minus the arms times, to the
// torque of rolling, and to the springs that friction leaves;
//     void stretched_springs(const double* in, double* out)
// from these and the time to the springs after it.

// Force and torque on a grain; and whether it has more contacts than slots.
struct Wrench {
    Double3 force, torque;
    bool crowded;
};

// Numbers of a contact, in the order in which generated functions take them.
struct Meeting {
    double law[8], overlap, mass, radius, arms[2], normal[3], velocity[3], angular[3], other_angular[3], springs[6], time;
};

// Slot that a grain has for a contact: that of the step before, or the next one; -1 where all are taken.
DEVICE int slot_of(const ContactData& p, u32 id, u32 partner, bool& begins) {
    const u32 first = p.first_slot[id], end = first + p.used[id];
    begins = false;
    for (u32 k = first; k < end; k++) {
        if (p.partner[k] == partner) return (int)k;
    }
    if (end == p.first_slot[id + 1]) return -1;
    begins = true;
    p.partner[end] = partner;
    p.used[id]++;
    return (int)end;
}

// Passes over the contacts of a step.
enum Pass {
    PASS_HALFWAY,  // to the velocities half-way; before it springs move with the surfaces for half a step
    PASS_WHOLE,    // to those after it; friction limits the springs
    PASS_AFTER,    // springs move with these velocities for the other half: grains at rest do not creep
};

// Springs of a contact in a pass over it; null where there is no slot for them.
DEVICE double* recall_springs(const ContactData& p, u32 id, u32 partner, int pass, Meeting& meeting) {
    bool begins;
    const int slot = slot_of(p, id, partner, begins);
    if (slot < 0) return nullptr;
    double* springs = p.springs + 6 * (size_t)slot;
    for (int k = 0; k < 6; k++) meeting.springs[k] = begins ? 0.0 : springs[k];
    if (pass != PASS_WHOLE) {
        p.touched[slot] = 1;
        meeting.time = 0.5 * p.timestep;
        stretched_springs(meeting.law, springs);
        for (int k = 0; k < 6; k++) meeting.springs[k] = springs[k];
    }
    return springs;
}

// Adds the forces of a contact of a grain with a partner. The contact is seen by the one with the lower id.
DEVICE void add(Wrench& sum, const ContactData& p, u32 id, u32 partner, int pass, Meeting& meeting) {
    double* springs = p.remember ? recall_springs(p, id, partner, pass, meeting) : nullptr;
    sum.crowded = sum.crowded || (p.remember && !springs);
    if (pass == PASS_AFTER) return;
    double out[15];
    contact_forces(meeting.law, out);
    if (springs && pass == PASS_WHOLE) {
        for (int k = 0; k < 6; k++) springs[k] = out[9 + k];
    }
    const bool first = id < partner;
    const double arm = meeting.arms[first ? 0 : 1], sign = first ? 1.0 : -1.0;
    sum.force.x += sign * out[0];
    sum.force.y += sign * out[1];
    sum.force.z += sign * out[2];
    sum.torque.x += fma(-arm, out[3], sign * out[6]);
    sum.torque.y += fma(-arm, out[4], sign * out[7]);
    sum.torque.z += fma(-arm, out[5], sign * out[8]);
}

// Drops contacts that have ended; the others move together.
DEVICE void drop_ended(const ContactData& p, u32 id) {
    const u32 first = p.first_slot[id], n = p.used[id];
    u32 kept = first;
    for (u32 k = first; k < first + n; k++) {
        if (!p.touched[k]) continue;
        p.touched[k] = 0;
        if (kept < k) {
            p.partner[kept] = p.partner[k];
            for (int axis = 0; axis < 6; axis++) p.springs[6 * (size_t)kept + axis] = p.springs[6 * (size_t)k + axis];
        }
        kept++;
    }
    p.used[id] = kept - first;
}

DEVICE void copy(double* to, Double3 u) {
    to[0] = u.x;
    to[1] = u.y;
    to[2] = u.z;
}

// Pass over all contacts. Kick by contact forces: to = v + part dt F / m and likewise for angular velocities, with forces
// at the velocities `from`; in the middle of the step of a slot, or at once where there is no slot.
extern "C" __global__ void
apply_contact_friction(DeviceData w, ContactData p, int slot, const double* from,
                       const double* angular_from, double* to, double* angular_to, int pass) {
    wait_for_previous_kernel();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const Control* control = w.control;
    const Slot now = control->slot[max(slot, 0)];
    if (slot >= 0) {
        if (!crosses(control, now)) return;
        p.timestep = control->motion.timestep;
    }
    if (i >= w.n) return;
    const int set = control->sorted;
    const Position* position = w.atoms.position[now.parity];
    const Position mine = position[i];
    const int species = (int)mine.species;
    const double* velocity = from ? from : w.atoms.v[set];
    const double* angular = angular_from ? angular_from : p.angular;
    const u32 id = w.atoms.id[set][i];
    if (pass == PASS_AFTER && p.used[id] == 0) return;
    const Double3 v = load(velocity, i), turning = load(angular, id);
    const double radius = p.radius[species], inverse_mass = w.atoms.inverse_mass[mass_index(w, i, species)];
    Wrench sum = {};
    Meeting meeting = {};
    for (int k = 0; k < 8; k++) meeting.law[k] = p.law[k];
    auto visit = [&](u32 j) {
        if (j == (u32)i) return;
        const Position other = position[j];
        const real3 d = difference(w.geometry, mine, other);
        const double size = radius + p.radius[(int)other.species];
        const double inverse = inverse_mass + w.atoms.inverse_mass[mass_index(w, j, (int)other.species)];
        const double r2 = (double)dot(d, d);
        if (!(r2 < size * size) || r2 == 0.0 || !(inverse > 0.0)) return;
        const double distance = sqrt(r2);
        meeting.overlap = size - distance;
        meeting.mass = 1.0 / inverse;
        meeting.radius = radius * p.radius[(int)other.species] / size;
        const u32 partner = w.atoms.id[set][j];
        const bool first = id < partner;
        const double sign = first ? 1.0 : -1.0;
        // The point of contact divides the distance in the ratio of the radii.
        meeting.arms[first ? 0 : 1] = radius * distance / size;
        meeting.arms[first ? 1 : 0] = p.radius[(int)other.species] * distance / size;
        copy(meeting.normal, {sign * d.x / distance, sign * d.y / distance, sign * d.z / distance});
        const Double3 u = load(velocity, j), theirs = load(angular, partner);
        copy(meeting.velocity, {sign * (v.x - u.x), sign * (v.y - u.y), sign * (v.z - u.z)});
        copy(meeting.angular, first ? turning : theirs);
        copy(meeting.other_angular, first ? theirs : turning);
        add(sum, p, id, partner, pass, meeting);
    };
    each_in_reach(w, i, mine, p.longest, p.listed, visit);
    // Middle of the step: its end is the time of single operations, its number of half drifts that of a batch.
    const double middle = time_after(*p.time, slot < 0 ? -0.5 : 0.5 * (double)now.done);
    for (int k = 0; k < p.n_walls && inverse_mass > 0.0; k++) {
        const WallPlane& plane = p.walls[k];
        const int axis = (int)plane.axis;
        const WallPlace wall = wall_place(plane, middle);
        const double height = plane.side * (w.atoms.x[set][3 * (size_t)i + axis] - wall.at);
        if (height >= radius) continue;
        meeting.overlap = radius - height;
        meeting.mass = 1.0 / inverse_mass;
        meeting.radius = radius;
        meeting.arms[0] = height;
        meeting.arms[1] = 0.0;
        copy(meeting.normal, {});
        meeting.normal[axis] = plane.side;
        copy(meeting.velocity, v);
        meeting.velocity[axis] -= wall.velocity;
        copy(meeting.angular, turning);
        copy(meeting.other_angular, {});
        add(sum, p, id, FIRST_WALL - k, pass, meeting);
    }
    if (sum.crowded) {
        atomicMin(&w.control->first_bad, (u64)now.done << 32 | id);
        report(w.control, CROWDED);
    }
    if (pass == PASS_AFTER) return drop_ended(p, id);
    const double time = (pass == PASS_HALFWAY ? 0.5 : 1.0) * p.timestep, scale = time * inverse_mass,
                 twist = time * p.inverse_inertia[mass_index(w, i, species)];
    const Double3 before = load(w.atoms.v[set], i), turned = load(p.angular, id);
    store(to ? to : w.atoms.v[set], i, {fma(scale, sum.force.x, before.x), fma(scale, sum.force.y, before.y),
                                       fma(scale, sum.force.z, before.z)});
    store(angular_to ? angular_to : p.angular, id, {fma(twist, sum.torque.x, turned.x),
                                                         fma(twist, sum.torque.y, turned.y),
                                                         fma(twist, sum.torque.z, turned.z)});
}
