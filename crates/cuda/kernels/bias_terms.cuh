// Energies of biases and their slopes, for values of the variables. See bias.cu.

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

// Bin with some values; negative outside.
DEVICE i64 bin_of(const BiasTerm& term, const double* values) {
    i64 bin = 0, stride = 1;
    for (int d = 0; d < term.count; d++) {
        i64 interval;
        double part;
        if (!find_interval(term, d, values[d], interval, part)) return -1;
        bin += interval * stride;
        stride *= term.intervals[d];
    }
    return bin;
}

// Normal deviate as jostle_core::random::Stream::normal has it for the purpose Bias.
DEVICE double bias_deviate(u64 seed, u32 subject, i64 step) {
    const u32 purpose = 8, upper = (u32)((u64)step >> 32) << 8 | purpose;
    const Words words = philox(0, subject, (u32)step, upper, seed);
    const double radius = sqrt(-2.0 * log(uniform(words.w[0], words.w[1])));
    return radius * cos(6.283185307179586476925 * uniform(words.w[2], words.w[3]));
}

// Displacement of a variable from the particle of an adaptive force.
DEVICE double from_particle(const BiasData& b, const BiasTerm& term, int d, double value, double place) {
    return shortest_difference(b.variables[b.entries[term.first + d]], value, place);
}

// Energy of the springs between variables and a particle.
DEVICE double energy_of_springs(const BiasData& b, const BiasTerm& term, const double* values, const double* place) {
    double energy = 0.0;
    for (int d = 0; d < term.count; d++) {
        const double in[2] = {from_particle(b, term, d, values[d], place[d]), term.width[d]};
        double out[2];
        spring(in, out);
        energy += out[0];
    }
    return energy;
}

// Values of the variables of a bias.
DEVICE void values_of(const BiasData& b, const BiasTerm& term, double* values) {
    for (int d = 0; d < term.count; d++) values[d] = b.values[b.entries[term.first + d]];
}

// Begins a stage: the particle starts at the variables, unless it has ended the step before.
DEVICE void begin_particle(const BiasData& b, i64 k, i64 step, const double* values) {
    const BiasTerm term = b.terms[k];
    double* numbers = b.numbers + BIAS_NUMBERS * k;
    if (numbers[PARTICLE_BEGUN] == 0.0 || numbers[PARTICLE_PENDING] < 0.0 || numbers[PARTICLE_PENDING] + 1.0 < (double)step) {
        if (bin_of(term, values) < 0) note_undefined(b, b.n_variables + k);
        for (int d = 0; d < term.count; d++) {
            const double in[3] = {term.parameters[0], term.mass[d], bias_deviate(b.state->seed, FIRST_VELOCITY + d, step)};
            numbers[PARTICLE_PLACE + d] = values[d];
            thermal_velocity(in, &numbers[PARTICLE_VELOCITY + d]);
        }
        numbers[PARTICLE_BEGUN] = 1.0;
        numbers[PARTICLE_PENDING] = -1.0;
    }
    numbers[PARTICLE_KNOWN] = 1.0;
    for (int d = 0; d < term.count; d++) {
        numbers[PARTICLE_VALUES + d] = values[d];
        numbers[PARTICLE_LAST_PLACE + d] = numbers[PARTICLE_PLACE + d];
    }
}

// Energy and slopes of the springs to the particle of an adaptive force.
DEVICE void evaluate_particle(const BiasData& b, i64 k, i64 step, double* out) {
    const BiasTerm term = b.terms[k];
    double* numbers = b.numbers + BIAS_NUMBERS * k;
    double values[2];
    values_of(b, term, values);
    if (b.state->fresh) begin_particle(b, k, step, values);
    if (numbers[PARTICLE_PENDING] >= 0.0 && numbers[PARTICLE_PENDING] < (double)step) {
        for (int d = 0; d < term.count; d++) numbers[PARTICLE_PLACE + d] = numbers[PARTICLE_NEXT + d];
        numbers[PARTICLE_PENDING] = -1.0;
    }
    out[0] = 0.0;
    for (int d = 0; d < term.count; d++) {
        const double in[2] = {from_particle(b, term, d, values[d], numbers[PARTICLE_PLACE + d]), term.width[d]};
        double one[2];
        spring(in, one);
        out[0] += one[0];
        out[1 + d] = one[1];
    }
}

// Energy and slopes of a bias that one thread evaluates.
DEVICE void evaluate_bias(const BiasData& b, i64 k, i64 step) {
    const BiasTerm term = b.terms[k];
    const BiasVariable& variable = b.variables[b.entries[term.first]];
    const double *p = term.parameters, value = b.values[b.entries[term.first]];
    double* numbers = b.numbers + BIAS_NUMBERS * k;
    double in[BIAS_FORMULA_INPUTS + 3], out[BIAS_FORMULA_INPUTS + 3];
    if (is(term, BIAS_HARMONIC)) {
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
    }
    if (is(term, BIAS_LINEAR)) {
        in[0] = value - p[1];
        in[1] = p[0];
        linear(in, out);
    }
    if (is(term, BIAS_WALL)) {
        in[0] = shortest_difference(variable, value, p[0]);
        in[1] = p[1];
        in[2] = p[2];
        wall(in, out);
    }
    if (is(term, BIAS_ADAPTIVE)) evaluate_particle(b, k, step, out);
    if (is(term, BIAS_FORMULA)) {
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
        if (count < term.capacity) {
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

// Energy and slopes on a grid, by one thread.
DEVICE void evaluate_grid(const BiasData& b, i64 k) {
    const BiasTerm term = b.terms[k];
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
