// Exchange between GPUs where each moves its own atoms: behind exchange.cu, which says what is sent when.

// Clears the bits that `exchange_divide` sets.
extern "C" __global__ void __launch_bounds__(EXCHANGE_THREADS) exchange_clear_division(DeviceData w, ExchangeData e, int slot) {
    wait_for_previous_kernel();
    if (!build_due(w.control, w.control->slot[slot])) return;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        if (w.division.border) *w.division.n_border = 0;
        e.state->positions_sent = 0;
    }
    const int words = w.division.exact ? (w.n + 31) / 32 : 0;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < words; k += gridDim.x * blockDim.x) w.division.exact[k] = 0;
}

// Finds, after a sort, the atoms that this GPU moves, and those that another one moves than computes the forces on them.
// `slot_of_first` has by id a slot in `index`, where the first atom of the group is found, or NO_ATOM; null without groups.
extern "C" __global__ void __launch_bounds__(EXCHANGE_THREADS)
exchange_divide(DeviceData w, const u32* slot_of_first, const uint2* index, int slot) {
    wait_for_previous_kernel();
    if (!build_due(w.control, w.control->slot[slot])) return;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool moved = false;
    if (i < w.n) {
        const u32 at = slot_of_first ? slot_of_first[w.atoms.id[w.control->sorted ^ 1][i]] : NO_ATOM;
        const int first = at == NO_ATOM ? i : (int)index[at].x;
        moved = owns(w, first);
        if (gpu_of(w, i) != gpu_of(w, first)) {
            w.division.border[atomicAdd(w.division.n_border, 1u)] = (u32)i;
            atomicOr(&w.division.exact[i / 32], 1u << i % 32);
        }
    }
    const u32 bits = __ballot_sync(ALL_LANES, moved);
    if (threadIdx.x % 32 == 0 && i < w.n) w.division.moved[i / 32] = bits;
}

// Finds the GPUs that need an atom of this one in the steps with a list, in the order of `PeerPositions`. Forces need atoms
// within the cut-off: no two that were more than the cut-off and two skins apart when the list was built come that near, as
// the list is built again before an atom has moved further than a skin. The other atom may be in a group that begins here.
extern "C" __global__ void __launch_bounds__(EXCHANGE_THREADS) exchange_find_needs(DeviceData w, ExchangeData e, int slot) {
    wait_for_previous_kernel();
    const Control* control = w.control;
    if (!build_due(control, control->slot[slot])) return;
    const double group = fmax(w.division.extent, 0.0);
    const double distance = (control->reach + control->skin + group) * (1.0 + 1e-5), along[3] = {distance, distance, distance};
    const u32 all = (1u << (e.count - 1)) - 1;
    const Position* position = w.atoms.position[control->slot[slot].parity ^ 1];
    u32 sent = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < w.n; i += gridDim.x * blockDim.x) {
        u32 needs = all;
        if (owns(w, i) && !(w.division.exact && has_bit(w.division.exact, i))) {
            u32 gpus = 0;
            const BinRange bins = bins_within(w.geometry, to_fixed(w.geometry, w.atoms.built[i]), along);
            for (int k = 0; k < bins.n_ranges(); k++) {
                const AtomRange range = bins.atoms(w, k);
                if (range.count == 0) continue;
                const int first = gpu_of(w, (int)range.first), last = gpu_of(w, (int)(range.first + range.count - 1));
                gpus |= (2u << last) - (1u << first);
            }
            // Atoms that are excluded from each other act on each other through the mesh, however far apart they are.
            for (int k = 0; k < 4 * w.exclusions.fours; k++) {
                const u32 partner = partner_of(w, i, k);
                if (partner == NO_ATOM) break;
                gpus |= 1u << gpu_of(w, (int)partner);
            }
            needs = (gpus & ((1u << e.rank) - 1)) | (gpus >> (e.rank + 1) << e.rank);
        }
        w.division.needed_by[i] = (u8)needs;
        w.division.species[i] = (u16)position[i].species;
        if (owns(w, i)) sent += (u32)__popc(needs);
    }
    sent = __reduce_add_sync(ALL_LANES, sent);
    if (threadIdx.x % 32 == 0 && sent > 0) atomicAdd(&e.state->positions_sent, sent);
}

