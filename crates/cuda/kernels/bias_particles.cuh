// Particles of adaptive biasing forces, and the forces that push them. See bias.cu.

// Force that would take off the mean force in a bin along an axis.
DEVICE double off_bin(const BiasTerm& term, i64 bins, i64 bin, int d) {
    const double in[3] = {term.grid[bin], term.grid[bins + bin * term.count + d], term.parameters[2]};
    double off;
    taken_off(in, &off);
    return off;
}

// Values at the middle of bins whose slopes push the particle.
DEVICE double* closed_part(const BiasTerm& term, i64 bins) {
    return term.grid + bins * (1 + SAMPLE_BLOCKS) * (1 + term.count);
}

// Slopes along each axis at a place, as jostle_sampling's ClosedPart::slopes has them.
DEVICE void push_on_particle(const BiasTerm& term, i64 bins, const double* place, double* push) {
    const double* values = closed_part(term, bins);
    double in[8] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0};
    i64 corners[4] = {}, stride = 1;
    for (int d = 0; d < term.count; d++) {
        const i64 n = term.intervals[d];
        const double x = (place[d] - term.lower[d]) / term.spacing[d] - 0.5, size = (double)n;
        double cell = floor(x);
        if (!term.periodic[d]) cell = fmax(fmin(cell, size - 2.0), 0.0);
        const i64 index = (i64)(cell - size * floor(cell / size)) % n;
        for (int corner = 0; corner < 4; corner++) corners[corner] += (index + (corner >> d & 1)) % n * stride;
        in[4 + d] = x - cell;
        in[6 + d] = term.spacing[d];
        stride *= n;
    }
    for (int corner = 0; corner < 4; corner++) in[corner] = values[corners[corner]];
    slopes_in_cell(in, push);
}

// Energies along one axis, by one thread.
DEVICE void project_line(const BiasTerm& term, i64 bins) {
    double* energies = closed_part(term, bins);
    double around = 0.0;
    if (term.periodic[0]) {
        for (i64 k = 0; k < bins; k++) around += off_bin(term, bins, k, 0);
        around /= (double)bins;
    }
    double before = off_bin(term, bins, 0, 0);
    energies[0] = 0.0;
    for (i64 k = 1; k < bins; k++) {
        const double force = off_bin(term, bins, k, 0);
        energies[k] = energies[k - 1] + term.spacing[0] * (0.5 * (before + force) - around);
        before = force;
    }
}

// Difference of the forces on both sides of a bin, over its width, for both axes.
DEVICE double source_in_bin(const BiasTerm& term, i64 bins, i64 bin) {
    double source = 0.0;
    i64 stride = 1;
    for (int d = 0; d < 2; d++) {
        const i64 n = term.intervals[d], index = bin / stride % n;
        const double own = off_bin(term, bins, bin, d);
        double sides[2];
        for (int side = 0; side < 2; side++) {
            const bool inside = term.periodic[d] || (side ? index > 0 : index + 1 < n);
            const i64 other = bin + (index + (side ? n - 1 : 1)) % n * stride - index * stride;
            sides[side] = inside ? 0.5 * (own + off_bin(term, bins, other, d)) : 0.0;
        }
        source += (sides[0] - sides[1]) / term.spacing[d];
        stride *= n;
    }
    return source;
}

// Sum over the bins of one axis of amplitudes times numbers.
DEVICE double sum_along(const double* amplitudes, i64 by, const double* numbers, i64 stride, i64 count) {
    double sum = 0.0;
    for (i64 i = 0; i < count; i++) sum += amplitudes[i * by] * numbers[i * stride];
    return sum;
}

// Poisson's equation on the bins of two axes, by all threads, as jostle_sampling's ClosedPart solves it.
DEVICE void project_plane(const BiasTerm& term, i64 bins) {
    const i64 n = term.intervals[0], m = term.intervals[1];
    const double *first = term.tables, *second = first + n * n, *eigenvalues = second + m * m;
    double *half = term.tables + n * n + m * m + n + m, *waves = half + bins, *energies = closed_part(term, bins);
    for (i64 k = threadIdx.x; k < bins; k += BIAS_THREADS) waves[k] = source_in_bin(term, bins, k);
    __syncthreads();
    for (i64 k = threadIdx.x; k < bins; k += BIAS_THREADS)
        half[k] = sum_along(first + k % n * n, 1, waves + k / n * n, 1, n);
    __syncthreads();
    for (i64 k = threadIdx.x; k < bins; k += BIAS_THREADS) {
        const double amplitude = sum_along(second + k / n * m, 1, half + k % n, n, m);
        waves[k] = k == 0 ? 0.0 : -amplitude / (eigenvalues[k % n] + eigenvalues[n + k / n]);
    }
    __syncthreads();
    for (i64 k = threadIdx.x; k < bins; k += BIAS_THREADS)
        half[k] = sum_along(second + k / n, m, waves + k % n, n, m);
    __syncthreads();
    for (i64 k = threadIdx.x; k < bins; k += BIAS_THREADS)
        energies[k] = sum_along(first + k % n, n, half + k / n * n, 1, n);
}

