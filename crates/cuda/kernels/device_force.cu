// Forces that others compute in the memory of this GPU: unwrapped positions for them, a row for each of their atoms, and
// the sum of their forces with those of the last evaluation.

// Row of an atom; NO_ATOM where it has none.
DEVICE u32 row_of_atom(const DeviceData& w, const u32* row_by_id, int i) {
    const u32 id = w.atoms.id[w.control->sorted][i];
    return row_by_id ? row_by_id[id] : id;
}

extern "C" __global__ void gather_positions(DeviceData w, const u32* row_by_id, double* rows) {
    wait_for_previous_kernel();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.n) return;
    const u32 row = row_of_atom(w, row_by_id, i);
    if (row == NO_ATOM) return;
    const BoxGeometry& box = w.geometry;
    const int* image = w.atoms.image[w.control->sorted] + 3 * (size_t)i;
    Double3 x = load(w.atoms.x[w.control->sorted], i);
    x.x += image[0] * box.edge[0] + image[1] * box.tilt[0] + image[2] * box.tilt[1];
    x.y += image[1] * box.edge[1] + image[2] * box.tilt[2];
    x.z += image[2] * box.edge[2];
    store(rows, (int)row, x);
}

// Rows of forces in single precision (is_double = 0) or double precision, at steps of so many numbers.
extern "C" __global__ void add_rows(DeviceData w, const u32* row_by_id, const void* rows, int is_double, i64 row_stride,
                                    i64 column_stride, u32* first_bad, int slot, int trigger) {
    wait_for_previous_kernel();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.n || !due(w.control, w.control->slot[slot], trigger)) return;
    const u32 row = row_of_atom(w, row_by_id, i);
    if (row == NO_ATOM) return;
    real more[3];
    for (int k = 0; k < 3; k++) {
        const i64 at = row * row_stride + k * column_stride;
        more[k] = is_double ? (real)((const double*)rows)[at] : (real)((const float*)rows)[at];
    }
    const real3 added = {more[0], more[1], more[2]};
    if (!is_finite(added)) atomicMin(first_bad, w.atoms.id[w.control->sorted][i]);
    const real3 force = load_force(w, i);
    store_force(w, i, {force.x + added.x, force.y + added.y, force.z + added.z});
}
