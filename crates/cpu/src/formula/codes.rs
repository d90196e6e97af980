//! Codes of instructions: for single and double precision with AVX-512, then with AVX2. `INVALID` stands for
//! operations that a trace does not have with such registers; it cannot be encoded.

use super::instructions::OperandForm;
use super::trace::{Binary, RegisterTarget, Signs, Unary};
use crate::simd::Level;
use iced_x86::Code::{self, *};
use jostle_core::Precision;

type Codes = [Code; 4];

/// Copy of a register.
pub const MOVE: Codes = [
    EVEX_Vmovaps_zmm_k1z_zmmm512,
    EVEX_Vmovapd_zmm_k1z_zmmm512,
    VEX_Vmovaps_ymm_ymmm256,
    VEX_Vmovapd_ymm_ymmm256,
];
/// Read of a register from anywhere in memory.
pub const LOAD: Codes = [
    EVEX_Vmovups_zmm_k1z_zmmm512,
    EVEX_Vmovupd_zmm_k1z_zmmm512,
    VEX_Vmovups_ymm_ymmm256,
    VEX_Vmovupd_ymm_ymmm256,
];
/// Write of a register to anywhere in memory.
pub const STORE: Codes = [
    EVEX_Vmovups_zmmm512_k1z_zmm,
    EVEX_Vmovupd_zmmm512_k1z_zmm,
    VEX_Vmovups_ymmm256_ymm,
    VEX_Vmovupd_ymmm256_ymm,
];
/// Broadcast of a number to all lanes.
pub const SPREAD: Codes = [
    EVEX_Vbroadcastss_zmm_k1z_xmmm32,
    EVEX_Vbroadcastsd_zmm_k1z_xmmm64,
    VEX_Vbroadcastss_ymm_m32,
    VEX_Vbroadcastsd_ymm_m64,
];
/// Comparison.
pub const COMPARE: Codes = [
    EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae,
    EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae,
    VEX_Vcmpps_ymm_ymm_ymmm256_imm8,
    VEX_Vcmppd_ymm_ymm_ymmm256_imm8,
];
/// Choice of one of two numbers.
pub const BLEND: Codes = [
    EVEX_Vblendmps_zmm_k1z_zmm_zmmm512b32,
    EVEX_Vblendmpd_zmm_k1z_zmm_zmmm512b64,
    VEX_Vblendvps_ymm_ymm_ymmm256_ymm,
    VEX_Vblendvpd_ymm_ymm_ymmm256_ymm,
];
/// Look-up in a register.
pub const PERMUTE: Codes = [
    EVEX_Vpermps_zmm_k1z_zmm_zmmm512b32,
    EVEX_Vpermpd_zmm_k1z_zmm_zmmm512b64,
    VEX_Vpermps_ymm_ymm_ymmm256,
    INVALID,
];
/// Look-up in memory.
pub const GATHER: Codes = [
    EVEX_Vgatherdps_zmm_k1_vm32z,
    EVEX_Vgatherqpd_zmm_k1_vm64z,
    VEX_Vgatherdps_ymm_vm32y_ymm,
    VEX_Vgatherqpd_ymm_vm64y_ymm,
];
/// Broadcast of bits to all lanes.
pub const SPREAD_BITS: Codes = [INVALID, INVALID, VEX_Vpbroadcastd_ymm_xmmm32, VEX_Vpbroadcastq_ymm_xmmm64];
/// Comparison of integers: all bits where they are equal.
pub const EQUAL_BITS: Codes = [INVALID, INVALID, VEX_Vpcmpeqd_ymm_ymm_ymmm256, VEX_Vpcmpeqq_ymm_ymm_ymmm256];

/// Code for a target.
pub fn choose(codes: Codes, target: RegisterTarget) -> Code {
    let with = if target.level == Level::Avx512 { 0 } else { 2 };
    codes[with + usize::from(target.precision == Precision::Double)]
}

