// Biases on functions of centres of groups. Once in a step: centres, by `bias_centers` where a group is large; then, by
// one block, values of variables, energies and slopes of biases, forces on centres, work and hills; then forces on atoms.
//
// Source in front of this file is generated from jostle_sampling: functions of vectors between centres, from components
// to {value, margin, derivatives} (`part_whole`, `part_along_x`, ..., `between_vectors`, `turn`);
//     void bias_formula(int formula, const double* in, double* out)   from values to {value, slopes}
// and between, spring, linear, wall, hill_energy, hill_along, tempering, switching_work, grid_line and grid_plane.

enum { BIAS_THREADS = 256, WARPS = BIAS_THREADS / 32 };

enum BiasAction { BIAS_EVALUATE = 1, BIAS_END_STEP = 2 };

DEVICE bool is_finite(double x) { return x - x == 0.0; }

// Difference of two values of a variable, the shortest way round.
DEVICE double shortest_difference(const BiasVariable& variable, double a, double b) {
    const double d = a - b;
    return variable.period > 0.0 ? d - variable.period * round(d / variable.period) : d;
}

// Indices of the atoms: while lists are built after a sort, or now where `slot` is negative.
extern "C" __global__ void bias_places(DeviceData w, BiasData b, int slot) {
    wait_for_previous_kernel();
    if (slot >= 0 && !build_due(w.control, w.control->slot[slot])) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.n) return;
    const int set = slot >= 0 ? w.control->sorted ^ 1 : w.control->sorted;
    const int place = b.place_by_id[w.atoms.id[set][i]];
    if (place >= 0) b.index[place] = i;
}

// Adds the part of a member in the centre of its group.
DEVICE void add_member(const DeviceData& w, const BiasData& b, u32 k, double* part) {
    const int set = w.control->sorted;
    const BiasMember member = b.members[k];
    const u32 i = b.index[member.place];
    const Double3 x = load(w.atoms.x[set], i);
    const int* image = w.atoms.image[set] + 3 * (size_t)i;
    const double *edge = w.geometry.edge, *tilt = w.geometry.tilt;
    const double m = image[0] + member.image[0], n = image[1] + member.image[1], o = image[2] + member.image[2];
    part[0] += member.share * (x.x + edge[0] * m + tilt[0] * n + tilt[1] * o);
    part[1] += member.share * (x.y + edge[1] * n + tilt[2] * o);
    part[2] += member.share * (x.z + edge[2] * o);
}

// Parts of the centres of large groups: a block for each chunk of members.
extern "C" __global__ void __launch_bounds__(BIAS_THREADS) bias_centers(DeviceData w, BiasData b, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!due(w.control, w.control->slot[slot], trigger)) return;
    double part[3] = {};
    const u32* chunk = b.chunks + 2 * blockIdx.x;
    for (u32 k = chunk[0] + threadIdx.x; k < chunk[1]; k += BIAS_THREADS) add_member(w, b, k, part);
    block_sums<BIAS_THREADS>(part, b.chunk_sums + 3 * blockIdx.x);
}

// Centres of all groups, a warp for each.
DEVICE void find_centers(const DeviceData& w, const BiasData& b) {
    const u32 lane = threadIdx.x % 32;
    for (i64 g = threadIdx.x / 32; g < b.n_groups; g += WARPS) {
        const BiasGroup group = b.groups[g];
        double part[3] = {};
        if (group.chunks > 0) {
            for (u32 k = lane; k < group.chunks; k += 32) {
                for (int c = 0; c < 3; c++) part[c] += b.chunk_sums[3 * (group.first_chunk + k) + c];
            }
        } else {
            for (u32 k = group.first + lane; k < group.end; k += 32) add_member(w, b, k, part);
        }
        for (int c = 0; c < 3; c++) {
            for (int m = 16; m > 0; m /= 2) part[c] += __shfl_xor_sync(ALL_LANES, part[c], m);
            if (lane == 0) b.centers[3 * g + c] = part[c];
        }
    }
}

// Notes that a variable or, counted after all variables, a bias is not defined: the first one counts.
DEVICE void note_undefined(const BiasData& b, i64 index) { atomicMin((u64*)&b.state->undefined, (u64)index); }

