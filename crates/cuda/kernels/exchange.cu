// Exchange between the GPUs of a run: each computes the forces on its own atoms, which follow each other in the sorted
// order. Then either all of them move all atoms from these forces, so that every GPU has the same atoms, to the last bit;
// or each moves its own and sends their positions, and the rest before lists are built and where segments end.
//
// A kernel that sends stores into a landing zone in the memory of each other GPU and then publishes the number of the
// exchange there. One that receives waits for that number and copies what has landed to where it belongs. Zones
// alternate: a GPU that is one exchange ahead does not overwrite what another still reads, and it cannot be two ahead,
// as it waits itself.
//
// Forces are sent where what moves atoms needs all of them: thermostats that scale all velocities in each step, friction
// between atoms. It does so as on one GPU, but motion is not divided.
//
// Positions are sent otherwise, by the kernel that moves an atom: it stores them where the other GPUs have theirs of the
// step before, which nothing reads any more. There is nothing to copy, and one number to wait for. Most atoms are far from
// those of other GPUs: a position is sent to the GPUs that may need it until the next list is built. Where motion of groups
// with constraints is divided (in large systems: `Cuda::motion`), they are moved by the GPU of their first atom: before, it
// is sent the forces on those few that lie across a border. Bonds may need positions that are more exact than those for pairs:
// the few that bonds across a border need are sent, too.
//
// A mesh is divided by itself (mesh.cu): between its parts all GPUs wait for each other.
//
// GPUs of several processes do not reach each other's memory. Those of a process have one landing zone in common then, in
// memory of the host: each stores its part there once, with a note of where it begins and ends, and a thread of the host
// sends it on and brings the parts of other processes (messenger.rs). Forces are exchanged so, and nothing else.

enum {
    EXCHANGE_THREADS = 256,
    EXCHANGE_WORDS = 5,  // that GPUs tell each other at once
};

