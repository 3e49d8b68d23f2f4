// bigshot: one thread makes the buffer, another copies a text into it. Idea: SV-COMP's pthread/bigshot.
// Holds: the second asks whether the buffer is there, main whether the text is. With -DBUG the second does not ask.
#include <assert.h>
#include <pthread.h>

char buffer[8];
char *v;
const char text[4] = {'b', 'i', 'g', 0};

void *make(void *arg) {
    v = buffer;
    return arg;
}

void *copy(void *arg) {
#ifndef BUG
    if (v) /* guard */
#endif
        for (int i = 0; i < 4; i++)
            v[i] = text[i];
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, make, 0);
    pthread_create(&b, 0, copy, 0);
    pthread_join(a, 0);
    pthread_join(b, 0); /* copied */
    assert(!v || v[0] == 0 || (v[0] == 'b' && v[2] == 'g'));
    return 0;
}
