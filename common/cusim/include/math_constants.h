// SPDX-License-Identifier: MIT
/* math_constants.h - CUDA's names for infinity, NaN and some numbers */
#ifndef CUSIM_MATH_CONSTANTS_H
#define CUSIM_MATH_CONSTANTS_H

#define CUDART_INF_F            __builtin_inff()
#define CUDART_NAN_F            __builtin_bit_cast(float, 0x7fffffff)
#define CUDART_MIN_DENORM_F     0x1p-149f
#define CUDART_MAX_NORMAL_F     0x1.fffffep127f
#define CUDART_NEG_ZERO_F       (-0.0f)
#define CUDART_ZERO_F           0.0f
#define CUDART_ONE_F            1.0f
#define CUDART_SQRT_HALF_F      0.707106781f
#define CUDART_SQRT_TWO_F       1.414213562f
#define CUDART_LOG2E_F          1.442695041f
#define CUDART_LN2_F            0.693147181f
#define CUDART_L2E_F            1.442695041f
#define CUDART_L2T_F            3.321928094f
#define CUDART_LG2_F            0.301029996f
#define CUDART_LGE_F            0.434294482f
#define CUDART_LNT_F            2.302585093f
#define CUDART_PI_F             3.141592654f
#define CUDART_PIO2_F           1.570796327f
#define CUDART_PIO4_F           0.785398163f
#define CUDART_2_OVER_PI_F      0.636619772f
#define CUDART_SQRT_2_OVER_PI_F 0.797884561f

#define CUDART_INF       __builtin_inf()
#define CUDART_NAN       __builtin_bit_cast(double, 0xfff8000000000000ull)
#define CUDART_NEG_ZERO  (-0.0)
#define CUDART_ZERO      0.0
#define CUDART_ONE       1.0
#define CUDART_SQRT_TWO  1.4142135623730951e+0
#define CUDART_SQRT_HALF 7.0710678118654757e-1
#define CUDART_LOG2E     1.4426950408889634e+0
#define CUDART_LN2       6.9314718055994529e-1
#define CUDART_PI        3.1415926535897931e+0
#define CUDART_PIO2      1.5707963267948966e+0
#define CUDART_PIO4      7.8539816339744828e-1
#define CUDART_2_OVER_PI 6.3661977236758138e-1
#define CUDART_SQRT_2OPI 7.9788456080286536e-1

#endif
