/*
 * base/layout_json.c - the document fraglab.snapshot.v1: written and read. A pageblock is [pfn, count, type, runs]: `count`
 * equal pageblocks from pfn on, one letter for the type, and runs of pages as letter and number ("F496a16"), with the order of
 * their folios behind a dot when it is not 0 ("f32.4": two folios of 16 pages).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/layout_json.h"

static const char class_letters[FL_CENSUS_CLASSES + 1] = "FcahfmdtpskrnO";
static const char type_letters[] = "UMRHCI";
static const bool has_folios[FL_CENSUS_CLASSES] = { [FL_CENSUS_ANON] = true, [FL_CENSUS_FILE] = true, [FL_CENSUS_MLOCKED] = true };

#define PAGES_MAX (UINT64_C(1) << 30) /* 4 TiB of pages of 4K */

/* ---- writing ---- */

static void write_runs(const uint8_t *page, const uint8_t *order, uint32_t pages, struct fl_text *to)
{
	for (uint32_t i = 0, n; i < pages; i += n) {
		for (n = 1; i + n < pages && page[i + n] == page[i] && order[i + n] == order[i]; n++)
			;
		fl_text_add(to, order[i] ? "%c%u.%u" : "%c%u", class_letters[page[i]], n, order[i]);
	}
}

static bool is_hole(const uint8_t *page, uint32_t pages)
{
	for (uint32_t i = 0; i < pages; i++)
		if (page[i] != FL_CENSUS_HOLE)
			return false;
	return true;
}

static json_t *blocks_json(const struct fl_layout *l)
{
	uint32_t pages = 1u << l->pageblock_order;
	json_t *list = json_array();
	struct fl_text runs;

	fl_text_init(&runs);
	for (uint64_t at = 0, count; l->page && at < l->pages; at += count * pages) {
		const uint8_t *first = l->page + at, *order = l->order + at, *type = &l->type[at >> l->pageblock_order];
		char letter[2] = { type_letters[*type < sizeof(type_letters) - 1 ? *type : FL_CENSUS_MOVABLE], 0 };

		count = 1;
		while (at + (count + 1) * pages <= l->pages && type[count] == *type &&
		       !memcmp(first + count * pages, first, pages) && !memcmp(order + count * pages, order, pages))
			count++;
		if (is_hole(first, pages))
			continue;
		fl_text_clear(&runs);
		write_runs(first, order, pages, &runs);
		json_array_append_new(list, json_pack("[I,I,s,s]", (json_int_t)(l->first_pfn + at), (json_int_t)count,
						      letter, runs.data));
	}
	fl_text_fini(&runs);
	return list;
}

static json_t *lists_json(const struct fl_layout *l, uint64_t counts[FL_LAYOUT_TYPES][FL_LAYOUT_ORDERS])
{
	json_t *lists = json_object();

	for (unsigned int t = 0; t < FL_LAYOUT_TYPES; t++) {
		json_t *row = json_array();

		for (unsigned int o = 0; o <= l->max_order; o++)
			json_array_append_new(row, json_integer((json_int_t)counts[t][o]));
		json_object_set_new(lists, fl_census_type_name((enum fl_census_type)t), row);
	}
	return lists;
}

static void put(json_t *object, const char *name, uint64_t value)
{
	json_object_set_new(object, name, json_integer((json_int_t)value));
}

