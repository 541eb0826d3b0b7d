/*
 * mm/slab_sheaf.c - the per-CPU stores of 7.3: two arrays of objects ("sheaves") a CPU and up to ten full ones a node.
 * Part of mm/slub.c of the kernel.
 *
 * An object in a sheaf is in use as its slab sees it: freed objects hold their slabs until the sheaves overflow.
 */
#include "mm/slab_internal.h"

static void sheaf_init(struct sheaf *sheaf, const struct slab_cache *c)
{
	sheaf->object = fl_host_alloc(c->g.sheaf_capacity * sizeof(*sheaf->object));
	sheaf->count = 0;
}

void fl_sheaves_init(struct fl_mem *mem, struct slab_cache *c)
{
	c->sheaves = fl_host_alloc(mem->cpus * sizeof(*c->sheaves));
	for (unsigned int cpu = 0; cpu < mem->cpus; cpu++) {
		sheaf_init(&c->sheaves[cpu].main, c);
		sheaf_init(&c->sheaves[cpu].spare, c);
	}
	for (unsigned int i = 0; i < FL_BARN_FULL_MAX; i++)
		sheaf_init(&c->barn[i], c);
}

void fl_sheaves_fini(struct fl_mem *mem, struct slab_cache *c)
{
	for (unsigned int cpu = 0; c->sheaves && cpu < mem->cpus; cpu++) {
		fl_host_free(c->sheaves[cpu].main.object);
		fl_host_free(c->sheaves[cpu].spare.object);
	}
	for (unsigned int i = 0; i < FL_BARN_FULL_MAX; i++)
		fl_host_free(c->barn[i].object);
	fl_host_free(c->sheaves);
}

static void sheaf_swap(struct sheaf *a, struct sheaf *b)
{
	struct sheaf t = *a;

	*a = *b;
	*b = t;
}

/* refill_sheaf(): objects from the node's partial slabs, then from new ones; what it gets. May switch. */
static void refill(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c, struct sheaf *sheaf, fl_gfp gfp)
{
	while (sheaf->count < c->g.sheaf_capacity) {
		uint32_t id = fl_slab_get_partial(mem, c);
		struct slab *slab;

		if (id == FL_POOL_NONE)
			id = fl_slab_new(mem, who, c, gfp);
		if (id == FL_POOL_NONE)
			return;
		slab = slab_of(mem->slab, id);
		while (sheaf->count < c->g.sheaf_capacity && slab->inuse < slab->objects)
			sheaf->object[sheaf->count++] = fl_slab_take(mem, c, id);
		fl_slab_put_partial(mem, c, id);
	}
}

/* __pcs_replace_empty_main(). A request for a slab may switch to another task, which may use the same sheaf: so the new
 * objects are gathered apart. */
static void replace_empty_main(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c, fl_gfp gfp)
{
	struct slab_sheaves *s = &c->sheaves[fl_caller_cpu(who)];
	struct sheaf fresh;

	if (s->spare.count) {
		sheaf_swap(&s->main, &s->spare);
		return;
	}
	if (c->barn_full) {
		sheaf_swap(&s->main, &c->barn[--c->barn_full]);
		return;
	}
	sheaf_init(&fresh, c);
	refill(mem, who, c, &fresh, gfp);
	s = &c->sheaves[fl_caller_cpu(who)];
	if (!s->main.count)
		sheaf_swap(&s->main, &fresh);
	else
		while (fresh.count)
			fl_sheaf_free(mem, who, c, fresh.object[--fresh.count]);
	fl_host_free(fresh.object);
}

fl_object fl_sheaf_alloc(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c, fl_gfp gfp)
{
	struct sheaf *main = &c->sheaves[fl_caller_cpu(who)].main;

	if (!main->count) {
		replace_empty_main(mem, who, c, gfp);
		main = &c->sheaves[fl_caller_cpu(who)].main;
	}
	return main->count ? main->object[--main->count] : FL_OBJECT_NONE;
}

static void flush_sheaf(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c, struct sheaf *sheaf)
{
	while (sheaf->count)
		fl_slab_free_object(mem, who, c, sheaf->object[--sheaf->count]);
}

/* __pcs_replace_full_main(): the spare, else the node's store, else the objects go back to their slabs. */
static void replace_full_main(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c)
{
	struct slab_sheaves *s = &c->sheaves[fl_caller_cpu(who)];

	if (s->spare.count < c->g.sheaf_capacity)
		sheaf_swap(&s->main, &s->spare);
	else if (c->barn_full < FL_BARN_FULL_MAX)
		sheaf_swap(&s->main, &c->barn[c->barn_full++]);
	else
		flush_sheaf(mem, who, c, &s->main);
}

void fl_sheaf_free(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c, fl_object object)
{
	struct slab_sheaves *s = &c->sheaves[fl_caller_cpu(who)];

	if (s->main.count == c->g.sheaf_capacity)
		replace_full_main(mem, who, c);
	s->main.object[s->main.count++] = object;
}

void fl_sheaves_flush(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c)
{
	for (unsigned int cpu = 0; cpu < mem->cpus; cpu++) {
		flush_sheaf(mem, who, c, &c->sheaves[cpu].main);
		flush_sheaf(mem, who, c, &c->sheaves[cpu].spare);
	}
	while (c->barn_full)
		flush_sheaf(mem, who, c, &c->barn[--c->barn_full]);
}

uint64_t fl_sheaves_objects(const struct fl_mem *mem, const struct slab_cache *c)
{
	uint64_t count = (uint64_t)c->barn_full * c->g.sheaf_capacity;

	for (unsigned int cpu = 0; c->sheaves && cpu < mem->cpus; cpu++)
		count += c->sheaves[cpu].main.count + c->sheaves[cpu].spare.count;
	return count;
}
