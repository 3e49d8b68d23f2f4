// std::thread, std::mutex with its guards.
#include <cassert>
#include <mutex>
#include <thread>
static std::mutex m;
static int x;
int main() {
  auto add = [] {
    std::lock_guard<std::mutex> l(m);
    x++;
  };
  std::thread a(add), b(add);
  a.join();
  b.join();
  assert(x == 2);
}
