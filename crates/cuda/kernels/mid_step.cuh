// Middle of a step, where forces act that depend on velocities. All atoms must have arrived there, so that a step
// takes two slots: one ends with half a drift, the next makes the other half.

// Returns true where the middle of a step is to be executed.
DEVICE bool crosses(const Control* control, const Slot& slot) {
    return slot_active(control, slot) && halfway(control, slot);
}

// Calls visit(j) for every atom that may be nearer than `reach`: from the list of an atom where that is complete, or
// from the bins around, which are those of the last sort, since when atoms have moved by half a skin at most.
template <class Visit>
DEVICE void each_in_reach(const DeviceData& w, int i, Position mine, double reach, bool listed, Visit visit) {
    if (listed) {
        const int entries = w.lists.n_neighbor[i];
        for (int k = 0; k < entries; k++) visit(w.lists.neighbor[(size_t)k * w.n + i]);
    } else {
        each_near(w, to_fixed(w.geometry, mine), reach + w.control->skin, visit);
    }
}

// Second half of the drift.
extern "C" __global__ void cross(DeviceData w, int slot) {
    wait_for_previous_kernel();
    Control* control = w.control;
    const Slot now = control->slot[slot];
    const bool moves = crosses(control, now);
    next_slot(w, slot, moves);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (!moves || i >= w.n) return;
    const int set = control->sorted, species = (int)w.atoms.position[now.parity][i].species;
    Double3 x = load(w.atoms.x[set], i), v = load(w.atoms.v[set], i);
    drift(x, control->motion.drift, v);
    if (REFLECTS) {
        const double inverse_mass = w.atoms.inverse_mass[mass_index(w, i, species)];
        if (!reflect(w, inverse_mass, steps_before(control, now.done + 1), x, v)) report_outside(w, i, now.done);
        store(w.atoms.v[set], i, v);
    }
    store(w.atoms.x[set], i, x);
    store_position(w, i, x, species, now.parity ^ 1, &control->slot[slot + 1]);
}
