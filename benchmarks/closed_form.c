/* The planar double pendulum in closed form: rollouts, their squared error against a reference trajectory, and its
 * gradient by a hand-written adjoint. What a careful person writes for this one mechanism; the rival of generated code.
 *
 * Inside, angles are absolute (from the vertical) and time is counted in steps, so a rate is an angle per step and the
 * timestep disappears from the loop. With p the angles, w the rates, S and C the sine and cosine of p2 - p1:
 *
 *   h = a S + b C,  k = a C - b S = dh/d(p2 - p1),  det = J1 J2 - h^2
 *   r1 = F2 (w2 - w1) - F1 w1 - k w2^2 + A cos p1 + B sin p1
 *   r2 = k w1^2 - F2 (w2 - w1)         + G (a cos p2 - b sin p2)
 *   x = [[J2, -h], [-h, J1]] r / det,  w += x,  p += w
 *
 * J1, J2, F1, F2, A, B, G, a, b are made of the 11 parameters once per rollout ("constants"). h and k are computed from
 * P = a cos p2 - b sin p2 and Q = a sin p2 + b cos p2, which the gravity term wants too.
 *
 * Compile with -DREAL=float|double, -DLANES=(16, 32, 64): that many rollouts advance together, in the inner loop.
 */
#define _GNU_SOURCE
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include "processors.h"

#ifndef REAL
#define REAL float
#endif
#ifndef LANES
#define LANES 32
#endif
#define PARAMETERS 11
#define GRAVITY ((REAL)9.81)
#define EACH_LANE for (int l = 0; l < LANES; ++l)

typedef REAL real;
typedef real lanes[LANES] __attribute__((aligned(64)));

enum { J1, J2, F1, F2, A, B, G, CA, CB, CONSTANTS };
enum { M1, I1, CX1, CY1, FR1, L1, M2, I2, CX2, CY2, FR2 };

/* What the adjoint reads of each step. */
typedef struct {
    lanes p1, p2, w1, w2;     /* after the step */
    lanes s1, c1, s2, c2;     /* before it: sines and cosines of p1 and p2 */
    lanes x1, x2, inverse;    /* the accelerations, 1 / det */
} step_record;

/* Sine and cosine together, to 1e-7: reduced to [-pi/2, pi/2], both change sign for odd multiples of pi. */
static inline __attribute__((always_inline)) void sincos_lane(real x, real *sine, real *cosine) {
    if (sizeof(real) == 8) {
        *sine = (real)sin((double)x);
        *cosine = (real)cos((double)x);
        return;
    }
    float turns = __builtin_rintf((float)x * 0.318309886f);
    float r = __builtin_fmaf(turns, -9.67653589793e-4f, __builtin_fmaf(turns, -3.140625f, (float)x)); /* pi in two parts */
    float z = r * r;
    float s = r + r * z * (-0.166666666f + z * (8.33328003e-3f + z * (-1.98249839e-4f + z * 2.63758815e-6f)));
    float c = 1.0f + z * (-0.499999454f + z * (4.16640305e-2f + z * (-1.38551040e-3f + z * 2.31616255e-5f)));
    unsigned flip = (unsigned)(int)turns << 31;
    union { float f; unsigned u; } us = {s}, uc = {c};
    us.u ^= flip;
    uc.u ^= flip;
    *sine = (real)us.f;
    *cosine = (real)uc.f;
}

/* The constants of one lane, and back: their gradient into the gradient of the parameters. */
static void constants_of(const real *t, real dt, real *k) {
    real dt2 = dt * dt, arm = t[M2] * t[L1];
    k[J1] = t[I1] + t[M1] * (t[CX1] * t[CX1] + t[CY1] * t[CY1]) + arm * t[L1];
    k[J2] = t[I2] + t[M2] * (t[CX2] * t[CX2] + t[CY2] * t[CY2]);
    k[F1] = t[FR1] * dt;
    k[F2] = t[FR2] * dt;
    k[A] = -GRAVITY * dt2 * t[M1] * t[CX1];
    k[B] = -GRAVITY * dt2 * (arm - t[M1] * t[CY1]);
    k[G] = GRAVITY * dt2 / t[L1];
    k[CA] = -arm * t[CX2];
    k[CB] = -arm * t[CY2];
}

