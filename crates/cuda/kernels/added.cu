// Forces that the host has computed, added to those of the last evaluation: an array by id.

extern "C" __global__ void added_forces(DeviceData w, const double* by_id) {
    wait_for_previous_kernel();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.n) return;
    const double* more = by_id + 3 * (size_t)w.atoms.id[w.control->sorted][i];
    if (more[0] == 0.0 && more[1] == 0.0 && more[2] == 0.0) return;
    const real3 force = load_force(w, i);
    store_force(w, i, {force.x + (real)more[0], force.y + (real)more[1], force.z + (real)more[2]});
}