/// Codes of operations on one number.
pub fn unary(operation: Unary) -> Codes {
    match operation {
        Unary::SquareRoot => [
            EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er,
            EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er,
            VEX_Vsqrtps_ymm_ymmm256,
            VEX_Vsqrtpd_ymm_ymmm256,
        ],
        Unary::GuessReciprocal => [
            EVEX_Vrcp14ps_zmm_k1z_zmmm512b32,
            EVEX_Vrcp14pd_zmm_k1z_zmmm512b64,
            VEX_Vrcpps_ymm_ymmm256,
            INVALID,
        ],
        Unary::GuessRoot => [
            EVEX_Vrsqrt14ps_zmm_k1z_zmmm512b32,
            EVEX_Vrsqrt14pd_zmm_k1z_zmmm512b64,
            VEX_Vrsqrtps_ymm_ymmm256,
            INVALID,
        ],
        Unary::Round => [
            EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae,
            EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae,
            VEX_Vroundps_ymm_ymmm256_imm8,
            VEX_Vroundpd_ymm_ymmm256_imm8,
        ],
        Unary::Fraction => [
            EVEX_Vreduceps_zmm_k1z_zmmm512b32_imm8_sae,
            EVEX_Vreducepd_zmm_k1z_zmmm512b64_imm8_sae,
            INVALID,
            INVALID,
        ],
        Unary::Mantissa => [
            EVEX_Vgetmantps_zmm_k1z_zmmm512b32_imm8_sae,
            EVEX_Vgetmantpd_zmm_k1z_zmmm512b64_imm8_sae,
            INVALID,
            INVALID,
        ],
        Unary::Exponent => {
            [EVEX_Vgetexpps_zmm_k1z_zmmm512b32_sae, EVEX_Vgetexppd_zmm_k1z_zmmm512b64_sae, INVALID, INVALID]
        }
        Unary::ToInteger => [
            EVEX_Vcvtps2dq_zmm_k1z_zmmm512b32_er,
            EVEX_Vcvtpd2qq_zmm_k1z_zmmm512b64_er,
            VEX_Vcvtps2dq_ymm_ymmm256,
            VEX_Vcvtpd2dq_xmm_ymmm256,
        ],
        Unary::FromInteger => [INVALID, INVALID, VEX_Vcvtdq2ps_ymm_ymmm256, INVALID],
        Unary::ShiftLeft => [INVALID, INVALID, VEX_Vpslld_ymm_ymm_imm8, VEX_Vpsllq_ymm_ymm_imm8],
        Unary::ShiftRight => [INVALID, INVALID, VEX_Vpsrld_ymm_ymm_imm8, VEX_Vpsrlq_ymm_ymm_imm8],
    }
}

/// Codes of operations on two numbers.
pub fn binary(operation: Binary) -> Codes {
    match operation {
        Binary::Add => [
            EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er,
            EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er,
            VEX_Vaddps_ymm_ymm_ymmm256,
            VEX_Vaddpd_ymm_ymm_ymmm256,
        ],
        Binary::Subtract => [
            EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er,
            EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er,
            VEX_Vsubps_ymm_ymm_ymmm256,
            VEX_Vsubpd_ymm_ymm_ymmm256,
        ],
        Binary::Multiply => [
            EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er,
            EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er,
            VEX_Vmulps_ymm_ymm_ymmm256,
            VEX_Vmulpd_ymm_ymm_ymmm256,
        ],
        Binary::Divide => [
            EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er,
            EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er,
            VEX_Vdivps_ymm_ymm_ymmm256,
            VEX_Vdivpd_ymm_ymm_ymmm256,
        ],
        Binary::Maximum => [
            EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae,
            EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae,
            VEX_Vmaxps_ymm_ymm_ymmm256,
            VEX_Vmaxpd_ymm_ymm_ymmm256,
        ],
        Binary::Minimum => [
            EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae,
            EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae,
            VEX_Vminps_ymm_ymm_ymmm256,
            VEX_Vminpd_ymm_ymm_ymmm256,
        ],
        Binary::Scale => [
            EVEX_Vscalefps_zmm_k1z_zmm_zmmm512b32_er,
            EVEX_Vscalefpd_zmm_k1z_zmm_zmmm512b64_er,
            INVALID,
            INVALID,
        ],
        Binary::And => [
            EVEX_Vandps_zmm_k1z_zmm_zmmm512b32,
            EVEX_Vandpd_zmm_k1z_zmm_zmmm512b64,
            VEX_Vandps_ymm_ymm_ymmm256,
            VEX_Vandpd_ymm_ymm_ymmm256,
        ],
        Binary::Or => [
            EVEX_Vorps_zmm_k1z_zmm_zmmm512b32,
            EVEX_Vorpd_zmm_k1z_zmm_zmmm512b64,
            VEX_Vorps_ymm_ymm_ymmm256,
            VEX_Vorpd_ymm_ymm_ymmm256,
        ],
        Binary::ExclusiveOr => [
            EVEX_Vxorps_zmm_k1z_zmm_zmmm512b32,
            EVEX_Vxorpd_zmm_k1z_zmm_zmmm512b64,
            VEX_Vxorps_ymm_ymm_ymmm256,
            VEX_Vxorpd_ymm_ymm_ymmm256,
        ],
        Binary::AddIntegers => [INVALID, INVALID, VEX_Vpaddd_ymm_ymm_ymmm256, VEX_Vpaddq_ymm_ymm_ymmm256],
        Binary::SubtractIntegers => {
            [INVALID, INVALID, VEX_Vpsubd_ymm_ymm_ymmm256, VEX_Vpsubq_ymm_ymm_ymmm256]
        }
    }
}

