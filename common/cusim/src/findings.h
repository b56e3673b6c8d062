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

/* Stores a finding. `sentence` tells a student what is wrong and what to do. */
void found(Level level, const char *kind, const std::string &sentence,
           const Place *places, size_t count);

inline void found(Level level, const char *kind, const std::string &sentence,
                  std::initializer_list<Place> places)
{
    found(level, kind, sentence, places.begin(), places.size());
}

/* Writes a line that is no finding, such as {"record": "counts", ...}; no newline. */
void record(const std::string &json);

/* Returns `, "module": ..., "offset": ...`: a code address, for addr2line. */
std::string code_place(const void *code);

/* Returns the number of errors that were found since the process began. */
size_t errors_found();

/* Sends lines to `take` instead of the file. Then repeated findings are sent again. */
void report_to(void (*take)(const char *line, size_t bytes));
void forget_findings();

/* Returns text as a JSON string, in quotes. */
std::string quoted(const char *text);

/* Returns formatted text, as printf prints it. */
std::string text(const char *format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace cusim

#endif
