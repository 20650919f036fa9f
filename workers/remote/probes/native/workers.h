/*
 * Workers are forked processes around one shared page. Their barrier counts arrivals upwards for ever: the n-th
 * meeting of w workers is over when n * w have arrived, so it needs no reset. A worker that dies is seen by the parent,
 * which ends the others, so nobody waits for ever.
 */
#ifndef WORKERS_H
#define WORKERS_H

#include "probe.h"

enum { WORKERS_MAX = 8192, PR_SET_PDEATHSIG_OPTION = 1 };

static inline void barrier_wait(uint64_t *arrived, uint64_t target)
{
    __atomic_add_fetch(arrived, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(arrived, __ATOMIC_ACQUIRE) < target) SYS0(NR_SCHED_YIELD);
}

static inline void workers_kill(const int32_t *pids, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        if (pids[i]) SYS2(NR_KILL, pids[i], SIG_KILL);
    while (SYS4(NR_WAIT4, -1, 0, 0, 0) > 0) {}
}

/*
 * Runs body(context, 0 .. count-1) in one process each and waits for all. 0 when every body returned EXIT_OK;
 * -errno when a fork failed; else the first worker's exit code, or 128 + the signal that ended it.
 */
static inline long workers_run(uint64_t count, int (*body)(void *context, uint64_t index), void *context)
{
    static int32_t pids[WORKERS_MAX];
    long parent = SYS0(NR_GETPID);
    for (uint64_t i = 0; i < count; i++) {
        long pid = SYS6(NR_CLONE, SIG_CHILD, 0, 0, 0, 0, 0);
        if (pid == 0) {
            SYS2(NR_PRCTL, PR_SET_PDEATHSIG_OPTION, SIG_KILL);
            if (SYS0(NR_GETPPID) != parent) leave(EXIT_RESOURCE);
            leave(body(context, i));
        }
        if (pid < 0) {
            workers_kill(pids, i);
            return pid;
        }
        pids[i] = (int32_t)pid;
    }
    for (uint64_t ended = 0; ended < count;) {
        int32_t status = 0;
        long pid = SYS4(NR_WAIT4, -1, &status, 0, 0);
        if (pid == -ERRNO_INTR) continue;
        for (uint64_t i = 0; i < count; i++)
            if (pids[i] == pid) pids[i] = 0;
        if (pid < 0 || status) {
            workers_kill(pids, count);
            return pid < 0 ? pid : status & 0x7f ? 128 + (status & 0x7f) : status >> 8 & 0xff;
        }
        ended++;
    }
    return 0;
}

/* The JSON line and exit code for a result of workers_run that is not 0. */
#define workers_error(probe, result)                                                                                   \
    ((result) < 0                                                                                                      \
         ? json_error((probe), "cannot start a worker process", (result), EXIT_RESOURCE)                               \
         : json_error((probe), (result) == EXIT_CHECK ? "a worker's result is wrong" : "a worker process failed", 0,   \
                      (result) > 128 ? EXIT_RESOURCE : (int)(result)))

#endif
