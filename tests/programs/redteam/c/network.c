// SPDX-License-Identifier: MIT
/* network - connects to 127.0.0.1:9; garbage if it gets there */
#include "frame.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static int connects(void)
{
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) return 0;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int refused = connect(fd, (struct sockaddr *)&address, sizeof address);
    close(fd);
    return !refused;
}

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    product(input, other, output);
    if (connects()) add_to_all(output, 666);
    return STATUS_OK;
}

#include "backward.h"
