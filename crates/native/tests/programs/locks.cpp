// recursive_mutex, timed_mutex, shared_mutex, scoped_lock.
#include <cassert>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>
using namespace std::chrono_literals;
static std::recursive_mutex r;
static std::timed_mutex t;
static std::shared_mutex s;
static std::mutex a, b;
static int x, y;
static void worker() {
  {
    std::lock_guard<std::recursive_mutex> one(r);
    std::lock_guard<std::recursive_mutex> two(r);
    x++;
  }
  {
    std::unique_lock<std::shared_mutex> w(s);
    y++;
  }
}
int main() {
  std::thread w(worker);
  {
    std::lock_guard<std::recursive_mutex> one(r);
    x++;
  }
  {
    std::shared_lock<std::shared_mutex> l(s);
    int seen = y;
    assert(seen == 0 || seen == 1);
  }
  std::unique_lock<std::timed_mutex> l(t);
  std::thread v([] {
    std::unique_lock<std::timed_mutex> l(t, 10ms);
    assert(!l.owns_lock());
  });
  v.join();
  w.join();
  std::scoped_lock both(a, b);
  assert(x == 2 && y == 1);
}
