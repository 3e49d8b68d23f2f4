// A thread_local object with a constructor and a destructor: each thread that uses it has one, destroyed when the thread ends.
// Holds: as many were made as threads used it, and all are destroyed after the joins. With -DBUG they count in two steps.
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<int> made{0}, destroyed{0};

struct object {
    object() { made++; }
    ~object() {
#ifdef BUG
        int n = destroyed;
        destroyed = n + 1;
#else
        destroyed++;
#endif
    }
    int uses = 0;
};

static thread_local object own;

static void use() {
    own.uses++;
    assert(own.uses == 1);
}

int main() {
    std::thread a(use), b(use), c([] {});
    a.join();
    b.join();
    c.join();
    assert(made == 2);
    assert(destroyed == 2);
}
