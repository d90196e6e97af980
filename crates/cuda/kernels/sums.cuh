// Sums over all atoms, always in the same order: bits are equal from run to run.

enum { SUM_THREADS = 256 };

// Sums of N numbers over all threads of a block, in f64.
template <int THREADS_PER_BLOCK, int N>
DEVICE void block_sums(double (&value)[N], double* sums) {
    __shared__ double warps[THREADS_PER_BLOCK / 32][N];
#pragma unroll
    for (int k = 0; k < N; k++) {
        for (int m = 16; m > 0; m /= 2) value[k] += __shfl_xor_sync(ALL_LANES, value[k], m);
        if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32][k] = value[k];
    }
    __syncthreads();
    for (int k = threadIdx.x; k < N; k += THREADS_PER_BLOCK) {
        double sum = 0;
        for (int warp = 0; warp < THREADS_PER_BLOCK / 32; warp++) sum += warps[warp][k];
        sums[k] = sum;
    }
}

// Storage of N numbers as a share.
template <int N>
DEVICE void store_share(const DeviceData& w, const double (&value)[N], i64 share) {
    for (int k = 0; k < N; k++) w.reduction.partial[share * N + k] = value[k];
}

// Sums of N numbers over all threads of a block, stored as this block's share,
// w.reduction.partial[first + block][N]. A thread's numbers belong to the atom `i`, if there is one: by default that
// of its index in the grid.
template <int THREADS_PER_BLOCK, int N>
DEVICE void block_partial(const DeviceData& w, double (&value)[N], int first, int i) {
#if REPRODUCIBLE
    // A share for each atom, in the order of ids and not of storage.
    if (i < w.n) store_share(w, value, w.atoms.id[w.control->sorted][i]);
#else
    block_sums<THREADS_PER_BLOCK>(value, w.reduction.partial + ((size_t)first + blockIdx.x) * N);
#endif
}

template <int THREADS_PER_BLOCK, int N>
DEVICE void block_partial(const DeviceData& w, double (&value)[N], int first = 0) {
    block_partial<THREADS_PER_BLOCK, N>(w, value, first, blockIdx.x * THREADS_PER_BLOCK + threadIdx.x);
}

// Sum over `blocks` of the k-th of the `count` numbers in their shares, for thread 0.
template <int THREADS_PER_BLOCK>
DEVICE double sum_of_shares(const DeviceData& w, int blocks, int count, int k) {
    __shared__ double warps[THREADS_PER_BLOCK / 32];
    double sum = 0;
#pragma unroll 8
    for (int b = threadIdx.x; b < blocks; b += THREADS_PER_BLOCK) sum += __ldcg(&w.reduction.partial[(size_t)b * count + k]);
    for (int m = 16; m > 0; m /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, m);
    __syncthreads();  // the sum before this one has been read
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int warp = 0; warp < THREADS_PER_BLOCK / 32; warp++) sum += warps[warp];
    return sum;
}

// Half the virial of two atoms (xx, yy, zz, xy, xz, yz), for one of them.
DEVICE void add_half_virial(double* virial, real3 d, real force_over_r) {
    const double half = 0.5 * force_over_r;
    virial[0] += half * d.x * d.x;
    virial[1] += half * d.y * d.y;
    virial[2] += half * d.z * d.z;
    virial[3] += half * d.x * d.y;
    virial[4] += half * d.x * d.z;
    virial[5] += half * d.y * d.z;
}

// Sums over shares of N energies and a virial, by one block, into a row of w.reduction.total: energies from `first`
// on replace the numbers there, the virial is added.
template <int THREADS_PER_BLOCK, int N>
DEVICE void add_energies_and_virial(const DeviceData& w, int blocks, int row_length, int virial, int first, int trigger) {
    if (!due(w.control, w.control->slot[0], trigger) && trigger != TRIGGER_IMMEDIATE) return;
    double* row = w.reduction.total + (trigger == TRIGGER_SEGMENT_END ? (size_t)(w.control->part / 2) * row_length : 0);
    for (int k = 0; k < N + 6; k++) {
        const double sum = sum_of_shares<THREADS_PER_BLOCK>(w, blocks, N + 6, k);
        if (threadIdx.x != 0) continue;
        if (k < N) {
            row[first + k] = sum;
        } else {
            row[virial + k - N] += sum;
        }
    }
}

// Returns true in the last block of a kernel that arrives here, to which the shares of all others are visible.
DEVICE bool comes_last(Control* control) {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(&control->arrived, 1) == (int)gridDim.x - 1;
        if (last) control->arrived = 0;
    }
    __syncthreads();
    return last;
}

// Kinetic energy tensor (xx, yy, zz, xy, xz, yz) and momentum of an atom.
enum { KINETIC_SUMS = 9 };
DEVICE void kinetic_of(double mass, Double3 v, double* sums) {
    const double half = 0.5 * mass;
    sums[0] = half * v.x * v.x;
    sums[1] = half * v.y * v.y;
    sums[2] = half * v.z * v.z;
    sums[3] = half * v.x * v.y;
    sums[4] = half * v.x * v.z;
    sums[5] = half * v.y * v.z;
    sums[6] = mass * v.x;
    sums[7] = mass * v.y;
    sums[8] = mass * v.z;
}

// Sums of N numbers over `blocks` shares into a row, by one block; each warp has sums of its own.
template <int THREADS_PER_BLOCK, int N>
DEVICE void add_up(const DeviceData& w, int blocks, double* row) {
    for (int k = threadIdx.x / 32; k < N; k += THREADS_PER_BLOCK / 32) {
        double sum = 0;
#pragma unroll 16
        for (int b = threadIdx.x % 32; b < blocks; b += 32) sum += __ldcg(&w.reduction.partial[(size_t)b * N + k]);
        for (int m = 16; m > 0; m /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, m);
        if (threadIdx.x % 32 == 0) row[k] = sum;
    }
}
