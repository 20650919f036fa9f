/* One JSON object per line, built in memory and written with one call, so that a full disk is seen and reported. */
#ifndef JSON_H
#define JSON_H

#include "probe.h"

static struct {
    char text[65536];
    size_t length;
    bool is_truncated;
} json_line;

static inline void json_char(char c)
{
    if (json_line.length < sizeof json_line.text) json_line.text[json_line.length++] = c;
    else json_line.is_truncated = true;
}

static inline void json_raw(const char *text)
{
    while (*text) json_char(*text++);
}

static inline void json_digits(uint64_t value, unsigned minimum_digits)
{
    char digits[20];
    unsigned count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value || count < minimum_digits);
    while (count) json_char(digits[--count]);
}

/* Length of the well-formed UTF-8 sequence at text, 0 when it is not one. */
static inline unsigned utf8_length(const unsigned char *text)
{
    unsigned length = text[0] < 0x80                      ? 1
                      : text[0] >= 0xC2 && text[0] < 0xE0 ? 2
                      : (text[0] & 0xF0) == 0xE0          ? 3
                      : text[0] >= 0xF0 && text[0] < 0xF5 ? 4
                                                          : 0;
    for (unsigned i = 1; i < length; i++)
        if ((text[i] & 0xC0) != 0x80) return 0;
    if ((text[0] == 0xE0 && text[1] < 0xA0) || (text[0] == 0xED && text[1] > 0x9F)) return 0;
    if ((text[0] == 0xF0 && text[1] < 0x90) || (text[0] == 0xF4 && text[1] > 0x8F)) return 0;
    return length;
}

/* The inside of a JSON string; bytes that are not UTF-8 become U+FFFD. */
static inline void json_escaped(const char *text)
{
    static const char hex[] = "0123456789abcdef";
    const unsigned char *cursor = (const unsigned char *)text;
    while (*cursor) {
        unsigned length = utf8_length(cursor);
        if (length == 0) {
            json_raw("\\ufffd");
            cursor++;
        } else if (*cursor == '"' || *cursor == '\\') {
            json_char('\\');
            json_char((char)*cursor++);
        } else if (*cursor < 0x20 || *cursor == 0x7F) {
            json_raw("\\u00");
            json_char(hex[*cursor >> 4]);
            json_char(hex[*cursor++ & 15]);
        } else {
            while (length--) json_char((char)*cursor++);
        }
    }
}

static inline void json_key(const char *key)
{
    json_char(json_line.text[json_line.length - 1] == '{' ? '"' : ',');
    if (json_line.text[json_line.length - 1] == ',') json_char('"');
    json_raw(key);
    json_raw("\":");
}

static inline void json_u64(const char *key, uint64_t value)
{
    json_key(key);
    json_digits(value, 1);
}

/* A value >= 0 with a fixed number of decimals (at most 9). */
static inline void json_number(double value, unsigned decimals)
{
    uint64_t scale = 1;
    for (unsigned i = 0; i < decimals; i++) scale *= 10;
    uint64_t scaled = (uint64_t)(value * (double)scale + 0.5);
    json_digits(scaled / scale, 1);
    if (decimals) {
        json_char('.');
        json_digits(scaled % scale, decimals);
    }
}

static inline void json_real(const char *key, double value, unsigned decimals)
{
    json_key(key);
    json_number(value, decimals);
}

/* One member of a list; the caller writes the brackets. */
static inline void json_member(double value, unsigned decimals)
{
    if (json_line.text[json_line.length - 1] != '[') json_char(',');
    json_number(value, decimals);
}

static inline void json_text(const char *key, const char *text)
{
    json_key(key);
    json_char('"');
    json_escaped(text);
    json_char('"');
}

static inline void json_word(const char *key, const char *word)
{
    json_key(key);
    json_raw(word);
}

static inline void json_bool(const char *key, bool value)
{
    json_word(key, value ? "true" : "false");
}

static inline void json_begin(void)
{
    json_line.length = 0;
    json_line.is_truncated = false;
    json_raw("{");
    json_u64("schema", 1);
}

static inline void json_seconds(const char *key, uint64_t duration_ns)
{
    json_real(key, (double)duration_ns / (double)NS_PER_S, 6);
}

/* Writes the line; the result is an exit code. */
static inline int json_end(long file)
{
    json_raw("}\n");
    return json_line.is_truncated ? EXIT_OUTPUT : output_exit(write_all(file, json_line.text, json_line.length));
}

/* An error as a JSON line on standard output, where the parser looks; returns the exit code given. */
static inline int json_error(const char *probe, const char *error, long error_number, int exit_code)
{
    json_begin();
    json_text("probe", probe);
    json_text("error", error);
    json_u64("errno", (uint64_t)(error_number < 0 ? -error_number : error_number));
    (void)json_end(1);
    return exit_code;
}

#endif
