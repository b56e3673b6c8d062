// SPDX-License-Identifier: MIT
/* findings.h - reports errors that cusim finds in a program
 *
 * A finding has a kind, one sentence and the positions in the code. The kind is one
 * word that tests and the grader know. If the same kind occurs again at the same
 * positions, it is not reported again. Findings go to the file named by CUSIM_REPORT,
 * one JSON object a line, or as text to standard error. Some positions are known only
 * by a code address. The reader of the report turns it into a line (python -m cusim
 * does).
 */
#ifndef CUSIM_FINDINGS_H
#define CUSIM_FINDINGS_H

#include <initializer_list>
#include <string>

#include "cusim/core.h"

namespace cusim
{

enum class Level { error, warning, note };

struct Place {
    const char *what = "";       // "written", "waits in __syncthreads" ...
    Where where = {nullptr, 0};  // or, if its file is NULL:
    const void *code = nullptr;  // an address within the instruction
    bool in_kernel = false;      // then block and thread are those of a kernel
    uint3 block = {0, 0, 0}, thread = {0, 0, 0};
};

/* Note a finding. `sentence` is for a student: what, expected, came, what to do. */
void found(Level level, const char *kind, const std::string &sentence,
           const Place *places, size_t count);

inline void found(Level level, const char *kind, const std::string &sentence,
                  std::initializer_list<Place> places)
{
    found(level, kind, sentence, places.begin(), places.size());
}

/* A line of the report that is no finding: {"record": "counts", ...}; no newline. */
void record(const std::string &json);

/* `, "module": ..., "offset": ...`: where an instruction stands, for addr2line. */
std::string code_place(const void *code);

/* How many errors were found since the process began. */
size_t errors_found();

/* Where lines go instead of the file; what was found once is told again. */
void report_to(void (*take)(const char *line, size_t bytes));
void forget_findings();

/* Text between quotes of JSON. */
std::string quoted(const char *text);

/* printf into a string. */
std::string text(const char *format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace cusim

#endif
