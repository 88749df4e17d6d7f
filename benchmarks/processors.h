/* Which processor a thread runs on. */
#pragma once
#include <sched.h>

/* Puts thread i of a parallel region on the i-th allowed processor, counted from `first`: left alone, a scheduler may keep
 * all threads of a short region on one. */
static void take_processor(const cpu_set_t *allowed, int first, int i) {
    int processor = first;
    for (int left = i % CPU_COUNT(allowed); left > 0;) {
        processor = (processor + 1) % CPU_SETSIZE;
        left -= CPU_ISSET(processor, allowed) != 0;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof one, &one);
}
