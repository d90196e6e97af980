// Uniform force; its energy is that at the unwrapped position.

typedef FieldData ExternalData;

template <bool ENERGY>
DEVICE real3 force_on(const DeviceData& w, const ExternalData& data, const Slot& now, int, int i, double* energy) {
    if (data.members && !data.members[w.atoms.id[w.control->sorted][i]]) return {};
    const double* f = data.force + 3 * (int)w.atoms.position[now.parity][i].species;
    if (ENERGY) {
        const int set = w.control->sorted;
        const Double3 x = load(w.atoms.x[set], i);
        const int* image = w.atoms.image[set] + 3 * (size_t)i;
        const double a = image[0], b = image[1], c = image[2];
        const double* edge = w.geometry.edge;
        const double* tilt = w.geometry.tilt;
        energy[0] -= f[0] * (x.x + edge[0] * a + tilt[0] * b + tilt[1] * c) +
                     f[1] * (x.y + edge[1] * b + tilt[2] * c) + f[2] * (x.z + edge[2] * c);
    }
    return {(real)f[0], (real)f[1], (real)f[2]};
}
