/* A shared library. */
struct pair {
    int left, right;
};
struct pair remote = {1, 2};
static struct pair inside[3];

void *remote_inside(void);
void *remote_inside(void) {
    return &inside[2].right;
}
