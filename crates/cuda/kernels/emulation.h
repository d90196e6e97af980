// Part of CUDA C++ that our kernels use, on the CPU: for tests without a GPU.
//
// Blocks run one after the other, the threads of a block as fibres that switch at barriers and
// warp collectives only. Shared memory is filled with NaNs before each block, so that no block
// depends on the data of an earlier one. `EMULATED` is defined for the few lines of a kernel that
// have to differ.
#pragma once
#define EMULATED 1

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif
#include <type_traits>
#include <utility>

// Macros for `__global__` and `__shared__` stay undefined: driver/emulated.rs replaces these words.
#define __global__ EMULATED_GLOBAL
#define __shared__ EMULATED_SHARED
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __grid_constant__
#define warpSize 32

// ---- vector types ----
#define EMULATED_VECTORS(scalar, name, align2, align4)                                       \
    struct name##1 { scalar x; };                                                            \
    struct alignas(align2) name##2 { scalar x, y; };                                         \
    struct name##3 { scalar x, y, z; };                                                      \
    struct alignas(align4) name##4 { scalar x, y, z, w; };                                   \
    static inline name##1 make_##name##1(scalar x) { return {x}; }                           \
    static inline name##2 make_##name##2(scalar x, scalar y) { return {x, y}; }              \
    static inline name##3 make_##name##3(scalar x, scalar y, scalar z) { return {x, y, z}; } \
    static inline name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w) {           \
        return {x, y, z, w};                                                                 \
    }
EMULATED_VECTORS(signed char, char, 2, 4)
EMULATED_VECTORS(unsigned char, uchar, 2, 4)
EMULATED_VECTORS(short, short, 4, 8)
EMULATED_VECTORS(unsigned short, ushort, 4, 8)
EMULATED_VECTORS(int, int, 8, 16)
EMULATED_VECTORS(unsigned, uint, 8, 16)
EMULATED_VECTORS(long long, longlong, 16, 16)
EMULATED_VECTORS(unsigned long long, ulonglong, 16, 16)
EMULATED_VECTORS(float, float, 8, 16)
EMULATED_VECTORS(double, double, 16, 16)
#undef EMULATED_VECTORS
// Half precision (IEEE 754 binary16), rounded to the nearest, ties to even.
#ifdef __F16C__
// Conversions of the processor, without the 2.6 MB of <immintrin.h> in each kernel.
typedef float emulated_floats __attribute__((vector_size(16)));
typedef short emulated_halves __attribute__((vector_size(16)));
typedef int emulated_words __attribute__((vector_size(16)));
static inline emulated_floats half_values(uint32_t two) {
    return __builtin_ia32_vcvtph2ps((emulated_halves)emulated_words{(int)two});
}
static inline uint32_t halves_bits(emulated_floats x) {
    return (uint32_t)((emulated_words)__builtin_ia32_vcvtps2ph(x, 0))[0];
}
static inline float half_value(unsigned short h) { return half_values(h)[0]; }
static inline unsigned short half_bits(float x) { return (unsigned short)halves_bits(emulated_floats{x}); }
#else
static inline float half_value(unsigned short h) {
    const uint32_t magnitude = h & 0x7fff, special = magnitude >= 0x7c00 ? 0x7f800000u | magnitude << 13 : 0;
    const uint32_t bits = magnitude << 13;
    float size;
    memcpy(&size, special ? &special : &bits, 4);
    if (!special) size *= 0x1p112f;
    return h >> 15 ? -size : size;
}
static inline unsigned short half_bits(float x) {
    const unsigned short sign = signbit(x) ? 0x8000 : 0;
    float size = fabsf(x);
    if (size != size) return sign | 0x7e00;
    if (size >= 65520.0f) return sign | 0x7c00;
    uint32_t bits;
    size *= 0x1p-112f; // numbers too small for a half are then too small for a float, and rounded as such
    memcpy(&bits, &size, 4);
    return sign | (unsigned short)((bits + 0xfff + (bits >> 13 & 1)) >> 13);
}
#endif
static inline uint32_t half2_fma(uint32_t a, uint32_t b, uint32_t c) {
#if defined(__F16C__) && defined(__FMA__)
    const emulated_floats x = half_values(a), y = half_values(b), z = half_values(c);
    return halves_bits(emulated_floats{fmaf(x[0], y[0], z[0]), fmaf(x[1], y[1], z[1])});
#else
    const uint16_t low = half_bits(fmaf(half_value((uint16_t)a), half_value((uint16_t)b), half_value((uint16_t)c)));
    const uint16_t high = half_bits(fmaf(half_value(a >> 16), half_value(b >> 16), half_value(c >> 16)));
    return (uint32_t)high << 16 | low;
#endif
}

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};

