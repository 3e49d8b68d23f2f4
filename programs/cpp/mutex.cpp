// std::mutex with lock_guard, unique_lock, scoped_lock of two, and try_lock.
// Holds: the money stays the same. With -DBUG two threads lock the two accounts one after the other in opposite orders: a deadlock.
#include <cassert>
#include <mutex>
#include <thread>

struct account {
    std::mutex lock;
    int money;
};

static void transfer(account &from, account &to, int amount) {
#ifdef BUG
    std::lock_guard first(from.lock);
    std::lock_guard second(to.lock);
#else
    std::scoped_lock both(from.lock, to.lock);
#endif
    from.money -= amount;
    to.money += amount;
}

int main() {
    account a{{}, 10}, b{{}, 20};
    std::thread there([&] { transfer(a, b, 3); });
    std::thread back([&] { transfer(b, a, 5); });
    there.join();
    back.join();
    std::unique_lock lock(a.lock, std::try_to_lock);
    assert(lock.owns_lock());
    assert(a.money == 12 && b.money == 18);
}
