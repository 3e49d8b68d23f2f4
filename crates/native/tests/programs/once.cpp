// call_once and function-local statics; the first of the two calls throws.
#include <cassert>
#include <mutex>
#include <thread>
static std::once_flag f;
static int calls, made;
struct S {
  int value;
  S() : value(++made) {
    if (value == 1) throw 1;
  }
};
static int use() {
  for (;;) try {
      static S s;
      return s.value;
    } catch (int) {
    }
}
int main() {
  auto work = [] {
    try {
      std::call_once(f, [] {
        if (calls++ == 0) throw 1;
      });
    } catch (int) {
    }
    assert(use() == 2);
  };
  std::thread a(work);
  work();
  a.join();
  assert(calls == 2);
}