static uint3 threadIdx, blockIdx;
static dim3 blockDim, gridDim;

// ---- fibres ----
#if defined(__x86_64__)
extern "C" __attribute__((visibility("hidden"))) void emulated_switch(void** from, void* to);
asm(".text\n.p2align 4\n.globl emulated_switch\n.hidden emulated_switch\n"
    ".type emulated_switch,@function\nemulated_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
    ".size emulated_switch,.-emulated_switch\n");
#endif

namespace emulation {

constexpr unsigned THREADS = 1024, WARPS = THREADS / 32;
constexpr size_t STACK =
    128 * 1024 + 65 * 64; // the odd stride keeps stacks off each other's cache lines
constexpr size_t SHARED = 232448, GUARD = 1024;
constexpr uint32_t POISON = 0x7ff7dead; // a NaN as float and as double, a huge index

enum class State : unsigned char { Ready, Barrier, Warp, Exited };

struct Fibre;
// Operation of a collective once its lanes have arrived: sets the `result` of each lane in `present`.
typedef void (*Operation)(Fibre* warp, unsigned present);

struct Fibre {
#if defined(__x86_64__)
    void* stack;
#else
    ucontext_t context;
#endif
    State state;
    unsigned mask;       // lanes of the warp collective at which it waits
    Operation operation; // of that collective
    uint64_t value, parameter, result;
};

struct Block {
    unsigned threads, started, alive, at_barrier, current;
    unsigned stacks;     // in use: a thread that returns leaves its own to the next one to start
    int any, all, count; // of the barrier's predicates
    int any_seen, all_seen, count_seen;  // and results of the last barrier
    unsigned queue[THREADS], head, tail; // ready to run, in order
};

struct Warp {
    unsigned waiting, gone; // lanes in a collective; lanes that have returned or never were
};

static Fibre fibres[THREADS];
static Warp warps[WARPS];
static Fibre scheduler;
static Block block;
static char* stacks;
alignas(1024) static char dynamic_shared[SHARED + GUARD];
static void (*call)(void*);
static void* call_data;
static pthread_mutex_t one_launch = PTHREAD_MUTEX_INITIALIZER;

// Time of a clock, for loops that wait for another GPU, whose kernels are run by another thread.
static inline uint64_t nanoseconds_after_pause() {
    // A loop that yields would take time from the kernels that it waits for.
    timespec now, pause = {0, 50000};
    nanosleep(&pause, nullptr);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct Turn {
    Turn() { pthread_mutex_lock(&one_launch); }
    ~Turn() { pthread_mutex_unlock(&one_launch); }
};

static inline void resume(Fibre& from, Fibre& to) {
#if defined(__x86_64__)
    emulated_switch(&from.stack, to.stack);
#else
    swapcontext(&from.context, &to.context);
#endif
}

static inline void ready(unsigned thread) {
    fibres[thread].state = State::Ready;
    block.queue[block.tail++ % THREADS] = thread;
}

// Puts a thread at the head of the queue: the lanes of a warp resume together, while their stacks are in the cache.
static inline void ready_first(unsigned thread) {
    fibres[thread].state = State::Ready;
    block.queue[--block.head % THREADS] = thread;
}

// Order of starts: every other block starts its threads backwards, in which missing barriers show more often.
static inline unsigned start_next() {
    const unsigned k = block.started++;
    return blockIdx.x % 2 ? block.threads - 1 - k : k;
}

static void prepare(unsigned thread);

// Switches to a thread that is ready, or starts another one; if none is left, returns to the launch,
// which diagnoses why.
static __attribute__((noinline)) void give_way() {
    const unsigned me = block.current;
    if (block.head != block.tail) {
        block.current = block.queue[block.head++ % THREADS];
        if (block.current != me)
            resume(fibres[me], fibres[block.current]);
    } else if (block.started < block.threads) {
        block.current = start_next();
        prepare(block.current);
        resume(fibres[me], fibres[block.current]);
    } else {
        resume(fibres[me], scheduler);
    }
    block.current = me;
    threadIdx.x = me;
}

static void open_barrier() {
    if (block.alive == 0 || block.at_barrier < block.alive)
        return;
    block.any_seen = block.any;
    block.all_seen = block.all;
    block.count_seen = block.count;
    block.any = 0, block.all = 1, block.count = 0, block.at_barrier = 0;
    for (unsigned t = 0; t < block.threads; t++)
        if (fibres[t].state == State::Barrier)
            ready(t);
}

static __attribute__((noinline)) void barrier(int predicate) {
    block.any |= predicate != 0;
    block.all &= predicate != 0;
    block.count += predicate != 0;
    block.at_barrier++;
    fibres[block.current].state = State::Barrier;
    open_barrier();
    give_way();
}

static void complete(unsigned warp, unsigned mask, Operation operation) {
    if (mask & ~(warps[warp].waiting | warps[warp].gone))
        return;
    Fibre* lanes = fibres + 32 * warp;
    const unsigned present = mask & ~warps[warp].gone;
    for (unsigned l = 0; l < 32; l++)
        if (present >> l & 1 && (lanes[l].mask != mask || lanes[l].operation != operation))
            return;
    operation(lanes, present);
    warps[warp].waiting &= ~present;
    for (unsigned l = 0; l < 32; l++)
        if (present >> l & 1)
            ready_first(32 * warp + l);
}

static __attribute__((noinline)) uint64_t collective(unsigned mask, Operation operation,
                                                     uint64_t value, uint64_t parameter) {
    Fibre& fibre = fibres[block.current];
    fibre.mask = mask;
    fibre.operation = operation;
    fibre.value = value;
    fibre.parameter = parameter;
    fibre.state = State::Warp;
    warps[block.current / 32].waiting |= 1u << block.current % 32;
    complete(block.current / 32, mask, operation);
    give_way();
    return fibre.result;
}

// End of a thread; returns true if another one starts in its place.
static __attribute__((noinline)) bool leave() {
    const unsigned me = block.current;
    fibres[me].state = State::Exited;
    block.alive--;
    open_barrier();
    Warp& warp = warps[me / 32];
    warp.gone |= 1u << me % 32;
    for (unsigned l = 0; l < 32 && warp.waiting; l++)
        if (warp.waiting >> l & 1) {
            const Fibre& lane = fibres[(me & ~31u) + l];
            complete(me / 32, lane.mask, lane.operation);
        }
    if (block.started == block.threads)
        return false;
    block.current = start_next();
    return true;
}

static void enter() {
    do {
        threadIdx.x = block.current;
        call(call_data);
    } while (leave());
    give_way();
    __builtin_trap();
}

static void prepare(unsigned thread) {
    char* top = stacks + ++block.stacks * STACK;
#if defined(__x86_64__)
    // Stack as after a call of `enter`: 16 n + 8 at its first instruction.
    void** stack = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t(63)) - 1;
    *--stack = reinterpret_cast<void*>(&enter);
    for (int k = 0; k < 6; k++) *--stack = nullptr;
    fibres[thread].stack = stack;
#else
    ucontext_t& context = fibres[thread].context;
    getcontext(&context);
    context.uc_stack.ss_sp = top - STACK;
    context.uc_stack.ss_size = STACK;
    context.uc_link = nullptr;
    makecontext(&context, enter, 0);
#endif
}

static void poison(void* from, size_t bytes) {
    static uint32_t pattern[1024];
    if (!pattern[0])
        for (uint32_t& word : pattern) word = POISON;
    for (size_t done = 0; done < bytes; done += sizeof pattern)
        memcpy(static_cast<char*>(from) + done, pattern,
               bytes - done < sizeof pattern ? bytes - done : sizeof pattern);
}

static thread_local char message[512];

static const char* stuck() {
    unsigned at_barrier = 0, first_barrier = 0, in_warp = 0, first_warp = 0;
    for (unsigned t = block.threads; t-- > 0;) {
        if (fibres[t].state == State::Barrier)
            at_barrier++, first_barrier = t;
        if (fibres[t].state == State::Warp)
            in_warp++, first_warp = t;
    }
    int n = snprintf(message, sizeof message, "deadlock in block %u:", blockIdx.x);
    if (at_barrier)
        n += snprintf(message + n, sizeof message - n,
                      " %u threads (first: %u) wait at __syncthreads;", at_barrier, first_barrier);
    if (in_warp)
        n += snprintf(message + n, sizeof message - n,
                      " %u threads (first: %u, mask %08x) wait in a warp collective for other "
                      "lanes of their mask;",
                      in_warp, first_warp, fibres[first_warp].mask);
    snprintf(message + n, sizeof message - n, " %u have returned", block.threads - block.alive);
    return message;
}

// Signal handler: bad pointers of a kernel, and divisions by zero that a GPU lets pass, end the launch and not the
// program. The library is never unloaded, as the handler stays installed.
static thread_local bool running, faulty;
static struct sigaction others[2];
static constexpr int SIGNALS[2] = {SIGSEGV, SIGFPE};

static void stop(const char* why) {
    faulty = true;
    snprintf(message, sizeof message, "thread %u of block %u %s", threadIdx.x, blockIdx.x, why);
    resume(fibres[block.current], scheduler);
}

static void fault(int signal, siginfo_t* info, void* context) {
    char why[64];
    snprintf(why, sizeof why, "used address %p, where no memory is", info->si_addr);
    if (running)
        stop(signal == SIGFPE ? "divided by zero" : why);
    const struct sigaction& other = others[signal == SIGFPE];
    if (other.sa_flags & SA_SIGINFO)
        other.sa_sigaction(signal, info, context);
    else if (other.sa_handler != SIG_DFL && other.sa_handler != SIG_IGN)
        other.sa_handler(signal);
    else
        sigaction(signal, &other, nullptr);
}

static void catch_faults() {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    for (int k = 0; k < 2; k++) sigaction(SIGNALS[k], &action, &others[k]);
}

} // namespace emulation

