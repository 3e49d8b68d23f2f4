// parker: the one of programs/c/structures, proved and not only run.
// Safe, and free of deadlocks. With BUG the permit is not looked for, and can be missed.
#include "../c/structures/parker.c"
