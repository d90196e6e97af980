// Biases that follow from a density of kernels (OPES), by all threads of the block: the density at a place, and the next
// density, in which a new kernel is merged with those near it. Of two densities, whose kernels alternate in memory, one
// is present; the other one was there before or has yet to act. See bias.cu.

// Kernels of one of two densities.
struct Density {
    const BiasData& b;
    const BiasTerm& term;
    int which;
    double* numbers;
};

// A kernel: height, centre and widths.
DEVICE double* kernel_of(const Density& a, i64 i) { return a.term.hills + KERNEL_SIZE * (2 * i + a.which); }

DEVICE i64 count_of(const Density& a) { return (i64)a.numbers[DENSITY_KERNELS]; }

DEVICE Density density_of(const BiasData& b, i64 k, int which) {
    return {b, b.terms[k], which, b.numbers + BIAS_NUMBERS * k + FIRST_DENSITY + DENSITY_SIZE * which};
}

// Distances of a place from the centre of a kernel, and its widths.
DEVICE void off_kernel(const Density& a, const double* kernel, const double* place, double* off) {
    for (int d = 0; d < 2; d++) {
        const bool there = d < a.term.count;
        off[d] = there ? shortest_difference(a.b.variables[a.b.entries[a.term.first + d]], place[d], kernel[1 + d]) : 0.0;
        off[2 + d] = there ? kernel[3 + d] : 1.0;
    }
}

// Adds value and slopes of a kernel at a place.
DEVICE void add_kernel(const Density& a, const double* kernel, const double* place, double* sums) {
    double in[6] = {kernel[0], 0.0, 0.0, 1.0, 1.0, a.term.parameters[3]}, square, out[3];
    off_kernel(a, kernel, place, in + 1);
    square_in_widths(in + 1, &square);
    if (!(square < a.term.square_cutoff)) return;
    density_kernel(in, out);
    for (int c = 0; c < 3; c++) sums[c] += out[c];
}

// Sums over all threads, for all of them.
DEVICE void sums_for_all(double (&part)[3]) {
    __shared__ double sums[3];
    __syncthreads();  // the sums before these have been read
    block_sums<BIAS_THREADS>(part, sums);
    __syncthreads();
    for (int c = 0; c < 3; c++) part[c] = sums[c];
}

// Energy of the bias of a density at a place, and its slopes.
DEVICE void energy_of_density(const Density& a, const double* place, double* out) {
    double sums[3] = {}, energy[2];
    for (i64 i = threadIdx.x; i < count_of(a); i += BIAS_THREADS) add_kernel(a, kernel_of(a, i), place, sums);
    sums_for_all(sums);
    const double* p = a.term.parameters;
    const double in[4] = {sums[0], a.numbers[DENSITY_WEIGHT] * a.numbers[DENSITY_MEAN], p[3], p[2]};
    opes_energy(in, energy);
    out[0] = energy[0];
    for (int d = 0; d < 2; d++) out[1 + d] = energy[1] * sums[1 + d];
}

// Energy and slopes of the present density, which becomes the one that was noted at the end of an earlier step.
DEVICE void evaluate_density(const BiasData& b, i64 k, i64 step) {
    double *numbers = b.numbers + BIAS_NUMBERS * k, values[2] = {}, out[3];
    values_of(b, b.terms[k], values);
    const double since = numbers[KERNEL_PENDING];
    __syncthreads();
    if (threadIdx.x == 0 && since >= 0.0 && since < (double)step) {
        numbers[KERNEL_CURRENT] = 1.0 - numbers[KERNEL_CURRENT];
        numbers[KERNEL_NEWEST] = (double)step;
        numbers[KERNEL_PENDING] = -1.0;
    }
    __syncthreads();
    energy_of_density(density_of(b, k, (int)numbers[KERNEL_CURRENT]), values, out);
    if (threadIdx.x == 0) store_bias(b, k, out);
}

// Sum of a kernel at its own centre and those of `count` others, and of the others at its centre.
DEVICE double overlap_of(const Density& a, i64 count, const double* kernel) {
    double sums[3] = {};
    for (i64 i = threadIdx.x; i < count; i += BIAS_THREADS) {
        const double* other = kernel_of(a, i);
        add_kernel(a, kernel, other + 1, sums);
        add_kernel(a, other, kernel + 1, sums);
    }
    if (threadIdx.x == 0) add_kernel(a, kernel, kernel + 1, sums);
    sums_for_all(sums);
    return sums[0];
}

// The nearest of `count` kernels within reach of a place, the first one of equally near ones; -1: there is none.
DEVICE i64 nearest_kernel(const Density& a, i64 count, const double* place) {
    __shared__ double squares[BIAS_THREADS];
    __shared__ i64 nearest[BIAS_THREADS];
    const int t = threadIdx.x;
    double least = MERGED_SQUARE;
    i64 near = -1;
    for (i64 i = t; i < count; i += BIAS_THREADS) {
        double off[4], square;
        off_kernel(a, kernel_of(a, i), place, off);
        square_in_widths(off, &square);
        if (square < least) {
            least = square;
            near = i;
        }
    }
    __syncthreads();  // the search before this one has been read
    squares[t] = least;
    nearest[t] = near;
    for (int half = BIAS_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t >= half || nearest[t + half] < 0) continue;
        const double other = squares[t + half];
        if (nearest[t] < 0 || other < squares[t] || (other == squares[t] && nearest[t + half] < nearest[t])) {
            squares[t] = other;
            nearest[t] = nearest[t + half];
        }
    }
    __syncthreads();
    return nearest[0];
}