/// Codes of products with sums.
pub fn multiply_add(form: OperandForm, signs: Signs) -> Codes {
    match (form, signs.minus_product, signs.minus_addend) {
        (OperandForm::Product132, false, false) => [
            EVEX_Vfmadd132ps_zmm_k1z_zmm_zmmm512b32_er,
            EVEX_Vfmadd132pd_zmm_k1z_zmm_zmmm512b64_er,
            VEX_Vfmadd132ps_ymm_ymm_ymmm256,
            VEX_Vfmadd132pd_ymm_ymm_ymmm256,
        ],
        (OperandForm::Product132, false, true) => [
            EVEX_Vfmsub132ps_zmm_k1z_zmm_zmmm512b32_er,
            EVEX_Vfmsub132pd_zmm_k1z_zmm_zmmm512b64_er,
            VEX_Vfmsub132ps_ymm_ymm_ymmm256,
            VEX_Vfmsub132pd_ymm_ymm_ymmm256,
        ],
        (OperandForm::Product132, true, false) => [
            EVEX_Vfnmadd132ps_zmm_k1z_zmm_zmmm512b32_er,
            EVEX_Vfnmadd132pd_zmm_k1z_zmm_zmmm512b64_er,
            VEX_Vfnmadd132ps_ymm_ymm_ymmm256,
            VEX_Vfnmadd132pd_ymm_ymm_ymmm256,
        ],
        (OperandForm::Product132, true, true) => [
            EVEX_Vfnmsub132ps_zmm_k1z_zmm_zmmm512b32_er,
            EVEX_Vfnmsub132pd_zmm_k1z_zmm_zmmm512b64_er,
            VEX_Vfnmsub132ps_ymm_ymm_ymmm256,
            VEX_Vfnmsub132pd_ymm_ymm_ymmm256,
        ],
        (OperandForm::Product213, false, false) => [
            EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er,
            EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er,
            VEX_Vfmadd213ps_ymm_ymm_ymmm256,
            VEX_Vfmadd213pd_ymm_ymm_ymmm256,
        ],
        (OperandForm::Product213, false, true) => [
            EVEX_Vfmsub213ps_zmm_k1z_zmm_zmmm512b32_er,
            EVEX_Vfmsub213pd_zmm_k1z_zmm_zmmm512b64_er,
            VEX_Vfmsub213ps_ymm_ymm_ymmm256,
            VEX_Vfmsub213pd_ymm_ymm_ymmm256,
        ],
        (OperandForm::Product213, true, false) => [
            EVEX_Vfnmadd213ps_zmm_k1z_zmm_zmmm512b32_er,
            EVEX_Vfnmadd213pd_zmm_k1z_zmm_zmmm512b64_er,
            VEX_Vfnmadd213ps_ymm_ymm_ymmm256,
            VEX_Vfnmadd213pd_ymm_ymm_ymmm256,
        ],
        (OperandForm::Product213, true, true) => [
            EVEX_Vfnmsub213ps_zmm_k1z_zmm_zmmm512b32_er,
            EVEX_Vfnmsub213pd_zmm_k1z_zmm_zmmm512b64_er,
            VEX_Vfnmsub213ps_ymm_ymm_ymmm256,
            VEX_Vfnmsub213pd_ymm_ymm_ymmm256,
        ],
        (OperandForm::Sum231, false, false) => [
            EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er,
            EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er,
            VEX_Vfmadd231ps_ymm_ymm_ymmm256,
            VEX_Vfmadd231pd_ymm_ymm_ymmm256,
        ],
        (OperandForm::Sum231, false, true) => [
            EVEX_Vfmsub231ps_zmm_k1z_zmm_zmmm512b32_er,
            EVEX_Vfmsub231pd_zmm_k1z_zmm_zmmm512b64_er,
            VEX_Vfmsub231ps_ymm_ymm_ymmm256,
            VEX_Vfmsub231pd_ymm_ymm_ymmm256,
        ],
        (OperandForm::Sum231, true, false) => [
            EVEX_Vfnmadd231ps_zmm_k1z_zmm_zmmm512b32_er,
            EVEX_Vfnmadd231pd_zmm_k1z_zmm_zmmm512b64_er,
            VEX_Vfnmadd231ps_ymm_ymm_ymmm256,
            VEX_Vfnmadd231pd_ymm_ymm_ymmm256,
        ],
        (OperandForm::Sum231, true, true) => [
            EVEX_Vfnmsub231ps_zmm_k1z_zmm_zmmm512b32_er,
            EVEX_Vfnmsub231pd_zmm_k1z_zmm_zmmm512b64_er,
            VEX_Vfnmsub231ps_ymm_ymm_ymmm256,
            VEX_Vfnmsub231pd_ymm_ymm_ymmm256,
        ],
    }
}