// Symbols of the linker for the section of static __shared__ variables.
extern "C" __attribute__((weak, visibility("hidden"))) char __start_emulated_shared[],
    __stop_emulated_shared[];

namespace emulation {

static const char* launch(unsigned blocks, unsigned rows, unsigned threads, size_t shared,
                          void (*function)(void*), void* data) {
    const Turn turn;
    if (!stacks) {
        void* memory = mmap(nullptr, THREADS * STACK, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            return "no memory for the emulated threads' stacks";
        stacks = static_cast<char*>(memory);
        catch_faults();
    }
    faulty = false;
    call = function, call_data = data;
    blockDim.x = threads, gridDim.x = blocks, gridDim.y = rows;
    for (unsigned number = 0; number < blocks * rows; number++) {
        const unsigned b = number % blocks;
        poison(dynamic_shared, shared + GUARD);
        if (__start_emulated_shared)
            poison(__start_emulated_shared, __stop_emulated_shared - __start_emulated_shared);
        blockIdx.x = b, blockIdx.y = number / blocks;
        block.threads = block.alive = threads;
        block.started = block.stacks = block.at_barrier = block.head = block.tail = 0;
        block.any = 0, block.all = 1, block.count = 0;
        for (unsigned t = 0; t < threads; t++) fibres[t].state = State::Ready;
        for (unsigned w = 0; w < WARPS; w++) {
            const unsigned lanes = threads > 32 * w ? threads - 32 * w : 0;
            warps[w] = {0, lanes < 32 ? ~0u << lanes : 0};
        }
        block.current = start_next();
        prepare(block.current);
        running = true;
        resume(scheduler, fibres[block.current]);
        running = false;
        if (faulty)
            return message;
        if (block.alive)
            return stuck();
        const uint32_t* guard =
            reinterpret_cast<const uint32_t*>(dynamic_shared + (shared + 3) / 4 * 4);
        for (size_t k = 0; k < GUARD / 4 - 1; k++)
            if (guard[k] != POISON) {
                snprintf(message, sizeof message,
                         "block %u wrote beyond its %zu bytes of dynamic shared memory", b, shared);
                return message;
            }
    }
    return nullptr;
}

// Calls a kernel with arguments given as pointers to their values, as cuLaunchKernel does.
template <class... Arguments> struct Signature {
    static constexpr size_t count = sizeof...(Arguments);
    struct Data {
        void (*kernel)(Arguments...);
        void** arguments;
    };
    template <size_t... I> static void apply(Data* data, std::index_sequence<I...>) {
        data->kernel(*static_cast<std::remove_reference_t<Arguments>*>(data->arguments[I])...);
    }
    static void call(void* data) {
        apply(static_cast<Data*>(data), std::index_sequence_for<Arguments...>());
    }
};
template <class... Arguments> const char* launch_kernel(void (*kernel)(Arguments...),
                                                        unsigned blocks, unsigned rows,
                                                        unsigned threads, size_t shared,
                                                        void** arguments) {
    typename Signature<Arguments...>::Data data = {kernel, arguments};
    return launch(blocks, rows, threads, shared, Signature<Arguments...>::call, &data);
}
template <class... Arguments> size_t parameters(void (*)(Arguments...), size_t* bytes) {
    const size_t sizes[] = {sizeof(Arguments)..., 0};
    for (size_t k = 0; k < sizeof...(Arguments) && k < 64; k++) bytes[k] = sizes[k];
    return sizeof...(Arguments);
}
template <class To, class From> static inline To bits(From from) {
    static_assert(sizeof(To) >= sizeof(From) || sizeof(From) == 8, "at most 8 bytes");
    To to = To();
    memcpy(&to, &from, sizeof(To) < sizeof(From) ? sizeof(To) : sizeof(From));
    return to;
}

} // namespace emulation

// ---- barriers and warp collectives ----
static inline void __syncthreads() { emulation::barrier(0); }
static inline int __syncthreads_or(int p) {
    emulation::barrier(p);
    return emulation::block.any_seen;
}
static inline int __syncthreads_and(int p) {
    emulation::barrier(p);
    return emulation::block.all_seen;
}
static inline int __syncthreads_count(int p) {
    emulation::barrier(p);
    return emulation::block.count_seen;
}
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}
static inline void __nanosleep(unsigned) {}
[[noreturn]] static inline void __trap() {
    emulation::stop("called __trap");
    __builtin_unreachable();
}
static inline unsigned __activemask() { return 1u << (threadIdx.x & 31); }

