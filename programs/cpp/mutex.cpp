// std::mutex with lock_guard, scoped_lock, unique_lock and try_lock.
// Holds: the money stays the same. With -DBUG two threads lock the two accounts one after the other in opposite orders: a deadlock.
#include <cassert>
#include <mutex>
#include <thread>

struct account {
    int number;
    int money;
    std::mutex lock{};
};

static void transfer(account &from, account &to, int amount) {
#ifdef BUG
    std::lock_guard first(from.lock);
    std::lock_guard second(to.lock);
#else
    account &low = from.number < to.number ? from : to;
    account &high = from.number < to.number ? to : from;
    std::scoped_lock first(low.lock);
    std::scoped_lock second(high.lock);
#endif
    from.money -= amount;
    to.money += amount;
}

int main() {
    account a{1, 10}, b{2, 20};
    std::thread there([&] { transfer(a, b, 3); });
    std::thread back([&] { transfer(b, a, 5); });
    there.join();
    back.join();
    std::unique_lock lock(a.lock, std::try_to_lock);
    assert(lock.owns_lock());
    assert(a.money == 12 && b.money == 18);
}