#ifndef EMULATED
DEVICE void publish(u64* at, u64 number) { asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(at), "l"(number) : "memory"); }
DEVICE u64 published(const u64* at) {
    u64 number;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(number) : "l"(at) : "memory");
    return number;
}
DEVICE u64 nanoseconds() {
    u64 time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
}
#else
DEVICE void publish(u64* at, u64 number) { __atomic_store_n(at, number, __ATOMIC_RELEASE); }
DEVICE u64 published(const u64* at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
DEVICE u64 nanoseconds() { return emulation::nanoseconds_after_pause(); }
#endif

// Number of places where this GPU stores for others, and the GPU in whose memory one of them is.
DEVICE int n_targets(const ExchangeData& e) { return e.stored ? 1 : e.count - 1; }
DEVICE int target(const ExchangeData& e, int k) { return e.stored ? e.rank : (e.rank + 1 + k) % e.count; }

// Landing zone of a GPU for the exchange of this number.
DEVICE char* landing_zone(const ExchangeData& e, int gpu, u64 number) {
    return (char*)e.landing[gpu] + (number & 1) * e.zone_bytes;
}

// Returns true in one thread of the last block that arrives here. What all blocks have stored before, in the memory of
// any GPU, is visible to whoever sees what this thread stores next.
DEVICE bool arrives_last(u32* arrived) {
    __syncthreads();
    if (threadIdx.x != 0) return false;
    __threadfence_system();
    if (atomicAdd(arrived, 1u) != gridDim.x - 1) return false;
    *arrived = 0;
    __threadfence_system();
    return true;
}

// Publishes the next number to all others, by one thread.
DEVICE void publish_to_others(const ExchangeData& e, u64 number) {
    for (int k = 0; k < n_targets(e); k++) publish(&e.published[target(e, k)][e.rank], number + 1);
}

// Publishes it once every block has stored its part, bytes of landing zones from `begin` to `end`.
DEVICE void publish_when_stored(const ExchangeData& e, u64 number, size_t begin = 0, size_t end = 0) {
    if (!arrives_last(&e.state->arrived)) return;
    if (e.stored) {
        u64* stored = e.stored + 2 * ((number & 1) * MOST_GPUS + e.rank);
        stored[0] = begin;
        stored[1] = end;
    }
    publish_to_others(e, number);
}

// Tells all others some words, by one thread: they are there once the number of the exchange is published.
DEVICE void send_words(const ExchangeData& e, u64 number, const int (&words)[EXCHANGE_WORDS]) {
    const int place = ((int)(number & 1) * MOST_GPUS + e.rank) * EXCHANGE_WORDS;
    for (int k = 0; k < n_targets(e); k++) {
        for (int word = 0; word < EXCHANGE_WORDS; word++) e.words[target(e, k)][place + word] = words[word];
    }
}

// One of the words of another GPU.
DEVICE int word_of(const ExchangeData& e, u64 number, int gpu, int which) {
    return __ldcg(&e.words[e.rank][((int)(number & 1) * MOST_GPUS + gpu) * EXCHANGE_WORDS + which]);
}

// Waits until a GPU has published the next number at an address, and returns for how long. One that is waited for in vain
// is reported, and the run ends.
DEVICE u64 wait_for(const DeviceData& w, const ExchangeData& e, const u64* at, int gpu, u64 number) {
    const u64 start = nanoseconds();
    u64 waited = 0;
    while (published(at) <= number && !e.state->late) {
        waited = nanoseconds() - start;
        if (waited < e.patience) continue;
        e.state->late = gpu + 1;
        report(w.control, LATE);
        break;
    }
    return waited;
}

// Waits until the first block has waited for all others: the memory of the host is far for all blocks to look at.
DEVICE void wait_for_first_block(const ExchangeData& e, u64 number) {
    if (threadIdx.x == 0) {
        while (published(&e.state->complete) <= number) {}
    }
    __syncthreads();
}

// Waits for all others, with all threads of a block. The first block notes how long it has waited; not in the first steps
// of a batch, which one GPU begins before the other.
DEVICE void wait_for_others(const DeviceData& w, const ExchangeData& e, u64 number) {
    if (e.stored && blockIdx.x > 0) return wait_for_first_block(e, number);
    const int gpu = threadIdx.x;
    if (gpu < e.count && gpu != e.rank) {
        const u64 waited = wait_for(w, e, &e.published[e.rank][gpu], gpu, number);
        if (blockIdx.x == 0 && waited > 0 && w.control->replays > 0) atomicMax(&e.state->wait, waited);
    }
    __syncthreads();
    if (e.stored && threadIdx.x == 0) publish(&e.state->complete, number + 1);
}

// Reason of a wait for other GPUs, as far as their shares matter.
enum Wait { WAIT_FOR_FORCES, WAIT_FOR_REST };

// Goes on to the next exchange, by one thread.
DEVICE void count_exchange(const ExchangeData& e, u64 number, Wait wait) {
    e.state->number = number + 1;
    e.state->waited += e.state->wait;
    if (wait == WAIT_FOR_FORCES) e.state->waited_for_forces += e.state->wait;
    e.state->wait = 0;
}

// Ends an exchange, once every block has copied its part.
DEVICE void end_exchange(const ExchangeData& e, u64 number, Wait wait = WAIT_FOR_FORCES) {
    if (arrives_last(&e.state->arrived)) count_exchange(e, number, wait);
}

// Copies words of 16 bytes and what is left over from one address to another: both are multiples of 16 from `begin` on.
DEVICE void copy_bytes(char* to, const char* from, size_t begin, size_t end) {
    const size_t whole = begin + (end - begin) / 16 * 16, step = (size_t)gridDim.x * blockDim.x;
    const size_t thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 4
    for (size_t k = begin + 16 * thread; k < whole; k += 16 * step) *(uint4*)(to + k) = __ldcg((const uint4*)(from + k));
    for (size_t k = whole + 4 * thread; k < end; k += 4 * step) *(u32*)(to + k) = __ldcg((const u32*)(from + k));
}

// Stores what this GPU has computed of an array, with so many bytes an atom, into the landing zones of all others.
extern "C" __global__ void __launch_bounds__(EXCHANGE_THREADS)
exchange_send(DeviceData w, ExchangeData e, const void* array, int atom_bytes, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!due(w.control, w.control->slot[slot], trigger)) return;
    const u64 number = e.state->number;
    const size_t begin = (size_t)w.owned.first * atom_bytes, end = (size_t)w.owned.end * atom_bytes;
    for (int k = 0; k < n_targets(e); k++) copy_bytes(landing_zone(e, target(e, k), number), (const char*)array, begin, end);
    publish_when_stored(e, number, begin, end);
}

// Completes such an array from what the others have sent.
extern "C" __global__ void __launch_bounds__(EXCHANGE_THREADS)
exchange_receive(DeviceData w, ExchangeData e, void* array, int atom_bytes, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!due(w.control, w.control->slot[slot], trigger)) return;
    const u64 number = e.state->number;
    wait_for_others(w, e, number);
    const char* zone = landing_zone(e, e.rank, number);
    const size_t first = (size_t)w.owned.first * atom_bytes, end = (size_t)w.owned.end * atom_bytes;
    copy_bytes((char*)array, zone, 0, first);
    copy_bytes((char*)array, zone, end, (size_t)w.n * atom_bytes);
    end_exchange(e, number);
}

// Forces on an atom in an array that other GPUs write to.
DEVICE real3 landed_force(const real* array, int i) {
    const real* from = array + 3 * (size_t)i;
    return {__ldcg(from), __ldcg(from + 1), __ldcg(from + 2)};
}

// Lets all GPUs know that this one has made its part of a mesh, and waits for theirs. Waits are not noted: GPUs have pairs
// to go on with.
extern "C" __global__ void __launch_bounds__(32) exchange_mesh(DeviceData w, ExchangeData e, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!long_range_due(w.control, w.control->slot[slot], trigger)) return;
    const u64 number = e.state->mesh_number;
    const int gpu = threadIdx.x;
    if (gpu < e.count && gpu != e.rank) {
        __threadfence_system();
        publish(&e.mesh_published[gpu][e.rank], number + 1);
        wait_for(w, e, &e.mesh_published[e.rank][gpu], gpu, number);
    }
    __syncthreads();
    if (gpu == 0) e.state->mesh_number = number + 1;
}

