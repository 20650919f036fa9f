/* SHA-256 (FIPS 180-4), so that every result names the exact binary that made it. */
#ifndef SHA256_H
#define SHA256_H

#include "probe.h"

static inline uint32_t rotated(uint32_t value, unsigned bits)
{
    return value >> bits | value << (32 - bits);
}

/* The standard's constants: 32 bits of the fraction of the square (or cube) root of n, by bisection on integers. */
static inline uint32_t root_fraction(uint32_t n, bool is_cube)
{
    unsigned __int128 low = 0, high = (unsigned __int128)1 << 37;
    while (high - low > 1) {
        unsigned __int128 middle = (low + high) / 2;
        bool is_above = is_cube ? middle * middle * middle > (unsigned __int128)n << 96
                                : middle * middle > (unsigned __int128)n << 64;
        if (is_above) high = middle;
        else low = middle;
    }
    return (uint32_t)low;
}

static inline void sha256_constants(uint32_t state[8], uint32_t k[64])
{
    unsigned found = 0;
    for (uint32_t n = 2; found < 64; n++) {
        bool is_prime = true;
        for (uint32_t d = 2; d * d <= n; d++) is_prime = is_prime && n % d;
        if (!is_prime) continue;
        if (found < 8) state[found] = root_fraction(n, false);
        k[found++] = root_fraction(n, true);
    }
}

static inline void sha256_block(uint32_t state[8], const uint32_t k[64], const unsigned char *block)
{
    uint32_t w[64], v[8];
    for (unsigned i = 0; i < 16; i++) {
        w[i] = 0;
        for (unsigned j = 0; j < 4; j++) w[i] = w[i] << 8 | block[4 * i + j];
    }
    for (unsigned i = 16; i < 64; i++)
        w[i] = w[i - 16] + (rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7]
               + (rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10);
    for (unsigned i = 0; i < 8; i++) v[i] = state[i];
    for (unsigned i = 0; i < 64; i++) {
        const uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        const uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        const uint32_t one = v[7] + (rotated(v[4], 6) ^ rotated(v[4], 11) ^ rotated(v[4], 25)) + choice + k[i] + w[i];
        const uint32_t two = (rotated(v[0], 2) ^ rotated(v[0], 13) ^ rotated(v[0], 22)) + majority;
        for (unsigned j = 7; j > 0; j--) v[j] = v[j - 1];
        v[4] += one;
        v[0] = one + two;
    }
    for (unsigned i = 0; i < 8; i++) state[i] += v[i];
}

/* The hash of a file as 64 hexadecimal digits, or an empty text when it cannot be read. */
static inline void sha256_file(const char *path, char hex[65])
{
    static const char digits[] = "0123456789abcdef";
    uint32_t state[8], k[64];
    unsigned char block[64];
    uint64_t total = 0;
    long count, file = SYS4(NR_OPENAT, AT_CWD, path, O_READ | O_CLOSE_ON_EXEC, 0);
    hex[0] = '\0';
    if (file < 0) return;
    sha256_constants(state, k);
    unsigned filled = 0;
    while ((count = SYS3(NR_READ, file, block + filled, 64 - filled)) > 0) {
        filled += (unsigned)count;
        total += (uint64_t)count;
        if (filled == 64) {
            sha256_block(state, k, block);
            filled = 0;
        }
    }
    SYS1(NR_CLOSE, file);
    if (count < 0) return;
    block[filled++] = 0x80;
    if (filled > 56) {
        while (filled < 64) block[filled++] = 0;
        sha256_block(state, k, block);
        filled = 0;
    }
    while (filled < 56) block[filled++] = 0;
    for (unsigned i = 0; i < 8; i++) block[56 + i] = (unsigned char)(total * 8 >> (56 - 8 * i));
    sha256_block(state, k, block);
    for (unsigned i = 0; i < 64; i++) hex[i] = digits[state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    hex[64] = '\0';
}

#endif
