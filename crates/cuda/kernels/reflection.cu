// Reflection of atoms in place, after a drift by itself: no other kernel reads them meanwhile. Displaced atoms are found
// when the drift of the step is over, as for `drift_atoms`.

extern "C" __global__ void reflect_atoms(DeviceData w, double part) {
    wait_for_previous_kernel();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.n) return;
    Control* control = w.control;
    const int set = control->sorted;
    Position* position = w.atoms.position[control->slot[0].parity];
    const int species = (int)position[i].species;
    Double3 x = load(w.atoms.x[set], i), v = load(w.atoms.v[set], i);
    // The time set last is that of the end of the step.
    const double inverse_mass = w.atoms.inverse_mass[mass_index(w, i, species)];
    if (!reflect(w, inverse_mass, part - 1.0, x, v)) report_outside(w, i, 0);
    store(w.atoms.x[set], i, x);
    store(w.atoms.v[set], i, v);
    store_position(w, i, x, species, position);
}