namespace emulation {

#define EMULATED_EACH                 \
    for (unsigned l = 0; l < 32; l++) \
        if (present >> l & 1)
static void op_nothing(Fibre*, unsigned) {}
static void op_shuffle(Fibre* w, unsigned present) {
    // A lane that is not there has no value: poison, as CUDA leaves it undefined.
    EMULATED_EACH {
        const unsigned from = w[l].parameter & 31;
        w[l].result = present >> from & 1 ? w[from].value : (uint64_t(POISON) << 32 | POISON);
    }
}
static void op_ballot(Fibre* w, unsigned present) {
    unsigned votes = 0;
    EMULATED_EACH votes |= unsigned(w[l].value != 0) << l;
    EMULATED_EACH w[l].result = votes | uint64_t(present) << 32;
}
static void op_match(Fibre* w, unsigned present) {
    EMULATED_EACH {
        unsigned same = 0;
        for (unsigned k = 0; k < 32; k++)
            same |= unsigned((present >> k & 1) && w[k].value == w[l].value) << k;
        w[l].result = same;
    }
}
template <class T, class F> static void reduce(Fibre* w, unsigned present, F f) {
    T sum = T();
    bool first = true;
    EMULATED_EACH {
        const T x = bits<T>(w[l].value);
        sum = first ? x : f(sum, x);
        first = false;
    }
    EMULATED_EACH w[l].result = bits<uint64_t>(sum);
}
template <class T> static void op_add(Fibre* w, unsigned p) {
    reduce<T>(w, p, [](T a, T b) { return T(unsigned(a) + unsigned(b)); });
}
template <class T> static void op_max(Fibre* w, unsigned p) {
    reduce<T>(w, p, [](T a, T b) { return a > b ? a : b; });
}
template <class T> static void op_min(Fibre* w, unsigned p) {
    reduce<T>(w, p, [](T a, T b) { return a < b ? a : b; });
}
static void op_and(Fibre* w, unsigned p) {
    reduce<unsigned>(w, p, [](unsigned a, unsigned b) { return a & b; });
}
static void op_or(Fibre* w, unsigned p) {
    reduce<unsigned>(w, p, [](unsigned a, unsigned b) { return a | b; });
}
static void op_xor(Fibre* w, unsigned p) {
    reduce<unsigned>(w, p, [](unsigned a, unsigned b) { return a ^ b; });
}
#undef EMULATED_EACH

template <class T> static inline T shuffle(unsigned mask, T value, unsigned from) {
    static_assert(sizeof(T) <= 8, "shuffles move at most 8 bytes");
    return bits<T>(collective(mask, op_shuffle, bits<uint64_t>(value), from));
}

} // namespace emulation