/* What a zone holds, for readers: the blocks say it in full. */
static void add_content(const struct fl_layout *l, unsigned int z, json_t *zone)
{
	uint64_t lists[FL_LAYOUT_TYPES][FL_LAYOUT_ORDERS], pages[FL_CENSUS_CLASSES] = { 0 };
	uint64_t start = l->zone[z].start_pfn, block = 1u << l->pageblock_order, blocks[FL_CENSUS_TYPES] = { 0 };
	json_t *content = json_object(), *types = json_object();

	fl_layout_free(l, z, lists);
	for (uint64_t pfn = start; pfn < start + l->zone[z].spanned; pfn++) {
		pages[fl_layout_page(l, pfn)]++;
		if ((pfn == start || !(pfn % block)) && pfn - l->first_pfn < l->pages &&
		    !is_hole(l->page + (pfn - pfn % block - l->first_pfn), (uint32_t)block))
			blocks[*fl_layout_type(l, pfn)]++;
	}
	for (unsigned int c = 0; c < FL_CENSUS_CLASSES; c++)
		if (pages[c])
			put(content, fl_census_class_name((enum fl_census_class)c), pages[c]);
	for (unsigned int t = 0; t < FL_CENSUS_TYPES; t++)
		if (blocks[t])
			put(types, fl_census_type_name((enum fl_census_type)t), blocks[t]);
	json_object_set_new(zone, "free", lists_json(l, lists));
	json_object_set_new(zone, "pageblocks", types);
	json_object_set_new(zone, "content_pages", content);
}

static json_t *zone_json(const struct fl_layout *l, unsigned int z)
{
	const struct fl_layout_zone *from = &l->zone[z];
	json_t *zone = json_object(), *protection = json_array();

	json_object_set_new(zone, "name", json_string(fl_layout_zone_name(z)));
	put(zone, "start_pfn", from->start_pfn);
	put(zone, "spanned", from->spanned);
	put(zone, "present", from->present);
	put(zone, "managed", from->managed);
	if (from->has_marks) {
		put(zone, "min", from->min);
		put(zone, "low", from->low);
		put(zone, "high", from->high);
		put(zone, "promo", from->promo);
		put(zone, "boost", from->boost);
	}
	for (unsigned int i = 0; i < FL_LAYOUT_ZONES; i++)
		json_array_append_new(protection, json_integer((json_int_t)from->protection[i]));
	json_object_set_new(zone, "protection", protection);
	if (from->high_max) {
		put(zone, "pcp_batch", (uint64_t)from->batch);
		put(zone, "pcp_high_min", (uint64_t)from->high_min);
		put(zone, "pcp_high_max", (uint64_t)from->high_max);
	}
	if (l->page)
		add_content(l, z, zone);
	if (from->has_host_free) {
		uint64_t copy[FL_LAYOUT_TYPES][FL_LAYOUT_ORDERS];

		memcpy(copy, from->host_free, sizeof(copy));
		json_object_set_new(zone, "host_free", lists_json(l, copy));
		put(zone, "deviation_pages", fl_layout_deviation(l, z));
	}
	return zone;
}

json_t *fl_layout_json(const struct fl_layout *l)
{
	json_t *root = json_object(), *settings = json_object(), *zones = json_array(), *missing = json_array();

	json_object_set_new(root, "schema", json_string(FL_LAYOUT_SCHEMA));
	json_object_set_new(root, "release", fl_json_text(l->release));
	put(root, "page_size", l->page_size);
	put(root, "pageblock_order", l->pageblock_order);
	put(root, "max_order", l->max_order);
	put(root, "pmd_order", l->pmd_order);
	put(root, "cpus", l->cpus);
	put(root, "nodes", l->nodes);
	put(root, "swap_bytes", l->swap_bytes);
	for (size_t i = 0; i < l->missing_count; i++)
		json_array_append_new(missing, fl_json_text(l->missing[i]));
	json_object_set_new(root, "missing", missing);
	for (size_t i = 0; i < l->settings_count; i++)
		json_object_set_new(settings, l->settings[i].name, fl_json_text(l->settings[i].value));
	json_object_set_new(root, "settings", settings);
	for (unsigned int z = 0; z < FL_LAYOUT_ZONES; z++)
		if (l->zone[z].spanned)
			json_array_append_new(zones, zone_json(l, z));
	json_object_set_new(root, "zones", zones);
	if (l->page)
		json_object_set_new(root, "blocks", blocks_json(l));
	return root;
}

/* ---- reading ---- */

bool fl_layout_is(const json_t *root)
{
	const char *schema = json_string_value(json_object_get(root, "schema"));

	return schema && !strncmp(schema, "fraglab.snapshot.", strlen("fraglab.snapshot."));
}