// Value of a variable and its derivative with the vectors between centres, unless it is a formula.
DEVICE void evaluate_variable(const DeviceData& w, const BiasData& b, i64 k) {
    const BiasVariable& variable = b.variables[k];
    const double* edge = w.geometry.edge;
    switch (variable.function) {
        case BIAS_POSITION: b.values[k] = b.centers[3 * variable.from[0] + variable.axis]; return;
        case BIAS_EDGE: b.values[k] = edge[variable.axis]; return;
        case BIAS_VOLUME: b.values[k] = edge[0] * edge[1] * edge[2]; return;
        case BIAS_FORMULA_OF_VARIABLES: return;
    }
    double in[9] = {}, out[11];
    for (int v = 0; v < variable.vectors; v++) {
        const double *from = b.centers + 3 * variable.from[v], *to = b.centers + 3 * variable.to[v];
        double x = to[0] - from[0], y = to[1] - from[1], z = to[2] - from[2];
        nearest_image(w.geometry, x, y, z);
        in[3 * v] = x;
        in[3 * v + 1] = y;
        in[3 * v + 2] = z;
    }
    if (variable.function == BIAS_TILT) in[3 + variable.axis] = 1.0;
    switch (variable.function) {
        case BIAS_DISTANCE: part_whole(in, out); break;
        case BIAS_ALONG_X: part_along_x(in, out); break;
        case BIAS_ALONG_Y: part_along_y(in, out); break;
        case BIAS_ALONG_Z: part_along_z(in, out); break;
        case BIAS_IN_PLANE_XY: part_in_plane_xy(in, out); break;
        case BIAS_IN_PLANE_XZ: part_in_plane_xz(in, out); break;
        case BIAS_IN_PLANE_YZ: part_in_plane_yz(in, out); break;
        case BIAS_TILT:
        case BIAS_ANGLE: between_vectors(in, out); break;
        default: turn(in, out);
    }
    const bool defined = is_finite(out[0]) && out[1] > 0.0;
    if (!defined) note_undefined(b, k);
    b.values[k] = out[0];
    for (int c = 0; c < 3 * variable.vectors; c++) {
        b.vectors[9 * k + c] = in[c];
        b.gradients[9 * k + c] = defined ? out[2 + c] : 0.0;
    }
}

// Values and slopes of formulas of variables, one after the other.
DEVICE void evaluate_formulas(const BiasData& b) {
    for (i64 k = 0; k < b.n_variables; k++) {
        const BiasVariable& variable = b.variables[k];
        if (variable.function != BIAS_FORMULA_OF_VARIABLES) continue;
        double in[BIAS_FORMULA_INPUTS], out[BIAS_FORMULA_INPUTS + 1];
        for (int c = 0; c < variable.count; c++) in[c] = b.values[b.entries[variable.first + c]];
        bias_formula(variable.formula, in, out);
        bool defined = true;
        for (int c = 0; c <= variable.count; c++) defined = defined && is_finite(out[c]);
        if (!defined) note_undefined(b, k);
        b.values[k] = out[0];
        for (int c = 0; c < variable.count; c++) b.slopes[variable.first + c] = defined ? out[1 + c] : 0.0;
    }
}

// Part of the stages in which a bias acts that is over.
DEVICE double progress_of(const BiasData& b, i64 k, i64 step) {
    const BiasSpan& span = b.spans[k];
    const i64 made = step > b.state->first_step ? step - b.state->first_step : 0;
    return span.total > 0.0 ? fmin((span.before + (double)made) / span.total, 1.0) : 0.0;
}

// Energy, slope and centre of a spring at a value and a progress.
struct SpringState { double energy, slope, center; };
DEVICE SpringState spring_at(const BiasData& b, const BiasTerm& term, double value, double progress) {
    const double* p = term.parameters;
    const double ends[2][3] = {{p[0], p[1], progress}, {p[2], p[3], progress}};
    double center, in[2], out[2];
    between(ends[0], &center);
    between(ends[1], &in[1]);
    in[0] = shortest_difference(b.variables[b.entries[term.first]], value, center);
    spring(in, out);
    return {out[0], out[1], center};
}

// Stores energy and slopes of a bias, where they are finite.
DEVICE void store_bias(const BiasData& b, i64 k, const double* out) {
    const BiasTerm& term = b.terms[k];
    bool defined = true;
    for (int c = 0; c <= term.count; c++) defined = defined && is_finite(out[c]);
    if (!defined) note_undefined(b, b.n_variables + k);
    b.energies[3 * k] = defined ? out[0] : 0.0;
    for (int c = 0; c < term.count; c++) b.slopes[term.first + c] = defined ? out[1 + c] : 0.0;
}