static inline void __syncwarp(unsigned mask = ~0u) {
    emulation::collective(mask, emulation::op_nothing, 0, 0);
}
template <class T> static inline T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
    const unsigned lane = threadIdx.x & 31;
    return emulation::shuffle(
        mask, value, (lane & ~unsigned(width - 1)) | (unsigned(from) & unsigned(width - 1)));
}
template <class T>
static inline T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {
    const unsigned lane = threadIdx.x & 31, from = lane ^ unsigned(lanes);
    return emulation::shuffle(mask, value, from / width > lane / width ? lane : from);
}
template <class T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned lanes, int width = 32) {
    const unsigned lane = threadIdx.x & 31, from = lane + lanes;
    return emulation::shuffle(mask, value, from / width == lane / width ? from : lane);
}
template <class T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned lanes, int width = 32) {
    const unsigned lane = threadIdx.x & 31, start = lane & ~unsigned(width - 1);
    return emulation::shuffle(mask, value, lane >= start + lanes ? lane - lanes : lane);
}
static inline unsigned __ballot_sync(unsigned mask, int p) {
    return unsigned(emulation::collective(mask, emulation::op_ballot, p != 0, 0));
}
static inline int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }
static inline int __all_sync(unsigned mask, int p) {
    const uint64_t votes = emulation::collective(mask, emulation::op_ballot, p != 0, 0);
    return unsigned(votes) == unsigned(votes >> 32);
}
template <class T> static inline unsigned __match_any_sync(unsigned mask, T value) {
    return unsigned(
        emulation::collective(mask, emulation::op_match, emulation::bits<uint64_t>(value), 0));
}
#define EMULATED_REDUCTION(type, name, operation)                                         \
    static inline type __reduce_##name##_sync(unsigned mask, type value) {                \
        return emulation::bits<type>(                                                     \
            emulation::collective(mask, operation, emulation::bits<uint64_t>(value), 0)); \
    }
