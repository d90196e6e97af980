// Beginning of every kernel's source: numbers, positions, the box, the control block.
//
// Compiled by NVRTC, and by a C++ compiler behind emulation.h. DOUBLE (0 or 1) is the precision.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define DEVICE static __device__ __forceinline__
#define DEVICE_MEMBER __device__ __forceinline__
// Functions that few kernels need are not inlined: they cost the others no registers.
#ifdef EMULATED
#define APART static
#else
#define APART static __device__ __noinline__
#endif
#define ALL_LANES 0xffffffffu

// Bits of the lanes of a warp before this one.
DEVICE u32 lanes_before() { return (1u << (threadIdx.x % 32)) - 1; }

// Sum of a value over the lanes of a warp up to this one, its own included.
template <class T>
DEVICE T sum_up_to_lane(T value) {
    for (T m = 1; m < 32; m *= 2) {
        const T before = __shfl_up_sync(ALL_LANES, value, m);
        if ((T)threadIdx.x % 32 >= m) value += before;
    }
    return value;
}

// 1 where displacement limits of species differ: see `displacement_limit`.
#ifndef LIMITS_BY_SPECIES
#define LIMITS_BY_SPECIES 0
#endif
// 1 where kernels that move atoms are those of several GPUs, each of which moves its own.
#ifndef SEVERAL
#define SEVERAL 0
#endif
// 1 where walls reflect atoms.
#ifndef REFLECTS
#define REFLECTS 0
#endif
// Index that stands for no atom.
#define NO_ATOM 0xffffffffu

#if DOUBLE
typedef double real;
#else
typedef float real;
#endif

struct alignas(sizeof(real) * 2) real2 { real x, y; };
struct alignas(sizeof(real) * 4) real4 { real x, y, z, w; };
struct real3 { real x, y, z; };

DEVICE real3 operator-(real3 a, real3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }

#if !defined(EMULATED) && __CUDA_ARCH__ < 800
// Reductions that Turing does not have in hardware.
#define REDUCTION(type, name)                                                        \
    DEVICE type __reduce_##name##_sync(u32 lanes, type x) {                          \
        for (int m = 16; m > 0; m /= 2) x = name(x, __shfl_xor_sync(lanes, x, m));   \
        return x;                                                                    \
    }
REDUCTION(u32, max)
REDUCTION(int, max)
REDUCTION(u32, min)
REDUCTION(int, min)
#undef REDUCTION
#endif

