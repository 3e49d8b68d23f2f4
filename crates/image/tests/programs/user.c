/* A shared object of the user's. */
int library_global = 21;
int library_zero[3000];
__thread int library_local = 22;
int *library_local_address(void) { return &library_local; }
