// Thermostats that scale all velocities, without the host. The kinetic energy is that of the drift which has
// just been made; the factors that follow from it are applied by whoever moves atoms.
//
// The generated source in front of this is made from the thermostat's description in jostle_core: 1 or 0 for
// random THERMOSTAT_DEVIATES, the numbers of THERMOSTAT_CONSTANTS and THERMOSTAT_VARIABLES it has, and
//     void thermostat_update(const double* in, double* out)
// from {kinetic energy, time step, two deviates, constants, variables} to {factor after the drift, heat,
// variables}, and
//     void thermostat_before_drift(const double* in, double* out)
// from {time step, variables} to {factor before the next drift, variables}.

// Indices in w.thermostat, after the factors for velocities. Numbers from THERMOSTAT_HEAT to before
// the constants change from step to step.
enum {
    THERMOSTAT_EVERY = THERMOSTAT_BEFORE + 1,  // steps from one scaling to the next,
    THERMOSTAT_START,    // and the step after which they count
    THERMOSTAT_HEAT,
    THERMOSTAT_VARIABLE,
    THERMOSTAT_CONSTANT = THERMOSTAT_VARIABLE + THERMOSTAT_VARIABLES,
    THERMOSTAT_ROW = THERMOSTAT_CONSTANT - THERMOSTAT_HEAT,
};

enum { THERMOSTAT_THREADS = SUM_THREADS };

// Of what the kinetic energy is added up: where runs are reproducible along each axis and in the order of
// `kinetic_shares`, so that a thermostat on the host finds the same factors.
enum { THERMOSTAT_SUMS = REPRODUCIBLE ? 3 : 1 };

// The thermostat moves on.
DEVICE void update(double* thermostat, double kinetic, double timestep, double a, double b) {
    enum { GIVEN = 4 };
    double in[GIVEN + THERMOSTAT_CONSTANTS + THERMOSTAT_VARIABLES] = {kinetic, timestep, a, b};
    double out[2 + THERMOSTAT_VARIABLES];
    for (int k = 0; k < THERMOSTAT_CONSTANTS; k++) in[GIVEN + k] = thermostat[THERMOSTAT_CONSTANT + k];
    for (int k = 0; k < THERMOSTAT_VARIABLES; k++)
        in[GIVEN + THERMOSTAT_CONSTANTS + k] = thermostat[THERMOSTAT_VARIABLE + k];
    thermostat_update(in, out);
    thermostat[THERMOSTAT_AFTER] = out[0];
    thermostat[THERMOSTAT_HEAT] += out[1];
    for (int k = 0; k < THERMOSTAT_VARIABLES; k++) thermostat[THERMOSTAT_VARIABLE + k] = out[2 + k];
}

// Scaling after a drift, the last one of a step, with that many drifts of the batch done.
DEVICE void after_drift(const DeviceData& w, double kinetic, i64 drifts) {
    const Motion& motion = w.control->motion;
    const i64 done = motion.drift < motion.timestep ? drifts / 2 : drifts;
    const u64 step = motion.first_step + done - 1;
    if ((step - (u64)w.thermostat[THERMOSTAT_START]) % (u64)w.thermostat[THERMOSTAT_EVERY] != 0) {
        w.thermostat[THERMOSTAT_AFTER] = 1.0;
        return;
    }
    const double* deviates = w.deviates + 2 * (done - 1);
    const double a = THERMOSTAT_DEVIATES ? deviates[0] : 0.0, b = THERMOSTAT_DEVIATES ? deviates[1] : 0.0;
    update(w.thermostat, kinetic, motion.timestep, a, b);
}

// And before the first drift of the next.
DEVICE void before_drift(const DeviceData& w) {
    double in[1 + THERMOSTAT_VARIABLES] = {w.control->motion.timestep}, out[1 + THERMOSTAT_VARIABLES];
    for (int k = 0; k < THERMOSTAT_VARIABLES; k++) in[1 + k] = w.thermostat[THERMOSTAT_VARIABLE + k];
    thermostat_before_drift(in, out);
    w.thermostat[THERMOSTAT_BEFORE] = out[0];
    for (int k = 0; k < THERMOSTAT_VARIABLES; k++) w.thermostat[THERMOSTAT_VARIABLE + k] = out[1 + k];
}

// Where a segment begins. What was done at the end of the one before is over.
extern "C" __global__ void thermostat_begin(DeviceData w) {
    wait_for_previous_kernel();
    if (!segment_start_due(w.control)) return;
    w.thermostat[THERMOSTAT_AFTER] = 1.0;
    before_drift(w);
}

// The kinetic energy of the drift that led to a slot: blocks leave their shares.
extern "C" __global__ void __launch_bounds__(THERMOSTAT_THREADS)
thermostat_kinetic(DeviceData w, int slot, int trigger) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, trigger)) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x, set = w.control->sorted;
    double energy[THERMOSTAT_SUMS] = {};
    if (i < w.n) {
        const int species = (int)w.atoms.position[now.parity][i].species;
        const double mass = w.atoms.mass[mass_index(w, i, species)];
        const Double3 v = load(w.atoms.v[set], i);
        if (THERMOSTAT_SUMS == 1) {
            energy[0] = 0.5 * mass * (v.x * v.x + v.y * v.y + v.z * v.z);
        } else {
            double sums[KINETIC_SUMS];
            kinetic_of(mass, v, sums);
            for (int k = 0; k < THERMOSTAT_SUMS; k++) energy[k] = sums[k];
        }
    }
    block_partial<THERMOSTAT_THREADS, THERMOSTAT_SUMS>(w, energy);
}

// Scaling by the kinetic energy in the shares of so many `blocks`. At the end of a segment without the next drift, and
// the thermostat's variables are kept in its row of w.reduction.total.
extern "C" __global__ void __launch_bounds__(THERMOSTAT_THREADS)
thermostat_after_drift(DeviceData w, int slot, int trigger, int blocks, int row_length, int offset) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, trigger)) return;
    double kinetic = 0;
    for (int k = 0; k < THERMOSTAT_SUMS; k++)
        kinetic += sum_of_shares<THERMOSTAT_THREADS>(w, blocks, THERMOSTAT_SUMS, k);
    if (threadIdx.x != 0) return;
    after_drift(w, kinetic, now.done);
    if (trigger == TRIGGER_STEP) {
        before_drift(w);
    } else {
        double* row = w.reduction.total + (size_t)(w.control->part / 2) * row_length + offset;
        for (int k = 0; k < THERMOSTAT_ROW; k++) row[k] = w.thermostat[THERMOSTAT_HEAT + k];
    }
}

// Scaling of velocities at the end of a segment only.
extern "C" __global__ void __launch_bounds__(THERMOSTAT_THREADS) thermostat_scale(DeviceData w) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[0];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, set = w.control->sorted;
    if (!segment_end_due(w.control, now) || i >= w.n) return;
    const int species = (int)w.atoms.position[now.parity][i].species;
    Double3 v = load(w.atoms.v[set], i);
    if (w.atoms.inverse_mass[mass_index(w, i, species)] == 0) return;
    scale(v, w.thermostat[THERMOSTAT_AFTER]);
    store(w.atoms.v[set], i, v);
}
