// Baths that scale all velocities, without the host. The kinetic energy is that of the drift which has
// just been made; the factors that follow from it are applied by whoever moves atoms.
//
// The generated source in front of this says BATH, the kind, how many BATH_CONSTANTS and
// BATH_VARIABLES it has, and
//     void bath_update(const double* in, double* out)
// from {kinetic energy, a, b, constants, variables} to {factor after the drift, heat, variables}, and
//     void bath_before_drift(const double* in, double* out)
// from {time, variables} to {factor before the next one, variables}. For Nose-Hoover chains a is the
// time, for Bussi's bath a and b are random deviates.

// What is where in w.bath, after the factors for velocities. From BATH_HEAT to before the constants it changes from step to step.
enum {
    BATH_EVERY = BATH_BEFORE + 1,  // rescaling: steps from one to the next,
    BATH_START,    // and the step after which they count
    BATH_HEAT,
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

// The bath moves on.
DEVICE void update(double* bath, double kinetic, double a, double b) {
    double in[3 + BATH_CONSTANTS + BATH_VARIABLES] = {kinetic, a, b}, out[2 + BATH_VARIABLES];
    for (int k = 0; k < BATH_CONSTANTS; k++) in[3 + k] = bath[BATH_CONSTANT + k];
    for (int k = 0; k < BATH_VARIABLES; k++) in[3 + BATH_CONSTANTS + k] = bath[BATH_VARIABLE + k];
    bath_update(in, out);
    bath[BATH_AFTER] = out[0];
    bath[BATH_HEAT] += out[1];
    for (int k = 0; k < BATH_VARIABLES; k++) bath[BATH_VARIABLE + k] = out[2 + k];
}

// What it does after a drift, the last one of a step, with that many of the leg.
DEVICE void after_drift(const DeviceData& w, double kinetic, i64 drifts) {
    const Motion& motion = w.control->motion;
    const i64 done = motion.drift < motion.timestep ? drifts / 2 : drifts;
    const u64 step = motion.first_step + done - 1;
    if (BATH == BATH_NOSE_HOOVER) {
        update(w.bath, kinetic, motion.timestep, 0.0);
    } else if (BATH == BATH_BUSSI) {
        update(w.bath, kinetic, w.deviates[2 * (done - 1)], w.deviates[2 * (done - 1) + 1]);
    } else if ((step - (u64)w.bath[BATH_START]) % (u64)w.bath[BATH_EVERY] == 0) {
        update(w.bath, kinetic, 0.0, 0.0);
    } else {
        w.bath[BATH_AFTER] = 1.0;
    }
}

// And before the first drift of the next.
DEVICE void before_drift(const DeviceData& w) {
    double in[1 + BATH_VARIABLES] = {w.control->motion.timestep}, out[1 + BATH_VARIABLES];
    for (int k = 0; k < BATH_VARIABLES; k++) in[1 + k] = w.bath[BATH_VARIABLE + k];
    bath_before_drift(in, out);
    w.bath[BATH_BEFORE] = out[0];
    for (int k = 0; k < BATH_VARIABLES; k++) w.bath[BATH_VARIABLE + k] = out[1 + k];
}

// Where a segment begins. What was done at the end of the one before is over.
extern "C" __global__ void bath_begin(DeviceData w) {
    wait_for_previous_kernel();
    if (!segment_start_due(w.control)) return;
    w.bath[BATH_AFTER] = 1.0;
    before_drift(w);
}

// The kinetic energy of the drift that led to a slot: blocks leave their shares.
extern "C" __global__ void __launch_bounds__(BATH_THREADS) bath_kinetic(DeviceData w, int slot, int trigger) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, trigger)) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x, set = w.control->sorted;
    double energy[BATH_SUMS] = {};
    if (i < w.n) {
        const int species = (int)w.position[now.parity][i].species;
        const double mass = w.mass[mass_place(w, i, species)];
        const Double3 v = load(w.v[set], i);
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

// What follows from the shares of so many `blocks`. At the end of a segment without the next drift, and
// the bath's variables are kept in its row of w.total.
extern "C" __global__ void __launch_bounds__(BATH_THREADS)
bath_after_drift(DeviceData w, int slot, int trigger, int blocks, int row_length, int offset) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, trigger)) return;
    double kinetic = 0;
    for (int k = 0; k < BATH_SUMS; k++) kinetic += sum_of_shares<BATH_THREADS>(w, blocks, BATH_SUMS, k);
    if (threadIdx.x != 0) return;
    after_drift(w, kinetic, now.done);
    if (trigger == TRIGGER_STEP) {
        before_drift(w);
    } else {
        double* row = w.total + (size_t)(w.control->part / 2) * row_length + offset;
        for (int k = 0; k < BATH_ROW; k++) row[k] = w.bath[BATH_HEAT + k];
    }
}

// What is done at the end of a segment only.
extern "C" __global__ void __launch_bounds__(BATH_THREADS) bath_scale(DeviceData w) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[0];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, set = w.control->sorted;
    if (!segment_end_due(w.control, now) || i >= w.n) return;
    const int species = (int)w.position[now.parity][i].species;
    Double3 v = load(w.v[set], i);
    scale_by_bath(w, BATH_AFTER, w.inverse_mass[mass_place(w, i, species)], v);
    store(w.v[set], i, v);
}
