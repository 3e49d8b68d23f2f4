#include "probe.h"

struct elsewhere {
    int first;
    int second;
};

static int hits;
struct elsewhere *make_elsewhere(void);
void say_other(void);

struct elsewhere *make_elsewhere(void) {
    struct elsewhere *made = calloc(1, sizeof *made);
    at("far->second", &made->second);
    return made;
}

void say_other(void) {
    at("other.c:hits", &hits);
    hits++;
}

/* Not used here. */
void *unused_in_other[] = {(void *)say_base, (void *)serve};