static int get_number(const json_t *object, const char *where, const char *name, uint64_t max, uint64_t *ret,
		      struct fl_error *reterr)
{
	int64_t value;
	int error = fl_json_get_int(object, where, name, &value, reterr);

	if (error)
		return error;
	if (value < 0 || (uint64_t)value > max)
		return fl_error_input(reterr, "%s.%s: %" PRId64 " is out of range; expected 0 to %" PRIu64, where, name,
				      value, max);
	*ret = (uint64_t)value;
	return 0;
}

static int read_unsigned(const json_t *object, const char *where, const char *name, uint64_t max, unsigned int *ret,
			 struct fl_error *reterr)
{
	uint64_t value = 0;
	int error = get_number(object, where, name, max, &value, reterr);

	*ret = (unsigned int)value;
	return error;
}

static int read_protection(const json_t *zone, const char *where, struct fl_layout_zone *to, struct fl_error *reterr)
{
	json_t *list;
	int error = fl_json_get_array(zone, where, "protection", &list, reterr);

	for (size_t i = 0; !error && i < json_array_size(list) && i < FL_LAYOUT_ZONES; i++) {
		json_int_t value = json_integer_value(json_array_get(list, i));

		if (value < 0)
			return fl_error_input(reterr, "%s.protection: expected numbers of pages", where);
		to->protection[i] = (uint64_t)value;
	}
	return error;
}

static int read_marks(const json_t *zone, const char *where, struct fl_layout_zone *to, struct fl_error *reterr)
{
	struct {
		const char *name;
		uint64_t *to;
	} marks[] = { { "min", &to->min }, { "low", &to->low }, { "high", &to->high }, { "promo", &to->promo },
		      { "boost", &to->boost } };
	int error = 0;

	if (!json_object_get(zone, "min"))
		return 0;
	for (size_t i = 0; !error && i < sizeof(marks) / sizeof(*marks); i++)
		error = get_number(zone, where, marks[i].name, to->spanned, marks[i].to, reterr);
	if (!error && (to->min > to->low || to->low > to->high))
		return fl_error_input(reterr, "%s: the marks do not rise: min %" PRIu64 ", low %" PRIu64 ", high %" PRIu64,
				      where, to->min, to->low, to->high);
	to->has_marks = !error;
	return error;
}

static int read_pcp(const json_t *zone, const char *where, struct fl_layout_zone *to, struct fl_error *reterr)
{
	uint64_t batch, min, max;
	int error;

	if (!json_object_get(zone, "pcp_high_max"))
		return 0;
	error = get_number(zone, where, "pcp_batch", 1u << 20, &batch, reterr);
	if (!error)
		error = get_number(zone, where, "pcp_high_min", INT32_MAX, &min, reterr);
	if (!error)
		error = get_number(zone, where, "pcp_high_max", INT32_MAX, &max, reterr);
	if (!error && (!batch || min > max))
		return fl_error_input(reterr, "%s: pcp_batch must be at least 1 and pcp_high_min at most pcp_high_max", where);
	if (error)
		return error;
	to->batch = (int64_t)batch;
	to->high_min = (int64_t)min;
	to->high_max = (int64_t)max;
	return 0;
}

