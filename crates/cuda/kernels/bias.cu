// Biases on functions of centres of groups. Once in a step: centres, by `bias_centers` where a group is large; then, by
// one block, values of variables, energies and slopes of biases, and forces on centres; then forces on atoms, and by one
// block work, samples and hills.
//
// In front of this file are bias_variables.cuh, bias_terms.cuh, bias_densities.cuh and bias_particles.cuh, and before
// these source that is generated from jostle_sampling: functions of vectors between centres, from components to {value,
// margin, derivatives} (`part_whole`, `part_along_x`, ..., `between_vectors`, `turn`);
//     void bias_formula(int formula, const double* in, double* out)   from values to {value, slopes}
// and between, spring, linear, wall, hill_energy, hill_along, tempering, switching_work, taken_off, slopes_in_cell,
// thermal_velocity, advance_particle, reflected, grid_line, grid_plane, square_in_widths, density_kernel, opes_energy,
// sample_weight, new_kernel and merged_kernel.

// Returns true for biases that all threads evaluate together.
DEVICE bool shared_by_threads(const BiasTerm& term) { return is(term, BIAS_HILLS) || is(term, BIAS_OPES); }

// Energies of all biases and their slopes.
DEVICE void evaluate_biases(const BiasData& b, i64 step) {
    for (i64 k = threadIdx.x; k < b.n_terms; k += BIAS_THREADS) {
        const BiasTerm& term = b.terms[k];
        if (!b.spans[k].acts) {
            b.energies[3 * k] = 0.0;
            for (int c = 0; c < term.count; c++) b.slopes[term.first + c] = 0.0;
        } else if (!shared_by_threads(term)) {
            evaluate_bias(b, k, step);
        }
    }
    for (i64 k = 0; k < b.n_terms; k++) {
        if (!shared_by_threads(b.terms[k]) || !b.spans[k].acts) continue;
        if (is(b.terms[k], BIAS_OPES)) evaluate_density(b, k, step);
        if (is(b.terms[k], BIAS_HILLS)) {
            take_pending_hill(b, k, step);
            if (threadIdx.x == 0) evaluate_grid(b, k);
        }
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
    if (threadIdx.x != 0 || !VARIABLE_IN_USE(BIAS_FORMULA_OF_VARIABLES)) return;
    for (i64 v = b.n_variables - 1; v >= 0; v--) {
        const BiasVariable& variable = b.variables[v];
        if (!is(variable, BIAS_FORMULA_OF_VARIABLES)) continue;
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
            case BIAS_GYRATION:
            case BIAS_DEVIATION:
            case BIAS_DIPOLE:
            case BIAS_PAIRS: strain += weight * ((const Structure*)b.structures)[v].strain[k]; break;
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
    const BiasTerm term = b.terms[k];
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
    const BiasTerm term = b.terms[k];
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

// End of a step for all biases.
DEVICE void end_biases(const BiasData& b, i64 step) {
    for (i64 k = threadIdx.x; k < b.n_terms; k += BIAS_THREADS) {
        if (!b.spans[k].acts) continue;
        if (is(b.terms[k], BIAS_HARMONIC)) end_spring(b, k, step);
        if (is(b.terms[k], BIAS_HILLS)) end_hills(b, k, step);
        if (is(b.terms[k], BIAS_ADAPTIVE)) end_particle(b, k, step);
    }
    for (i64 k = 0; k < b.n_terms; k++) {
        if (!b.spans[k].acts) continue;
        if (is(b.terms[k], BIAS_OPES)) end_density(b, k, step);
        if (is(b.terms[k], BIAS_ADAPTIVE)) project_forces(b.terms[k], step);
    }
    __syncthreads();
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
    evaluate_structures(w, b);
    __syncthreads();
    if (threadIdx.x == 0 && VARIABLE_IN_USE(BIAS_FORMULA_OF_VARIABLES)) evaluate_formulas(b);
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
        b.state->unended = trigger == TRIGGER_STEP && !(actions & BIAS_END_STEP);
    }
    __syncthreads();
    if (actions & BIAS_EVALUATE) evaluate_all(w, b, step);
    __syncthreads();
    if (actions & BIAS_END_STEP) end_biases(b, step);
    if (threadIdx.x == 0) keep_undefined(w, b, step);
    __syncthreads();
    if (trigger == TRIGGER_STEP) return;
    write_row(b, trigger == TRIGGER_SEGMENT_END ? w.control->part / 2 : 0);
}

// End of the step that was evaluated last, if that has not ended it.
extern "C" __global__ void __launch_bounds__(BIAS_THREADS) bias_end_step(DeviceData w, BiasData b) {
    wait_for_previous_kernel();
    if (!b.state->unended) return;
    const i64 step = b.state->step;
    end_biases(b, step);
    if (threadIdx.x != 0) return;
    keep_undefined(w, b, step);
    b.state->unended = 0;
}

// Forces on atoms, from those on the centres of their groups: added to all others, or left by place for the kernels that
// move atoms.
extern "C" __global__ void __launch_bounds__(CHUNK_THREADS) bias_apply(DeviceData w, BiasData b, int slot, int trigger) {
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
        const int structure = b.group_structure[b.share_group[k]];
        if (structure < 0) continue;
        const Double3 slope = structure_slope(w, b, structure, b.share_member[k]);
        x -= slope.x;
        y -= slope.y;
        z -= slope.z;
    }
    if (w.atoms.of_biases.force != nullptr) {
        store_force_in(w.atoms.of_biases.force, (int)place, {(real)x, (real)y, (real)z});
        return;
    }
    const int i = (int)b.index[place];
    const real3 f = load_force(w, i);
    store_force(w, i, {f.x + (real)x, f.y + (real)y, f.z + (real)z});
}
