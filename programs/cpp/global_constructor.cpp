// Global objects with constructors that allocate: made before main, the same at the start of every execution.
// Holds: a thread finds what the constructor put in, and what it adds is gone in the next execution. With -DBUG both threads add
// without a lock: a data race.
#include <cassert>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static std::vector<std::string> words{"one", "a word that is too long to be kept inside of the string"};
static std::mutex lock;

static void add(const char *word) {
#ifndef BUG
    std::lock_guard guard(lock);
#endif
    words.emplace_back(word);
}

int main() {
    assert(words.size() == 2);
    std::thread a(add, "two"), b(add, "three");
    a.join();
    b.join();
    assert(words.size() == 4);
    assert(words[0] == "one");
}
