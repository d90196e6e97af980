// Plane that acts on atoms like another atom right below them would. The generated source in front of this file
// has the force of pairs, in which the wall is the last species, and enum { MOVES }: 1 for a wall that moves.

typedef WallData ExternalData;

template <bool ENERGY>
DEVICE real3 force_on(const DeviceData& w, const ExternalData& data, const Slot& now, int trigger, int i, double* energy) {
    const int set = w.control->sorted, species = (int)w.atoms.position[now.parity][i].species;
    const WallPlane& plane = data.plane;
    const double at = MOVES ? wall_place(plane, time_of(w, *plane.time, now, trigger)).at : plane.begin;
    const double height = plane.side * (w.atoms.x[set][3 * (size_t)i + plane.axis] - at);
    if (height >= data.reach[species]) return {0, 0, 0};
    if (!(height > 0)) {
        // Atoms behind a wall that acts on them are a fault.
        if (data.reach[species] > 0) report_force(w, set, i, now.done);
        return {0, 0, 0};
    }
    const real h = (real)height;
    real u = 0;
    const real f = pair_force<ENERGY>(h * h, species, N_SPECIES - 1, (real)0, data.table, &u) * h * (real)plane.side;
    if (ENERGY) energy[0] += u;
    return {plane.axis == 0 ? f : 0, plane.axis == 1 ? f : 0, plane.axis == 2 ? f : 0};
}
