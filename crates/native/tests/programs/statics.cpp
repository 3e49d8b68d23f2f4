// A function-local static is made once, and whoever gets it sees it made.
#include <cassert>
#include <thread>
static int made;
struct S {
  int value;
  S() { value = ++made; }
};
static int use() {
  static S s;
  return s.value;
}
int main() {
  std::thread a([] { assert(use() == 1); });
  assert(use() == 1);
  a.join();
}
