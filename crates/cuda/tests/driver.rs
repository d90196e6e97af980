//! Promises of CUDA that the driver keeps: on the emulation, and on a GPU where there is one.

use jostle_core::Result;
use jostle_cuda::driver::{Device, DeviceCopy, Kernel, Launch, StagingBuffer, Waits};

fn devices() -> Vec<Device> {
    let emulated = Device::emulated().expect("a C++ compiler");
    match Device::open(0) {
        Ok(gpu) => vec![emulated, gpu],
        Err(why) => {
            println!("the emulation only: {why}");
            vec![emulated]
        }
    }
}

fn kernel(device: &Device, source: &str) -> Kernel {
    let module = device.compile("test.cu", source, &[]).unwrap();
    module.kernel("test").unwrap()
}

#[test]
fn shuffles_ballots_and_matches() -> Result<()> {
    const SOURCE: &str = r#"
extern "C" __global__ void __launch_bounds__(64) test(unsigned* out) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    float sum = lane;
    #pragma unroll
    for (int m = 16; m > 0; m /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, m);
    out[8 * t + 0] = sum;
    out[8 * t + 1] = __shfl_sync(0xffffffffu, t, 5);
    out[8 * t + 2] = __shfl_up_sync(0xffffffffu, lane, 3);
    out[8 * t + 3] = __shfl_down_sync(0xffffffffu, lane, 3, 8);
    out[8 * t + 4] = __ballot_sync(0xffffffffu, lane % 3 == 0);
    out[8 * t + 5] = __match_any_sync(0xffffffffu, lane % 4);
    out[8 * t + 6] = __reduce_max_sync(0xffffffffu, lane ^ 21u);
    // Shuffles of half of a warp, and a collective operation after the other half has returned.
    if (lane >= 16) return;
    double d = __shfl_sync(0x0000ffffu, (double)lane, 15);
    out[8 * t + 7] = (unsigned)d + __popc(__ballot_sync(0x0000ffffu, 1));
}"#;
    for device in devices() {
        let out = device.alloc::<u32>(8 * 128)?;
        device.run(&Launch::new(&kernel(&device, SOURCE), 2, 64).with(&out))?;
        for (t, row) in out.to_vec()?.chunks_exact(8).enumerate() {
            let (t, lane) = (t as u32, t as u32 % 32);
            let thirds = (0..32).filter(|l| l % 3 == 0).fold(0, |b, l| b | 1 << l);
            let alike = (0..32).filter(|l| l % 4 == lane % 4).fold(0, |b, l| b | 1 << l);
            let down = if lane % 8 < 5 { lane + 3 } else { lane };
            let up = if lane >= 3 { lane - 3 } else { lane };
            let half = if lane < 16 { 15 + 16 } else { 0 };
            assert_eq!(row, [496, t - lane + 5, up, down, thirds, alike, 31, half], "thread {t}");
        }
    }
    Ok(())
}

#[test]
fn shared_memory_barriers_and_atomics() -> Result<()> {
    const SOURCE: &str = r#"
extern __shared__ __align__(16) unsigned char room[];
template <int N> __device__ __forceinline__ int turned(const int* x, int t) { return x[N - 1 - t]; }
extern "C" __global__ void test(int* out, double* total, unsigned long long* most, float* sum) {
    __shared__ int mine[256];
    int* dynamic = (int*)room;
    const int t = threadIdx.x, n = blockDim.x;
    mine[t] = t * t;
    __syncthreads();
    dynamic[t] = turned<256>(mine, t);
    __syncthreads();
    const int g = blockIdx.x * n + t;
    out[g] = dynamic[(t + 1) % n] + 1000000 * __syncthreads_or(t == 77) + 2000000 * __syncthreads_and(t < 255);
    atomicAdd(total, 0.5 * g);
    atomicAdd(sum, 1.0f);
    atomicMax(most, (unsigned long long)g << 33);
}"#;
    for device in devices() {
        let (blocks, threads) = (3, 256);
        let out = device.alloc::<i32>(blocks * threads)?;
        let total = device.upload(&[1.0f64])?;
        let most = device.alloc::<u64>(1)?;
        let sum = device.alloc::<f32>(1)?;
        let launch = Launch::new(&kernel(&device, SOURCE), blocks as u32, threads as u32)
            .shared(4 * threads)
            .with(&out)
            .with(&total)
            .with(&most)
            .with(&sum);
        device.run(&launch)?;
        for (g, &found) in out.to_vec()?.iter().enumerate() {
            let from = 255 - (g % threads + 1) % threads;
            assert_eq!(found as usize, from * from + 1_000_000);
        }
        let n = (blocks * threads) as f64;
        assert_eq!(total.to_vec()?, [1.0 + 0.25 * n * (n - 1.0)]);
        assert_eq!(most.to_vec()?, [((blocks * threads - 1) as u64) << 33]);
        assert_eq!(sum.to_vec()?, [n as f32]);
    }
    Ok(())
}

