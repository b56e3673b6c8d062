// SPDX-License-Identifier: MIT
#include "findings.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

namespace cusim
{

static size_t errors;

size_t errors_found()
{
    return errors;
}

std::string text(const char *format, ...)
{
    char buffer[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    return buffer;
}

std::string quoted(const char *plain)
{
    std::string result = "\"";
    for (const char *c = plain; *c; c++) {
        if (*c == '"' || *c == '\\') result += '\\';
        if ((unsigned char)*c < 32) {
            result += text("\\u%04x", *c);
        } else {
            result += *c;
        }
    }
    return result + "\"";
}

/* ---- where lines go -------------------------------------------------------------- */

static int report_file()
{
    static const int file = [] {
        const char *path = getenv("CUSIM_REPORT");
        return path && *path
                   ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)
                   : -1;
    }();
    return file;
}

static void write_line(int file, const std::string &line)
{
    const char *begin = line.data(), *const end = begin + line.size();
    while (begin < end) {
        const ssize_t written = write(file, begin, (size_t)(end - begin));
        if (written <= 0) return;  // a full disk is noticed by whoever reads the report
        begin += written;
    }
}

static void (*taker)(const char *line, size_t bytes);

void report_to(void (*take)(const char *line, size_t bytes))
{
    taker = take;
}

/* A line of JSON where somebody reads it; false if nobody does. */
static bool tell(const std::string &json)
{
    if (taker) {
        taker(json.data(), json.size());
    } else if (report_file() >= 0) {
        write_line(report_file(), json + "\n");
    } else {
        return false;
    }
    return true;
}

void record(const std::string &json)
{
    tell(json);
}

/* ---- one finding ----------------------------------------------------------------- */

std::string code_place(const void *code)
{
    Dl_info info;
    if (!dladdr(code, &info) || !info.dli_fname) return "";
    const size_t offset = (size_t)((const char *)code - (const char *)info.dli_fbase);
    return text(", \"module\": %s, \"offset\": %zu", quoted(info.dli_fname).c_str(),
                offset);
}

static std::string place_json(const Place &place)
{
    std::string json = "{\"what\": " + quoted(place.what);
    if (place.where.file) {
        json += ", \"file\": " + quoted(place.where.file);
        json += text(", \"line\": %d", place.where.line);
    } else if (place.code) {
        json += code_place(place.code);
    }
    if (place.in_kernel) {
        json += text(", \"block\": [%u, %u, %u], \"thread\": [%u, %u, %u]",
                     place.block.x, place.block.y, place.block.z, place.thread.x,
                     place.thread.y, place.thread.z);
    }
    return json + "}";
}

static std::string place_text(const Place &place)
{
    std::string plain = place.where.file
                            ? text("%s:%d", place.where.file, place.where.line)
                            : text("code at %p", place.code);
    plain = text("  %s %s", place.what, plain.c_str());
    if (place.in_kernel) {
        plain += text(" by block (%u, %u, %u) thread (%u, %u, %u)", place.block.x,
                      place.block.y, place.block.z, place.thread.x, place.thread.y,
                      place.thread.z);
    }
    return plain + "\n";
}

static std::set<std::string> *seen;  // never destroyed: asked at exit as well

void forget_findings()
{
    if (seen) seen->clear();
}

/* What makes two findings the same: the kind and the lines, not the threads. */
static bool is_new(const char *kind, const Place *places, size_t count)
{
    if (!seen) seen = new std::set<std::string>;
    std::string key = kind;
    for (size_t i = 0; i < count && i < 2; i++) {
        key += places[i].where.file
                   ? text("|%s:%d", places[i].where.file, places[i].where.line)
                   : text("|%p", places[i].code);
    }
    return seen->insert(key).second;
}

void found(Level level, const char *kind, const std::string &sentence,
           const Place *places, size_t count)
{
    if (level == Level::error) errors++;
    if (!is_new(kind, places, count)) return;
    static const char *const NAME[] = {"error", "warning", "note"};
    const char *const name = NAME[(int)level];
    std::string json =
        text("{\"level\": \"%s\", \"kind\": \"%s\", \"sentence\": ", name, kind);
    json += quoted(sentence.c_str()) + ", \"places\": [";
    std::string plain = text("cusim: %s: %s: %s\n", name, kind, sentence.c_str());
    for (size_t i = 0; i < count; i++) {
        json += (i ? ", " : "") + place_json(places[i]);
        plain += place_text(places[i]);
    }
    if (!tell(json + "]}")) write_line(2, plain);
}

}  // namespace cusim