// Energy and slopes of a bias that is not one of hills.
DEVICE void evaluate_bias(const BiasData& b, i64 k, i64 step) {
    const BiasTerm& term = b.terms[k];
    const BiasVariable& variable = b.variables[b.entries[term.first]];
    const double *p = term.parameters, value = b.values[b.entries[term.first]];
    double* numbers = b.numbers + BIAS_NUMBERS * k;
    double in[BIAS_FORMULA_INPUTS + 3], out[BIAS_FORMULA_INPUTS + 3];
    switch (term.function) {
        case BIAS_HARMONIC: {
            const double progress = progress_of(b, k, step);
            const SpringState now = spring_at(b, term, value, progress);
            out[0] = now.energy;
            out[1] = now.slope;
            b.energies[3 * k + 1] = now.center;
            if (b.state->fresh) {
                numbers[SPRING_KNOWN] = 1.0;
                numbers[SPRING_VALUE] = value;
                numbers[SPRING_PROGRESS] = progress;
            }
        } break;
        case BIAS_LINEAR:
            in[0] = value - p[1];
            in[1] = p[0];
            linear(in, out);
            break;
        case BIAS_WALL:
            in[0] = shortest_difference(variable, value, p[0]);
            in[1] = p[1];
            in[2] = p[2];
            wall(in, out);
            break;
        default:
            for (int c = 0; c < term.count; c++) in[c] = b.values[b.entries[term.first + c]];
            bias_formula(term.formula, in, out);
    }
    store_bias(b, k, out);
}

