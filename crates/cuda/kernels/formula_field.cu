// Field whose energy is a formula of position, time and constants of an atom.
//
// In front of this file is generated source with
//     enum { FIELD_INPUTS, UNWRAPPED }
//     void field_formula(const double* in, double* out)   from {x, y, z, time, constants} to {energy, slopes}

typedef FormulaFieldData ExternalData;

template <bool ENERGY>
DEVICE real3 force_on(const DeviceData& w, const ExternalData& data, const Slot& now, int trigger, int i, double* energy) {
    const int set = w.control->sorted;
    const u32 id = w.atoms.id[set][i];
    if (data.members && !data.members[id]) return {};
    const Double3 x = load(w.atoms.x[set], i);
    const BoxGeometry& box = w.geometry;
    double in[FIELD_INPUTS] = {x.x, x.y, x.z, time_of(w, *data.time, now, trigger)}, out[4];
    if (UNWRAPPED) {
        const int* image = w.atoms.image[set] + 3 * (size_t)i;
        const double a = image[0], b = image[1], c = image[2];
        in[0] += box.edge[0] * a + box.tilt[0] * b + box.tilt[1] * c;
        in[1] += box.edge[1] * b + box.tilt[2] * c;
        in[2] += box.edge[2] * c;
    } else {
        // Atoms are a little out of the box until they are sorted.
        const double s = (x.z - box.origin[2]) * box.inverse[2];
        const double t = (x.y - box.origin[1] - s * box.tilt[2]) * box.inverse[1];
        const double r = (x.x - box.origin[0] - s * box.tilt[1] - t * box.tilt[0]) * box.inverse[0];
        const double a = box.periodic[0] ? floor(r) : 0.0, b = box.periodic[1] ? floor(t) : 0.0;
        const double c = box.periodic[2] ? floor(s) : 0.0;
        in[0] -= box.edge[0] * a + box.tilt[0] * b + box.tilt[1] * c;
        in[1] -= box.edge[1] * b + box.tilt[2] * c;
        in[2] -= box.edge[2] * c;
    }
    for (int k = 4; k < FIELD_INPUTS; k++) in[k] = data.constants[(size_t)id * (FIELD_INPUTS - 4) + k - 4];
    field_formula(in, out);
    if (ENERGY) energy[0] += out[0];
    return {(real)-out[1], (real)-out[2], (real)-out[3]};
}