static int read_zone(const json_t *zone, size_t i, struct fl_layout *l, struct fl_error *reterr)
{
	struct fl_layout_zone *to;
	const char *name;
	char where[32];
	unsigned int z = 0;
	int error;

	snprintf(where, sizeof(where), "zones[%zu]", i);
	if (!json_is_object(zone))
		return fl_error_input(reterr, "%s: expected an object", where);
	error = fl_json_get_text(zone, where, "name", &name, reterr);
	if (error)
		return error;
	while (z < FL_LAYOUT_ZONES && strcmp(name, fl_layout_zone_name(z)))
		z++;
	if (z == FL_LAYOUT_ZONES)
		return fl_error_input(reterr, "%s: there is no zone \"%s\" in the model; it has DMA, DMA32, Normal and Movable",
				      where, name);
	to = &l->zone[z];
	if (to->spanned)
		return fl_error_input(reterr, "%s: a second zone %s; the model has one node", where, name);
	error = get_number(zone, where, "start_pfn", PAGES_MAX, &to->start_pfn, reterr);
	if (!error)
		error = get_number(zone, where, "spanned", PAGES_MAX, &to->spanned, reterr);
	if (!error)
		error = get_number(zone, where, "present", to->spanned, &to->present, reterr);
	if (!error)
		error = get_number(zone, where, "managed", to->present, &to->managed, reterr);
	if (!error && !to->spanned)
		error = fl_error_input(reterr, "%s: spans no page", where);
	if (!error)
		error = read_marks(zone, where, to, reterr);
	if (!error)
		error = read_protection(zone, where, to, reterr);
	return error ? error : read_pcp(zone, where, to, reterr);
}

static int check_zones(const struct fl_layout *l, struct fl_error *reterr)
{
	uint64_t end = 0, managed = 0, min = 0;

	for (unsigned int z = 0; z < FL_LAYOUT_ZONES; z++) {
		if (!l->zone[z].spanned)
			continue;
		managed += l->zone[z].managed;
		min += l->zone[z].min + l->zone[z].boost;
		if (l->zone[z].start_pfn < end)
			return fl_error_input(reterr, "zones: %s begins inside the zone before it", fl_layout_zone_name(z));
		end = l->zone[z].start_pfn + l->zone[z].spanned;
		if (end > PAGES_MAX)
			return fl_error_input(reterr, "zones: %s ends at page %" PRIu64 "; the model has room for %" PRIu64,
					      fl_layout_zone_name(z), end, PAGES_MAX);
	}
	if (!end)
		return fl_error_input(reterr, "zones: there is no memory; expected one zone or more");
	if (min > managed) /* no request could ever be served: reclaim would go on for ever */
		return fl_error_input(reterr, "zones: their marks min and boosts come to %" PRIu64 " pages, and they manage %" PRIu64,
				      min, managed);
	return 0;
}

/* "F500a12" into pages, which must come to one pageblock. */
static int read_runs(const struct fl_layout *l, const char *runs, uint8_t *page, uint8_t *orders, const char *where,
		     struct fl_error *reterr)
{
	uint32_t room = 1u << l->pageblock_order, done = 0;
	const char *at = runs;

	while (*at) {
		const char *letter = strchr(class_letters, *at);
		char *end;
		unsigned long n = strtoul(at + 1, &end, 10), order = 0;

		if (!letter || at[1] < '0' || at[1] > '9' || !n)
			return fl_error_input(reterr, "%s: \"%.12s\" is not a run of pages; expected one of the letters %s and a number",
					      where, at, class_letters);
		if (n > room - done)
			break;
		if (*end == '.')
			order = strtoul(end + 1, &end, 10);
		if (order > l->pageblock_order || ((done | n) & ((1ul << order) - 1)) || (order && !has_folios[letter - class_letters]))
			return fl_error_input(reterr, "%s: \"%.12s\" are no whole folios of order %lu", where, at, order);
		memset(page + done, (int)(letter - class_letters), n);
		memset(orders + done, (int)order, n);
		done += (uint32_t)n;
		at = end;
	}
	if (done != room || *at)
		return fl_error_input(reterr, "%s: the runs do not come to the %u pages of a pageblock", where, room);
	return 0;
}

struct block_entry {
	uint64_t pfn, count;
	unsigned int type;
	const char *runs;
};

static int read_block(const struct fl_layout *l, const json_t *entry, const char *where, struct block_entry *ret,
		      struct fl_error *reterr)
{
	const json_t *pfn = json_array_get(entry, 0), *count = json_array_get(entry, 1);
	const char *type = json_string_value(json_array_get(entry, 2)), *letter;
	uint64_t pages = 1u << l->pageblock_order;