// Stores the forces on atoms that others move into the landing zones of all others.
extern "C" __global__ void __launch_bounds__(EXCHANGE_THREADS) exchange_send_border(DeviceData w, ExchangeData e, int slot) {
    wait_for_previous_kernel();
    if (!step_due(w.control, w.control->slot[slot])) return;
    const u64 number = e.state->number;
    const int n_border = (int)*w.division.n_border;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n_border; k += gridDim.x * blockDim.x) {
        const int i = (int)w.division.border[k];
        if (!owns(w, i)) continue;
        const real3 f = load_force(w, i);
        for (int gpu = 0; gpu < e.count; gpu++) {
            if (gpu != e.rank) store_force_in((real*)landing_zone(e, gpu, number), i, f);
        }
    }
    publish_when_stored(e, number);
}

// Completes the forces on the atoms that this GPU moves by those that the others have sent.
extern "C" __global__ void __launch_bounds__(EXCHANGE_THREADS) exchange_receive_own(DeviceData w, ExchangeData e, int slot) {
    wait_for_previous_kernel();
    if (!step_due(w.control, w.control->slot[slot])) return;
    const u64 number = e.state->number;
    wait_for_others(w, e, number);
    const real* zone = (const real*)landing_zone(e, e.rank, number);
    const int n_border = (int)*w.division.n_border;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n_border; k += gridDim.x * blockDim.x) {
        const int i = (int)w.division.border[k];
        if (!owns(w, i) && has_bit(w.division.moved, i)) store_force(w, i, landed_force(zone, i));
    }
    end_exchange(e, number);
}

// Publishes that this GPU's atoms have arrived in a slot, or what it has found about them since; waits for those of the
// others, and puts together what all have found.
extern "C" __global__ void __launch_bounds__(32) exchange_slot(DeviceData w, ExchangeData e, int slot) {
    wait_for_previous_kernel();
    Control* control = w.control;
    // Steps wait for this kernel: all that it reads is read at once.
    const Slot now = control->slot[slot];
    const i64 before = control->slot[slot - 1].done;
    const u64 number = e.state->number, bad = control->first_bad;
    const int words[EXCHANGE_WORDS] = {control->reported, now.stale, now.soon, (int)(u32)bad, (int)(u32)(bad >> 32)};
    // The step before has been made, or not, on all GPUs.
    if (now.done == before) return;
    if (threadIdx.x == 0) {
        send_words(e, number, words);
        publish_to_others(e, number);
    }
    wait_for_others(w, e, number);
    const int gpu = threadIdx.x;
    if (gpu < e.count && gpu != e.rank) {
        atomicOr(&control->reported, word_of(e, number, gpu, 0));
        if (word_of(e, number, gpu, 1)) control->slot[slot].stale = 1;
        if (word_of(e, number, gpu, 2)) control->slot[slot].soon = 1;
        atomicMin(&control->first_bad, (u64)(u32)word_of(e, number, gpu, 4) << 32 | (u32)word_of(e, number, gpu, 3));
    }
    if (threadIdx.x != 0) return;
    e.state->divided = 1;
    // Where forces are exchanged by themselves, moving takes all GPUs as long as the one with the most atoms.
    const bool of_forces = !w.division.border;
    count_exchange(e, number, of_forces ? WAIT_FOR_FORCES : WAIT_FOR_REST);
}

// Returns true where others are to know of a GPU's atoms what it alone knows.
DEVICE bool motion_due(const DeviceData& w, const ExchangeData& e, int slot, int trigger) {
    const Slot& now = w.control->slot[slot];
    return e.state->divided && (trigger == TRIGGER_BUILD ? build_due(w.control, now) : due(w.control, now, trigger));
}

// Stores words of an array where another GPU has it, by some threads.
template <class Word>
DEVICE void send_array(void* to, const void* from, size_t begin, int count, int thread, int threads) {
    for (int k = thread; k < count; k += threads) ((Word*)to)[begin + k] = ((const Word*)from)[begin + k];
}

