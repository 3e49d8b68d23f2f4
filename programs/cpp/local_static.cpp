// A function-local static with a constructor, needed by two threads at once.
// Holds: it is made once, and whole for both. With -DBUG a flag of our own stands for the language's guard, and the second thread
// goes on while the first still makes it.
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<int> made{0};

struct object {
    std::atomic<int> value{0};

    void make() {
        made++;
        value = 7;
    }
};

static object &get() {
#ifdef BUG
    static object instance;
    static std::atomic<bool> begun{false};
    if (!begun.exchange(true))
        instance.make();
#else
    struct made_object : object {
        made_object() { make(); }
    };
    static made_object instance;
#endif
    return instance;
}

int main() {
    auto use = [] { assert(get().value == 7); };
    std::thread a(use), b(use);
    a.join();
    b.join();
    assert(made == 1);
}
