// Damping and friction at the contacts of grains, with each other and with walls. Forces are gathered for each grain:
// no atomics. Angular velocities are stored by id, and are never sorted.
//
// Generated source in front of this file:
//     void friction(const double* in, double* out)
// from {law (4), overlap, effective mass, arms (2), normal, relative velocity, angular velocities of both}
// to the force, and to the vector of which the torques are minus the arms times.

// Force and torque on a grain.
struct Wrench { Double3 force, torque; };

DEVICE void add(Wrench& sum, const double* law, double overlap, double mass, double arm, double other_arm,
                const double* normal, Double3 velocity, Double3 angular, Double3 other_angular) {
    const Double3 &v = velocity, &a = angular, &b = other_angular;
    const double in[20] = {law[0], law[1], law[2], law[3], overlap, mass, arm, other_arm, normal[0], normal[1],
                           normal[2], v.x, v.y, v.z, a.x, a.y, a.z, b.x, b.y, b.z};
    double out[6];
    friction(in, out);
    sum.force.x += out[0];
    sum.force.y += out[1];
    sum.force.z += out[2];
    sum.torque.x = fma(-arm, out[3], sum.torque.x);
    sum.torque.y = fma(-arm, out[4], sum.torque.y);
    sum.torque.z = fma(-arm, out[5], sum.torque.z);
}

// Kick by contact forces: to = v + part dt F / m and likewise for angular velocities, with forces at the velocities
// `from`; in the middle of the step of a slot, or at once where there is no slot.
extern "C" __global__ void
apply_contact_friction(DeviceData w, ContactData p, int slot, const double* from,
                       const double* angular_from, double* to, double* angular_to, double part) {
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
    const Double3 v = load(velocity, i), turning = load(angular, id);
    const double radius = p.radius[species], inverse_mass = w.atoms.inverse_mass[mass_index(w, i, species)];
    Wrench sum = {};
    auto visit = [&](u32 j) {
        if (j == (u32)i) return;
        const Position other = position[j];
        const real3 d = difference(w.geometry, mine, other);
        const double size = radius + p.radius[(int)other.species];
        const double inverse = inverse_mass + w.atoms.inverse_mass[mass_index(w, j, (int)other.species)];
        const double r2 = (double)dot(d, d);
        if (!(r2 < size * size) || r2 == 0.0 || !(inverse > 0.0)) return;
        const double distance = sqrt(r2), normal[3] = {d.x / distance, d.y / distance, d.z / distance};
        // The point of contact divides the distance in the ratio of the radii.
        const double arm = radius * distance / size;
        const Double3 u = load(velocity, j);
        add(sum, p.law, size - distance, 1.0 / inverse, arm, distance - arm, normal,
            {v.x - u.x, v.y - u.y, v.z - u.z}, turning, load(angular, w.atoms.id[set][j]));
    };
    each_in_reach(w, i, mine, p.longest, p.listed, visit);
    for (int k = 0; k < p.n_faces && inverse_mass > 0.0; k++) {
        const Face face = p.faces[k];
        const int axis = (int)face.axis;
        const double height = face.side * (w.atoms.x[set][3 * (size_t)i + axis] - face.at);
        if (height >= radius) continue;
        double normal[3] = {};
        normal[axis] = face.side;
        add(sum, p.law, radius - height, 1.0 / inverse_mass, height, 0.0, normal, v, turning, {});
    }
    const double scale = part * p.timestep * inverse_mass,
                 twist = part * p.timestep * p.inverse_inertia[mass_index(w, i, species)];
    const Double3 before = load(w.atoms.v[set], i), turned = load(p.angular, id);
    store(to ? to : w.atoms.v[set], i, {fma(scale, sum.force.x, before.x), fma(scale, sum.force.y, before.y),
                                       fma(scale, sum.force.z, before.z)});
    store(angular_to ? angular_to : p.angular, id, {fma(twist, sum.torque.x, turned.x),
                                                         fma(twist, sum.torque.y, turned.y),
                                                         fma(twist, sum.torque.z, turned.z)});
}
