#include "probe.h"
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace bank {
struct Empty {};
struct Base {
    int id = 1;
    virtual ~Base() = default;
};
struct Account : Base, Empty {
    std::atomic<int> balance{10};
    std::mutex guard;
    static int opened;
    bool locked = false;
    enum class State : unsigned char { Open, Closed = 200 } state = State::Closed;
};
struct Wide : Base {
    long more[2] = {};
};
Base *base;
int Account::opened = 3;
Account accounts[2];
std::atomic<long> total{5};
namespace {
int secret = 1;
}
struct Node {
    int value;
    std::atomic<Node *> next{nullptr};
};
std::atomic<Node *> top{nullptr};
std::unique_ptr<Node> owned;

class Worker {
  public:
    __attribute__((noinline)) void run(int times) {
        static int runs = 0;
        at("runs", &runs);
        runs += times;
        HERE("run");
    }
};

template <typename T> struct Box {
    T inside;
    __attribute__((noinline)) void open() { HERE("open"); }
};
Box<std::pair<int, int>> box;
} // namespace bank

std::array<int, 4> fixed;
std::vector<int> grown(3);
int &alias = *new int(4);
bank::Account &favourite = *new bank::Account;

/* Called by the standard library: the call is in one of its headers, in code that may be inlined into ours. */
__attribute__((noinline)) static void visit(int &) {
    at("in std", __builtin_return_address(0));
#ifndef __OPTIMIZE__
    at("caller of std", __builtin_return_address(1));
#endif
    __asm__ volatile("");
}

__attribute__((noinline)) static void add(std::atomic<int> &number) {
    number.fetch_add(1);
    HERE("add");
}

int main() {
    say_base();
    auto &account = bank::accounts[1];
    at("bank::accounts[1].id", &account.id);
    at("bank::accounts[1]._vptr", &account);
    at("bank::accounts[1].balance", &account.balance);
    at("bank::accounts[1].guard", &account.guard);
    at("bank::accounts[1].locked", &account.locked);
    at("bank::accounts[1].state", &account.state);
    at("bank::Account::opened", &bank::Account::opened);
    at("bank::total", &bank::total);
    at("bank::secret", &bank::secret);
    at("bank::box.inside.second", &bank::box.inside.second);
    at("fixed[2]", &fixed[2]);
    at("grown", &grown);
    bank::top = new bank::Node{1};
    bank::top.load()->next = new bank::Node{2};
    bank::owned.reset(new bank::Node{3});
    at("bank::top", &bank::top);
    bank::base = new bank::Wide;
    at("bank::base", bank::base);
    at("bank::base->id", &bank::base->id);
    at("bank::top->next->value", &bank::top.load()->next.load()->value);
    at("bank::owned->value", &bank::owned->value);
    at("*grown", grown.data());
    at("alias", &alias);
    at("favourite.balance", &favourite.balance);
    bank::Worker().run(2);
    bank::box.open();
    add(account.balance);
    int single[1] = {0};
    printf("at for_each 0 %d\n", __LINE__), std::for_each(single, single + 1, visit);
    HERE("main");
    serve();
    return bank::secret - 1;
}
