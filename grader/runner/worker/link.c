// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "link.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Slots side by side with a page between them, in one reservation that nothing else can
 * move into. */
static int map_slots(char **slots, int count, int memory, int protection)
{
    const size_t step = (size_t)SLOT_BYTES + PAGE_BYTES;
    const size_t total = step * (size_t)count + PAGE_BYTES;
    char *place = (char *)mmap(NULL, total, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == (char *)MAP_FAILED) return -1;
    for (int i = 0; i < count; i++) {
        slots[i] = place + PAGE_BYTES + step * (size_t)i;
        if (mmap(slots[i], (size_t)SLOT_BYTES, protection, MAP_SHARED | MAP_FIXED,
                 memory, WORDS_BYTES + (off_t)i * SLOT_BYTES) == MAP_FAILED) {
            return -1;
        }
    }
    return 0;
}

int link_attach(link_t *link, int in_memory, int out_memory, int go, int done)
{
    void *command = mmap(NULL, WORDS_BYTES, PROT_READ, MAP_SHARED, in_memory, 0);
    void *reply =
        mmap(NULL, WORDS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, out_memory, 0);
    if (command == MAP_FAILED || reply == MAP_FAILED) return -1;
    link->command = (const command_t *)command;
    if (link->command->magic != PROTOCOL_MAGIC ||
        link->command->version != PROTOCOL_VERSION) {
        return -1;
    }
    link->reply = (reply_t *)reply;
    link->go = go;
    link->done = done;
    if (map_slots(link->in, IN_SLOTS, in_memory, PROT_READ)) return -1;
    if (map_slots(link->out, OUT_SLOTS, out_memory, PROT_READ | PROT_WRITE)) return -1;
    for (int i = 0; i < IN_SLOTS; i++) link->reply->in_base[i] = (uint64_t)link->in[i];
    for (int i = 0; i < OUT_SLOTS; i++)
        link->reply->out_base[i] = (uint64_t)link->out[i];
    close(in_memory);
    close(out_memory);
    setvbuf(stdout, NULL, _IONBF, 0);  // what is printed before a crash is not lost
    return 0;
}

int link_wait(link_t *link)
{
    char ring;
    return read(link->go, &ring, 1) == 1 ? 0 : -1;
}

void link_done(link_t *link)
{
    if (write(link->done, "", 1) != 1) _exit(3);
}