// Stores the forces of this GPU on all atoms into the landing zones of all others, each of which has room for every sender.
extern "C" __global__ void __launch_bounds__(EXCHANGE_THREADS) exchange_send_sums(DeviceData w, ExchangeData e, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!due(w.control, w.control->slot[slot], trigger)) return;
    const u64 number = e.state->number;
    const size_t begin = (size_t)e.rank * e.sender_bytes, bytes = (size_t)w.n * 3 * sizeof(real);
    for (int k = 0; k < n_targets(e); k++) {
        copy_bytes(landing_zone(e, target(e, k), number) + begin, (const char*)w.atoms.force, 0, bytes);
    }
    publish_when_stored(e, number, begin, begin + bytes);
}

// Adds up the forces of all GPUs, in their order, so that all have the same sums.
extern "C" __global__ void __launch_bounds__(EXCHANGE_THREADS) exchange_receive_sums(DeviceData w, ExchangeData e, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!due(w.control, w.control->slot[slot], trigger)) return;
    const u64 number = e.state->number;
    wait_for_others(w, e, number);
    const char* zone = landing_zone(e, e.rank, number);
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < 3 * w.n; k += gridDim.x * blockDim.x) {
        real sum = 0;
        for (int gpu = 0; gpu < e.count; gpu++) {
            sum += gpu == e.rank ? w.atoms.force[k] : __ldcg((const real*)(zone + gpu * e.sender_bytes) + k);
        }
        w.atoms.force[k] = sum;
    }
    end_exchange(e, number);
}

// Sends shares of sums that belong to an atom and are stored by its id: see `block_partial`.
extern "C" __global__ void __launch_bounds__(EXCHANGE_THREADS)
exchange_send_shares(DeviceData w, ExchangeData e, int count, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!due(w.control, w.control->slot[slot], trigger)) return;
    const u64 number = e.state->number;
    const u32* id = w.atoms.id[w.control->sorted];
    for (int i = w.owned.first + blockIdx.x * blockDim.x + threadIdx.x; i < w.owned.end; i += gridDim.x * blockDim.x) {
        for (int k = 0; k < n_targets(e); k++) {
            double* zone = (double*)landing_zone(e, target(e, k), number) + (size_t)i * count;
            for (int sum = 0; sum < count; sum++) zone[sum] = w.reduction.partial[(size_t)id[i] * count + sum];
        }
    }
    const size_t atom_bytes = count * sizeof(double);
    publish_when_stored(e, number, w.owned.first * atom_bytes, w.owned.end * atom_bytes);
}

extern "C" __global__ void __launch_bounds__(EXCHANGE_THREADS)
exchange_receive_shares(DeviceData w, ExchangeData e, int count, int slot, int trigger) {
    wait_for_previous_kernel();
    if (!due(w.control, w.control->slot[slot], trigger)) return;
    const u64 number = e.state->number;
    wait_for_others(w, e, number);
    const double* zone = (const double*)landing_zone(e, e.rank, number);
    const u32* id = w.atoms.id[w.control->sorted];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < w.n; i += gridDim.x * blockDim.x) {
        if (i >= w.owned.first && i < w.owned.end) continue;
        for (int k = 0; k < count; k++) w.reduction.partial[(size_t)id[i] * count + k] = __ldcg(&zone[(size_t)i * count + k]);
    }
    end_exchange(e, number);
}

// Agreement on what the lists of each GPU needed, before `settle` publishes faults: lists are built by all or by none.
extern "C" __global__ void __launch_bounds__(EXCHANGE_WORDS * MOST_GPUS) exchange_needs(DeviceData w, ExchangeData e, int slot) {
    wait_for_previous_kernel();
    Control* control = w.control;
    if (!build_due(control, control->slot[slot])) return;
    const u64 number = e.state->number;
    if (threadIdx.x == 0) {
        const int words[EXCHANGE_WORDS] = {control->reported, control->need_tile, control->need_rows,
                                           control->largest_tile, control->most_rows};
        send_words(e, number, words);
    }
    publish_when_stored(e, number);
    wait_for_others(w, e, number);
    const int gpu = threadIdx.x / EXCHANGE_WORDS, which = threadIdx.x % EXCHANGE_WORDS;
    if (gpu < e.count && gpu != e.rank) {
        const int word = word_of(e, number, gpu, which);
        switch (which) {
            case 0: atomicOr(&control->reported, word); break;
            case 1: atomicMax(&control->need_tile, word); break;
            case 2: atomicMax(&control->need_rows, word); break;
            case 3: atomicMax(&control->largest_tile, word); break;
            default: atomicMax(&control->most_rows, word);
        }
    }
    end_exchange(e, number, WAIT_FOR_REST);
}