// Barrier at the beginning of every kernel: its blocks may be resident before all that the kernel before it
// has written is in memory. See `start_recorded` in driver/nvidia.rs.
DEVICE void wait_for_previous_kernel() {
#if !defined(EMULATED) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// ---- elementary functions that generated code calls

DEVICE float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
DEVICE double multiply_add(double a, double b, double c) { return fma(a, b, c); }
DEVICE float square_root(float x) { return sqrtf(x); }
DEVICE double square_root(double x) { return sqrt(x); }
DEVICE double exponential_of_two(double x) { return exp2(x); }
DEVICE double logarithm(double x) { return log(x); }
DEVICE float logarithm(float x) { return logf(x); }
DEVICE double arc_cosine(double x) { return acos(x); }
DEVICE float arc_cosine(float x) { return acosf(x); }
DEVICE double sine(double x) { return sin(x); }
DEVICE double cosine(double x) { return cos(x); }
DEVICE double hyperbolic_tangent(double x) { return tanh(x); }
DEVICE double error_integral(double x) { return erf(x); }
DEVICE double error_complement(double x) { return erfc(x); }
DEVICE float sine(float x) { return sinf(x); }
DEVICE float cosine(float x) { return cosf(x); }
DEVICE float hyperbolic_tangent(float x) { return tanhf(x); }
DEVICE float error_integral(float x) { return erff(x); }
DEVICE float error_complement(float x) { return erfcf(x); }
DEVICE double reciprocal(double x) { return 1.0 / x; }
DEVICE double reciprocal_square_root(double x) { return 1.0 / sqrt(x); }
#if defined(EMULATED) || EXACT
DEVICE float reciprocal(float x) { return 1.0f / x; }
DEVICE float reciprocal_square_root(float x) { return 1.0f / sqrtf(x); }
// Exponential from exactly rounded operations only: 2^n times the exponential of the remainder, which its
// Taylor series gives to the last digit.
DEVICE float exponential_of_two(float x) {
    const float n = rintf(fminf(fmaxf(x, -150.0f), 150.0f));
    // Far below the smallest number the series would be large; a NaN goes through it.
    const float r = 0.693147181f * ((x < -150.0f ? -150.0f : x) - n);
    float y = 1.0f / 5040;
    y = fmaf(y, r, 1.0f / 720);
    y = fmaf(y, r, 1.0f / 120);
    y = fmaf(y, r, 1.0f / 24);
    y = fmaf(y, r, 1.0f / 6);
    y = fmaf(y, r, 0.5f);
    y = fmaf(y, r, 1.0f);
    y = fmaf(y, r, 1.0f);
    // Two factors, as 2^n may be no normal number.
    const int half = (int)n / 2, rest = (int)n - half;
    return y * __int_as_float((half + 127) << 23) * __int_as_float((rest + 127) << 23);
}
#else
// Approximations to within one unit in the last place, four times as fast as a division.
DEVICE float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
DEVICE float reciprocal_square_root(float x) {
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
DEVICE float exponential_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
#endif

DEVICE double infinity() { return __int_as_float(0x7f800000); }

// ---- half precision: numbers of 16 bits, two to a word

#ifndef EMULATED
DEVICE u16 to_half(float x) {
    u16 y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}
DEVICE float from_half(u16 x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
}
DEVICE u32 multiply_add_halves(u32 a, u32 b, u32 c) {
    u32 y;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(y) : "r"(a), "r"(b), "r"(c));
    return y;
}
// Halves with all bits set where a >= b.
DEVICE u32 at_least(u32 a, u32 b) {
    u32 y;
    asm("set.ge.u32.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
    return y;
}
// Word with the k-th bit set; 0 where k is 32 or more.
DEVICE u32 bit(u32 k) {
    u32 y;
    asm("shl.b32 %0, 1, %1;" : "=r"(y) : "r"(k));
    return y;
}
#else
DEVICE u32 bit(u32 k) { return k < 32 ? 1u << k : 0; }
DEVICE u16 to_half(float x) { return half_bits(x); }
DEVICE float from_half(u16 x) { return half_value(x); }
DEVICE u32 multiply_add_halves(u32 a, u32 b, u32 c) { return half2_fma(a, b, c); }
DEVICE u32 at_least(u32 a, u32 b) {
    const bool low = from_half((u16)a) >= from_half((u16)b);
    const bool high = from_half((u16)(a >> 16)) >= from_half((u16)(b >> 16));
    return (low ? 0xffffu : 0) | (high ? 0xffff0000u : 0);
}
#endif

// Scalar product. Compilers contract no product and sum unless it is written so: formulas give the same bits
// in whichever kernel they are.
DEVICE real dot(real3 a, real3 b) { return multiply_add(a.x, b.x, multiply_add(a.y, b.y, a.z * b.z)); }

// Two words of data that are read once, loaded without evicting anything from the L1 cache.
DEVICE uint2 stream(const uint2* address) {
#ifndef EMULATED
    uint2 words;
    asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(words.x), "=r"(words.y) : "l"(address));
    return words;
#else
    return *address;
#endif
}

// Prefetch of memory to the L2 cache.
DEVICE void fetch_ahead(const void* address) {
#ifndef EMULATED
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
#endif
}

// Asynchronous copy to shared memory by this thread, which is complete after `wait_for_prefetched`.
template <class T>
DEVICE void prefetch(T* to, const T* from) {
#if !defined(EMULATED) && __CUDA_ARCH__ >= 800
    static_assert(alignof(T) >= 4, "copied by four or eight bytes");
    const u32 begin = (u32)__cvta_generic_to_shared(to);
    for (u32 k = 0; k < sizeof(T); k += alignof(T) >= 8 ? 8 : 4) {
        const char* piece = (const char*)from + k;
        if (alignof(T) >= 8) {
            asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(begin + k), "l"(piece) : "memory");
        } else {
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(begin + k), "l"(piece) : "memory");
        }
    }
#else
    *to = *from;
#endif
}

