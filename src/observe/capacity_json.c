/* observe/capacity_json.c - the capacity of a host as JSON. */
#include "observe/capacity.h"

static void set_count(json_t *object, const char *name, uint64_t value)
{
	json_object_set_new(object, name, json_integer((json_int_t)value));
}

static json_t *orders_json(const struct fl_capacity_zone *zone)
{
	json_t *orders = json_array();

	for (unsigned int i = 0; i < FL_CENSUS_ORDERS; i++) {
		json_t *order;

		if (!zone->orders[i].known)
			continue;
		order = json_object();
		set_count(order, "order", i);
		set_count(order, "size_bytes", zone->orders[i].size_bytes);
		set_count(order, "now", zone->orders[i].now);
		set_count(order, "moved", zone->orders[i].moved);
		set_count(order, "emptied", zone->orders[i].emptied);
		json_array_append_new(orders, order);
	}
	return orders;
}

static json_t *pins_json(const struct fl_capacity_zone *zone)
{
	json_t *pins = json_array();

	for (int i = 0; i < FL_CAPACITY_PINNERS; i++) {
		json_t *pin = json_object();

		json_object_set_new(pin, "what", json_string(fl_capacity_pinner_name((enum fl_capacity_pinner)i)));
		set_count(pin, "blocks", zone->pins[i].blocks);
		set_count(pin, "blocks_alone", zone->pins[i].blocks_alone);
		set_count(pin, "pages", zone->pins[i].pages);
		json_array_append_new(pins, pin);
	}
	return pins;
}

static json_t *zone_json(const struct fl_capacity_zone *zone)
{
	const struct fl_census_counts *c = &zone->counts;
	json_t *object = json_object();

	json_object_set_new(object, "name", json_string(zone->name));
	set_count(object, "managed_pages", zone->managed);
	set_count(object, "pcp_pages", zone->pcp);
	set_count(object, "not_managed_pages", c->class_pages[FL_CENSUS_NOT_MANAGED]);
	set_count(object, "pageblocks", c->pageblocks);
	set_count(object, "unmovable_pageblocks", c->unmovable_pageblocks);
	set_count(object, "unsure_pageblocks", c->unsure_pageblocks);
	set_count(object, "mixed_pageblocks", c->mixed_pageblocks);
	set_count(object, "free_huge_slots", c->free_huge_slots);
	set_count(object, "reclaimable_huge_slots", c->reclaimable_huge_slots);
	set_count(object, "free_pages", c->free_pages);
	set_count(object, "movable_pages", c->movable_pages);
	set_count(object, "unmovable_pages", c->unmovable_pages);
	set_count(object, "unidentified_pages", c->unidentified_pages);
	json_object_set_new(object, "orders", orders_json(zone));
	json_object_set_new(object, "pins", pins_json(zone));
	return object;
}

json_t *fl_capacity_json(const struct fl_capacity *capacity)
{
	json_t *object = json_object(), *zones = json_array();

	set_count(object, "page_size", capacity->page_size);
	set_count(object, "pageblock_order", capacity->block_order);
	for (unsigned int i = 0; i < capacity->zones_count; i++)
		json_array_append_new(zones, zone_json(&capacity->zones[i]));
	json_object_set_new(object, "zones", zones);
	json_object_set_new(object, "total", zone_json(&capacity->total));
	return object;
}