	ret->runs = json_string_value(json_array_get(entry, 3));
	if (json_array_size(entry) != 4 || !json_is_integer(pfn) || !json_is_integer(count) || !type || !ret->runs)
		return fl_error_input(reterr, "%s: expected [pfn, count, type, runs]", where);
	letter = strlen(type) == 1 ? strchr(type_letters, *type) : NULL;
	if (!letter)
		return fl_error_input(reterr, "%s: \"%s\" is no type of pageblock; expected one of %s", where, type,
				      type_letters);
	if (json_integer_value(pfn) < 0 || (uint64_t)json_integer_value(pfn) % pages)
		return fl_error_input(reterr, "%s: a pageblock does not begin at page %" JSON_INTEGER_FORMAT, where,
				      json_integer_value(pfn));
	if (json_integer_value(count) < 1 || (uint64_t)json_integer_value(count) > PAGES_MAX / pages ||
	    (uint64_t)json_integer_value(pfn) > PAGES_MAX - (uint64_t)json_integer_value(count) * pages)
		return fl_error_input(reterr, "%s: so many pageblocks are out of range", where);
	ret->pfn = (uint64_t)json_integer_value(pfn);
	ret->count = (uint64_t)json_integer_value(count);
	ret->type = (unsigned int)(letter - type_letters);
	return 0;
}

static int read_blocks(struct fl_layout *l, const json_t *blocks, struct fl_error *reterr)
{
	uint64_t pages = 1u << l->pageblock_order, end = 0;
	struct block_entry entry;
	char where[32];
	int error;

	for (size_t i = 0; i < json_array_size(blocks); i++) {
		snprintf(where, sizeof(where), "blocks[%zu]", i);
		error = read_block(l, json_array_get(blocks, i), where, &entry, reterr);
		if (error)
			return error;
		if (i && entry.pfn < end)
			return fl_error_input(reterr, "%s: begins inside the pageblock before it", where);
		if (!i)
			l->first_pfn = entry.pfn;
		end = entry.pfn + entry.count * pages;
	}
	l->pages = end - l->first_pfn;
	l->page = fl_xmalloc(l->pages ? l->pages : 1);
	l->order = fl_xcalloc(l->pages ? l->pages : 1, 1);
	l->type = fl_xmalloc((l->pages >> l->pageblock_order) + 1);
	memset(l->page, FL_CENSUS_HOLE, l->pages);
	memset(l->type, FL_CENSUS_MOVABLE, l->pages >> l->pageblock_order);
	for (size_t i = 0; i < json_array_size(blocks); i++) {
		uint8_t *first, *order;

		snprintf(where, sizeof(where), "blocks[%zu]", i);
		error = read_block(l, json_array_get(blocks, i), where, &entry, reterr);
		first = l->page + (entry.pfn - l->first_pfn);
		order = l->order + (entry.pfn - l->first_pfn);
		if (!error)
			error = read_runs(l, entry.runs, first, order, where, reterr);
		for (uint64_t n = 0; !error && n < entry.count; n++) {
			if (n) {
				memcpy(first + n * pages, first, pages);
				memcpy(order + n * pages, order, pages);
			}
			*fl_layout_type(l, entry.pfn + n * pages) = (uint8_t)entry.type;
		}
		if (error)
			return error;
	}
	return 0;
}

/* Managed pages of a zone must be what its pages say, and pages outside zones are holes. */
static int check_pages(const struct fl_layout *l, struct fl_error *reterr)
{
	uint64_t managed[FL_LAYOUT_ZONES] = { 0 };

	for (uint64_t pfn = l->first_pfn; pfn < l->first_pfn + l->pages; pfn++) {
		enum fl_census_class class = fl_layout_page(l, pfn);
		unsigned int z;

		if (class == FL_CENSUS_HOLE)
			continue;
		z = fl_layout_zone_of(l, pfn);
		if (z == FL_LAYOUT_ZONES)
			return fl_error_input(reterr, "blocks: page %" PRIu64 " lies in no zone", pfn);
		managed[z] += class != FL_CENSUS_RESERVED && class != FL_CENSUS_NOT_MANAGED;
	}
	for (unsigned int z = 0; z < FL_LAYOUT_ZONES; z++)
		if (managed[z] != l->zone[z].managed)
			return fl_error_input(reterr, "zone %s manages %" PRIu64 " pages, but its pageblocks hold %" PRIu64,
					      fl_layout_zone_name(z), l->zone[z].managed, managed[z]);
	return 0;
}