/// Functions of CUDA that the kernels use, with values that the programming guide promises.
#[test]
fn intrinsic_functions() -> Result<()> {
    const SOURCE: &str = include_str!("intrinsics.cu");
    let expected = [
        6408.0,
        40.0 + 3100.0 + 320_000.0 + 63_000_000.0,
        3.0 - 10.0,
        -2.0 + 20.0 - 300.0,
        4.0 - 10.0 + 100.0,
        f64::from(i32::MAX),
        70.0,
        1.0,
        2f64.powi(-11) * (1.0 + 2f64.powi(-13)),
        2f64.powi(-11),
        1.0,
        2.0 - 40.0 - 100.0 - 1000.0,
        3.0 + 40.0 + 100.0 + 2000.0,
        73.0,
        5.0 + 7.0 + 9.0 + 16.0 + 24.0 + 8.0,
        1.0,
        3.0 + 20.0 + 100.0,
        5.0 + 60.0 + 900.0 + 2000.0 + 60_000.0 + 500_000.0,
        1.0 + 5.0,
        1.0,
        1.0,
    ];
    for device in devices() {
        let out = device.alloc::<f64>(32)?;
        let values = device.upload(&[3i32, 7])?;
        device.run(&Launch::new(&kernel(&device, SOURCE), 1, 1).with(&out).with(&values))?;
        for (n, (found, expected)) in out.to_vec()?.iter().zip(expected).enumerate() {
            assert_eq!(*found, expected, "number {n} on {device:?}");
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Numbers {
    scale: f64,
    shift: [f32; 3],
    count: u32,
}
// SAFETY: 8 + 12 + 4 bytes of numbers, without padding.
unsafe impl DeviceCopy for Numbers {}

const AFFINE: &str = r#"
struct Numbers { double scale; float shift[3]; unsigned count; };
extern "C" __global__ void test(const double* __restrict__ in, double* out, const Numbers n, int plus) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n.count; i += gridDim.x * blockDim.x)
        out[i] = n.scale * in[i] + n.shift[i % 3] + plus;
}"#;

#[test]
fn graphs_values_and_copies() -> Result<()> {
    for device in devices() {
        let x = Vec::from_iter((0..1000).map(f64::from));
        let (a, b) = (device.upload(&x)?, device.alloc::<f64>(1000)?);
        let kernel = kernel(&device, AFFINE);
        let numbers = Numbers { scale: 2.0, shift: [0.0, 0.25, 0.5], count: 1000 };
        let launch =
            |from, to| Launch::new(&kernel, 2, 96).with(from).with(to).with_value(numbers).with_value(7i32);
        let graph = device.record(vec![launch(&a, &b), launch(&b, &a)])?;
        let start = device.now()?;
        device.replay(&graph)?;
        device.replay(&graph)?;
        let end = device.now()?;
        assert!(device.milliseconds(&start, &end)? > 0.0);
        let twice = |x: f64, i: usize| 2.0 * x + f64::from(numbers.shift[i % 3]) + 7.0;
        for (i, found) in a.to_vec()?.into_iter().enumerate() {
            assert_eq!(found, (0..4).fold(x[i], |x, _| twice(x, i)));
        }
        b.copy_from(&a, 10)?;
        a.clear()?;
        b.write(8, &[-1.0])?;
        let mut some = [0.0; 3];
        b.read(7, &mut some)?;
        assert_eq!(some[1], -1.0);
        assert_eq!(some[0], (0..4).fold(7.0, |x, _| twice(x, 7)));
        assert_eq!(a.to_vec()?, vec![0.0; 1000]);
        assert!(a.write(999, &[0.0, 0.0]).is_err());
        assert!(a.read(usize::MAX, &mut some).is_err());
        assert!(b.copy_from(&a, 1001).is_err());
    }
    Ok(())
}

/// Numbers are copied back and forth many times on the side stream; a launch that waits for both streams then
/// overwrites the first of them.
#[test]
fn sequences_wait_for_the_side_stream() -> Result<()> {
    for device in devices() {
        let x = Vec::from_iter((0..1000).map(f64::from));
        let (a, d) = (device.upload(&x)?, device.alloc::<f64>(1000)?);
        let (b, c) = (device.alloc::<f64>(1000)?, device.alloc::<f64>(1000)?);
        let kernel = kernel(&device, AFFINE);
        let numbers = Numbers { scale: 2.0, shift: [0.0, 0.25, 0.5], count: 1000 };
        let launch =
            |from, to| Launch::new(&kernel, 2, 96).with(from).with(to).with_value(numbers).with_value(7i32);
        let mut launches = vec![launch(&a, &b).waits(Waits::SideStream)];
        for _ in 0..5 {
            launches.extend([&b, &c].map(|from| {
                let to = if from.address() == b.address() { &c } else { &b };
                launch(from, to).waits(Waits::SideStream)
            }));
        }
        launches.extend([launch(&a, &d), launch(&b, &a).waits(Waits::AllStreams)]);
        // Sequences end after the side stream, too.
        launches.push(launch(&a, &b).waits(Waits::SideStream));
        let graph = device.record(launches)?;
        let next = |x: f64, i: usize| 2.0 * x + f64::from(numbers.shift[i % 3]) + 7.0;
        let after = |times: usize, i: usize| (0..times).fold(x[i], |x, _| next(x, i));
        for rounds in 1..=2 {
            device.replay(&graph)?;
            let found = [a.to_vec()?, b.to_vec()?, d.to_vec()?];
            for i in 0..1000 {
                let wanted = [12 * rounds, 12 * rounds + 1, 12 * (rounds - 1) + 1];
                assert_eq!([found[0][i], found[1][i], found[2][i]], wanted.map(|times| after(times, i)));
            }
        }
    }
    Ok(())
}

#[test]
fn impossible_launches_are_refused() -> Result<()> {
    for device in devices() {
        let kernel = kernel(&device, AFFINE);
        let x = device.alloc::<f64>(4)?;
        let wrong = Launch::new(&kernel, 1, 32).with(&x).with(&x).with_value(1.0f32);
        let message = device.run(&wrong).unwrap_err().to_string();
        assert!(message.contains("test") && message.contains("24"), "{message}");
        let launch = |grid, block, shared| {
            Launch::new(&kernel, grid, block)
                .shared(shared)
                .with(&x)
                .with(&x)
                .with_value(Numbers { scale: 1.0, shift: [0.0; 3], count: 4 })
                .with_value(0i32)
        };
        // No blocks have nothing to do.
        device.run(&launch(0, 32, 0))?;
        device.replay(&device.record(vec![launch(0, 32, 0)])?)?;
        assert!(device.run(&launch(1, 2048, 0)).is_err());
        assert!(device.run(&launch(1, 32, 60_000)).is_err());
        assert!(kernel.allow_shared(device.shared_memory() + 1).is_err());
        kernel.allow_shared(60_000)?;
        device.run(&launch(1, 32, 60_000))?;
        assert!(kernel.blocks_per_multiprocessor(1024, 0)? >= 1);
        device.synchronize()?;
        let much = device.alloc::<f64>(1 << 48).err().unwrap();
        assert!(much.message().contains("GiB wanted"), "{much}");
        let error = device.compile("odd.cu", "__global__ void f() { nonsense; }", &[]).err().unwrap();
        assert!(error.message().contains("odd.cu") && error.message().contains("nonsense"), "{error}");
        assert!(device.compile("a.cu", AFFINE, &[])?.kernel("no_such").is_err());
    }
    Ok(())
}

#[test]
fn a_copy_to_the_host_is_of_its_moment() -> Result<()> {
    let source =
        r#"extern "C" __global__ void test(double* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1; }"#;
    for device in devices() {
        let (n, kernel) = (32 * 1024, kernel(&device, source));
        let (x, ids) = (device.alloc::<f64>(n)?, device.upload(&[3u32, 1, 2])?);
        let change = Launch::new(&kernel, n as u32 / 256, 256).with(&x);
        let mut staging = StagingBuffer::new(&device, 8 * n + 16)?;
        device.run(&change)?;
        staging.begin(&[Some(ids.as_bytes()), None, Some(x.as_bytes())])?;
        device.run(&change)?;
        ids.write(0, &[7, 7, 7])?;
        assert!(staging.part::<f64>(2).is_empty(), "nothing is read on its way");
        staging.wait()?;
        assert_eq!((staging.part::<u32>(0), staging.part::<f64>(1)), (&[3, 1, 2][..], &[][..]));
        assert!(staging.part::<f64>(2).len() == n && staging.part::<f64>(2).iter().all(|x| *x == 1.0));
        assert!(staging.begin(&[Some(x.as_bytes()), Some(x.as_bytes())]).is_err(), "too much");
        assert!(x.to_vec()?.iter().all(|x| *x == 2.0));
    }
    Ok(())
}

#[test]
fn devices_do_not_mix() -> Result<()> {
    let (a, b) = (Device::emulated()?, Device::emulated()?);
    let (x, y) = (a.alloc::<f64>(4)?, b.alloc::<f64>(4)?);
    assert!(x.copy_from(&y, 4).is_err());
    assert!(a.milliseconds(&a.now()?, &b.now()?).is_err());
    let launch = |on: &Device| -> Result<Launch> {
        let numbers = Numbers { scale: 1.0, shift: [0.0; 3], count: 4 };
        let launch = Launch::new(&kernel(on, AFFINE), 1, 4).with(&x).with(&x);
        Ok(launch.with_value(numbers).with_value(0i32))
    };
    a.run(&launch(&a)?)?;
    assert!(a.run(&launch(&b)?).is_err());
    assert!(b.run(&launch(&b)?).is_err());
    Ok(())
}

/// Mistakes that a GPU does not report, or that stop it.
#[test]
fn the_emulation_finds_mistakes() -> Result<()> {
    let device = Device::emulated()?;
    let fault = |source: &str, threads: u32| -> String {
        let out = device.alloc::<f32>(64).unwrap();
        let launch = Launch::new(&kernel(&device, source), 1, threads).with(&out).shared(64);
        let ran = device.run(&launch).and_then(|()| device.synchronize());
        ran.err().map_or(String::new(), |e| e.to_string())
    };
    let deadlock = fault(
        r#"extern "C" __global__ void test(float* out) {
            if (threadIdx.x < 3) __syncthreads(); else __syncwarp(); out[threadIdx.x] = 1; }"#,
        32,
    );
    assert!(deadlock.contains("deadlock") && deadlock.contains("3 threads"), "{deadlock}");
    let dynamic = fault(
        r#"extern "C" __global__ void test(float* out) {
            extern __shared__ float room[]; room[threadIdx.x] = out[threadIdx.x]; }"#,
        17,
    );
    assert!(dynamic.contains("beyond its 64 bytes"), "{dynamic}");
    let unset = r#"extern "C" __global__ void test(float* out) {
        __shared__ float room[32]; out[threadIdx.x] = room[threadIdx.x]; }"#;
    let out = device.alloc::<f32>(32)?;
    device.run(&Launch::new(&kernel(&device, unset), 1, 32).with(&out))?;
    assert!(out.to_vec()?.iter().all(|x| x.is_nan()));
    let wild = fault(
        r#"extern "C" __global__ void test(float* out) {
            __syncthreads(); if (threadIdx.x == 20) out[1ll << 44] = 1; __syncwarp(); }"#,
        32,
    );
    assert!(wild.contains("thread 20 of block 0"), "{wild}");
    let zero = fault(r#"extern "C" __global__ void test(int* out) { out[0] = 7 / (int)threadIdx.x; }"#, 32);
    assert!(zero.contains("thread 0 of block 0 divided by zero"), "{zero}");
    let trap = fault(r#"extern "C" __global__ void test(float* out) { __trap(); }"#, 32);
    assert!(trap.contains("thread 0 of block 0 called __trap"), "{trap}");
    let outside = fault(r#"extern "C" __global__ void test(float* out) { out[threadIdx.x] = 1; }"#, 65);
    assert!(outside.contains("outside a buffer of 256 bytes"), "{outside}");
    Ok(())
}
