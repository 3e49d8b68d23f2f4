// std::recursive_mutex: a method that locks calls another one that locks.
// Holds: both changes are seen together. With -DBUG the mutex is a std::mutex, which its owner waits for in vain: a deadlock.
#include <cassert>
#include <mutex>
#include <thread>

#ifdef BUG
using lock_type = std::mutex;
#else
using lock_type = std::recursive_mutex;
#endif

class pair {
  public:
    void set(int value) {
        std::lock_guard guard(lock);
        set_first(value);
        second = value;
    }

    bool alike() {
        std::lock_guard guard(lock);
        return first == second;
    }

  private:
    void set_first(int value) {
        std::lock_guard guard(lock);
        first = value;
    }

    lock_type lock;
    int first = 0, second = 0;
};

int main() {
    pair p;
    std::thread setter([&] { p.set(1); });
    std::thread looker([&] { assert(p.alike()); });
    setter.join();
    looker.join();
}
