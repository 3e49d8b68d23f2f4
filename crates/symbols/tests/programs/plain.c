/* Built without debug information, or stripped of it. */
#include "probe.h"

int numbers[4];
int alone = 5;

__attribute__((noinline)) void work(void);
void work(void) {
    HERE("work");
}

int main(void) {
    say_base();
    at("numbers", numbers);
    at("numbers+8", &numbers[2]);
    at("alone", &alone);
    work();
    serve();
    return 0;
}