// Adds the hill that was noted at the end of an earlier step, by all threads.
DEVICE void take_pending_hill(const BiasData& b, i64 k, i64 step) {
    const BiasTerm& term = b.terms[k];
    double* numbers = b.numbers + BIAS_NUMBERS * k;
    const double since = numbers[HILL_PENDING];
    if (since < 0.0 || since >= (double)step) return;
    const double* hill = numbers + HILL_PENDING_HILL;
    double* tables[2] = {term.tables, term.tables + 2 * term.points[0]};
    for (int d = 0; d < term.count; d++) {
        const BiasVariable& variable = b.variables[b.entries[term.first + d]];
        for (i64 point = threadIdx.x; point < term.points[d]; point += BIAS_THREADS) {
            const double at = term.lower[d] + (double)point * term.spacing[d];
            const double in[2] = {shortest_difference(variable, at, hill[2 + d]), term.width[d]};
            double out[2];
            hill_along(in, out);
            tables[d][2 * point] = out[0];
            tables[d][2 * point + 1] = out[1] * term.spacing[d];
        }
    }
    __syncthreads();
    const double height = hill[1];
    const i64 points = term.count == 1 ? term.points[0] : term.points[0] * term.points[1];
    for (i64 point = threadIdx.x; point < points; point += BIAS_THREADS) {
        const double* first = tables[0] + 2 * (point % term.points[0]);
        if (term.count == 1) {
            for (int c = 0; c < 2; c++) term.grid[2 * point + c] += height * first[c];
        } else {
            const double* second = tables[1] + 2 * (point / term.points[0]);
            for (int c = 0; c < 4; c++) term.grid[4 * point + c] += height * (first[c & 1] * second[c >> 1]);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        const i64 count = (i64)numbers[HILL_COUNT];
        if (count < term.hill_capacity) {
            for (int c = 0; c < HILL_SIZE; c++) term.hills[HILL_SIZE * count + c] = hill[c];
            numbers[HILL_COUNT] = (double)(count + 1);
        } else {
            note_undefined(b, b.n_variables + k);
        }
        numbers[HILL_NEWEST] = (double)step;
        for (int c = 0; c < HILL_SIZE; c++) numbers[HILL_NEWEST_HILL + c] = hill[c];
        numbers[HILL_PENDING] = -1.0;
    }
    __syncthreads();
}

// Interval of an axis with a value, and the part of it up to the value; false outside.
DEVICE bool find_interval(const BiasTerm& term, int d, double value, i64& interval, double& part) {
    const double n = (double)term.intervals[d];
    double x = (value - term.lower[d]) / term.spacing[d];
    if (term.periodic[d]) x -= n * floor(x / n);
    if (!(x >= 0.0 && x <= n)) return false;
    interval = (i64)x;
    if (interval > term.intervals[d] - 1) interval = term.intervals[d] - 1;
    part = x - (double)interval;
    return true;
}

// Energy and slopes on a grid, by one thread.
DEVICE void evaluate_grid(const BiasData& b, i64 k) {
    const BiasTerm& term = b.terms[k];
    const int kinds = 1 << term.count;
    i64 interval[2] = {};
    double in[2 + 16 + 2], out[3];
    for (int d = 0; d < term.count; d++) {
        if (!find_interval(term, d, b.values[b.entries[term.first + d]], interval[d], in[d])) {
            note_undefined(b, b.n_variables + k);
            b.energies[3 * k] = 0.0;
            for (int c = 0; c < term.count; c++) b.slopes[term.first + c] = 0.0;
            return;
        }
        in[term.count + kinds * kinds + d] = term.spacing[d];
    }
    for (int corner = 0; corner < kinds; corner++) {
        i64 point = 0, stride = 1;
        for (int d = 0; d < term.count; d++) {
            i64 index = interval[d] + (corner >> d & 1);
            if (term.periodic[d] && index == term.intervals[d]) index = 0;
            point += index * stride;
            stride *= term.points[d];
        }
        for (int c = 0; c < kinds; c++) in[term.count + corner * kinds + c] = term.grid[point * kinds + c];
    }
    if (term.count == 1) {
        grid_line(in, out);
    } else {
        grid_plane(in, out);
    }
    store_bias(b, k, out);
}

// Energies of all biases and their slopes.
DEVICE void evaluate_biases(const BiasData& b, i64 step) {
    for (i64 k = threadIdx.x; k < b.n_terms; k += BIAS_THREADS) {
        const BiasTerm& term = b.terms[k];
        if (!b.spans[k].acts) {
            b.energies[3 * k] = 0.0;
            for (int c = 0; c < term.count; c++) b.slopes[term.first + c] = 0.0;
        } else if (term.function != BIAS_HILLS) {
            evaluate_bias(b, k, step);
        }
    }
    for (i64 k = 0; k < b.n_terms; k++) {
        if (b.terms[k].function != BIAS_HILLS || !b.spans[k].acts) continue;
        take_pending_hill(b, k, step);
        if (threadIdx.x == 0) evaluate_grid(b, k);
    }
}

// Derivatives of the energy with variables: those of biases, then of formulas passed on to what they are made of.
DEVICE void find_weights(const BiasData& b) {
    for (i64 v = threadIdx.x; v < b.n_variables; v += BIAS_THREADS) {
        double sum = 0.0;
        for (i64 e = b.first_bias_entry; e < b.n_entries; e++) sum += b.entries[e] == v ? b.slopes[e] : 0.0;
        b.weights[v] = sum;
    }
    __syncthreads();
    if (threadIdx.x != 0 || !b.formulas) return;
    for (i64 v = b.n_variables - 1; v >= 0; v--) {
        const BiasVariable& variable = b.variables[v];
        if (variable.function != BIAS_FORMULA_OF_VARIABLES) continue;
        for (int c = variable.first; c < variable.first + variable.count; c++)
            b.weights[b.entries[c]] += b.weights[v] * b.slopes[c];
    }
}

// A component of the force on the centre of a group.
DEVICE double center_force(const BiasData& b, i64 g, int c) {
    double force = 0.0;
    for (i64 v = 0; v < b.n_variables; v++) {
        const BiasVariable& variable = b.variables[v];
        const double weight = b.weights[v];
        if (variable.function == BIAS_POSITION) {
            if (variable.from[0] == g && variable.axis == c) force -= weight;
            continue;
        }
        for (int n = 0; n < variable.vectors; n++) {
            const double slope = weight * b.gradients[9 * v + 3 * n + c];
            if (variable.from[n] == g) force += slope;
            if (variable.to[n] == g) force -= slope;
        }
    }
    return force;
}

// A component of the virial: minus the derivative with the strain of box and atoms together.
DEVICE double bias_virial(const DeviceData& w, const BiasData& b, int k) {
    const int first = k < 3 ? k : (k == 5 ? 1 : 0), second = k < 3 ? k : (k == 3 ? 1 : 2);
    double strain = 0.0;
    for (i64 v = 0; v < b.n_variables; v++) {
        const BiasVariable& variable = b.variables[v];
        const double weight = b.weights[v];
        const int axis = variable.axis;
        switch (variable.function) {
            case BIAS_POSITION: {
                const double* center = b.centers + 3 * variable.from[0];
                if (first == axis) strain += 0.5 * weight * (center[second] - w.geometry.origin[second]);
                if (second == axis) strain += 0.5 * weight * (center[first] - w.geometry.origin[first]);
            } break;
            case BIAS_EDGE: strain += k == axis ? weight * b.values[v] : 0.0; break;
            case BIAS_VOLUME: strain += k < 3 ? weight * b.values[v] : 0.0; break;
            default:
                for (int n = 0; n < variable.vectors; n++) {
                    const double *vector = b.vectors + 9 * v + 3 * n, *slope = b.gradients + 9 * v + 3 * n;
                    strain += 0.5 * weight * (vector[first] * slope[second] + vector[second] * slope[first]);
                }
        }
    }
    return -strain;
}

// Work of a spring over a step, at whose end its variable has this value.
DEVICE void end_spring(const BiasData& b, i64 k, i64 step) {
    const BiasTerm& term = b.terms[k];
    double* numbers = b.numbers + BIAS_NUMBERS * k;
    const double value = b.values[b.entries[term.first]], progress = progress_of(b, k, step);
    if (numbers[SPRING_KNOWN] != 0.0) {
        const double last = numbers[SPRING_VALUE], before = numbers[SPRING_PROGRESS];
        const double in[4] = {spring_at(b, term, last, before).energy, spring_at(b, term, last, progress).energy,
                              spring_at(b, term, value, before).energy, spring_at(b, term, value, progress).energy};
        double work;
        switching_work(in, &work);
        numbers[SPRING_WORK] += work;
    }
    numbers[SPRING_KNOWN] = 1.0;
    numbers[SPRING_VALUE] = value;
    numbers[SPRING_PROGRESS] = progress;
}

// Energy of a hill at some values.
DEVICE double energy_of_hill(const BiasData& b, const BiasTerm& term, const double* hill, const double* values) {
    double in[5] = {hill[1], 0.0, 0.0, 1.0, 1.0}, energy;
    for (int d = 0; d < term.count; d++) {
        in[1 + d] = shortest_difference(b.variables[b.entries[term.first + d]], values[d], hill[2 + d]);
        in[3 + d] = term.width[d];
    }
    hill_energy(in, &energy);
    return energy;
}

// Work of a hill that has begun to act with a step, and the next hill where one is due.
DEVICE void end_hills(const BiasData& b, i64 k, i64 step) {
    const BiasTerm& term = b.terms[k];
    double* numbers = b.numbers + BIAS_NUMBERS * k;
    double values[2] = {};
    for (int d = 0; d < term.count; d++) values[d] = b.values[b.entries[term.first + d]];
    if (numbers[HILL_NEWEST] == (double)step) {
        const double* hill = numbers + HILL_NEWEST_HILL;
        const double in[4] = {0.0, energy_of_hill(b, term, hill, numbers + HILL_VALUES), 0.0,
                              energy_of_hill(b, term, hill, values)};
        double work;
        switching_work(in, &work);
        numbers[HILL_WORK] += work;
        numbers[HILL_NEWEST] = -1.0;
    }
    numbers[HILL_KNOWN] = 1.0;
    for (int d = 0; d < term.count; d++) numbers[HILL_VALUES + d] = values[d];
    if (step % (i64)term.parameters[1] != 0) return;
    double factor = 1.0;
    if (term.parameters[2] > 0.0) {
        const double in[3] = {b.energies[3 * k], term.parameters[2], term.parameters[3]};
        tempering(in, &factor);
    }
    numbers[HILL_PENDING] = (double)step;
    double* hill = numbers + HILL_PENDING_HILL;
    hill[0] = b.state->start_time + (double)(step - b.state->first_step) * b.state->timestep;
    hill[1] = factor * term.parameters[0];
    for (int d = 0; d < 2; d++) hill[2 + d] = values[d];
}

// Row of numbers for the host.
DEVICE void write_row(const BiasData& b, i64 number) {
    const i64 after_values = 6 + b.n_variables, length = after_values + 3 * b.n_terms + 1;
    double* row = b.rows + number * length;
    for (i64 k = threadIdx.x; k < length; k += BIAS_THREADS) {
        if (k < 6) {
            row[k] = b.virial[k];
        } else if (k < after_values) {
            row[k] = b.values[k - 6];
        } else if (k == length - 1) {
            row[k] = b.state->undefined == NONE_UNDEFINED ? 0.0 : 1.0;
        } else {
            const i64 term = (k - after_values) / 3, which = (k - after_values) % 3;
            row[k] = which == 2 ? b.numbers[BIAS_NUMBERS * term] : b.energies[3 * term + which];
        }
    }
}

// Evaluation of everything, and what ends a step.
DEVICE void evaluate_all(const DeviceData& w, const BiasData& b, i64 step) {
    find_centers(w, b);
    __syncthreads();
    for (i64 k = threadIdx.x; k < b.n_variables; k += BIAS_THREADS) evaluate_variable(w, b, k);
    __syncthreads();
    if (threadIdx.x == 0 && b.formulas) evaluate_formulas(b);
    __syncthreads();
    evaluate_biases(b, step);
    __syncthreads();
    find_weights(b);
    __syncthreads();
    for (i64 k = threadIdx.x; k < 3 * b.n_groups; k += BIAS_THREADS) b.center_force[k] = center_force(b, k / 3, (int)(k % 3));
    const int from_end = BIAS_THREADS - 1 - (int)threadIdx.x;
    if (from_end < 6) b.virial[from_end] = bias_virial(w, b, from_end);
    if (threadIdx.x == 0) b.state->fresh = 0;
}

// Keeps what is not defined, with the values that the variables have, and stops the run.
DEVICE void keep_undefined(const DeviceData& w, const BiasData& b, i64 step) {
    if (b.state->undefined == NONE_UNDEFINED || b.state->fault != NONE_UNDEFINED) return;
    b.state->fault = b.state->undefined;
    b.state->fault_step = step;
    for (i64 k = 0; k < b.n_variables; k++) b.fault_values[k] = b.values[k];
    report(w.control, NOT_FINITE);
}

extern "C" __global__ void __launch_bounds__(BIAS_THREADS)
bias_evaluate(DeviceData w, BiasData b, int slot, int trigger, int actions) {
    wait_for_previous_kernel();
    const Slot now = w.control->slot[slot];
    if (!due(w.control, now, trigger)) return;
    const Motion& motion = w.control->motion;
    i64 step = b.state->step;
    if (trigger != TRIGGER_IMMEDIATE) {
        const i64 done = motion.drift < motion.timestep ? now.done / 2 : now.done;
        step = (i64)motion.first_step + done - 1;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        b.state->step = step;
        if (actions & BIAS_EVALUATE) b.state->undefined = NONE_UNDEFINED;
    }
    __syncthreads();
    if (actions & BIAS_EVALUATE) evaluate_all(w, b, step);
    __syncthreads();
    if (threadIdx.x == 0) keep_undefined(w, b, step);
    if (actions & BIAS_END_STEP) {
        for (i64 k = threadIdx.x; k < b.n_terms; k += BIAS_THREADS) {
            if (!b.spans[k].acts) continue;
            if (b.terms[k].function == BIAS_HARMONIC) end_spring(b, k, step);
            if (b.terms[k].function == BIAS_HILLS) end_hills(b, k, step);
        }
        __syncthreads();
    }
    if (trigger == TRIGGER_STEP) return;
    write_row(b, trigger == TRIGGER_SEGMENT_END ? w.control->part / 2 : 0);
}

// Forces on atoms, from those on the centres of their groups.
extern "C" __global__ void __launch_bounds__(BIAS_THREADS) bias_apply(DeviceData w, BiasData b, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!due(w.control, w.control->slot[slot], trigger)) return;
    const i64 place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= b.n_places) return;
    double x = 0.0, y = 0.0, z = 0.0;
    for (u32 k = b.first_share[place]; k < b.first_share[place + 1]; k++) {
        const double share = b.shares[k];
        const double* force = b.center_force + 3 * (size_t)b.share_group[k];
        x += share * force[0];
        y += share * force[1];
        z += share * force[2];
    }
    const int i = (int)b.index[place];
    const real3 f = load_force(w, i);
    store_force(w, i, {f.x + (real)x, f.y + (real)y, f.z + (real)z});
}
