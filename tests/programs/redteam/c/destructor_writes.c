// SPDX-License-Identifier: MIT
/* destructor_writes - when it is unloaded, overwrites the grader's files; right */
#include "frame.h"
#include <stdio.h>

__attribute__((destructor)) static void overwrite(void)
{
    const char *const paths[] = {"results.json", "build/grade/results.json",
                                 "tests/programs/redteam/canary.txt"};
    for (int i = 0; i < 3; i++) {
        FILE *file = fopen(paths[i], "w");
        if (!file) continue;
        fputs("forged by destructor_writes\n", file);
        fclose(file);
    }
}

#include "forward.h"
#include "backward.h"