EMULATED_REDUCTION(int, add, emulation::op_add<int>)
EMULATED_REDUCTION(unsigned, add, emulation::op_add<unsigned>)
EMULATED_REDUCTION(int, max, emulation::op_max<int>)
EMULATED_REDUCTION(unsigned, max, emulation::op_max<unsigned>)
EMULATED_REDUCTION(int, min, emulation::op_min<int>)
EMULATED_REDUCTION(unsigned, min, emulation::op_min<unsigned>)
EMULATED_REDUCTION(unsigned, and, emulation::op_and)
EMULATED_REDUCTION(unsigned, or, emulation::op_or)
EMULATED_REDUCTION(unsigned, xor, emulation::op_xor)
#undef EMULATED_REDUCTION

// ---- atomics: one thread runs at a time ----
namespace emulation {
template <class T> struct Same {
    typedef T type;
}; // the second argument does not take part in deduction
template <class T> using same = typename Same<T>::type;
template <class T, class F> static inline T exchange(T* at, F f) {
    const T old = *at;
    *at = f(old);
    return old;
}
} // namespace emulation
#define EMULATED_ATOMIC(name, expression)                                          \
    template <class T> static inline T name(T* at, emulation::same<T> b) {         \
        return emulation::exchange(at, [b](T a) {                                  \
            (void)a;                                                               \
            return T(expression);                                                  \
        });                                                                        \
    }                                                                              \
    template <class T> static inline T name##_block(T* at, emulation::same<T> b) { \
        return name(at, b);                                                        \
    }
EMULATED_ATOMIC(atomicAdd, a + b)
EMULATED_ATOMIC(atomicSub, a - b)
EMULATED_ATOMIC(atomicMax, a > b ? a : b)
EMULATED_ATOMIC(atomicMin, a < b ? a : b)
EMULATED_ATOMIC(atomicAnd, a& b)
EMULATED_ATOMIC(atomicOr, a | b)
EMULATED_ATOMIC(atomicXor, a ^ b)
EMULATED_ATOMIC(atomicExch, b)
#undef EMULATED_ATOMIC
template <class T>
static inline T atomicCAS(T* at, emulation::same<T> expected, emulation::same<T> b) {
    return emulation::exchange(at, [=](T a) { return a == expected ? b : a; });
}
// Threads of other devices run meanwhile.
static inline unsigned long long atomicAdd_system(unsigned long long* at, unsigned long long b) {
    return __atomic_fetch_add(at, b, __ATOMIC_RELAXED);
}
static inline float4 atomicAdd(float4* at, float4 b) {
    const float4 old = *at;
    *at = {old.x + b.x, old.y + b.y, old.z + b.z, old.w + b.w};
    return old;
}
static inline float2 atomicAdd(float2* at, float2 b) {
    const float2 old = *at;
    *at = {old.x + b.x, old.y + b.y};
    return old;
}