static void parameters_gradient(const real *t, real dt, const real *k, real *g) {
    real g_dt2 = GRAVITY * dt * dt, square1 = t[CX1] * t[CX1] + t[CY1] * t[CY1], square2 = t[CX2] * t[CX2] + t[CY2] * t[CY2];
    real arm = k[J1] * t[L1] - k[B] * g_dt2 - k[CA] * t[CX2] - k[CB] * t[CY2];
    g[M1] = k[J1] * square1 - g_dt2 * (k[A] * t[CX1] - k[B] * t[CY1]);
    g[I1] = k[J1];
    g[CX1] = t[M1] * (2 * k[J1] * t[CX1] - k[A] * g_dt2);
    g[CY1] = t[M1] * (2 * k[J1] * t[CY1] + k[B] * g_dt2);
    g[FR1] = k[F1] * dt;
    g[L1] = arm * t[M2] + k[J1] * t[M2] * t[L1] - k[G] * g_dt2 / (t[L1] * t[L1]);
    g[M2] = arm * t[L1] + k[J2] * square2;
    g[I2] = k[J2];
    g[CX2] = t[M2] * (2 * k[J2] * t[CX2] - k[CA] * t[L1]);
    g[CY2] = t[M2] * (2 * k[J2] * t[CY2] - k[CB] * t[L1]);
    g[FR2] = k[F2] * dt;
}

/* LANES rollouts. The loss is returned; with a tape, what the adjoint needs is written to it. */
static inline __attribute__((always_inline)) void forward(
    int steps, const real *start, real dt, const real *reference, lanes k[CONSTANTS], real *loss, step_record *tape) {
    lanes p1, p2, w1, w2, sum;
    real per_step = 1 / dt;
    EACH_LANE {
        p1[l] = start[0];
        p2[l] = start[0] + start[1];
        w1[l] = start[2] * dt;
        w2[l] = (start[2] + start[3]) * dt;
        sum[l] = 0;
    }
    for (int t = 0; t < steps; ++t) {
        const real *target = reference + 4 * t;
        step_record *now = tape + t;
        EACH_LANE {
            real s1, c1, s2, c2;
            sincos_lane(p1[l], &s1, &c1);
            sincos_lane(p2[l], &s2, &c2);
            real P = k[CA][l] * c2 - k[CB][l] * s2, Q = k[CA][l] * s2 + k[CB][l] * c2;
            real h = c1 * Q - s1 * P, slope = c1 * P + s1 * Q;
            real drag = k[F2][l] * (w2[l] - w1[l]);
            real r1 = drag - k[F1][l] * w1[l] - slope * w2[l] * w2[l] + k[A][l] * c1 + k[B][l] * s1;
            real r2 = slope * w1[l] * w1[l] - drag + k[G][l] * P;
            real inverse = 1 / (k[J1][l] * k[J2][l] - h * h);
            real x1 = (k[J2][l] * r1 - h * r2) * inverse, x2 = (k[J1][l] * r2 - h * r1) * inverse;
            w1[l] += x1;
            w2[l] += x2;
            p1[l] += w1[l];
            p2[l] += w2[l];
            real d1 = p1[l] - target[0], d2 = p2[l] - p1[l] - target[1];
            real d3 = w1[l] * per_step - target[2], d4 = (w2[l] - w1[l]) * per_step - target[3];
            sum[l] += d1 * d1 + d2 * d2 + d3 * d3 + d4 * d4;
            if (tape) {
                now->p1[l] = p1[l], now->p2[l] = p2[l], now->w1[l] = w1[l], now->w2[l] = w2[l];
                now->s1[l] = s1, now->c1[l] = c1, now->s2[l] = s2, now->c2[l] = c2;
                now->x1[l] = x1, now->x2[l] = x2, now->inverse[l] = inverse;
            }
        }
    }
    EACH_LANE loss[l] = sum[l];
}