// Finds the energies anew whose slopes push the particle, at steps where that is due; all threads.
DEVICE void project_forces(const BiasTerm& term, i64 step) {
    if (step % (i64)term.parameters[3] != 0) return;
    i64 bins = 1;
    for (int d = 0; d < term.count; d++) bins *= term.intervals[d];
    __syncthreads();
    if (term.count == 2) {
        project_plane(term, bins);
    } else if (threadIdx.x == 0) {
        project_line(term, bins);
    }
    __syncthreads();
}

// Adds a sample to its block; the blocks of [count of each bin, sums of each bin] double in length when all are full.
DEVICE void add_to_block(const BiasTerm& term, double* samples, double* blocks, i64 bins, i64 bin, const double* values) {
    const i64 size = bins * (1 + term.count), made = (i64)*samples;
    i64 length = 1;
    while (SAMPLE_BLOCKS * length <= made) length *= 2;
    if (length > 1 && 2 * made == SAMPLE_BLOCKS * length) {
        for (i64 k = 0; k < SAMPLE_BLOCKS * size; k++) {
            const i64 block = k / size, place = k % size;
            blocks[k] = 2 * block < SAMPLE_BLOCKS ? blocks[2 * block * size + place] + blocks[(2 * block + 1) * size + place] : 0.0;
        }
    }
    double* own = blocks + made / length * size;
    own[bin] += 1.0;
    for (int d = 0; d < term.count; d++) own[bins + bin * term.count + d] += values[d];
    *samples = (double)(made + 1);
}

// Samples of an adaptive force, its work, and the next place of its particle.
DEVICE void end_particle(const BiasData& b, i64 k, i64 step) {
    const BiasTerm term = b.terms[k];
    double* numbers = b.numbers + BIAS_NUMBERS * k;
    const int n = term.count;
    i64 bins = 1;
    for (int d = 0; d < n; d++) bins *= term.intervals[d];
    double values[2], place[2];
    values_of(b, term, values);
    for (int d = 0; d < n; d++) place[d] = numbers[PARTICLE_PLACE + d];
    if (numbers[PARTICLE_KNOWN] != 0.0) {
        const double *last = numbers + PARTICLE_VALUES, *before = numbers + PARTICLE_LAST_PLACE;
        const double in[4] = {energy_of_springs(b, term, last, before), energy_of_springs(b, term, last, place),
                              energy_of_springs(b, term, values, before), energy_of_springs(b, term, values, place)};
        double work;
        switching_work(in, &work);
        numbers[PARTICLE_WORK] += work;
    }
    numbers[PARTICLE_KNOWN] = 1.0;
    const i64 of_particle = bin_of(term, place), of_variables = bin_of(term, values);
    double *count = term.grid, *sum = count + bins, *blocks = sum + bins * n;
    double push[2];
    push_on_particle(term, bins, place, push);
    if (of_particle >= 0) count[of_particle] += 1.0;
    if (of_variables >= 0) {
        double off[2] = {};
        for (int d = 0; d < n; d++) off[d] = from_particle(b, term, d, place[d], values[d]);
        add_to_block(term, numbers + PARTICLE_SAMPLES, blocks, bins, of_variables, off);
    }
    for (int d = 0; d < n; d++) {
        numbers[PARTICLE_VALUES + d] = values[d];
        numbers[PARTICLE_LAST_PLACE + d] = place[d];
        const double on_spring[2] = {from_particle(b, term, d, values[d], place[d]), term.width[d]};
        double pull[2], next[2];
        spring(on_spring, pull);
        if (of_particle >= 0) sum[of_particle * n + d] += pull[1];
        const double in[8] = {place[d],           numbers[PARTICLE_VELOCITY + d], pull[1] + push[d], term.mass[d],
                              term.parameters[1], term.parameters[0],             b.state->timestep,
                              bias_deviate(b.state->seed, (u32)d, step)};
        advance_particle(in, next);
        if (!term.periodic[d]) {
            const double upper = term.lower[d] + (double)term.intervals[d] * term.spacing[d];
            const double within[4] = {next[0], next[1], term.lower[d], upper};
            reflected(within, next);
        }
        numbers[PARTICLE_NEXT + d] = next[0];
        numbers[PARTICLE_VELOCITY + d] = next[1];
    }
    numbers[PARTICLE_PENDING] = (double)step;
}