// Stores so many atoms of an array, from `first` on, that have so many bytes each, by some threads.
DEVICE void send_atoms(void* to, const void* from, int first, int atoms, int atom_bytes, int thread, int threads) {
    if (atoms % 32 == 0) {
        send_array<uint4>(to, from, (size_t)first * atom_bytes / 16, atoms * atom_bytes / 16, thread, threads);
    } else {
        send_array<u32>(to, from, (size_t)first * atom_bytes / 4, atoms * atom_bytes / 4, thread, threads);
    }
}

// Stores positions and velocities, and forces where they are kept, of some atoms where the others have theirs.
DEVICE void send_motion(const DeviceData& w, const ExchangeData& e, const PeerArrays& peers, bool kept, int first, int atoms,
                        int thread, int threads) {
    const int set = w.control->sorted;
    for (int k = 1; k < e.count; k++) {
        const int gpu = (e.rank + k) % e.count;
        send_atoms(peers.x[gpu][set], w.atoms.x[set], first, atoms, 3 * sizeof(double), thread, threads);
        send_atoms(peers.v[gpu][set], w.atoms.v[set], first, atoms, 3 * sizeof(double), thread, threads);
        if (kept) send_atoms(peers.force[gpu], w.atoms.force, first, atoms, 3 * sizeof(real), thread, threads);
    }
}

// Stores positions and velocities, and forces where they are kept, of this GPU's atoms where the others have theirs. No
// GPU has read those of others since it published its last step.
extern "C" __global__ void __launch_bounds__(EXCHANGE_THREADS)
exchange_send_motion(DeviceData w, ExchangeData e, PeerArrays peers, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!motion_due(w, e, slot, trigger)) return;
    const bool kept = w.control->slot[slot].kept;
    const int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x, lane = thread % 32;
    // 32 atoms by a warp.
    for (int first = w.owned.first + (thread - lane); first < w.owned.end; first += threads) {
        const bool moves = first + lane < w.owned.end && (!w.division.moved || has_bit(w.division.moved, first + lane));
        const u32 bits = __ballot_sync(ALL_LANES, moves);
        if (bits == ALL_LANES) {
            send_motion(w, e, peers, kept, first, 32, lane, 32);
        } else if (moves) {
            send_motion(w, e, peers, kept, first + lane, 1, 0, 1);
        }
    }
    // Atoms that this GPU moves and others compute the forces on.
    const int n_border = w.division.border ? (int)*w.division.n_border : 0;
    for (int k = thread; k < n_border; k += threads) {
        const int i = (int)w.division.border[k];
        if (!owns(w, i) && has_bit(w.division.moved, i)) send_motion(w, e, peers, kept, i, 1, 0, 1);
    }
    publish_when_stored(e, e.state->number);
}

// Waits for those of the others.
extern "C" __global__ void __launch_bounds__(32) exchange_wait_for_motion(DeviceData w, ExchangeData e, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!motion_due(w, e, slot, trigger)) return;
    const u64 number = e.state->number;
    wait_for_others(w, e, number);
    if (threadIdx.x != 0) return;
    count_exchange(e, number, WAIT_FOR_REST);
}

// Finds positions for forces from those of the others, most of which this GPU has not been told in steps.
extern "C" __global__ void __launch_bounds__(EXCHANGE_THREADS)
exchange_place_others(DeviceData w, ExchangeData e, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!motion_due(w, e, slot, trigger)) return;
    Position* position = w.atoms.position[w.control->slot[slot].parity];
    const double* x = w.atoms.x[w.control->sorted];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < w.n; i += gridDim.x * blockDim.x) {
        if (w.division.moved ? has_bit(w.division.moved, i) : owns(w, i)) continue;
        const Double3 r = load(x, i);
        const int species = w.division.needed_by ? (int)w.division.species[i] : (int)position[i].species;
        position[i] = to_position(w.geometry, r.x, r.y, r.z, species);
    }
    if (arrives_last(&e.state->arrived)) e.state->divided = 0;
}