// ---- numbers ----
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline unsigned __brev(unsigned x) {
    unsigned r = 0;
    for (int k = 0; k < 32; k++) r |= (x >> k & 1) << (31 - k);
    return r;
}
static inline unsigned __umulhi(unsigned a, unsigned b) {
    return unsigned((unsigned long long)a * b >> 32);
}
static inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline long long __mul64hi(long long a, long long b) {
    return (long long)((__int128)a * b >> 64);
}
static inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
    return unsigned(((unsigned long long)high << 32 | low) << (n & 31) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
    return unsigned(((unsigned long long)high << 32 | low) >> (n & 31));
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    const unsigned long long both = (unsigned long long)b << 32 | a;
    unsigned r = 0;
    for (int k = 0; k < 4; k++) {
        const unsigned s = selector >> (4 * k) & 15, byte = unsigned(both >> (8 * (s & 7))) & 255;
        r |= (s & 8 ? (byte & 128 ? 255u : 0u) : byte) << (8 * k);
    }
    return r;
}
template <class T> static inline T __ldg(const T* p) { return *p; }
template <class T> static inline T __ldcg(const T* p) { return *p; }
template <class T> static inline T __ldcs(const T* p) { return *p; }
template <class T> static inline void __stcg(T* p, emulation::same<T> x) { *p = x; }
template <class T> static inline void __stcs(T* p, emulation::same<T> x) { *p = x; }

static inline int __float_as_int(float x) { return emulation::bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return emulation::bits<unsigned>(x); }
static inline float __int_as_float(int x) { return emulation::bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return emulation::bits<float>(x); }
static inline long long __double_as_longlong(double x) { return emulation::bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return emulation::bits<double>(x); }
static inline int __double2hiint(double x) { return int(emulation::bits<uint64_t>(x) >> 32); }
static inline int __double2loint(double x) { return int(emulation::bits<uint64_t>(x)); }
static inline double __hiloint2double(int high, int low) {
    return emulation::bits<double>(uint64_t(unsigned(high)) << 32 | unsigned(low));
}

// Conversions saturate and take NaN to 0, as the GPU's do.
namespace emulation {
template <class To> static inline To saturate(double x) {
    const bool is_signed = To(-1) < To(0);
    const double bits = 8 * sizeof(To) - (is_signed ? 1 : 0), top = ldexp(1.0, int(bits));
    const To least = is_signed ? To(uint64_t(1) << (8 * sizeof(To) - 1)) : To(0);
    if (!(x == x))
        return To(0);
    return x >= top ? To(~least) : x <= (is_signed ? -top : 0.0) ? least : To(x);
}
} // namespace emulation
#define EMULATED_ROUNDINGS(from, from_name, to, to_name)      \
    static inline to __##from_name##2##to_name##_rn(from x) { \
        return emulation::saturate<to>(rint(double(x)));      \
    }                                                         \
    static inline to __##from_name##2##to_name##_rz(from x) { \
        return emulation::saturate<to>(trunc(double(x)));     \
    }                                                         \
    static inline to __##from_name##2##to_name##_rd(from x) { \
        return emulation::saturate<to>(floor(double(x)));     \
    }                                                         \
    static inline to __##from_name##2##to_name##_ru(from x) { \
        return emulation::saturate<to>(ceil(double(x)));      \
    }