/* The reverse sweep: the gradient of half the loss over the constants. q and v are the adjoints of p and w. */
static inline __attribute__((always_inline)) void reverse(
    int steps, const real *start, real dt, const real *reference, lanes k[CONSTANTS], const step_record *tape,
    lanes g[CONSTANTS]) {
    lanes q1, q2, v1, v2;
    real per_step = 1 / dt;
    EACH_LANE q1[l] = q2[l] = v1[l] = v2[l] = 0;
    for (int i = 0; i < CONSTANTS; ++i) EACH_LANE g[i][l] = 0;
    step_record first;
    EACH_LANE first.w1[l] = start[2] * dt, first.w2[l] = (start[2] + start[3]) * dt;
    for (int t = steps; t-- > 0;) {
        const real *target = reference + 4 * t;
        const step_record *now = tape + t, *before = t ? now - 1 : &first;
        EACH_LANE {
            real s1 = now->s1[l], c1 = now->c1[l], s2 = now->s2[l], c2 = now->c2[l];
            real x1 = now->x1[l], x2 = now->x2[l], inverse = now->inverse[l];
            real w1 = before->w1[l], w2 = before->w2[l];
            real P = k[CA][l] * c2 - k[CB][l] * s2, Q = k[CA][l] * s2 + k[CB][l] * c2;
            real h = c1 * Q - s1 * P, slope = c1 * P + s1 * Q;

            real d2 = now->p2[l] - now->p1[l] - target[1], d1 = now->p1[l] - target[0] - d2;
            real d4 = (now->w2[l] - now->w1[l]) * per_step - target[3], d3 = now->w1[l] * per_step - target[2] - d4;
            real a1 = q1[l] + d1, a2 = q2[l] + d2;
            real b1 = v1[l] + d3 * per_step + a1, b2 = v2[l] + d4 * per_step + a2;

            real m1 = (k[J2][l] * b1 - h * b2) * inverse, m2 = (k[J1][l] * b2 - h * b1) * inverse;
            real y1 = m2 * w1, y2 = m1 * w2, gap = m1 - m2;
            real dh = -(m1 * x2 + m2 * x1), dslope = y1 * w1 - y2 * w2;
            real dQ = c1 * dh + s1 * dslope, dP = c1 * dslope - s1 * dh + k[G][l] * m2;
            g[J1][l] -= m1 * x1;
            g[J2][l] -= m2 * x2;
            g[F1][l] -= m1 * w1;
            g[F2][l] += gap * (w2 - w1);
            g[A][l] += m1 * c1;
            g[B][l] += m1 * s1;
            g[G][l] += m2 * P;
            g[CA][l] += dP * c2 + dQ * s2;
            g[CB][l] += dQ * c2 - dP * s2;
            real bend = h * dslope - slope * dh, drag = k[F2][l] * gap;
            q1[l] = a1 + bend + m1 * (k[B][l] * c1 - k[A][l] * s1);
            q2[l] = a2 - bend - k[G][l] * m2 * Q;
            v1[l] = b1 - k[F1][l] * m1 - drag + 2 * slope * y1;
            v2[l] = b2 + drag - 2 * slope * y2;
        }
    }
}

/* theta (count, 11) and gradient (count, 11) row by row, loss (count); gradient may be null: forward only.
 * reference (steps, 4): the state after each step. Returns 0, or 1 when there is no memory. */
int rollouts(long count, int steps, real dt, const real *start, const real *theta, const real *reference, real *loss,
             real *gradient, int threads) {
    int failed = 0, here = sched_getcpu();
    long blocks = (count + LANES - 1) / LANES;
    if (threads > blocks) threads = (int)blocks;
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        if (threads > 1) take_processor(&allowed, here, omp_get_thread_num());
        step_record *tape = gradient ? aligned_alloc(64, steps * sizeof(step_record)) : NULL;
        if (gradient && !tape) failed = 1;
#pragma omp for schedule(dynamic)
        for (long begin = 0; begin < count; begin += LANES) {
            if (failed) continue;
            lanes k[CONSTANTS], g[CONSTANTS], sums;
            EACH_LANE { /* lanes past the end repeat the last rollout */
                real one[CONSTANTS];
                long row = begin + l < count ? begin + l : count - 1;
                constants_of(theta + PARAMETERS * row, dt, one);
                for (int i = 0; i < CONSTANTS; ++i) k[i][l] = one[i];
            }
            if (gradient) forward(steps, start, dt, reference, k, sums, tape);
            else forward(steps, start, dt, reference, k, sums, NULL);
            if (gradient) reverse(steps, start, dt, reference, k, tape, g);
            for (long l = 0; l < LANES && begin + l < count; ++l) {
                long row = begin + l;
                loss[row] = sums[l];
                if (!gradient) continue;
                real one[CONSTANTS];
                for (int i = 0; i < CONSTANTS; ++i) one[i] = 2 * g[i][l];
                parameters_gradient(theta + PARAMETERS * row, dt, one, gradient + PARAMETERS * row);
            }
        }
        free(tape);
    }
    sched_setaffinity(0, sizeof allowed, &allowed);
    return failed;
}
