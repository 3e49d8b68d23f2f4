// async and future.
#include <cassert>
#include <future>
int main() {
  int x = 1;
  auto f = std::async(std::launch::async, [&] { return x + 1; });
  assert(f.get() == 2);
  std::promise<int> p;
  auto g = p.get_future();
  std::thread t([&] { p.set_value(5); });
  assert(g.get() == 5);
  t.join();
}
