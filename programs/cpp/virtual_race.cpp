// A virtual call on an object that another thread is still constructing: the pointer escapes from the constructor.
// Fails: `data-race` (on the table pointer). With -DFIXED the pointer is published when the object is whole.
#include <atomic>
#include <cassert>
#include <thread>

struct base;
static std::atomic<base *> published{nullptr};

struct base {
    base() {
#ifndef FIXED
        published = this;
#endif
    }
    virtual ~base() = default;
    virtual int value() { return 0; }
};

struct derived : base {
    int value() override { return 1; }
};

int main() {
    std::thread maker([] {
        static derived d;
#ifdef FIXED
        published = &d;
#endif
    });
    std::thread user([] {
        base *b = published;
        if (b) {
            int v = b->value();
            assert(v == 0 || v == 1);
        }
    });
    maker.join();
    user.join();
}