DEVICE void wait_for_prefetched() {
#if !defined(EMULATED) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// ---- positions for the force kernels

#if DOUBLE
typedef struct CartesianPosition Position;
#else
typedef struct FixedPosition Position;
#endif

// ---- structures that host and kernels share: generated from src/device_data.rs

#include "device_data.cuh"

struct Fractions { double x, y, z; };

// Fractional coordinates of a point.
DEVICE Fractions fractions(const BoxGeometry& geometry, double x, double y, double z) {
    double a = x - geometry.origin[0], b = y - geometry.origin[1], c = z - geometry.origin[2];
    if (geometry.triclinic) {
        double s = c * geometry.inverse[2];
        b -= geometry.tilt[2] * s;
        a -= geometry.tilt[1] * s + geometry.tilt[0] * (b * geometry.inverse[1]);
    }
    return {a * geometry.inverse[0], b * geometry.inverse[1], c * geometry.inverse[2]};
}

struct Fixed { u32 x, y, z; };

// Fractional coordinates in units of 2^-32, wrapped.
DEVICE Fixed to_fixed(const BoxGeometry& geometry, double x, double y, double z) {
    const Fractions s = fractions(geometry, x, y, z);
    return {(u32)__double2ll_rd(s.x * 4294967296.0), (u32)__double2ll_rd(s.y * 4294967296.0),
            (u32)__double2ll_rd(s.z * 4294967296.0)};
}

// Nearest image of a difference; in a sheared box of one that is shorter than half of each edge, see shortest_image.
DEVICE void nearest_image(const BoxGeometry& geometry, double& x, double& y, double& z) {
    if (geometry.periodic[2]) {
        double n = rint(z * geometry.inverse[2]);
        z -= n * geometry.edge[2];
        y -= n * geometry.tilt[2];
        x -= n * geometry.tilt[1];
    }
    if (geometry.periodic[1]) {
        double n = rint(y * geometry.inverse[1]);
        y -= n * geometry.edge[1];
        x -= n * geometry.tilt[0];
    }
    if (geometry.periodic[0]) x -= rint(x * geometry.inverse[0]) * geometry.edge[0];
}

// Range of the layers, `length` apart, in which x - n length is no further away than the square root of most2.
struct Layers { double first, last; };
DEVICE Layers layers_within(double x, double length, double most2, int periodic) {
    if (!periodic) return {0, 0};
    const double most = sqrt(fmax(most2, 0.0)), limit = 1000.0;
    return {ceil(fmax((x - most) / length, -limit)), floor(fmin((x + most) / length, limit))};
}

// Nearest image of any difference: jostle_core::SimBox::nearest_image.
APART void shortest_image(const BoxGeometry& geometry, double& x, double& y, double& z) {
    nearest_image(geometry, x, y, z);
    double best = x * x + y * y + z * z;
    if (!geometry.triclinic) return;
    const double margin = 1.0 - 1e-12, before[3] = {x, y, z};
    const Layers of_z = layers_within(z, geometry.edge[2], best, geometry.periodic[2]);
    for (double nz = of_z.first; nz <= of_z.last; nz += 1.0) {
        const double w = before[2] - nz * geometry.edge[2], v = before[1] - nz * geometry.tilt[2];
        const Layers of_y = layers_within(v, geometry.edge[1], best - w * w, geometry.periodic[1]);
        for (double ny = of_y.first; ny <= of_y.last; ny += 1.0) {
            double u = before[0] - nz * geometry.tilt[1] - ny * geometry.tilt[0];
            if (geometry.periodic[0]) u -= rint(u * geometry.inverse[0]) * geometry.edge[0];
            const double t = v - ny * geometry.edge[1], now = u * u + t * t + w * w;
            if (now < margin * best) {
                best = now;
                x = u;
                y = t;
                z = w;
            }
        }
    }
}

// Image of a difference whose fractions of the box are at most a half. Within half the box it is the nearest one.
// Farther away `nearest_image` may take another one in a sheared box, and atoms around a tile's origin are told
// apart by fractions.
DEVICE void image_by_fractions(const BoxGeometry& geometry, double& x, double& y, double& z) {
    if (!geometry.triclinic) {
        nearest_image(geometry, x, y, z);
        return;
    }
    const double c = z * geometry.inverse[2], b = (y - c * geometry.tilt[2]) * geometry.inverse[1];
    const double a = (x - c * geometry.tilt[1] - b * geometry.tilt[0]) * geometry.inverse[0];
    const double nx = geometry.periodic[0] ? rint(a) : 0.0;
    const double ny = geometry.periodic[1] ? rint(b) : 0.0;
    const double nz = geometry.periodic[2] ? rint(c) : 0.0;
    x = x - nx * geometry.edge[0] - ny * geometry.tilt[0] - nz * geometry.tilt[1];
    y = y - ny * geometry.edge[1] - nz * geometry.tilt[2];
    z -= nz * geometry.edge[2];
}

#if DOUBLE
DEVICE Position to_position(const BoxGeometry&, double x, double y, double z, int species) {
    return {x, y, z, species};
}
DEVICE Fixed to_fixed(const BoxGeometry& geometry, Position p) { return to_fixed(geometry, p.x, p.y, p.z); }
// p - q
DEVICE real3 difference(const BoxGeometry& geometry, Position p, Position q) {
    double x = p.x - q.x, y = p.y - q.y, z = p.z - q.z;
    image_by_fractions(geometry, x, y, z);
    return {x, y, z};
}
DEVICE real3 rough_difference(const BoxGeometry& geometry, Position p, Position q) { return difference(geometry, p, q); }
#else
DEVICE Position to_position(const BoxGeometry& geometry, double x, double y, double z, int species) {
    Fixed s = to_fixed(geometry, x, y, z);
    return {s.x, s.y, s.z, species};
}
DEVICE Fixed to_fixed(const BoxGeometry&, Position p) { return {p.x, p.y, p.z}; }
// Product of x and an edge or tilt. Edges rounded to single precision would stretch all distances alike, and
// errors of energies would add up.
DEVICE float along(const BoxGeometry& geometry, int k, float x) { return fmaf(x, geometry.high[k], x * geometry.low[k]); }
DEVICE real3 difference(const BoxGeometry& geometry, Position a, Position b) {
    const float x = (float)(int)(a.x - b.x), y = (float)(int)(a.y - b.y), z = (float)(int)(a.z - b.z);
    real3 d = {along(geometry, 0, x), along(geometry, 1, y), along(geometry, 2, z)};
    if (geometry.triclinic) {
        d.x += along(geometry, 3, y) + along(geometry, 4, z);
        d.y += along(geometry, 5, z);
    }
    return d;
}
// Difference with an error of some 2^-22 of the longest component along an edge.
DEVICE real3 rough_difference(const BoxGeometry& geometry, Position a, Position b) {
    const float x = (float)(int)(a.x - b.x), y = (float)(int)(a.y - b.y), z = (float)(int)(a.z - b.z);
    const float* l = geometry.high;
    return {fmaf(x, l[0], fmaf(y, l[3], z * l[4])), fmaf(y, l[1], z * l[5]), z * l[2]};
}
#endif

// ---- control of a run without the host

// Index of an atom in the arrays of masses and what follows from them: its species, or its id where some atoms of
// a species are driven and others are not.
DEVICE u32 mass_index(const DeviceData& w, int i, int species) {
#ifdef MASSES_BY_ID
    return w.atoms.id[w.control->sorted][i];
#else
    return (u32)species;
#endif
}

// Returns true where this GPU computes the forces on an atom.
DEVICE bool owns(const DeviceData& w, int i) { return i >= w.owned.first && i < w.owned.end; }

// Returns true where the bit of an atom is set.
DEVICE bool has_bit(const u32* bits, int i) { return bits[i / 32] >> i % 32 & 1; }

// Number of the GPU that computes the forces on an atom.
DEVICE int gpu_of(const DeviceData& w, int i) {
    int gpu = 0;
    while (i >= w.division.end[gpu]) gpu++;
    return gpu;
}

// Index of the k-th atom that an atom excludes; NO_ATOM behind the last.
DEVICE u32 partner_of(const DeviceData& w, int i, int k) {
    return k < 4 * w.exclusions.fours ? ((const u32*)&w.exclusions.partner[(size_t)(k / 4) * w.n + i])[k % 4] : NO_ATOM;
}

// Largest displacement of atoms of a species from their listed positions, as a part of half the skin: heavy ones
// are slow, and need not be listed as far away.
DEVICE real displacement_limit(const DeviceData& w, int species) {
    return LIMITS_BY_SPECIES ? w.atoms.displacement_limits[species].x : (real)1;
}

// Inverse square of the displacement limit.
DEVICE real inverse_limit2(const DeviceData& w, int species) {
    return LIMITS_BY_SPECIES ? w.atoms.displacement_limits[species].y : (real)1;
}

// Length by which atoms of a species have to be nearer to others than the reach to be listed.
DEVICE real nearer_by(const DeviceData& w, real half_skin, int species) {
    return LIMITS_BY_SPECIES ? half_skin * ((real)1 - w.atoms.displacement_limits[species].x) : (real)0;
}

// Records a fault, which the next `settle` publishes: were it visible at once, threads of a block could differ
// in whether there is anything to do.
DEVICE void report(Control* control, int fault) { atomicOr(&control->reported, fault); }

// Returns true after faults that end the run: a force that is not finite, a molecule torn apart, a grain that touches too
// many others, an atom out of its walls, or a GPU that does not answer. Faults of a list only keep lists from being built,
// and steps that need one from being made.
DEVICE bool broken(const Control* control) { return control->faults & (NOT_FINITE | TORN | LATE | CROWDED | OUTSIDE); }

// Returns true where a segment of the batch is to begin.
DEVICE bool segment_start_due(const Control* control) {
    return !broken(control) && control->part < control->parts && control->part % 2 == 0;
}

// Returns true where a slot is the middle of a step, where friction and noise of pairs act and no forces.
DEVICE bool halfway(const Control* control, const Slot& slot) {
    return control->motion.drift < control->motion.timestep && slot.done % 2 == 1;
}

// Returns true where this slot is to be executed: forces or the middle of a step, and then the next drift.
DEVICE bool slot_active(const Control* control, const Slot& slot) {
    return !broken(control) && !slot.stale && control->part % 2 == 1 && slot.done < control->target;
}

// Returns true where the step of this slot is to be made.
DEVICE bool step_due(const Control* control, const Slot& slot) {
    return slot_active(control, slot) && !halfway(control, slot);
}

// Returns true where the last forces of a segment are due.
DEVICE bool segment_end_due(const Control* control, const Slot& slot) {
    return !broken(control) && !slot.stale && control->part % 2 == 1 && slot.done == control->target;
}

// Row for the sample that is due after so many drifts; -1 if none is.
DEVICE i64 row_after(const Control* control, i64 done) {
    const u32 every = (u32)control->sample_every;
    return every > 0 && (u32)done % every == 0 ? (i64)((u32)done / every) - 1 : -1;
}

// Row for the sample at the end of a segment.
DEVICE i64 last_row(const Control* control) {
    return control->sample_every > 0 ? row_after(control, control->target) : control->part / 2;
}

// Returns true where the neighbour list is to be built: also where it ends soon after all of a recorded sequence.
DEVICE bool build_due(const Control* c, const Slot& s) {
    return !c->faults && (s.stale || (c->look > 0 && s.soon && s.done - c->slot[0].done >= c->look));
}

#if DOUBLE
DEVICE real as_real(int species) { return species; }
DEVICE int as_species(real w) { return (int)w; }
#else
DEVICE real as_real(int species) { return __int_as_float(species); }
DEVICE int as_species(real w) { return __float_as_int(w); }
#endif

// Weight of long-range forces at the step of a slot.
DEVICE double long_range_weight(const Control* control, const Slot& slot) {
    const Motion& motion = control->motion;
    const u32 steps = (u32)slot.done / (motion.drift < motion.timestep ? 2 : 1);
    return ((u32)motion.long_range_done + steps) % (u32)motion.long_range_every == 0 ? motion.long_range_every : 0;
}

// Occasion on which a kernel that serves several purposes acts.
enum Trigger { TRIGGER_STEP, TRIGGER_SEGMENT_END, TRIGGER_IMMEDIATE, TRIGGER_BUILD };

DEVICE bool due(const Control* control, const Slot& slot, int trigger) {
    switch (trigger) {
        case TRIGGER_STEP: return step_due(control, slot);
        case TRIGGER_SEGMENT_END: return segment_end_due(control, slot);
        default: return !broken(control) && !slot.stale;
    }
}

// Returns true where kernels on the way to the reciprocal-space potential are due.
DEVICE bool long_range_due(const Control* control, const Slot& slot, int trigger) {
    return due(control, slot, trigger) && (trigger == TRIGGER_IMMEDIATE || long_range_weight(control, slot) != 0);
}
