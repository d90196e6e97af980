// Baths that scale all velocities, without the host. A step is then made of three kernels after
// its forces: the second half of the kick with the kinetic energy, the bath, and the move.
//
// The generated source in front of this says BATH, the kind, how many BATH_CONSTANTS and
// BATH_VARIABLES it has, and
//     void bath_update(const double* in, double* out)
// from {kinetic energy, a, b, constants, variables} to {factor for velocities, heat, variables}.
// For Nose-Hoover chains a is the time, for Bussi's bath a and b are random deviates.

// What is where in w.bath, after the factors for velocities. From BATH_HEAT to before the constants it changes from step to step.
enum {
    BATH_EVERY = BATH_BEFORE + 1,  // rescaling: steps from one to the next,
    BATH_START,    // and the step after which they count
    BATH_HEAT,
    BATH_KINETIC,  // kinetic energy between two steps
    BATH_VARIABLE,
    BATH_CONSTANT = BATH_VARIABLE + BATH_VARIABLES,
    BATH_ROW = BATH_CONSTANT - BATH_HEAT,
};

// Kinds of baths.
enum { BATH_RESCALE, BATH_BUSSI, BATH_NOSE_HOOVER };

enum { BATH_THREADS = SUM_THREADS };

// Of what the kinetic energy is added up: where runs are reproducible along each axis and in the order of
// `kinetic_shares`, so that a bath on the host finds the same factors.
enum { BATH_SUMS = REPRODUCIBLE ? 3 : 1 };

// The factor for velocities; the bath moves on.
DEVICE double update(double* bath, double kinetic, double a, double b) {
    double in[3 + BATH_CONSTANTS + BATH_VARIABLES] = {kinetic, a, b}, out[2 + BATH_VARIABLES];
    for (int k = 0; k < BATH_CONSTANTS; k++) in[3 + k] = bath[BATH_CONSTANT + k];
    for (int k = 0; k < BATH_VARIABLES; k++) in[3 + BATH_CONSTANTS + k] = bath[BATH_VARIABLE + k];
    bath_update(in, out);
    bath[BATH_HEAT] += out[1];
    for (int k = 0; k < BATH_VARIABLES; k++) bath[BATH_VARIABLE + k] = out[2 + k];
    return out[0];
}

// What the bath does before the forces of a step act.
DEVICE void act_before(const World& w) {
    double factor = 1.0;
    if (BATH == BATH_NOSE_HOOVER) {
        factor = update(w.bath, w.bath[BATH_KINETIC], 0.5 * w.control->motion.timestep, 0.0);
    }
    w.bath[BATH_BEFORE] = factor;
}

// What it does when they have acted; `done` counts the leg's steps with this one.
DEVICE void act_after(const World& w, double kinetic, i64 done) {
    const Motion& motion = w.control->motion;
    const u64 step = motion.first_step + done - 1;
    double factor = 1.0;
    if (BATH == BATH_NOSE_HOOVER) {
        factor = update(w.bath, kinetic, 0.5 * motion.timestep, 0.0);
    } else if (BATH == BATH_BUSSI) {
        factor = update(w.bath, kinetic, w.deviates[2 * (done - 1)], w.deviates[2 * (done - 1) + 1]);
    } else if ((step - (u64)w.bath[BATH_START]) % (u64)w.bath[BATH_EVERY] == 0) {
        factor = update(w.bath, kinetic, 0.0, 0.0);
    }
    w.bath[BATH_AFTER] = factor;
    w.bath[BATH_KINETIC] = factor * factor * kinetic;
}

extern "C" __global__ void bath_before(World w) {
    await_those_before();
    if (begins(w.control)) act_before(w);
}

// `blocks` have left their shares of the kinetic energy. At the end of a segment the bath's
// variables are kept in its row of w.total.
extern "C" __global__ void __launch_bounds__(BATH_THREADS)
bath_after(World w, int slot, int when, int blocks, int row_length, int offset) {
    await_those_before();
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, when)) return;
    double kinetic = 0;
    for (int k = 0; k < BATH_SUMS; k++) kinetic += sum_of_shares<BATH_THREADS>(w, blocks, BATH_SUMS, k);
    if (threadIdx.x != 0) return;
    act_after(w, kinetic, now.done);
    if (when == WHEN_GOES) {
        act_before(w);
    } else {
        double* row = w.total + (size_t)(w.control->part / 2) * row_length + offset;
        for (int k = 0; k < BATH_ROW; k++) row[k] = w.bath[BATH_HEAT + k];
    }
}

// The second half of a kick, unless it has been made, and the kinetic energy then.
extern "C" __global__ void __launch_bounds__(BATH_THREADS) bath_kick(World w, int slot, int when, int kicked) {
    await_those_before();
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, when)) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x, set = w.control->sorted;
    double energy[BATH_SUMS] = {};
    if (i < w.n) {
        const int species = (int)w.position[now.parity][i].species;
        Double3 v = load(w.v[set], i);
        if (!kicked) {
            const real3 f = load_force(w, i);
            check_force(w, f, set, i, now.done);
            kick(v, 0.5 * w.control->motion.timestep * w.inverse_mass[mass_place(w, i, species)], f);
            store(w.v[set], i, v);
        }
        const double mass = w.mass[mass_place(w, i, species)];
        if (BATH_SUMS == 1) {
            energy[0] = 0.5 * mass * (v.x * v.x + v.y * v.y + v.z * v.z);
        } else {
            double sums[KINETIC_SUMS];
            kinetic_of(mass, v, sums);
            for (int k = 0; k < BATH_SUMS; k++) energy[k] = sums[k];
        }
    }
    block_partial<BATH_THREADS, BATH_SUMS>(w, energy);
}

// On to where the atoms are next, with velocities scaled for the step before, if there is one, and
// for this one.
DEVICE void move_scaled(const World& w, int slot, bool moves, bool first) {
    Control* control = w.control;
    const Slot now = control->slot[slot];
    pass_on(w, slot, moves);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (!moves || i >= w.n) return;
    const int set = control->sorted, species = (int)w.position[now.parity][i].species;
    Double3 x = load(w.x[set], i), v = load(w.v[set], i);
    const real3 f = load_force(w, i);
    if (first) check_force(w, f, set, i, now.done);
    if (w.inverse_mass[mass_place(w, i, species)] != 0) {
        if (!first) scale(v, w.bath[BATH_AFTER]);
        scale(v, w.bath[BATH_BEFORE]);
    }
    go_on(w, slot, now, i, x, v, f, species);
}

extern "C" __global__ void bath_begin_segment(World w, int slot) {
    await_those_before();
    move_scaled(w, slot, begins(w.control), true);
}

extern "C" __global__ void bath_advance(World w, int slot) {
    await_those_before();
    move_scaled(w, slot, goes(w.control, w.control->slot[slot]), false);
}

extern "C" __global__ void bath_end_segment(World w) {
    await_those_before();
    const int i = blockIdx.x * blockDim.x + threadIdx.x, set = w.control->sorted;
    if (!ends(w.control, w.control->slot[0]) || i >= w.n) return;
    if (driven(w, i)) return;
    Double3 v = load(w.v[set], i);
    scale(v, w.bath[BATH_AFTER]);
    store(w.v[set], i, v);
}
