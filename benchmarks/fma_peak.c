/* How many fused multiply-adds a second: independent chains, enough of them to hide the latency. -DREAL=float|double */
#define _GNU_SOURCE
#include <omp.h>
#include "processors.h"

#define REPEATS 3000000L
#define BYTES 64
#define CHAINS 12
#define EACH_CHAIN(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)

typedef REAL vector __attribute__((vector_size(BYTES)));

static double chains(REAL seed) {
    vector zero = {0}, factor = zero + (REAL)0.999 * seed, term = zero + (REAL)0.001 * seed;
#define START(i) vector chain##i = term * (REAL)i;
#define ADVANCE(i) chain##i = chain##i * factor + term;
#define SUM(i) sum += (double)chain##i[0];
    EACH_CHAIN(START)
    for (long n = 0; n < REPEATS; ++n) { EACH_CHAIN(ADVANCE) }
    double sum = 0;
    EACH_CHAIN(SUM)
    return sum;
}

double fma_rate(int threads) {
    double sum = 0, began = omp_get_wtime();
    int here = sched_getcpu();
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
        take_processor(&allowed, here, omp_get_thread_num());
        sum += chains((REAL)1);
    }
    sched_setaffinity(0, sizeof allowed, &allowed);
    double seconds = omp_get_wtime() - began, operations = (double)threads * CHAINS * REPEATS * (BYTES / sizeof(REAL));
    return sum > 0 ? operations / seconds : 0; /* the sum keeps the compiler from dropping the work */
}