static int read_settings(const json_t *root, struct fl_layout *l, struct fl_error *reterr)
{
	json_t *settings, *value;
	const char *name;
	int error = fl_json_get_object(root, "the snapshot", "settings", &settings, reterr);

	if (error)
		return error;
	json_object_foreach(settings, name, value) {
		if (!json_is_string(value))
			return fl_error_input(reterr, "settings.%s: expected a text", name);
		fl_layout_set(l, name, json_string_value(value));
	}
	return 0;
}

static int read_head(const json_t *root, struct fl_layout *l, struct fl_error *reterr)
{
	const char *where = "the snapshot", *text;
	unsigned int page_size = 0;
	int error = fl_json_get_text(root, where, "schema", &text, reterr);

	if (!error && strcmp(text, FL_LAYOUT_SCHEMA))
		return fl_error_input(reterr, "schema \"%s\" is not known; expected " FL_LAYOUT_SCHEMA, text);
	if (!error)
		error = read_unsigned(root, where, "page_size", 65536, &page_size, reterr);
	l->page_size = page_size;
	if (!error && page_size != 4096 && page_size != 16384 && page_size != 65536)
		return fl_error_input(reterr, "page_size: machines have pages of 4K, 16K or 64K");
	if (!error)
		error = read_unsigned(root, where, "max_order", FL_LAYOUT_ORDERS - 1, &l->max_order, reterr);
	if (!error)
		error = read_unsigned(root, where, "pageblock_order", l->max_order, &l->pageblock_order, reterr);
	if (!error)
		error = read_unsigned(root, where, "pmd_order", l->max_order, &l->pmd_order, reterr);
	if (!error)
		error = read_unsigned(root, where, "cpus", 4096, &l->cpus, reterr);
	if (!error)
		error = read_unsigned(root, where, "nodes", 1024, &l->nodes, reterr);
	if (!error)
		error = get_number(root, where, "swap_bytes", INT64_MAX, &l->swap_bytes, reterr);
	if (!error && (!l->cpus || !l->pageblock_order || !l->pmd_order))
		return fl_error_input(reterr, "cpus, pageblock_order and pmd_order are at least 1");
	if (!error && l->nodes != 1)
		return fl_error_input(reterr, "a snapshot of %u nodes: the model has one node", l->nodes);
	return error;
}

static int read_all(const json_t *root, struct fl_layout *l, struct fl_error *reterr)
{
	json_t *zones, *blocks = json_object_get(root, "blocks");
	int error = read_head(root, l, reterr);

	if (!error)
		error = read_settings(root, l, reterr);
	if (!error)
		error = fl_json_get_array(root, "the snapshot", "zones", &zones, reterr);
	for (size_t i = 0; !error && i < json_array_size(zones); i++)
		error = read_zone(json_array_get(zones, i), i, l, reterr);
	if (!error)
		error = check_zones(l, reterr);
	if (error || !blocks)
		return error;
	if (!json_is_array(blocks) || !json_array_size(blocks))
		return fl_error_input(reterr, "blocks: expected a list of pageblocks");
	error = read_blocks(l, blocks, reterr);
	return error ? error : check_pages(l, reterr);
}

int fl_layout_read(const json_t *root, struct fl_layout *ret, struct fl_error *reterr)
{
	const char *release = json_string_value(json_object_get(root, "release"));
	int error;

	fl_layout_init(ret);
	error = read_all(root, ret, reterr);
	if (error) {
		fl_layout_fini(ret);
		return error;
	}
	snprintf(ret->release, sizeof(ret->release), "%s", release ? release : "");
	return 0;
}
