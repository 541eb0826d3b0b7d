/*
 * observe/quiet.c - the words that lines about memory begin with, and a look for them that costs about 1 ns a byte.
 *
 * Each word is found by a pair of its bytes that is rare in logs; only where that pair stands is the word compared.
 * What the other files of the text reader recognise outside of a dump must have a word here (text_test.c compares).
 */
#include "observe/quiet.h"

#include <ctype.h>
#include <string.h>

#include "base/bug.h"

static const struct {
	const char *word;
	unsigned int pair; /* where the rare pair stands in the word */
} words[] = {
	{ "failure", 3 },      /* "page allocation failure" */
	{ "stalls", 4 },
	{ "vmalloc", 0 },
	{ "vmap", 0 },
	{ "vm.", 0 },          /* "vm.min_free_kbytes = " */
	{ "oom", 0 },
	{ "of mem", 1 },       /* "Out of memory" */
	{ "y: usage", 0 },
	{ "cgroup", 0 },
	{ "SLUB", 1 },
	{ "deadlock", 3 },
	{ "page_alloc", 3 },
	{ "req-size", 2 },
	{ "suppressed", 2 },
	{ "Node", 0 },
	{ "Normal", 0 },
	{ "DMA", 0 },
	{ "HighMem", 3 },
	{ "zone", 0 },
	{ "blocks", 4 },
	{ "block order", 4 },
	{ "Mem-", 2 },
	{ "mem-", 2 },
	{ "MEM-", 2 },
	{ "empty", 2 },
	{ "reserve[", 6 },
	{ "protections[", 10 },
	{ "active_anon", 6 },
	{ "Active:", 0 },
	{ "freepages", 3 },
	{ "mm_", 1 },
	{ "transparent_hugepage", 11 },
	{ "sys/vm", 3 },
	{ "==> ", 0 },
	{ "cat /", 0 },
	{ "Linux", 3 },
	{ "ainted", 0 },       /* "Comm: x Not tainted 6.12.0 #1" */
	{ "kB", 0 },
	{ "KB", 0 },
	{ "kb", 0 },
	{ "Kb", 0 },
	{ "HugePages_", 3 },
	{ "nr_", 1 },
};

#define WORDS (sizeof(words) / sizeof(words[0]))
#define FIRST_AMOUNT 37 /* "kB" and its forms: only behind a digit */
#define LAST_AMOUNT 40

static unsigned int slot(unsigned char a, unsigned char b)
{
	return ((unsigned int)a * 37 ^ (unsigned int)b << 4) % FL_QUIET_SLOTS;
}

void fl_quiet_init(struct fl_quiet *quiet)
{
	memset(quiet, 0, sizeof(*quiet));
	FL_ASSERT(WORDS <= sizeof(quiet->next) && !strcmp(words[FIRST_AMOUNT].word, "kB") &&
		  !strcmp(words[LAST_AMOUNT].word, "Kb"));
	for (unsigned int i = 0; i < WORDS; i++) {
		const char *pair = words[i].word + words[i].pair;
		uint8_t *first = &quiet->slots[slot((unsigned char)pair[0], (unsigned char)pair[1])];

		FL_ASSERT(words[i].pair + 2 <= strlen(words[i].word));
		quiet->next[i] = *first;
		*first = (uint8_t)(i + 1);
	}
	for (int c = 0; c < ' '; c++)
		quiet->odd[c] = c != '\t' && c != '\r' && c != 27 && c != '\f';
}

/* "123kB", "123 kB" */
static bool is_behind_number(const char *line, size_t at)
{
	if (at && line[at - 1] == ' ')
		at--;
	return at && isdigit((unsigned char)line[at - 1]);
}

/* Does one of the words whose pair stands at `at` stand there as a whole? */
static bool word_at(const struct fl_quiet *quiet, const char *line, size_t length, size_t at, unsigned int first)
{
	for (unsigned int i = first; i; i = quiet->next[i - 1]) {
		const char *word = words[i - 1].word;
		size_t own = strlen(word), begin = at - words[i - 1].pair;

		if (at < words[i - 1].pair || begin + own > length || memcmp(line + begin, word, own))
			continue;
		if (i - 1 < FIRST_AMOUNT || i - 1 > LAST_AMOUNT || is_behind_number(line, begin))
			return true;
	}
	return false;
}

/* "pgfault 1234" and the like: a name of small letters and a number make the end of the line. */
static bool ends_like_vmstat(const char *line, size_t length)
{
	size_t end = length, begin;

	while (end && (line[end - 1] == ' ' || line[end - 1] == '\r'))
		end--;
	begin = end;
	while (begin && isdigit((unsigned char)line[begin - 1]))
		begin--;
	if (begin == end || !begin || line[begin - 1] != ' ')
		return false;
	while (begin && line[begin - 1] == ' ')
		begin--;
	end = begin;
	while (begin && (islower((unsigned char)line[begin - 1]) || isdigit((unsigned char)line[begin - 1]) ||
			 line[begin - 1] == '_'))
		begin--;
	return end - begin > 4 && (memchr(line + begin, '_', end - begin) || !strncmp(line + begin, "pg", 2) ||
				   !strncmp(line + begin, "allocstall", 10) || !strncmp(line + begin, "pageoutrun", 10));
}

bool fl_quiet_line(const struct fl_quiet *quiet, const char *line, size_t length, uint64_t *odd)
{
	const unsigned char *p = (const unsigned char *)line;
	unsigned int sum = length ? quiet->odd[p[length - 1]] : 0;

	for (size_t i = 0; i + 1 < length; i++) {
		unsigned int first = quiet->slots[slot(p[i], p[i + 1])];

		sum += quiet->odd[p[i]];
		if (first && word_at(quiet, line, length, i, first))
			return false;
	}
	if (ends_like_vmstat(line, length))
		return false;
	*odd += sum;
	return true;
}
