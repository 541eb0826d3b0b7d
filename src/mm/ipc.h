/*
 * mm/ipc.h - pipes and UNIX stream socket pairs with bytes queued in them: kernel memory that programs make. Rules:
 * fs/pipe.c, net/core/sock.c, net/unix/af_unix.c as far as they ask for pages.
 */
#ifndef FL_MM_IPC_H
#define FL_MM_IPC_H

#include "mm/mem.h"

/* Each returns an id, or UINT32_MAX when there was no memory (what was taken is given back). `bytes` are written at once; a default pipe
 * holds 16 pages, a larger one is resized first (F_SETPIPE_SZ). May switch. */
uint32_t fl_pipe_new(struct fl_mem *mem, struct fl_caller *who, uint32_t bytes);
uint32_t fl_socket_pair_new(struct fl_mem *mem, struct fl_caller *who, uint32_t bytes, uint32_t message);
/* Reads everything: the data goes, pipe and sockets stay. */
void fl_ipc_drain(struct fl_mem *mem, struct fl_caller *who, uint32_t id);
void fl_ipc_close(struct fl_mem *mem, struct fl_caller *who, uint32_t id);
/* Pages of page requests (not slab) held by it. */
uint32_t fl_ipc_pages(const struct fl_mem *mem, uint32_t id);

void fl_ipc_init(struct fl_mem *mem);
void fl_ipc_fini(struct fl_mem *mem);
uint64_t fl_ipc_hash(const struct fl_mem *mem, uint64_t hash);

#endif
