/* A program that uses the shared library, whose variable the linker may move into the program. */
#include "probe.h"

struct pair {
    int left, right;
};
extern struct pair remote;
void *remote_inside(void);

int main(void) {
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long base;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        if (strstr(line, "libremote") != NULL && sscanf(line, "%lx", &base) == 1) {
            at("library", (void *)base);
            break;
        }
    }
    say_base();
    at("remote.right", &remote.right);
    at("inside[2].right", remote_inside());
    serve();
    return 0;
}