EMULATED_ROUNDINGS(float, float, int, int)
EMULATED_ROUNDINGS(float, float, unsigned, uint)
EMULATED_ROUNDINGS(float, float, long long, ll)
EMULATED_ROUNDINGS(float, float, unsigned long long, ull)
EMULATED_ROUNDINGS(double, double, int, int)
EMULATED_ROUNDINGS(double, double, unsigned, uint)
EMULATED_ROUNDINGS(double, double, long long, ll)
EMULATED_ROUNDINGS(double, double, unsigned long long, ull)
#undef EMULATED_ROUNDINGS
static inline float __double2float_rn(double x) { return float(x); }
static inline float __double2float_rz(double x) {
    const float f = float(x);
    return fabs(double(f)) > fabs(x) ? nextafterf(f, 0.0f) : f;
}
static inline float __double2float_rd(double x) {
    const float f = float(x);
    return double(f) > x ? nextafterf(f, -INFINITY) : f;
}
static inline float __double2float_ru(double x) {
    const float f = float(x);
    return double(f) < x ? nextafterf(f, INFINITY) : f;
}
static inline float __int2float_rn(int x) { return float(x); }
static inline float __uint2float_rn(unsigned x) { return float(x); }
static inline float __ll2float_rn(long long x) { return float(x); }
static inline double __int2double_rn(int x) { return double(x); }
static inline double __uint2double_rn(unsigned x) { return double(x); }
static inline double __ll2double_rn(long long x) { return double(x); }
static inline double __ull2double_rn(unsigned long long x) { return double(x); }

// Operations that are never contracted to a multiply-add, and rounded once.
static __attribute__((noinline)) float __fmul_rn(float a, float b) { return a * b; }
static __attribute__((noinline)) float __fadd_rn(float a, float b) { return a + b; }
static __attribute__((noinline)) float __fsub_rn(float a, float b) { return a - b; }
static __attribute__((noinline)) double __dmul_rn(double a, double b) { return a * b; }
static __attribute__((noinline)) double __dadd_rn(double a, double b) { return a + b; }
static __attribute__((noinline)) double __dsub_rn(double a, double b) { return a - b; }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fdividef(float a, float b) { return a / b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline float __frcp_rn(float a) { return 1.0f / a; }
static inline double __drcp_rn(double a) { return 1.0 / a; }
static inline float __fsqrt_rn(float a) { return sqrtf(a); }
static inline double __dsqrt_rn(double a) { return sqrt(a); }
static inline float __frsqrt_rn(float a) { return float(1.0 / sqrt(double(a))); }
static inline float __saturatef(float a) { return a > 0.0f ? (a < 1.0f ? a : 1.0f) : 0.0f; }

// Functions whose names some C libraries have, too.
namespace emulation {
static inline float inverse_root(float a) { return float(1.0 / ::sqrt(double(a))); }
static inline double inverse_root(double a) { return 1.0 / ::sqrt(a); }
template <class T> static inline T sine_pi(T a) { return T(::sin(M_PI * double(a))); }
template <class T> static inline T cosine_pi(T a) { return T(::cos(M_PI * double(a))); }
template <class T> static inline void both_pi(T a, T* s, T* c) {
    *s = sine_pi(a), *c = cosine_pi(a);
}
} // namespace emulation
#define rsqrt emulation::inverse_root
#define rsqrtf emulation::inverse_root
#define sinpi emulation::sine_pi
#define sinpif emulation::sine_pi
#define cospi emulation::cosine_pi
#define cospif emulation::cosine_pi
#define sincospi emulation::both_pi
#define sincospif emulation::both_pi
#define __expf expf
#define __logf logf
#define __powf powf
#define __sinf sinf
#define __cosf cosf

#define EMULATED_EXTREMES(type)                                      \
    static inline type min(type a, type b) { return a < b ? a : b; } \
    static inline type max(type a, type b) { return a > b ? a : b; }
EMULATED_EXTREMES(int)
EMULATED_EXTREMES(unsigned)
EMULATED_EXTREMES(long)
EMULATED_EXTREMES(unsigned long)
EMULATED_EXTREMES(long long)
EMULATED_EXTREMES(unsigned long long)
#undef EMULATED_EXTREMES
static inline unsigned min(unsigned a, int b) { return min(a, unsigned(b)); }
static inline unsigned min(int a, unsigned b) { return min(unsigned(a), b); }
static inline unsigned max(unsigned a, int b) { return max(a, unsigned(b)); }
static inline unsigned max(int a, unsigned b) { return max(unsigned(a), b); }
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
static inline double min(float a, double b) { return fmin(double(a), b); }
static inline double min(double a, float b) { return fmin(a, double(b)); }
static inline double max(float a, double b) { return fmax(double(a), b); }
static inline double max(double a, float b) { return fmax(a, double(b)); }
