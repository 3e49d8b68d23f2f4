/* A shared object of the user's. */
int library_global = 21;
int library_zero[3000];
__thread int library_local = 22;
static int library_static = 23;
int *library_static_address(void) { return &library_static; }
