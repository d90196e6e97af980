// Motion of atoms: the parts of a batch before and after its fused steps, the step in pieces for force kernels
// that do not move atoms themselves, and single operations on positions and velocities.

// Validity of list and species when positions are set.
enum Placing {
    PLACING_LISTED,  // both are valid
    PLACING_FRESH,   // neither: atoms come from the host, with their species in w.sort.bin
    PLACING_ANEW,    // species are valid; a new list is needed
};

// Positions for the force kernels from x.
extern "C" __global__ void place_atoms(DeviceData w, int placing) {
    wait_for_previous_kernel();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.n) return;
    Position* position = w.atoms.position[w.control->slot[0].parity];
    Double3 x = load(w.atoms.x[w.control->sorted], i);
    const int species = placing == PLACING_FRESH ? (int)w.sort.bin[i] : (int)position[i].species;
    const Position p = to_position(w.geometry, x.x, x.y, x.z, species);
    position[i] = p;
    // Lists that stay in use have their usual check for displaced atoms.
    if (placing == PLACING_LISTED) {
        DisplacementCheck check(w);
        check.add(w, i, p, w.atoms.built[i]);
        check.note(&w.control->slot[0]);
    }
}

// First half of a segment's first step.
extern "C" __global__ void begin_segment(DeviceData w, int slot) {
    wait_for_previous_kernel();
    Control* control = w.control;
    const Slot now = control->slot[slot];
    const bool moves = segment_start_due(control);
    next_slot(w, slot, moves);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (!moves || i >= w.n) return;
    const int set = control->sorted, species = (int)w.atoms.position[now.parity][i].species;
    Double3 x = load(w.atoms.x[set], i), v = load(w.atoms.v[set], i);
    const real3 f = check_force(w, load_force(w, i), v, set, i, now.done);
    advance_atom(w, slot, now, i, x, v, f, species);
}

// Rest of a step and the first half of the next one, from stored forces, of the atoms of w.owned.
extern "C" __global__ void advance(DeviceData w, int slot) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    const bool moves = step_due(w.control, now);
    next_slot(w, slot, moves);
    const int i = w.owned.first + blockIdx.x * blockDim.x + threadIdx.x;
    if (moves && i < w.owned.end) finish_step(w, slot, now, i, load_force(w, i));
}

// Second half of a segment's last step.
extern "C" __global__ void end_segment(DeviceData w) {
    wait_for_previous_kernel();
    Control* control = w.control;
    const Slot now = control->slot[0];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (!segment_end_due(control, now) || i >= w.n) return;
    const int set = control->sorted, species = (int)w.atoms.position[now.parity][i].species;
    Double3 v = load(w.atoms.v[set], i);
    const real3 f = check_force(w, load_force(w, i), v, set, i, now.done);
    end_step(w, i, v, f, species);
    store(w.atoms.v[set], i, v);
}

// ---- single operations

extern "C" __global__ void kick_atoms(DeviceData w, double dt) {
    wait_for_previous_kernel();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.n) return;
    const Slot now = w.control->slot[0];
    const int set = w.control->sorted, species = (int)w.atoms.position[now.parity][i].species;
    Double3 v = load(w.atoms.v[set], i);
    const real3 f = check_force(w, load_force(w, i), v, set, i, now.done);
    kick(v, dt * w.atoms.inverse_mass[mass_index(w, i, species)], f);
    store(w.atoms.v[set], i, v);
}

// Drift of positions in place: no other kernel reads them meanwhile. Displaced atoms are found when the drift of the
// step is over: see `Cuda::update_neighbors`.
extern "C" __global__ void drift_atoms(DeviceData w, double dt) {
    wait_for_previous_kernel();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.n) return;
    Control* control = w.control;
    const int set = control->sorted;
    Position* position = w.atoms.position[control->slot[0].parity];
    Double3 x = load(w.atoms.x[set], i);
    drift(x, dt, load(w.atoms.v[set], i));
    store(w.atoms.x[set], i, x);
    store_position(w, i, x, (int)position[i].species, position);
}

extern "C" __global__ void noise_atoms(DeviceData w, double decay, double thermal_energy, u64 seed, u64 step) {
    wait_for_previous_kernel();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.n) return;
    const int set = w.control->sorted, species = (int)w.atoms.position[w.control->slot[0].parity][i].species;
    Double3 v = load(w.atoms.v[set], i);
    const double inverse_mass = w.atoms.inverse_mass[mass_index(w, i, species)];
    if (inverse_mass == 0) return;
    const Double3 xi = langevin_noise(seed, w.atoms.id[set][i], step);
    ornstein_uhlenbeck(v, decay, thermal_noise(decay, thermal_energy, inverse_mass, xi));
    store(w.atoms.v[set], i, v);
}

// Scaling and shift: v = factor v + (x, y, z).
extern "C" __global__ void scale_and_shift(DeviceData w, double factor, double x, double y, double z) {
    wait_for_previous_kernel();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.n || driven(w, i)) return;
    const int set = w.control->sorted;
    Double3 v = load(w.atoms.v[set], i);
    store(w.atoms.v[set], i, {fma(factor, v.x, x), fma(factor, v.y, y), fma(factor, v.z, z)});
}

// Mixing with forces: v = keep v + along f.
extern "C" __global__ void mix_velocities(DeviceData w, double keep, double along) {
    wait_for_previous_kernel();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.n || driven(w, i)) return;
    const int set = w.control->sorted;
    Double3 v = load(w.atoms.v[set], i);
    real3 f = load_force(w, i);
    store(w.atoms.v[set], i, {keep * v.x + along * f.x, keep * v.y + along * f.y, keep * v.z + along * f.z});
}
