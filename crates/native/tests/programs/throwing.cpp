// Exceptions that cross scheduling points.
#include <atomic>
#include <cassert>
#include <thread>
static std::atomic<int> x;
static void work() {
  try {
    x++;
    throw 3;
  } catch (int e) {
    x++;
    assert(e == 3);
  }
}
int main() {
  std::thread t(work);
  work();
  t.join();
  assert(x == 4);
}
