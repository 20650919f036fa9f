/* Sorting and what is read from sorted values. */
#ifndef ORDER_H
#define ORDER_H

#include "probe.h"

/* Moves the value at root down until no child is larger. */
static inline void sift(double *values, uint64_t root, uint64_t count)
{
    const double moved = values[root];
    for (uint64_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && values[child + 1] > values[child]) child++;
        if (values[child] <= moved) break;
        values[root] = values[child];
    }
    values[root] = moved;
}

/* Ascending, in place, in n log n steps whatever the order was. */
static inline void sort(double *values, uint64_t count)
{
    for (uint64_t root = count / 2; root-- > 0;) sift(values, root, count);
    for (uint64_t rest = count; rest-- > 1;) {
        const double largest = values[0];
        values[0] = values[rest];
        values[rest] = largest;
        sift(values, 0, rest);
    }
}

static inline double middle(const double *sorted, uint64_t count)
{
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* The smallest value that at least so many percent of all values do not exceed. */
static inline double percentile(const double *sorted, uint64_t count, uint64_t percent)
{
    return sorted[(count * percent + 99) / 100 - 1];
}

#endif