// Merges a kernel into another one.
DEVICE void merge_kernels(const Density& a, const double* other, double* kernel) {
    double off[4];
    off_kernel(a, other, kernel + 1, off);
    for (int d = 0; d < a.term.count; d++) {
        const double in[5] = {other[0], kernel[0], off[d], other[3 + d], kernel[3 + d]};
        double out[2];
        merged_kernel(in, out);
        kernel[1 + d] = shortest_difference(a.b.variables[a.b.entries[a.term.first + d]], other[1 + d] + out[0], 0.0);
        kernel[3 + d] = out[1];
    }
    kernel[0] += other[0];
}

// Adds a kernel to a density of `count` kernels, merged with those near it, of which there are fewer then; `sum` is that
// of all kernels at the centres of all. The last kernel takes the place of one that is merged.
DEVICE void add_merged(const Density& a, i64& count, double* kernel, double& sum) {
    for (;;) {
        const i64 near = nearest_kernel(a, count, kernel + 1);
        if (near < 0) break;
        double other[KERNEL_SIZE];
        for (int c = 0; c < KERNEL_SIZE; c++) other[c] = kernel_of(a, near)[c];
        count--;
        __syncthreads();
        if (threadIdx.x < KERNEL_SIZE) kernel_of(a, near)[threadIdx.x] = kernel_of(a, count)[threadIdx.x];
        __syncthreads();
        sum -= overlap_of(a, count, other);
        merge_kernels(a, other, kernel);
    }
    sum += overlap_of(a, count, kernel);
    if (threadIdx.x < KERNEL_SIZE) kernel_of(a, count)[threadIdx.x] = kernel[threadIdx.x];
    count++;
}

// Notes the density with one more kernel, in place of the other one.
APART void note_density(const BiasData& b, i64 k, i64 step, const double* values) {
    const BiasTerm& term = b.terms[k];
    double* numbers = b.numbers + BIAS_NUMBERS * k;
    const int current = (int)numbers[KERNEL_CURRENT];
    const Density now = density_of(b, k, current), next = density_of(b, k, 1 - current);
    i64 count = count_of(now);
    if (count >= term.capacity) {
        if (threadIdx.x == 0) note_undefined(b, b.n_variables + k);
        return;
    }
    for (i64 i = threadIdx.x; i < count; i += BIAS_THREADS) {
        for (int c = 0; c < KERNEL_SIZE; c++) kernel_of(next, i)[c] = kernel_of(now, i)[c];
    }
    __syncthreads();
    double weight, shape[2];
    const double sampled[2] = {b.energies[3 * k], term.parameters[0]};
    sample_weight(sampled, &weight);
    const double weights[2] = {now.numbers[DENSITY_WEIGHT] + weight, now.numbers[DENSITY_SQUARES] + weight * weight};
    const double in[4] = {weight, weights[0], weights[1], (double)term.count};
    new_kernel(in, shape);
    double kernel[KERNEL_SIZE] = {shape[1], values[0], values[1], shape[0] * term.width[0], shape[0] * term.width[1]};
    double sum = now.numbers[DENSITY_MEAN] * now.numbers[DENSITY_WEIGHT] * (double)count;
    add_merged(next, count, kernel, sum);
    if (threadIdx.x == 0) {
        next.numbers[DENSITY_KERNELS] = (double)count;
        next.numbers[DENSITY_WEIGHT] = weights[0];
        next.numbers[DENSITY_SQUARES] = weights[1];
        next.numbers[DENSITY_MEAN] = sum / (weights[0] * (double)count);
        numbers[KERNEL_NEWEST] = -1.0;
        numbers[KERNEL_PENDING] = (double)step;
    }
}

// Work of a density that has begun to act with a step, and the next density where one is due.
APART void end_density(const BiasData& b, i64 k, i64 step) {
    const BiasTerm& term = b.terms[k];
    double *numbers = b.numbers + BIAS_NUMBERS * k, values[2] = {};
    values_of(b, term, values);
    if (numbers[KERNEL_NEWEST] == (double)step) {
        const int current = (int)numbers[KERNEL_CURRENT];
        double energies[4], out[3], work;
        for (int c = 0; c < 4; c++) {
            const Density density = density_of(b, k, c % 2 == 0 ? 1 - current : current);
            energy_of_density(density, c < 2 ? numbers + KERNEL_VALUES : values, out);
            energies[c] = out[0];
        }
        switching_work(energies, &work);
        if (threadIdx.x == 0) {
            numbers[KERNEL_WORK] += work;
            numbers[KERNEL_NEWEST] = -1.0;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        numbers[KERNEL_KNOWN] = 1.0;
        for (int d = 0; d < term.count; d++) numbers[KERNEL_VALUES + d] = values[d];
    }
    if (step % (i64)term.parameters[1] == 0) note_density(b, k, step, values);
    __syncthreads();
}
